"""The crawl database that many processes share: Redis, and a copy in SQLite in each of them."""
