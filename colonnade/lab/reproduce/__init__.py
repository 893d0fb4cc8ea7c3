"""Tables and figures of papers as recipes, run as ordinary comparisons."""
