"""What methods share: options, fitting, storing, and parts of loops."""
