"""Methods: one paper, one file or folder, with both halves."""
