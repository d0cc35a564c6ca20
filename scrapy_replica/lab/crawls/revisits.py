"""How many changes each order of visits finds, in a simulated web whose pages change as Poisson processes.

Rates are drawn for hosts and, around them, for their pages, log-normal, so that they are spread over orders of
magnitude; times between passes are irregular. Every order has the same fetches a pass, and sees of a page what a visit
shows: whether it changed since the visit before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from scrapy_replica.freshness.change_rate import Changes, chances, pooled, rates
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

DAY = 86_400.0
HOSTS = 50
SPREAD_OF_HOSTS, SPREAD_OF_PAGES = 1.0, 1.5
"""Standard deviations of the logarithm of the rate."""
LEVELS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)

ORDERS = ("random", "age", "due", "omniscient")


class Web:
    """Pages that change, and what visits to them showed."""

    def __init__(self, pages: int, passes: int, days: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.host: IntArray = random.integers(0, HOSTS, pages)
        of_hosts = random.normal(0, SPREAD_OF_HOSTS, HOSTS)[self.host]
        self.rate = np.exp(of_hosts + random.normal(0, SPREAD_OF_PAGES, pages)) / (days * DAY)
        self.random = random
        self.seen = np.zeros(pages)
        self.changed = np.zeros((pages, passes))
        self.unchanged = np.zeros(pages)
        self.visits, self.found = np.zeros(pages, dtype=int), np.zeros(pages, dtype=int)
        self.is_other: BoolArray = np.zeros(pages, dtype=bool)
        """The page changed since it was seen."""

    def wait(self, seconds: float) -> None:
        """Let pages change."""
        self.is_other |= self.random.random(len(self.rate)) < -np.expm1(-self.rate * seconds)

    def chances(self, now: float) -> FloatArray:
        """Return the chance of each page to have changed; 1 where nothing was visited twice."""
        sums = [np.bincount(self.host, weights, HOSTS) for weights in (self.visits, self.found, self._seconds)]
        every, hosts = pooled({str(n): Changes(*map(float, told)) for n, told in enumerate(zip(*sums, strict=True))})
        if not every.visits:
            return np.ones(len(self.host))
        share, interval = np.array([[host.share, host.interval] for host in hosts.values()])[self.host].T
        return chances(rates(self.changed, self.unchanged, share, interval), now - self.seen)

    @property
    def _seconds(self) -> FloatArray:
        result: FloatArray = self.unchanged + self.changed.sum(axis=1)
        return result

    def visit(self, pages: IntArray, now: float) -> int:
        """Visit *pages*; return how many had changed."""
        time, is_other = now - self.seen[pages], self.is_other[pages]
        self.changed[pages[is_other], self.found[pages[is_other]]] = time[is_other]
        self.unchanged[pages[~is_other]] += time[~is_other]
        self.found[pages] += is_other
        self.visits[pages] += 1
        self.seen[pages] = now
        self.is_other[pages] = False
        return int(is_other.sum())


def evaluate(pages: int, passes: int, days: float, share: float, seed: int) -> dict[str, float]:
    """Return the figures of every order with *share* of the pages a pass, and of every level of chance.

    The median page changes once in so many *days*; a pass begins every 3 to 11.

    ``<order>.found_per_fetch`` and ``<order>.fresh``, the share of pages that are as they were seen, over all passes;
    ``chance_<level>.fetches`` as a share of all pages and passes, and ``.found`` as a share of what all fetches find.
    """
    figures: dict[str, float] = {}
    budget = max(1, int(share * pages))
    for order in ORDERS:
        figures |= _simulated(
            order, Web(pages, passes, days, seed), passes, lambda values: np.argsort(-values)[:budget]
        )
    most = 0.0
    for level in LEVELS:
        web = Web(pages, passes, days, seed)
        told = _simulated("due", web, passes, lambda values, level=level: np.flatnonzero(values > level))  # type: ignore[misc]
        n_fetches, n_found = float(web.visits.sum()), float(web.found.sum())
        most = most or n_found
        figures[f"chance_{level}.fetches"] = n_fetches / (pages * passes)
        figures[f"chance_{level}.found"] = n_found / most
        figures[f"chance_{level}.fresh"] = told["due.fresh"]
    return figures


def _simulated(order: str, web: Web, passes: int, choose: Callable[[FloatArray], IntArray]) -> dict[str, float]:
    now, n_fetches, n_found, fresh = 0.0, 0, 0, 0.0
    for _ in range(passes):
        seconds = float(web.random.uniform(3, 11)) * DAY
        now += seconds
        web.wait(seconds)
        chosen = choose(_value(order, web, now))
        n_found += web.visit(chosen, now)
        n_fetches += len(chosen)
        fresh += 1 - float(web.is_other.mean())
    return {f"{order}.found_per_fetch": n_found / max(1, n_fetches), f"{order}.fresh": fresh / passes}


def _value(order: str, web: Web, now: float) -> FloatArray:
    """Return what pages are ordered by, the greatest first; ties in a random order."""
    tie = web.random.random(len(web.rate))
    if order == "random":
        return tie
    if order == "age":
        return now - web.seen + tie
    if order == "omniscient":
        return chances(web.rate, now - web.seen)
    return web.chances(now) + 1e-9 * tie


def table(figures: Mapping[str, float]) -> str:
    """Return *figures* as two tables of plain text."""
    lines = ["order of visits   changes found per fetch   pages as they were seen"]
    for order in ORDERS:
        found, fresh = figures[f"{order}.found_per_fetch"], figures[f"{order}.fresh"]
        lines.append(f"{order:<16}{found:>25.3f}{fresh:>26.3f}")
    lines += ["", "due above a chance of   fetches   changes found   pages as they were seen"]
    for level in LEVELS:
        told = [figures[f"chance_{level}.{name}"] for name in ("fetches", "found", "fresh")]
        lines.append(f"{level:<22}{told[0]:>8.1%}{told[1]:>16.1%}{told[2]:>26.3f}")
    return "\n".join(lines)
