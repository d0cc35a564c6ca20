"""One module per question, each measuring us beside peers and baselines on labelled data."""
