"""What one page says: main text, fingerprints, links."""
