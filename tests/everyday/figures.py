"""What a crawl of an ordinary site cost: figures of one site, and the table of all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from hostile.scenario import Crawled, Outcome, outcomes_of

from everyday.site import MODES, Site

SHARES = (0.5, 0.95, 1.0)
"""Shares of the contents after which requests are counted."""
MOST, SPARE = 1.03, 5
"""Requests for each of plain Scrapy's that the add-on may make, and requests besides."""
COLUMNS = ("site", "plain", "ours", "oracle", "lost", "saved", "drop", "50 %", "95 %", "100 %", "CPU")
WIDTHS = (19, 6, 6, 7, 5, 6, 6, 6, 6, 6, 5)
SPIDERS = {
    "ordinary": "Ordinary spider: a LinkExtractor, a Request for each link.",
    "crawl-spider": "CrawlSpider with a callback for lists and one for items.",
    "topic": "TopicSpider, without a topic.",
}
LEGEND = """plain, ours: requests of plain Scrapy and of the add-on in demote; oracle: each
content once, and redirects that are the only way to one; lost: contents that
plain Scrapy found and the add-on did not, in any mode; saved, drop: the share
of plain's surplus over the oracle that is saved, in demote and in drop; 50, 95,
100 %: requests to that share of the contents, 1 being as many as plain Scrapy;
CPU: of the whole crawl, 1 being plain Scrapy's."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What the crawls of one site cost with one spider."""

    site: str
    contents: int
    plain: int
    """Requests of plain Scrapy."""
    ours: int
    """Requests in ``demote``."""
    oracle: int
    """Requests that are needed: each content once, and redirects that are the only way to one."""
    lost: int
    """Contents that plain Scrapy found and the add-on did not, in the mode that lost most."""
    saved: float | None
    """The share of what plain Scrapy fetches beyond the oracle's that is saved in ``demote``; None: there is none."""
    saved_in_drop: float | None
    reached: tuple[float, ...]
    """Requests in ``demote`` until :data:`SHARES` of the contents were found, to those of plain Scrapy."""
    cpu: float
    """CPU time of the crawl in ``demote`` to that of plain Scrapy."""

    @property
    def cells(self) -> tuple[str, ...]:
        ratios = [self.saved, self.saved_in_drop, *self.reached]
        counts = map(str, (self.plain, self.ours, self.oracle, self.lost))
        return self.site, *counts, *map(ratio, ratios), f"{self.cpu:.1f}"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def lost_of(outcome: Outcome) -> set[str]:
    """Return the contents that were lost, as pages or as items."""
    return {key.removeprefix("item ") for key in outcome.lost}


def oracle_of(plain: Crawled) -> int:
    """Return how many requests bring each content once."""
    return len({asked.key for asked in plain.asked} - {""}) + len({asked.way for asked in plain.asked} - {""})


def reached(crawled: Crawled, wanted: int, share: float) -> int:
    """Return the number of requests until that *share* of the *wanted* contents had come; all, where it never had."""
    found: set[str] = set()
    for number, asked in enumerate(crawled.asked, 1):
        found |= {asked.key} - {""}
        if len(found) >= share * wanted:
            return number
    return len(crawled.asked)


def cpu_of(crawled: Crawled) -> float:
    return crawled.asked[-1].cpu - crawled.asked[0].cpu


def problems_of(outcome: Outcome) -> list[str]:
    """Return what did not hold, in words."""
    ours, plain = len(outcome.ours.asked), len(outcome.plain.asked)
    most = MOST * plain + SPARE
    told = [] if ours <= most else [f"{ours} requests, {plain} without the add-on, {most:.0f} at most"]
    saved = outcome.ours.stats.get("replica/saved", 0)
    if saved > max(0, plain - ours):
        told.append(f"told that {saved} requests were saved, {plain - ours} were")
    return [*outcome.problems, *told]


def figures_of(outcomes: Iterable[Outcome]) -> Figures:
    """Return the figures of the crawls of one site in several modes, ``demote`` among them."""
    modes = {outcome.mode: outcome for outcome in outcomes}
    demote = modes["demote"]
    plain, ours, oracle = demote.plain, demote.ours, oracle_of(demote.plain)
    wanted = len({asked.key for asked in plain.asked} - {""})
    surplus = len(plain.asked) - oracle

    def saved(outcome: Outcome | None) -> float | None:
        return (len(plain.asked) - len(outcome.ours.asked)) / surplus if surplus and outcome else None

    return Figures(
        site=demote.scenario.name,
        contents=wanted,
        plain=len(plain.asked),
        ours=len(ours.asked),
        oracle=oracle,
        lost=max(len(lost_of(outcome)) for outcome in modes.values()),
        saved=saved(demote),
        saved_in_drop=saved(modes.get("drop")),
        reached=tuple(reached(ours, wanted, share) / reached(plain, wanted, share) for share in SHARES),
        cpu=cpu_of(ours) / cpu_of(plain),
    )


def measure(
    site: Site, size: int, spider: str, settings: Mapping[str, Any], modes: Iterable[str] = MODES
) -> tuple[Figures, list[str]]:
    """Crawl *site*; return its figures, and what did not hold in which mode."""
    outcomes = asyncio.run(outcomes_of(site.scenario(size, spider, modes, settings)))
    problems = [f"{outcome.mode}: {problem}" for outcome in outcomes for problem in problems_of(outcome)]
    return figures_of(outcomes), problems


def mean_row(rows: list[Figures]) -> tuple[str, ...]:
    """Return the cells of the last line: means of ratios, and the sum of what was lost."""

    def of(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return mean(known) if known else None

    ratios = [of(row.saved for row in rows), of(row.saved_in_drop for row in rows)]
    ratios += [of(row.reached[number] for row in rows) for number in range(len(SHARES))]
    cpu = f"{mean(row.cpu for row in rows):.1f}"
    counts = [
        str(round(mean(values))) for values in zip(*((row.plain, row.ours, row.oracle) for row in rows), strict=True)
    ]
    return "mean", *counts, str(sum(row.lost for row in rows)), *map(ratio, ratios), cpu


def line(cells: Iterable[str]) -> str:
    name, *others = cells
    return f"{name:<{WIDTHS[0]}}" + "".join(f"{cell:>{width}}" for cell, width in zip(others, WIDTHS[1:], strict=True))


def as_dict(spider: str, row: Figures) -> dict[str, Any]:
    """Return *row* for other programs."""
    told = asdict(row)
    return {"spider": spider, **told, "reached": dict(zip(map(str, SHARES), told["reached"], strict=True))}
