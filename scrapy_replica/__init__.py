"""Scrapy add-on: spend the crawl's requests on pages that are new and on topic."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy_replica.addon import Addon
    from scrapy_replica.components.extract import extract
    from scrapy_replica.components.observer import page_of
    from scrapy_replica.components.pipeline import NoveltyPipeline
    from scrapy_replica.components.spider import TopicSpider

__all__ = ["Addon", "NoveltyPipeline", "TopicSpider", "extract", "page_of"]

_MODULES = {
    "Addon": ".addon",
    "NoveltyPipeline": ".components.pipeline",
    "TopicSpider": ".components.spider",
    "extract": ".components.extract",
    "page_of": ".components.observer",
}
"""Where a name is defined: imported when it is asked for, since each of Scrapy's commands imports this package."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)
