"""Training between sites: the active site's run, the passive sites' parties, and their parts of a model."""
