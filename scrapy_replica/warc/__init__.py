"""What a crawl fetched, kept as WARC files."""
