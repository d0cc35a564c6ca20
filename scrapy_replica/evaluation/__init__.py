"""Each question measured on labelled data, beside peers and baselines."""
