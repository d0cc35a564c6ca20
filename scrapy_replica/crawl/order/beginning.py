"""What a job began with and goes on with: a model or a topic, and the order that follows from it."""

from __future__ import annotations

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.order.recipe import MODEL, RECIPE
from scrapy_replica.crawl.topic.relevance import CrawlRelevance
from scrapy_replica.crawldb.contract import RELEVANCE, CrawlDB
from scrapy_replica.focus import strategies
from scrapy_replica.focus.model_file import load
from scrapy_replica.focus.topic import words_of

WITH_TOPIC, WITHOUT_TOPIC = "link-aware", "breadth-first"
"""What ``auto`` stands for."""

WORDS = "topic in words"
"""Key of the topic, where it was given in words."""


def order_of(config: Config, *, has_model: bool) -> str:
    """Return the name of the strategy in use.

    :raises ConfigError: there is none of that name, or it needs a topic.
    """
    has_topic = config.topic is not None or has_model or config.scorer is not None
    name = config.strategy
    if name == "auto":
        name = WITH_TOPIC if has_topic else WITHOUT_TOPIC
    try:
        needs_topic = strategies.named(name).needs_topic
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if needs_topic and not has_topic:
        raise ConfigError(
            f"REPLICA_STRATEGY is {name}, which needs a topic: set REPLICA_TOPIC (--topic), or choose breadth-first"
        )
    return name


def model_of(config: Config, db: CrawlDB, relevance: CrawlRelevance) -> bytes | None:
    """Return the file of the model that the job began with; a new job's *relevance* is that of the model.

    :raises ConfigError: the job began otherwise, or the file is none.
    """
    file = db.meta(MODEL)
    for setting, value in (("REPLICA_TOPIC", config.topic), ("REPLICA_BACKGROUND", config.background)):
        if value is not None and file is not None:
            raise ConfigError(f"{setting}: the crawl began with a model, which holds its topic; leave {setting} out")
        if value is not None and config.topic_model is not None:
            raise ConfigError(f"{setting} and REPLICA_TOPIC_MODEL (--model) are both set, and a model holds a topic")
    if config.topic_model is None or file is not None:
        return file
    if db.meta(RECIPE) is not None:
        raise ConfigError("REPLICA_TOPIC_MODEL: the crawl began without a model; give another JOBDIR")
    try:
        file = config.topic_model.read_bytes()
        relevance.take(load(file).relevance)
    except (ValueError, OSError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"REPLICA_TOPIC_MODEL: {config.topic_model}: {told}") from None
    return file


def check_words(config: Config, db: CrawlDB) -> None:
    """Refuse a topic in other words than those that the job began with.

    :raises ConfigError: these are others.
    """
    if config.topic is None:
        return
    words, kept = words_of(config.topic), db.meta(WORDS)
    if kept is None and db.meta(RELEVANCE) is None:
        db.set_meta(WORDS, words.encode())
    elif words != (before := (kept or b"").decode()):
        told = f"the words {before!r}" if before else "examples"
        raise ConfigError(f"REPLICA_TOPIC: the crawl began with {told}; give these, or another JOBDIR")
