"""The commands of ``scrapy replica``."""
