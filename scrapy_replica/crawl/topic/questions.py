"""What a person is asked about the pages of a job, beside its crawl or after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_replica.address import redacted
from scrapy_replica.crawl.order.recipe import MODEL, relevance_model
from scrapy_replica.crawldb.contract import RELEVANCE
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.focus.active_learning import Candidate, most_telling
from scrapy_replica.focus.links import finite
from scrapy_replica.words.text import cleaned, excerpt

if TYPE_CHECKING:
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

MOST_ORDERS = 10_000
"""Orders given last among which the marks are looked for that the crawl has not seen yet."""
READ = 420
"""Characters of the main text that are shown: six lines of a terminal."""


class ShownPage(NamedTuple):
    """A page as it is shown; its title and text are cleaned, its URL is as the crawl knows it."""

    url: str
    host: str
    title: str
    relevance: float
    """By the model as it is now, 0..1."""
    excerpt: str
    """Beginning of the main text."""


def asked_about(job: SqliteReader, most: int) -> list[ShownPage]:
    """Return the pages, at most so many, of which it teaches most to hear whether they are on the topic.

    :raises ValueError: the crawl has no topic that it could learn.
    """
    check_topic(job)
    model = relevance_model(job)
    said = {mark.url for mark in job.texts.marks()} | _open_marks(job)
    questions = {one.url: one for one in job.texts.questions() if one.url not in said}
    candidates = [
        Candidate(one.url, one.host, finite(model.relevance(one.terms)), one.terms) for one in questions.values()
    ]
    return [
        ShownPage(
            page.url,
            page.host,
            cleaned(questions[page.url].title or ""),
            page.relevance,
            excerpt(questions[page.url].excerpt, READ),
        )
        for page in most_telling(candidates, most)
    ]


def check_topic(job: SqliteReader) -> None:
    """Raise ``ValueError`` where the crawl of *job* has no topic that it could learn from a person's marks."""
    if job.meta(MODEL) is not None:
        raise ValueError("that crawl began with a model, and has no examples to learn its topic from again")
    if job.meta(RELEVANCE) is None:
        raise ValueError("that crawl has no topic to learn; begin one with --topic, examples of what you want")


def check_page(job: SqliteReader, url: str) -> None:
    """Raise ``ValueError`` where the crawl cannot learn from a mark of the page at *url*, as the crawl writes it."""
    check_topic(job)
    if not (job.texts.terms_at(url) or job.visits.terms_of(url)):
        raise ValueError(f"{redacted(url)}: the crawl has no text of that page, or keeps it no more; nothing is marked")


def _open_marks(job: SqliteReader) -> set[str]:
    """Return the pages of which something was said that the crawl has not seen yet."""
    marks = [order.what for order in job.orders(MOST_ORDERS) if order.is_open and order.kind == MARK]
    return {url for mark in marks if isinstance(url := mark.get("url"), str)}
