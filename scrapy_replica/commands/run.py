"""Running one crawl from a command."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import UsageError
from scrapy.utils.conf import feed_process_params_from_cli

from scrapy_replica.address import host_of, site_of
from scrapy_replica.commands import INTERRUPTED
from scrapy_replica.commands.command import say
from scrapy_replica.commands.job import is_begun, is_running, is_shared, name_of
from scrapy_replica.components.feeds import missing_package, other_fields, refusal
from scrapy_replica.components.meter import PageMeter
from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.components.shared_crawl import ALL
from scrapy_replica.components.spider import FIELDS, TopicSpider, read_fields
from scrapy_replica.config import Config
from scrapy_replica.focus.topic import words_of
from scrapy_replica.records import Reach
from scrapy_replica.urls.scope import Scope
from scrapy_replica.words.text import cleaned

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import Settings
    from scrapy.statscollectors import StatsCollector

SCOPE = ("scope", "include", "exclude", "languages", "host_pages", "sitemaps")
"""Arguments that are settings of the same name."""


SHOWN = 3
"""Places that are told where the crawl stays."""


def add_crawl_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command takes that crawls."""
    parser.add_argument(
        "--topic", help="some words, or examples: a folder, a file of URLs, or JSONL; see REPLICA_TOPIC"
    )
    parser.add_argument("--background", help="unlabelled pages in the same formats; see REPLICA_BACKGROUND")
    parser.add_argument(
        "--model", metavar="FILE", dest="topic_model", help="what another crawl has learnt, in place of --topic"
    )
    parser.add_argument("--strategy", help="order of the crawl, e.g. best-first; see REPLICA_STRATEGY")
    parser.add_argument("--mode", help="observe, demote or drop; see REPLICA_MODE")
    scope = parser.add_argument_group("scope")
    scope.add_argument(
        "--scope", choices=[reach.value for reach in Reach], help="stay on the seeds' hosts or domains, or go anywhere"
    )
    scope.add_argument("--domains", default="", help="stay in these domains, separated by commas")
    for name, verb in (("include", "fetch only"), ("exclude", "do not fetch")):
        scope.add_argument(
            f"--{name}", action="append", metavar="PATTERN", help=f"{verb} what matches, e.g. '*/docs/*'; repeatable"
        )
    scope.add_argument("--languages", metavar="A,B", help="follow no links of pages in others, e.g. en,de")
    scope.add_argument("--depth", type=int, metavar="N", help="stay within N links of the seeds (DEPTH_LIMIT)")
    scope.add_argument("--host-pages", type=int, metavar="N", help="fetch at most N pages of one host")
    scope.add_argument("--sitemaps", action="store_true", default=None, help="begin with the seeds' sitemaps as well")
    parser.add_argument("--job", metavar="DIR", help="keep the crawl here; the same command goes on where it was")
    parser.add_argument(
        "--revisit", action="store_true", help="ask again for what may have changed of the pages of the --job"
    )
    parser.add_argument(
        "--until", type=float, metavar="SHARE", help="stop when so much was found of what is within reach, e.g. 0.99"
    )
    parser.add_argument("--max-pages", type=int, metavar="N", help="stop after N pages (status 200)")
    parser.set_defaults(join=None)
    items = parser.add_argument_group("items")
    items.add_argument(
        "--fields", default="", metavar="A,B", help="what items hold, e.g. url,markdown; +links adds to the usual"
    )
    items.add_argument("--new-only", action="store_true", help="give no item of a page that repeats another one")
    output = items.add_mutually_exclusive_group()
    output.add_argument("-o", "--output", metavar="FILE", help="add the items to FILE (.jsonl, .csv, ...)")
    output.add_argument(
        "-O", "--overwrite-output", metavar="FILE", help="write the items to FILE in place of what it holds"
    )


