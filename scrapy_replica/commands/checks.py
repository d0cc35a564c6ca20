"""What ``scrapy replica doctor`` looks at: installation, settings and job."""

from __future__ import annotations

import platform
import shutil
import sqlite3
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from packaging.requirements import Requirement
from scrapy.utils.misc import load_object

from scrapy_replica.addon import Addon
from scrapy_replica.commands.crawl import POLITE
from scrapy_replica.commands.job import checking, database_path, is_running, is_shared, name_of, reading
from scrapy_replica.components.refused import one_line
from scrapy_replica.components.scheduler import ReplicaScheduler
from scrapy_replica.components.slots import CONCURRENCY, DELAY
from scrapy_replica.components.topic import read_examples
from scrapy_replica.config import Config
from scrapy_replica.crawldb.contract import State
from scrapy_replica.focus.background import Background
from scrapy_replica.words.terminal import counted
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import Settings

OK, LOOK, BROKEN = "ok", "look here", "broken"
"""Nothing to do; it works, and may not be what is wanted; it does not work."""

TESTED_SCRAPY = ("2.18", "2.19")
"""Releases of Scrapy that the tests run on."""

LEAST_SQLITE = (3, 35)
"""Version of SQLite that has ``RETURNING``."""

EXTRAS = {
    "warc": "rehearse, lab crawl and crawl --warc",
    "lab": "lab",
    "report": "report, serve and plots",
    "parquet": "export --format parquet",
    "wacz": "export wacz",
    "bucket": "crawl --warc, export and report to s3://, gs:// and other URLs",
    "mine": "mine",
    "spark": "mine on Spark",
    "redis": "crawls of several processes, REPLICA_CRAWLDB",
}
"""What extras are for; those of developers are left out."""

BUSY = 4
"""Requests to a host at once that few sites bear without a delay."""

CHECK_SECONDS = 20.0
"""Time for reading a job."""

NAMED = 'USER_AGENT = "my crawl (+https://example.org/contact)" says whom to ask'

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Check(NamedTuple):
    """One thing that was looked at."""

    area: str
    state: str
    """:data:`OK`, :data:`LOOK` or :data:`BROKEN`."""
    what: str
    todo: str = ""
    """What to do, where there is something to do."""


# Installation


def of_installation() -> Iterator[Check]:
    area = "installation"
    versions = f"scrapy-replica {version('scrapy-replica')}, Scrapy {version('scrapy')}"
    versions += f", Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    if version("scrapy").rpartition(".")[0] in TESTED_SCRAPY:
        yield Check(area, OK, versions)
    else:
        yield Check(area, LOOK, versions, f"it is tested with Scrapy {' and '.join(TESTED_SCRAPY)}")
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        yield Check(area, BROKEN, f"SQLite is older than {least}", "install a Python that brings a newer one")
    wanted = [Requirement(line) for line in requires("scrapy-replica") or ()]
    missing = [told for need in wanted if need.marker is None and (told := lacks(need))]
    if missing:
        yield Check(area, BROKEN, "; ".join(missing), "pip install --upgrade scrapy-replica")
    for extra in metadata("scrapy-replica").get_all("Provides-Extra") or ():
        if extra in EXTRAS:
            own = [need for need in wanted if need.marker is not None and f'"{extra}"' in str(need.marker)]
            yield _of_extra(area, extra, own)


def _of_extra(area: str, extra: str, needs: list[Requirement]) -> Check:
    missing = [told for need in needs if (told := lacks(need))]
    install = f"pip install 'scrapy-replica[{extra}]'"
    if not missing:
        return Check(area, OK, f"extra {extra}, for {EXTRAS[extra]}")
    # A part may be there for another package, as aiohttp is with some releases of Scrapy.
    if all(told.endswith(" is missing") for told in missing):
        return Check(area, OK, f"extra {extra} is not installed; it is for {EXTRAS[extra]}: {install}")
    return Check(area, LOOK, f"extra {extra}, for {EXTRAS[extra]}, is there in part: {'; '.join(missing)}", install)


def lacks(need: Requirement) -> str:
    """Return what is wrong with an installed package, or that it is missing; empty if it is as needed."""
    try:
        found = version(need.name)
    except PackageNotFoundError:
        return f"{need.name} is missing"
    return "" if need.specifier.contains(found, prereleases=True) else f"{need.name} {found} is not {need.specifier}"


# Settings


def of_settings(settings: Settings, *, has_project: bool, has_job: bool) -> Iterator[Check]:
    """Look at the settings that a crawl would have, of the project or, without one, of ``scrapy replica crawl``."""
    area = "settings" if has_project else "settings of scrapy replica crawl (there is no project here)"
    try:
        config = Config.from_settings(settings)
    except ValueError as error:
        yield Check(area, BROKEN, one_line(error), "correct it; no crawl begins with it")
        return
    if not has_project:
        settings.setdict(POLITE, "command")
    else:
        yield _of_addon(area, settings, config)
    if config.topic is not None or not has_job:  # a job has its own
        yield from _of_topic(area, config)
    yield from _of_manners(area, settings)
    if has_project and not has_job and not settings.get("JOBDIR"):
        todo = "scrapy crawl NAME -s JOBDIR=jobs/NAME keeps it; a job belongs to one spider"
        yield Check(area, LOOK, "JOBDIR is not set: what a crawl knows is lost with its process", todo)


