"""``scrapy replica lab``: a module for each experiment."""
