"""Predictions between sites, by the parts of a model that each site keeps."""