def apply_arguments(opts: argparse.Namespace, settings: Settings) -> None:
    """Turn arguments into settings and check them all before anything runs.

    :raises ValueError: an argument or a setting is wrong.
    """
    for name in ("topic", "background", "topic_model", "strategy", "mode", *SCOPE):
        if getattr(opts, name) is not None:
            settings.set(f"REPLICA_{name.upper()}", getattr(opts, name), "cmdline")
    if opts.depth is not None:
        settings.set("DEPTH_LIMIT", opts.depth, "cmdline")
    if opts.job and is_shared(opts.job):
        raise ValueError(f"--job is a folder; give the address {name_of(opts.job)} to crawl --join")
    if opts.job:
        settings.set("JOBDIR", opts.job, "cmdline")
    if opts.join:
        settings.set("REPLICA_CRAWLDB", opts.join, "cmdline")
    if opts.revisit:
        if opts.join:
            raise ValueError("--revisit: a crawl that processes share asks for no page again; leave --join out")
        if not opts.job:
            raise ValueError("--revisit: give the --job whose pages are to be asked for again")
        settings.set("REPLICA_REVISIT", True, "cmdline")
    if opts.until is not None and not 0 < opts.until < 1:
        raise ValueError(f"--until is {opts.until:g}: give a share below 1, 0.95 for 95 %")
    if opts.until is not None:
        settings.set("REPLICA_STOP_AT", opts.until, "cmdline")
    if opts.output or opts.overwrite_output:
        settings.set("FEEDS", feeds(opts, settings), "cmdline")
    if opts.max_pages is not None and opts.max_pages < 1:
        raise ValueError(f"--max-pages is {opts.max_pages}: it must be at least 1; without it there is no limit")
    if opts.depth is not None and opts.depth < 1:
        raise ValueError(f"--depth is {opts.depth}: it must be at least 1")
    read_seeds(opts.seeds)
    read_fields(opts.fields)
    Scope(Config.from_settings(settings))


