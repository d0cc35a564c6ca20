"""What the crawl knows of links: which comes next."""
