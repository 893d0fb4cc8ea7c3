"""What a site's owner allows, and what it may cost in differential privacy."""
