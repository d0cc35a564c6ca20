"""Scrapy settings of the commands that the tests start: ``PYTHONPATH=.ci SCRAPY_SETTINGS_MODULE=reactorless``."""

TWISTED_REACTOR_ENABLED = False
TELNETCONSOLE_ENABLED = False
