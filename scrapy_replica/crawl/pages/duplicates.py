"""Whether a page is new: exact and near duplicates among the pages fetched before."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawldb.pages import Judgement, PageRow, PageTable
from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.pages.collection import Collection
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.records import Novelty, Page


class Duplicates:
    """Finds the page that a page repeats."""

    def __init__(self, pages: PageTable, config: Config) -> None:
        self._pages, self._config = pages, config
        self.index = NearDuplicates()
        """The simhashes of all pages."""
        if len(simhashes := pages.simhashes()):
            self.index.extend(simhashes)
        self._collection = _collection(config)

    def add(self, page: Page) -> None:
        if page.simhash is not None:
            self.index.add(page.simhash)

    def is_collected(self, page: Page, novelty: Novelty) -> bool:
        """Tell whether *page*, which is new to the crawl, is in the collection that is known."""
        return novelty is Novelty.NOVEL and self._collection is not None and self._collection.has(page)

    def is_news(self, page: Page, novelty: Novelty) -> bool | None:
        """Tell whether *page* is worth a fetch for the budgets; ``None`` where its text is too short to tell.

        A document that is no HTML is known by its bytes, and new unless they were seen.
        """
        if novelty is not Novelty.UNKNOWN:
            return novelty is Novelty.NOVEL
        if page.is_html:
            return None
        return page.signature is not None and not self._pages.by_signature(page.signature, 1)

    def find_twin(self, page: Page, url_id: int, before: Judgement | None) -> tuple[Novelty, PageRow | None]:
        """Say what *page* is beside the pages before it, and which one it repeats.

        A page that is fetched again, because the crawl was killed meanwhile, is what it was *before*: others that came
        after it may repeat it by now, and of two pages that repeat each other nobody would follow the links.
        """
        if before is not None and before[0] == page.signature:
            return Novelty(before[1]), before[2]
        if page.signature is None or page.words < self._config.min_words:
            return Novelty.UNKNOWN, None
        if page.simhash is None or page.simhash in self.index:  # a text that nobody has is not looked for
            twin = self._twin(page, url_id, self._pages.by_signature(page.signature))
            if twin is not None:
                return Novelty.EXACT_DUPLICATE, twin
        if page.simhash is not None:
            for simhash in self.index.query(page.simhash, self._config.near_distance):
                twin = self._twin(page, url_id, self._pages.by_simhash(simhash))
                if twin is not None:
                    return Novelty.NEAR_DUPLICATE, twin
        return Novelty.NOVEL, None

    @staticmethod
    def _twin(page: Page, url_id: int, candidates: Sequence[PageRow]) -> PageRow | None:
        """Return the first candidate that *page* repeats.

        Within one host equal text is weak evidence (Henzinger 2006: simhash precision .50, and worse within a site),
        so the title must be equal as well, and of an equal text what the page says beside it: shells have one text.
        """
        beside = hash_of_beside(page)
        for row in candidates:
            if row.url_id == url_id or row.url == page.url:
                continue
            is_shell = row.signature == page.signature and row.beside != beside
            if row.host != page.host or (row.title == page.title and not is_shell):
                return row
        return None


def _collection(config: Config) -> Collection | None:
    """Return the collection of ``REPLICA_KNOWN``, if there is one.

    :raises ConfigError: its file cannot be used.
    """
    if config.known is None:
        return None
    try:
        collection = Collection(config.known)
    except (OSError, ValueError) as error:
        told = f"{config.known} cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise ConfigError(f"REPLICA_KNOWN: {told}") from None
    if collection.noise != config.noise.value:
        made = f"was made with REPLICA_NOISE = {collection.noise}, and the crawl has {config.noise.value}"
        raise ConfigError(f"REPLICA_KNOWN: {config.known} {made}: texts compare where both are equal")
    return collection
