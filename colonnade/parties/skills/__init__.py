"""Skills that several methods share: the operations of a passive party, with what they take and answer."""
