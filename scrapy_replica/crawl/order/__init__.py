"""Which link comes next: the strategy of a crawl, what it is made of, and waiting URLs scored anew."""
