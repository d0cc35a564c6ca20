"""What Scrapy instantiates, by Scrapy role."""
