"""One run: one method on one dataset at one number of labels, one overlap and one seed."""
