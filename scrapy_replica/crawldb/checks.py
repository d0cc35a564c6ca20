"""The table of checks: URLs that waited and were drawn at random, to tell what the others would bring."""

from __future__ import annotations

from scrapy_replica.coverage import RECENT
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED
from scrapy_replica.crawldb.sqlite.table import Table

_IS_CONTENT = "(pages.novelty <> 'exact-duplicate' OR pages.is_news) AND (NOT ?1 OR pages.relevance > 0.5)"
_OUTCOMES = (
    f"SELECT COUNT(*), COALESCE(SUM({_IS_CONTENT}), 0)"
    " FROM (SELECT url FROM checks WHERE end = ?2 AND id > ?3 ORDER BY id DESC LIMIT ?4) AS drawn"
    f" JOIN urls ON urls.id = drawn.url AND urls.state IN ({DONE}, {DROPPED})"
    " LEFT JOIN pages ON pages.url = drawn.url"
)


class CheckTable(Table):
    """One row for each URL that was drawn."""

    def enter(self, url_id: int, end: int) -> None:
        """Write down that the URL of that id was drawn; *end* numbers the times that nothing new came any more, 0 where
        something did.
        """
        self._write("INSERT INTO checks (url, end) VALUES (?, ?)", (url_id, end))

    def last_end(self) -> int:
        return self._number("SELECT COALESCE(MAX(end), 0) FROM checks")

    def is_end(self) -> bool:
        """Tell whether the last check was drawn at an end."""
        return bool(self._cell("SELECT end FROM checks ORDER BY id DESC LIMIT 1"))

    def outcomes(self, *, is_topic: bool) -> tuple[int, int]:
        """Return how many of the latest checks are told, and how many of them brought a content.

        The latest are those of the end where the last one was of an end, none if it is over, else those since the last
        end, at most :data:`RECENT`.

        :param is_topic: contents are those on the topic.
        """
        end, last = self._cell("SELECT end FROM checks ORDER BY id DESC LIMIT 1") or 0, self.last_end()
        since = 0 if end or not last else self._cell("SELECT MAX(id) FROM checks WHERE end = ?", last)
        checked, news = self._read(_OUTCOMES, (is_topic, end, since, -1 if end else RECENT)).fetchone()
        return (0, 0) if end and news else (int(checked), int(news))

    def found(self, *, is_topic: bool) -> int:
        """Return the number of contents that were found, *is_topic*: on the topic."""
        return self._number(f"SELECT COUNT(*) FROM pages WHERE {_IS_CONTENT}", is_topic)
