"""Scrapy add-on: spend the crawl's requests on pages that are new and on topic."""

from scrapy_replica.addon import Addon
from scrapy_replica.components.extract import extract
from scrapy_replica.components.observer import page_of
from scrapy_replica.components.pipeline import NoveltyPipeline
from scrapy_replica.components.spider import TopicSpider

__all__ = ["Addon", "NoveltyPipeline", "TopicSpider", "extract", "page_of"]
