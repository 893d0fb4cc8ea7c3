"""What a site writes down so that a crash loses no finished work."""
