"""Replica hosts, measured: the judge beside published methods and baselines."""
