"""Simhash held against the legacy fingerprint over page pairs, as in *Visualizando webpages duplicadas* (2013)."""
