"""The settings of a project as ``scrapy startproject`` makes it, and one line more."""

BOT_NAME = "library"
SPIDER_MODULES = ["library.spiders"]
NEWSPIDER_MODULE = "library.spiders"
USER_AGENT = "library (+https://example.org/contact)"
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
DOWNLOAD_DELAY = 0

ADDONS = {"scrapy_replica.Addon": 500}
