"""What a site writes and says: parts of models, agreed ids, names of runs, plain lines for people."""
