"""The crawl database that many processes share: Redis, and a mirror in SQLite in each of them."""
