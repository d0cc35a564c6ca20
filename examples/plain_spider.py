"""The add-on's own spider as an ordinary one: ``scrapy runspider examples/plain_spider.py -a seeds=URL``."""

from __future__ import annotations

from scrapy_replica import TopicSpider


class PlainSpider(TopicSpider):
    """Without the add-on in ``ADDONS`` it follows every link in Scrapy's own order."""

    name = "plain"
