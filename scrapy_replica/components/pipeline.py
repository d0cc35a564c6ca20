"""An item pipeline that drops what repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.items import PageItem

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class NoveltyPipeline:
    """Drops an item that says what an item of another page said, where the two pages are duplicates.

    Its own URL, its time and numbers that the spider made up do not count. Of a ``TopicSpider`` it drops the items of
    pages that repeat others. In ``ITEM_PIPELINES`` it stands before those that store.
    """

    def __init__(self, extension: ReplicaExtension | None) -> None:
        self._extension = extension
        if extension is not None:
            extension.repeats.is_asked = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.get_extension(ReplicaExtension))

    def process_item(self, item: Any) -> Any:
        """Return *item*.

        :raises DropItem: it repeats one.
        """
        repeats = self._extension.repeats.pop(item) if self._extension is not None else None
        if isinstance(item, PageItem) and "duplicate" in str(item.get("novelty")):
            repeats = str(item.get("repeats") or "another page")
        if repeats is not None:
            raise DropItem(f"it repeats what {repeats} gave", log_level="INFO")
        return item
