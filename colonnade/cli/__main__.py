"""`python -m colonnade.cli`."""

from colonnade.cli import main

main()
