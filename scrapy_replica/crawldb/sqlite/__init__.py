"""The crawl database in one SQLite file."""