def feeds(opts: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Return the setting ``FEEDS`` that writes where ``-o`` or ``-O`` says, as ``scrapy crawl`` takes them.

    :raises ValueError: the format is unknown, or items that are there would be lost or spoilt.
    """
    output, overwrite = ([name] if name else [] for name in (opts.output, opts.overwrite_output))
    option = "-o" if output else "-O"
    if any(name.endswith((".parquet", ":parquet")) for name in (*output, *overwrite)):
        raise ValueError(
            f"{option}: no Parquet, which can be read only when it is whole: .jsonl, and DuckDB makes it of that"
        )
    try:
        found = feed_process_params_from_cli(settings, output, overwrite_output=overwrite)
    except UsageError as error:
        raise ValueError(f"{option}: {error}") from None
    fields = () if settings.get("FEED_EXPORT_FIELDS") else read_fields(opts.fields)
    for uri, options in found.items():
        why = missing_package(uri) or refusal(uri, options, is_resumed=_goes_on(opts))
        if why is None and fields:
            why = other_fields(uri, options, fields, FIELDS)
        if why is not None:
            raise ValueError(f"{option}: {why}")
    return found


def _goes_on(opts: argparse.Namespace) -> bool:
    """Tell whether items may have been brought before that the crawl does not bring again."""
    return bool(opts.join) or (bool(opts.job) and is_begun(opts.job))


class Run:
    """One finished crawl: its meter, statistics and exit code.

    :raises ValueError: a setting or file turned out wrong when the crawl was to start.
    """

    def __init__(self, opts: argparse.Namespace, settings: Settings) -> None:
        process = AsyncCrawlerProcess(settings)
        self.crawler = process.create_crawler(TopicSpider)
        self.meter = PageMeter(self.crawler, opts.max_pages or 0)
        self._words = topic_in_words(Config.from_settings(settings))
        self._border = border_of(Config.from_settings(settings), opts.seeds)
        self.crawler.signals.connect(self._opened, signals.spider_opened)
        _in_one_line()
        undo = undoing(settings.get("JOBDIR"))
        told = {"fields": opts.fields, "new_only": opts.new_only}
        task = process.crawl(self.crawler, seeds=opts.seeds, domains=opts.domains, **told)
        process.start()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # Scrapy leaves one that asks its crawls to stop
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, ValueError):
                undo()
                raise ValueError(str(error).replace("another JOBDIR", "another --job")) from error
            raise error
        stats: StatsCollector | None = self.crawler.stats
        self.stats: dict[str, Any] = stats.get_stats() if stats is not None else {}
        self.exit_code = self._exit_code()

    def _opened(self) -> None:
        if self._border is not None:
            say(self._border)
        if self._words:
            say(f"looking for pages about: {cleaned(self._words, 200)}")

    def _exit_code(self) -> int:
        by_reason = {"shutdown": INTERRUPTED, "no_topic": 2, "crawl_database": 1, "output": 1}
        reason = self.stats.get("finish_reason")
        if reason in by_reason:
            return by_reason[reason]
        is_fruitless = self.meter.is_fruitless and not self.stats.get(f"{ALL}page/observed")
        if is_fruitless:
            say("no seed was answered with a page")
        is_lost = any(key.startswith("feedexport/failed_count/") for key in self.stats)
        if is_lost:
            say(
                "the items of this run could not be stored, as told above, and a job does not bring them again: crawl "
                "with another --job, and -o with a file of this machine"
            )
        return int(is_fruitless or is_lost or bool(self.stats.get("replica/warc/left")))

    def figures(self) -> dict[str, float]:
        """Return what every crawl can tell of itself."""
        rate = {"false_drop_rate": self.stats.get("replica/sample/false_drop_rate", 0.0)}
        for end in ("low", "high"):
            value = self.stats.get(f"replica/sample/false_drop_rate_{end}")
            if value is not None:
                rate[f"false_drop_rate_{end}"] = value
        counted = {
            key.removeprefix("replica/").replace("/", "."): count
            for key, count in sorted(self.stats.items())
            if key.startswith(("replica/decision/", "replica/scope/", "replica/revisit/"))
        }
        return {
            "wall_s": round(self.meter.seconds, 3),
            "cpu_ms_per_page": round(1000 * self.meter.cpu_seconds / max(1, len(self.meter.urls)), 4),
            **memory_figures(),
            "samples": self.stats.get("replica/sample/settled", 0),
            **rate,
            **counted,
        }


def undoing(job: str | None) -> Callable[[], None]:
    """Return what takes a job away that a crawl made and could not begin; what was there before stays."""
    folder = Path(job or "")
    if job is None or is_begun(job):
        return lambda: None
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    there = set(folder.glob("replica.*"))

    def undo() -> None:
        if is_running(job):
            return  # in another terminal, which began it meanwhile
        for path in set(folder.glob("replica.*")) - there:
            path.unlink()
        for path in made:
            with suppress(OSError):  # something else is in it
                path.rmdir()

    return undo


def _in_one_line() -> None:
    """Let what cannot be downloaded be told in one line, without the trace of the calls that tried."""
    for name in ("scrapy.core.scraper", "scrapy.downloadermiddlewares.robotstxt"):
        logging.getLogger(name).addFilter(without_trace)
    logging.getLogger("scrapy.downloadermiddlewares.retry").addFilter(_is_told_once)


def _is_told_once(record: logging.LogRecord) -> bool:
    """Leave out that a request is given up, which the scraper tells as well."""
    return record.levelno < logging.ERROR


def without_trace(record: logging.LogRecord) -> bool:
    """Take the trace off what says that a download failed, and leave out that a robots.txt cannot be had."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    # The message as it is written in the code: an item that is told in it may have no words, or too many.
    if not str(record.msg).startswith("Error downloading "):
        return True  # of a callback
    if isinstance(error, OSError) or type(error).__module__.startswith(("scrapy.exceptions", "twisted.")):
        if record.name.endswith("robotstxt"):
            return False  # that the page cannot be had either is told next
        record.msg, record.args = f"{record.getMessage()}: {cleaned(str(error), 300)}", ()
        record.exc_info = None
    return True


def border_of(config: Config, seeds: str) -> str | None:
    """Return where a crawl from *seeds* stays, in words; ``None`` where it may go anywhere."""
    if config.scope is Reach.ANY or not config.enabled:
        return None
    near = site_of if config.scope is Reach.DOMAINS else str
    places = sorted({near(host_of(url)) for url in read_seeds(seeds)} - {""})
    more = f" and {len(places) - SHOWN:,} more" if len(places) > SHOWN else ""
    told = cleaned(", ".join(places[:SHOWN])) or "the seeds, which are files"
    return f"staying on {told}{more} (--scope any goes anywhere)"


def topic_in_words(config: Config) -> str:
    """Return the topic if it is given in words; empty where it is given by examples, or there is none."""
    return words_of(config.topic) if config.topic is not None else ""


def memory_figures() -> dict[str, float]:
    """Return the most memory that the process had; empty on Windows, which does not tell."""
    if sys.platform == "win32":
        return {}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"max_rss_mb": round(most / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)}
