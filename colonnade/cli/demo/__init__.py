"""`colonnade federate demo`: two sites on this machine, from startup kits to predictions, and a check of the model."""
