"""FedHSSL and its family (He et al. 2022)."""
