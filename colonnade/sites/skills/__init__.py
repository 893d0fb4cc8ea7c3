"""What sites offer beside training: alignment, predictions, and the frame of a run; and what a run may ask."""
