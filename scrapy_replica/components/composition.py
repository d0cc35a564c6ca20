"""What the add-on sets: every component, at the priority of add-ons, so that whatever the user set stays."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from scrapy import squeues
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_replica.bucket import is_url
from scrapy_replica.components.downloadermiddleware import (
    AnswerMiddleware,
    BorderMiddleware,
    ConditionMiddleware,
    ReplicaDownloaderMiddleware,
    WarcMiddleware,
)
from scrapy_replica.components.dupefilter import has_own_filter
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.fingerprinter import ReplicaFingerprinter
from scrapy_replica.components.outputmiddleware import EarlyOutputMiddleware, LateOutputMiddleware
from scrapy_replica.components.patience import PatienceMiddleware
from scrapy_replica.components.refused import refusing
from scrapy_replica.components.robots import CleanParamParser
from scrapy_replica.components.scheduler import ReplicaScheduler
from scrapy_replica.components.spidermiddleware import ReplicaSpiderMiddleware
from scrapy_replica.components.store import check_address
from scrapy_replica.components.takeover import ACTIVE
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.decision import Mode

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

ADDON_PRIORITY, COMMAND_PRIORITY = SETTINGS_PRIORITIES["addon"], SETTINGS_PRIORITIES["command"]

GATE_ORDER = 60
"""Before robots.txt (100), so that a URL that is not fetched asks for none; after the off-site filter (50)."""

BORDER_ORDER = 760
"""After proxies (750) are chosen; nearer to the downloader than retries (550): what is refused is not tried again."""

PATIENCE_ORDER = 555
"""Nearer to the downloader than Scrapy's retries (550), which would ask three times at once and give up."""

ANSWER_ORDER = 890
"""Nearer to the downloader than Scrapy's redirects (600), which make another request of a response, not as near as its
cache (900), whose answers no signal tells of."""

CONDITION_ORDER = 960
"""Nearer to the downloader than Scrapy's cache (900), which asks for what it holds in its own way, and keeps no 304."""

CANONICAL_ORDER = 1000
"""Nearest to the downloader: it sees what was sent and what came, before it is decompressed."""

OBSERVER_ORDER = 10
"""Nearest to the engine: it sees every response, error pages too."""

LATE_OUTPUT_ORDER, EARLY_OUTPUT_ORDER = 11, 950
"""One of them is in use: requests are judged as the other middlewares left them, or before Scrapy's (700 to 900)."""


QUEUES = (
    "SCHEDULER_PRIORITY_QUEUE",
    *(f"SCHEDULER_{queue}_QUEUE" for queue in ("MEMORY", "DISK", "START_MEMORY", "START_DISK")),
)
SAME = frozenset(
    {
        DownloaderAwarePriorityQueue,
        ScrapyPriorityQueue,
        squeues.FifoMemoryQueue,
        squeues.MarshalFifoDiskQueue,
        squeues.PickleFifoDiskQueue,
    }
)
"""Queues whose order is the add-on's, too."""


def compose(settings: BaseSettings, crawler: Crawler) -> None:
    """Set everything up for *crawler*.

    :raises RefusedError: a setting is wrong, or the JOBDIR cannot be made.
    """
    if not is_crawl(crawler):
        logger.debug("scrapy-replica: this is no crawl, the add-on and JOBDIR are left out")
        settings.set("JOBDIR", None, "cmdline")
        return
    with refusing():
        config = Config.from_settings(settings)
        if config.enabled:
            _check_job_dir(settings)
            _check_frontier(settings, config)
            _check_sharing(settings, config)
    if config.enabled:
        fallback = "REPLICA_FALLBACK_REQUEST_FINGERPRINTER_CLASS"
        _wrap(settings, "REQUEST_FINGERPRINTER_CLASS", ReplicaFingerprinter, fallback)
        _wrap(settings, "ROBOTSTXT_PARSER", CleanParamParser, "REPLICA_FALLBACK_ROBOTSTXT_PARSER")
        _set_scheduler(settings, config)
        _add_components(settings, config)


def is_crawl(crawler: Crawler) -> bool:
    """Tell whether *crawler* is meant to crawl; some commands of Scrapy look at single pages.

    ``scrapy shell`` applies the settings of a crawler that it never starts, with defaults of its own among them. The
    others start a spider whose ``start`` they put in place of its own.
    """
    if not crawler.crawling and _is_shell(crawler.settings):
        return False
    start = getattr(crawler.spidercls, "start", None)
    return not getattr(start, "__module__", "").startswith("scrapy.commands.")


def _is_shell(settings: BaseSettings) -> bool:
    # The shell brings itemadapter, which brings pydantic where it is installed: 100 ms that a crawl does not pay.
    from scrapy.commands.shell import Command  # noqa: PLC0415

    return any(settings.getpriority(name) == COMMAND_PRIORITY for name in Command.default_settings)


def _check_job_dir(settings: BaseSettings) -> None:
    """Make the JOBDIR.

    :raises ConfigError: it cannot be made or written to.
    """
    if is_url(settings["JOBDIR"]):
        raise ConfigError(f"JOBDIR: {settings['JOBDIR']} is no folder of this machine, which its database needs")
    try:
        folder = job_dir(settings)
        if folder is not None:
            TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigError(f"JOBDIR: cannot write to {settings['JOBDIR']}: {error.strerror}") from None


