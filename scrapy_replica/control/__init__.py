"""The control page: what a running crawl does, live in a browser, and what a person tells it."""
