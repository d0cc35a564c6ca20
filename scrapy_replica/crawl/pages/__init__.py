"""What the crawl knows of pages: which are new, what hosts repeat, search forms."""
