"""What the crawl knows of URLs: DUST rules and traps."""
