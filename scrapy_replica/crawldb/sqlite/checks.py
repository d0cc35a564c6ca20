"""The table of checks: URLs that waited and were drawn at random, to tell what the others would bring."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED

RECENT = 100
"""Checks that tell of what waits while there is something that nothing speaks against: what waits changes."""

_OUTCOMES = (
    "SELECT COUNT(*), COALESCE(SUM(pages.novelty = 'novel' AND (NOT ?1 OR pages.relevance > 0.5)), 0)"
    " FROM (SELECT url FROM checks WHERE end = ?2 OR ?2 = 0 ORDER BY id DESC LIMIT ?3) AS drawn"
    f" JOIN urls ON urls.id = drawn.url AND urls.state IN ({DONE}, {DROPPED})"
    " LEFT JOIN pages ON pages.url = drawn.url"
)


class CheckTable:
    """One row for each URL that was drawn."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def enter(self, url_id: int, end: int) -> None:
        """Write down that the URL of that id was drawn; *end* numbers the times that nothing but demoted URLs waited, 0
        while there is something else.
        """
        self._write("INSERT INTO checks (url, end) VALUES (?, ?)", (url_id, end))

    def last_end(self) -> tuple[int, bool]:
        """Return the number of the last time that nothing but demoted URLs waited, 0 if there was none, and whether the
        last check was of it.
        """
        row = self._read("SELECT end FROM checks ORDER BY id DESC LIMIT 1").fetchone()
        last = self._read("SELECT COALESCE(MAX(end), 0) FROM checks").fetchone()[0]
        return last, row is not None and 0 < row[0] == last

    def outcomes(self, end: int, *, is_topic: bool) -> tuple[int, int]:
        """Return the checks of an *end*, or with 0 the latest of any; and those that brought a content.

        :param is_topic: contents are those on the topic.
        """
        checked, news = self._read(_OUTCOMES, (is_topic, end, -1 if end else RECENT)).fetchone()
        return int(checked), int(news)

    def found(self, *, is_topic: bool) -> int:
        """Return the number of contents that were found, *is_topic*: on the topic."""
        sql = "SELECT COUNT(*) FROM pages WHERE novelty = 'novel' AND (NOT ? OR relevance > 0.5)"
        return int(self._read(sql, (is_topic,)).fetchone()[0])