def _check_frontier(settings: BaseSettings, config: Config) -> None:
    """Refuse what takes a frontier of ours, and one that lasts.

    :raises ConfigError: there is no JOBDIR, or another scheduler is in use.
    """
    if config.revisit and not settings["JOBDIR"]:
        raise ConfigError("REPLICA_REVISIT: give the JOBDIR (--job) of the crawl whose pages are to be asked for again")
    for name in ("revisit", "stop_at", "crawldb"):
        if getattr(config, name) and _has_other_scheduler(settings):
            setting = f"REPLICA_{name.upper()}"
            raise ConfigError(f"{setting}: it takes the add-on's scheduler; leave SCHEDULER out of your settings")


def _check_sharing(settings: BaseSettings, config: Config) -> None:
    """Refuse what several processes cannot do together.

    :raises ValueError: the address is none, pages are to be asked for again, or another filter is in use.
    """
    if config.crawldb is None:
        return
    if config.revisit:
        raise ConfigError(
            "REPLICA_REVISIT: a crawl that processes share asks for no page again; leave REPLICA_CRAWLDB out"
        )
    if config.stop_at:
        raise ConfigError("REPLICA_STOP_AT: a crawl that processes share ends with its last URL; leave it out")
    if has_own_filter(settings):
        raise ConfigError("REPLICA_CRAWLDB: processes know together what was asked for; leave DUPEFILTER_CLASS out")
    if settings["JOBDIR"] and Path(settings["JOBDIR"], ACTIVE).exists():
        raise ConfigError(
            f"JOBDIR: requests of Scrapy's own scheduler wait in {settings['JOBDIR']}, which one process alone goes on "
            "with; leave REPLICA_CRAWLDB out, or give another JOBDIR"
        )
    check_address(config.crawldb, settings.getfloat("DOWNLOAD_DELAY"))


def _has_other_scheduler(settings: BaseSettings) -> bool:
    is_set = (settings.getpriority("SCHEDULER") or 0) >= ADDON_PRIORITY
    return is_set and load_object(settings["SCHEDULER"]) is not ReplicaScheduler


def _wrap(settings: BaseSettings, name: str, cls: type, fallback: str) -> None:
    """Set *cls* in place of what the setting *name* holds, which *cls* finds in the setting *fallback*."""
    previous = settings[name]
    if load_object(previous) is not cls:
        settings.set(fallback, previous, "addon")
        settings.set(name, cls, max(settings.getpriority(name) or 0, ADDON_PRIORITY))


def _set_scheduler(settings: BaseSettings, config: Config) -> None:
    has_no_topic = config.topic is None and config.topic_model is None and config.scorer is None
    changes_nothing = config.mode is Mode.OBSERVE and has_no_topic and config.strategy == Config.strategy
    changes_nothing = changes_nothing and not config.revisit and config.crawldb is None
    if not changes_nothing and (settings.getpriority("SCHEDULER") or 0) < ADDON_PRIORITY:
        settings.set("SCHEDULER", ReplicaScheduler, "addon")
        _tell_of_queues(settings)


def _tell_of_queues(settings: BaseSettings) -> None:
    """Tell the user of queues whose order does not hold."""
    chosen = [name for name in QUEUES if (settings.getpriority(name) or 0) > 0]
    others = [name for name in chosen if load_object(settings[name] or object) not in SAME]
    if others:
        logger.warning(
            "%s: the add-on has its own order (highest priority, best score, found first); "
            "set SCHEDULER to 'scrapy.core.scheduler.Scheduler' to keep that of your queues",
            ", ".join(others),
        )


def _add_components(settings: BaseSettings, config: Config) -> None:
    add = settings.setdefault_in_component_priority_dict
    add("EXTENSIONS", ReplicaExtension, 0)
    add("SPIDER_MIDDLEWARES", ReplicaSpiderMiddleware, OBSERVER_ORDER)
    add("SPIDER_MIDDLEWARES", LateOutputMiddleware, LATE_OUTPUT_ORDER)
    add("SPIDER_MIDDLEWARES", EarlyOutputMiddleware, EARLY_OUTPUT_ORDER)
    add("DOWNLOADER_MIDDLEWARES", ReplicaDownloaderMiddleware, GATE_ORDER)
    add("DOWNLOADER_MIDDLEWARES", PatienceMiddleware, PATIENCE_ORDER)
    add("DOWNLOADER_MIDDLEWARES", AnswerMiddleware, ANSWER_ORDER)
    if config.revisit:
        add("DOWNLOADER_MIDDLEWARES", ConditionMiddleware, CONDITION_ORDER)
    if not config.private_addresses:
        add("DOWNLOADER_MIDDLEWARES", BorderMiddleware, BORDER_ORDER)
    if config.warc is not None:
        add("DOWNLOADER_MIDDLEWARES", WarcMiddleware, CANONICAL_ORDER)
