"""One crawl, which holds the rooms together."""

from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawl.observation import Observation

__all__ = ["Crawl", "Observation"]
