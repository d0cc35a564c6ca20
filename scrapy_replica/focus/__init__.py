"""Which link comes next."""
