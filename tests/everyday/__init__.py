"""Ordinary sites, what each URL of them is, and what a crawl of them costs."""
