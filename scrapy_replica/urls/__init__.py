"""Which URLs are one page."""
