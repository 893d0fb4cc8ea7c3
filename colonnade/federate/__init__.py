"""Between real sites: startup kits, the processes of a site, and the same training as in one process, over mutual TLS.

NVIDIA FLARE brings certificates, connections, authorisation and jobs; what is learnt, what may be asked of a site and
what crosses is ours. Needs `pip install 'colonnade[federate]'`.
"""
