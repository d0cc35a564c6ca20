"""What the crawl knows."""
