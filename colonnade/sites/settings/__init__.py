"""What a site's owner wrote down: its files, and its table."""
