"""One crawl, which holds the rooms together."""
