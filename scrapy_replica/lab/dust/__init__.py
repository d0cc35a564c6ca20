"""Rules that tell which URLs are one page, measured beside published learners."""
