"""Pages that a person may be asked about: those of which the relevance model is least sure."""

from __future__ import annotations

from collections import Counter

from scrapy_replica.crawl.topic.relevance import CrawlRelevance
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.texts import Text
from scrapy_replica.focus.active_learning import uncertainty
from scrapy_replica.records import Page
from scrapy_replica.words.text import excerpt

MOST, MOST_OF_HOST = 1_000, 100
"""Texts kept, some 1.5 kB each, and of one host."""
EXCERPT = 1_000
"""Characters of the main text that are kept to be read."""
REJUDGED = 50
"""Texts judged anew after a page, in 5 ms, when there is another model."""


class ActiveLearning:
    """Keeps the texts of the pages that are most uncertain by the model of the day, in the crawl database."""

    def __init__(self, db: CrawlDB, relevance: CrawlRelevance) -> None:
        self._texts, self._relevance = db.texts, relevance
        self._version, self._next = relevance.version, 0
        self.read_again()

    def read_again(self) -> None:
        """Read what is kept: a page that was told was taken back in the crawl database."""
        kept = self._texts.kept()
        self._worths = {row.url_id: row.worth for row in kept}
        self._hosts = {row.url_id: row.host for row in kept}
        self._of_host = Counter(self._hosts.values())
        self._least: dict[str | None, int] = {}
        """Id of the text of a host, or of all, that is worth least, as far as it was asked for since any changed."""

    def add(self, page: Page, url_id: int, relevance: float) -> None:
        """Keep the text of a *page* of that *relevance*, if an answer would teach more than that to another one."""
        worth = uncertainty(relevance)
        if not self._relevance.is_learnt or not page.terms:
            return
        is_host_full = self._of_host[page.host] >= MOST_OF_HOST
        is_full = is_host_full or len(self._worths) >= MOST
        if is_full and not self._make_room(worth, page.host if is_host_full else None):
            return
        self._texts.enter(Text(url_id, worth, excerpt(page.text, EXCERPT), page.terms))
        self._worths[url_id], self._hosts[url_id] = worth, page.host
        self._of_host[page.host] += 1
        self._least.clear()

    def _make_room(self, worth: float, host: str | None) -> bool:
        """Drop the text that is worth least, of *host* if it is given; ``False`` where none is worth less."""
        if host not in self._least:
            ones = self._worths if host is None else [one for one in self._worths if self._hosts[one] == host]
            self._least[host] = min(ones, key=self._worths.__getitem__)
        least = self._least[host]
        if self._worths[least] >= worth:
            return False
        self._texts.drop([least])
        self._of_host[self._hosts.pop(least)] -= 1
        del self._worths[least]
        return True

    @property
    def has_work(self) -> bool:
        """Whether texts are still to be judged by the model of the day."""
        return bool(self._next) or self._version != self._relevance.version

    def work(self) -> None:
        """Judge some of the texts anew, where the model is another one since; called once a page."""
        if self._version != self._relevance.version:
            self._version, self._next = self._relevance.version, 1
        if not self._next:
            return
        texts = self._texts.after(self._next - 1, REJUDGED)
        worths = {text.url_id: uncertainty(self._relevance.of_terms(text.terms)) for text in texts}
        self._texts.set_worths(list(worths.items()))
        # Other processes of the crawl may have kept texts that are not known here yet.
        self._worths.update((url_id, worth) for url_id, worth in worths.items() if url_id in self._hosts)
        self._next = texts[-1].url_id + 1 if len(texts) == REJUDGED else 0
        self._least.clear()
