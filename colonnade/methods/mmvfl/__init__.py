"""MMVFL (Feng & Yu 2020): the loop and the label owner, and the linear view of each party."""
