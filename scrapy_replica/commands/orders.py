"""Orders that a person may give a crawl, by commands or from the control page."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands.job import is_running, name_of, ordering, reading
from scrapy_replica.commands.names import host_name, known_host, web_url
from scrapy_replica.crawl.topic.questions import check_page
from scrapy_replica.crawldb.orders import (
    ALLOW,
    BLOCK,
    DIFFERENT,
    DISABLE_RULE,
    EXCLUDE,
    MARK,
    PAUSE,
    RESUME,
    SEEDS,
    Order,
)
from scrapy_replica.urls.scope import Pattern
from scrapy_replica.words.terminal import wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

What = dict[str, Any]

ANSWERED_SECONDS = 2.0
"""A running crawl has answered by then; it looks for orders between two pages."""

LOOK_SECONDS = 0.1
LAST = 100
"""Orders given last among which the answer is looked for."""


def order(job: str, kind: str, what: Mapping[str, Any], told: str) -> int:
    """Give the crawl in the folder *job* an order, print what became of it, and return the exit code.

    *told* says what is so once it was carried out: ``b.example is blocked as a copy of a.example``.

    :raises ValueError: the job cannot be written, or the crawl answered that it cannot be done.
    """
    with ordering(job) as write:
        order_id = write(kind, what)
    if not is_running(job):
        _say(f"ordered, for no crawl has the job open; when it is next run: {told}")
        return 0
    answer = _answer(job, order_id)
    if answer is None or answer.is_open:
        _say(f"ordered; when the crawl is through with the page it is at: {told}")
    elif not answer.is_done:
        raise ValueError(str(answer.answer))
    else:
        _say(f"done: {told}{f'; {answer.answer}' if answer.answer else ''}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(wrapped(cleaned(text, 2_000), 0, 2) + "\n")


def _answer(job: str, order_id: int) -> Order | None:
    end = time.monotonic() + ANSWERED_SECONDS
    while True:
        with reading(job) as reader:
            found = next((one for one in reader.orders(LAST) if one.id == order_id), None)
        if found is None or not found.is_open or time.monotonic() > end:
            return found
        time.sleep(LOOK_SECONDS)


def give(job: str, kind: str, what: Mapping[str, Any]) -> tuple[int, str]:
    """Give the crawl of *job* an order; return the order's id and the command that does the same.

    :raises ValueError: there is no such order, it makes no sense, or it cannot be written: one line that says why.
    """
    if kind not in CHECKS:
        raise ValueError(f"there is no order {kind!r}")
    order = checked(job, kind, what)
    with ordering(job) as write:
        return write(kind, order), command_line(kind, order, name_of(job))


def checked(job: str, kind: str, what: Mapping[str, Any]) -> What:
    """Return what an order of that *kind* says, as the crawl of *job* takes it.

    :raises ValueError: it makes no sense, or speaks of hosts or pages that the job does not know.
    """
    order = CHECKS[kind](what)
    for host in (order.get(name) for name in ("host", "canonical", "other")):
        if host is not None:
            known_host(job, host)
    if kind == MARK:
        with reading(job) as reader:
            check_page(reader, order["url"])
    return order


def said(order: Order) -> str:
    """Return an order as its command says it, in short: ``block b.example --as a.example``."""
    try:
        told = " ".join(COMMANDS[order.kind](order.what, "")).replace(" --job ", "")
        return told.removeprefix("steer ")
    except (KeyError, TypeError):
        return order.kind  # somebody else wrote it


def command_line(kind: str, what: Mapping[str, Any], job: str) -> str:
    """Return the command that gives an order of that *kind*, as a line for a shell; empty where there is none.

    It is to be shown: secrets are blotted out of each argument, before it is quoted.
    """
    if kind not in COMMANDS:
        return ""
    try:
        return shlex.join(["scrapy", "replica", *map(redacted, COMMANDS[kind](what, job))])
    except (KeyError, TypeError):
        return ""  # somebody else wrote it


# What an order says, checked


def _host(what: Mapping[str, Any]) -> What:
    return {"host": host_name(_text(what, "host"))}


def _block(what: Mapping[str, Any]) -> What:
    told = {"host": host_name(_text(what, "host")), "canonical": host_name(_text(what, "canonical"))}
    if told["host"] == told["canonical"]:
        raise ValueError(f"{told['host']} cannot be a copy of itself; http and https of one host need no order")
    given = [name for name in ("copy_prefix", "canonical_prefix") if what.get(name)]
    return told | {name: prefix for name in given if (prefix := _text(what, name).strip("/"))}


def _different(what: Mapping[str, Any]) -> What:
    checked = _host(what) | {"other": host_name(_text(what, "other"))}
    if checked["host"] == checked["other"]:
        raise ValueError(f"{checked['host']} is one site with itself")
    return checked


def _rule(what: Mapping[str, Any]) -> What:
    if type(what.get("id")) is not int or not 0 < what["id"] < 1 << 63:
        raise ValueError("a rule is named by its number")
    return {"id": what["id"]}


def _seeds(what: Mapping[str, Any]) -> What:
    urls = what.get("urls")
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise ValueError("name at least one URL")
    return {"urls": [web_url(url) for url in urls]}


def _exclude(what: Mapping[str, Any]) -> What:
    return {"pattern": Pattern(_text(what, "pattern")).text}


def _mark(what: Mapping[str, Any]) -> What:
    return {"url": _text(what, "url"), "is_relevant": what.get("is_relevant") is True}


def _text(what: Mapping[str, Any], name: str) -> str:
    text = what.get(name)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"the {name} is missing")
    return text.strip()


CHECKS: dict[str, Callable[[Mapping[str, Any]], What]] = {
    BLOCK: _block,
    ALLOW: _host,
    DIFFERENT: _different,
    DISABLE_RULE: _rule,
    SEEDS: _seeds,
    EXCLUDE: _exclude,
    PAUSE: _host,
    RESUME: _host,
    MARK: _mark,
}
"""Kind of order -> what returns what it says, or raises ``ValueError`` in words."""


def _place(host: str, prefix: str | None) -> str:
    return f"{host}/{prefix}" if prefix else host


def _block_command(what: Mapping[str, Any], job: str) -> list[str]:
    copy, canonical = (
        _place(what["host"], what.get("copy_prefix")),
        _place(what["canonical"], what.get("canonical_prefix")),
    )
    return ["steer", "block", copy, "--as", canonical, "--job", job]


def _exclude_command(what: Mapping[str, Any], job: str) -> list[str]:
    return ["steer", "exclude", what["pattern"], *["--lift"] * bool(what.get("lift")), "--job", job]


COMMANDS: dict[str, Callable[[Mapping[str, Any], str], list[str]]] = {
    BLOCK: _block_command,
    ALLOW: lambda what, job: ["steer", "allow", what["host"], "--job", job],
    DIFFERENT: lambda what, job: ["steer", "allow", what["host"], "--beside", what["other"], "--job", job],
    DISABLE_RULE: lambda what, job: ["rules", "disable", str(what["id"]), "--job", job],
    SEEDS: lambda what, job: ["steer", "add", *what["urls"], "--job", job],
    EXCLUDE: _exclude_command,
    PAUSE: lambda what, job: ["steer", "pause", what["host"], "--job", job],
    RESUME: lambda what, job: ["steer", "resume", what["host"], "--job", job],
    MARK: lambda what, job: ["judge", job, "--yes" if what["is_relevant"] else "--no", what["url"]],
}
"""Kind of order -> arguments of the command that gives it to a job."""