def _of_addon(area: str, settings: Settings, config: Config) -> Check:
    if Addon not in map(load_object, settings.getdict("ADDONS")):
        todo = 'ADDONS = {"scrapy_replica.Addon": 500} in settings.py puts it to use'
        return Check(area, LOOK, "the add-on is not in ADDONS: scrapy crawl runs without it", todo)
    if not config.enabled:
        return Check(area, LOOK, "REPLICA_ENABLED is False: scrapy crawl runs without the add-on")
    if settings.getpriority("SCHEDULER") and load_object(settings["SCHEDULER"]) is not ReplicaScheduler:
        told = f"another SCHEDULER is in use ({settings['SCHEDULER']}): no order by topic, and nothing comes back"
        return Check(area, LOOK, told, "take SCHEDULER out of the settings, unless it is wanted")
    return Check(area, OK, f"the add-on is in ADDONS; REPLICA_MODE is {config.mode.value}")


def _of_topic(area: str, config: Config) -> Iterator[Check]:
    if config.topic is None:
        if config.topic_model is None:
            yield Check(
                area, OK, "no REPLICA_TOPIC: without --topic pages are fetched in the order in which they are found"
            )
        return
    try:
        topic, background = read_examples(config)
        if not (background or topic.background):
            Background.shipped(config.default_language)
    except (ValueError, OSError) as error:
        yield Check(area, BROKEN, one_line(error), "correct it; no crawl begins with it")
        return
    if topic.words:
        yield Check(area, OK, f"REPLICA_TOPIC is in words: {cleaned(topic.words)}")
        return
    examples = len(topic.positives) + len(topic.urls)
    yield Check(area, OK, f"REPLICA_TOPIC has {counted(examples, 'example')}, {len(topic.urls)} of them by URL")


def _of_manners(area: str, settings: Settings) -> Iterator[Check]:
    """Look at what the sites feel."""
    if settings.getbool("ROBOTSTXT_OBEY"):
        yield Check(area, OK, "robots.txt is obeyed")
    else:
        yield Check(area, LOOK, "ROBOTSTXT_OBEY is False: robots.txt is not asked", "set it to True")
    delay, at_once = settings.getfloat(DELAY), settings.getint(CONCURRENCY)
    pace = f"{counted(at_once, 'request')} to a host at once, {delay:g} s between two"
    is_hasty = at_once > BUSY and not delay and not settings.getbool("AUTOTHROTTLE_ENABLED")
    yield Check(area, LOOK if is_hasty else OK, pace, "set DOWNLOAD_DELAY or AUTOTHROTTLE_ENABLED" if is_hasty else "")
    if "+https://scrapy.org" in (settings.get("USER_AGENT") or ""):
        yield Check(area, LOOK, "USER_AGENT is Scrapy's own: no site can tell who crawls", NAMED)


# Job


def of_job(job: str) -> Iterator[Check]:
    """Look at *job*."""
    area = f"job {name_of(job)}"
    try:
        with reading(job) as reader:
            status = reader.status(None, 0)
    except (ValueError, OSError) as error:
        yield Check(area, BROKEN, one_line(error))
        return
    waiting, fetched = (status.urls.get(state, 0) for state in (State.WAITING, State.DONE))
    runs = "a crawl has it open" if is_running(job) else "no crawl has it open"
    yield Check(area, OK, f"spider {status.spider}: {fetched:,} URLs fetched, {waiting:,} wait; {runs}")
    if not is_shared(job):
        yield _of_file(area, job)
        yield _of_disk(area, database_path(job))


def _of_file(area: str, job: str) -> Check:
    wrong, is_whole = checking(job, CHECK_SECONDS)
    if wrong is not None:
        todo = f"end its crawl; scrapy replica doctor {job} --salvage NEWJOB reads what can be read"
        return Check(area, BROKEN, f"its file is damaged ({wrong})", todo)
    if not is_whole:
        return Check(area, OK, f"no damage in what was read of its file within {CHECK_SECONDS:.0f} s")
    return Check(area, OK, "its file is whole")


def _of_disk(area: str, path: Path) -> Check:
    size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
    free = shutil.disk_usage(path.parent).free
    taken = f"{size / MIB:,.0f} MiB" if size >= MIB else f"{size / KIB:,.0f} KiB"
    told = f"it takes {taken}, and {free / GIB:,.1f} GiB of its disk are free"
    if free < GIB / 10:
        return Check(area, BROKEN, told, "make room; a crawl stops when the disk is full")
    if free < min(GIB, max(size, GIB / 2)):
        return Check(area, LOOK, told, "make room before it goes on")
    return Check(area, OK, told)
