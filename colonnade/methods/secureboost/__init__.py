"""SecureBoost (Cheng et al. 2021): the loop in front, the trees behind it."""
