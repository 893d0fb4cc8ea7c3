"""Parts of loops that several methods share."""
