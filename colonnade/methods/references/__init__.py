"""References: models that see all columns in one place. Not federated."""
