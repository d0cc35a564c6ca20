"""The demo behind ``make demo``: crawls with the add-on and without, side by side.

Without arguments the crawls go over :mod:`pydoc_web`, a web of real text on this machine, whose mirrors, aliases, traps
and topic are known. With ``--warc`` they are rehearsals on that file. All files lie in ``demo/``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydoc_web import PydocWeb

from scrapy_replica.decision import Action, Reason
from scrapy_replica.words.phrases import ACTIONS, REASONS
from scrapy_replica.words.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydoc_web import Truth

FOLDER = Path("demo")
JOB = FOLDER / "job"
LEDGER = FOLDER / "decisions.jsonl"
SHARES = (10, 25, 50, 100)
"""Percent of the fetches after which pages are counted."""
DIFFERENT, ON_TOPIC = "different pages", "pages on networking"
PLAIN, WITH_ADDON = "plain Scrapy", "with the add-on"
MARKS, COLOURS = (".", "#"), ("#888888", "#1f5fbf")
COLUMNS, ROWS = 72, 14
"""Of the picture in the terminal."""
Figures = dict[str, int]
SCRAPY = (sys.executable, "-m", "scrapy")
FIRST_RECORDS = 2000
"""Records of a WARC file in which front pages are looked for."""
MANY_SEEDS = 100


def main() -> int:
    parser = argparse.ArgumentParser(description="crawl with the add-on and without, and compare")
    parser.add_argument("--pages", type=int, default=500, help="pages of each crawl")
    parser.add_argument("--orders", type=int, default=1, help="orders of the seeds, each crawled twice (1)")
    parser.add_argument("--warc", help="a WARC file to rehearse on instead of the demo's web")
    parser.add_argument("--topic", help="examples of the topic for --warc; see REPLICA_TOPIC")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    shutil.rmtree(JOB, ignore_errors=True)
    LEDGER.unlink(missing_ok=True)
    if options.warc:
        return rehearse(options.warc, options.topic, options.pages)
    return crawl(options.pages, options.orders)


# The demo's web


def crawl(pages: int, orders: int) -> int:
    """Crawl the demo's web from its seeds in so many orders, each twice, and compare; return the exit code."""
    begun = time.monotonic()
    say("making the web: pydoc's pages of this Python installation ...")
    plain: list[list[Truth]] = []
    with_addon: list[list[Truth]] = []
    with PydocWeb(cache=FOLDER / "cache") as web:
        web.write_topic(FOLDER / "topic")
        say(f"{sum(map(len, web.pages.values()))} texts on {len(web.hosts)} hosts, served at {web.proxy_url}")
        for order in range(orders):
            seeds = random.Random(order).sample(web.seeds, len(web.seeds))
            (FOLDER / "seeds.txt").write_text("\n".join(seeds) + "\n", encoding="utf-8")
            which = f"seeds in order {order + 1} of {orders}: " if orders > 1 else ""
            say(f"{which}plain Scrapy, and beside it Scrapy with the add-on, {pages} pages each ...")
            with ThreadPoolExecutor() as both:
                crawls = [both.submit(crawled, web, pages, is_plain=is_plain) for is_plain in (True, False)]
            for found, one in zip((plain, with_addon), crawls, strict=True):
                found.append(one.result())
    columns = [[summary(truths, pages) for truths in each] for each in (plain, with_addon)]
    print(sentence(*columns))
    curves = {name: found_by(each[0]) for name, each in ((PLAIN, plain), (WITH_ADDON, with_addon))}
    print(f"\n{ON_TOPIC.capitalize()} found, by pages fetched\n\n{picture(curves)}")
    (FOLDER / "found.svg").write_text(as_svg(curves), encoding="utf-8")
    print(f"The same as a file: {FOLDER / 'found.svg'}")
    rows = [(name, *(told([one[name] for one in each]) for each in columns)) for name in columns[0][0]]
    orders_told = f"mean (least to most) of {orders} orders" if orders > 1 else ""
    print_table((orders_told, PLAIN, WITH_ADDON), rows)
    print_decisions(json.loads((FOLDER / "figures.json").read_text(encoding="utf-8")))
    print_ledger()
    print(f"\nThe whole demo took {time.monotonic() - begun:.0f} s.")
    return 0


def found_by(truths: Sequence[Truth]) -> list[int]:
    """Return how many different pages of the topic were found after each fetch."""
    found: set[str] = set()
    counts = []
    for truth in truths:
        if truth.is_networking and truth.page is not None:
            found.add(truth.page)
        counts.append(len(found))
    return counts


def picture(curves: Mapping[str, Sequence[int]]) -> str:
    """Return the curves of what was found as lines of 80 columns."""
    longest, most = max(map(len, curves.values())), max(max(curve, default=0) for curve in curves.values())
    cells = [[" "] * COLUMNS for _ in range(ROWS + 1)]
    for mark, curve in zip(MARKS, curves.values(), strict=True):
        for column in range(COLUMNS):
            at = round((column + 1) * longest / COLUMNS) - 1
            if 0 <= at < len(curve):
                cells[ROWS - round(ROWS * curve[at] / max(1, most))][column] = mark
    labels = {0: most, ROWS // 2: round(most / 2), ROWS: 0}
    lines = [f"{labels.get(row, ''):>5} |{''.join(line).rstrip()}" for row, line in enumerate(cells)]
    lines += [f"{'':6}+{'-' * COLUMNS}", f"{'':7}0{longest:>{COLUMNS - 1},}"]
    return "\n".join([*lines, f"{'':7}" + ", ".join(f"{m} {name}" for m, name in zip(MARKS, curves, strict=True))])


def as_svg(curves: Mapping[str, Sequence[int]]) -> str:
    """Return the same as a picture."""
    longest, most = max(map(len, curves.values())), max(max(curve, default=0) for curve in curves.values())
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 380" font-family="sans-serif" font-size="13">',
        '<rect width="640" height="380" fill="white"/>',
        f'<text x="60" y="24">{ON_TOPIC} found, by pages fetched</text>',
        '<path d="M60 340V40M60 340H620" stroke="black" fill="none"/>',
        f'<text x="54" y="345" text-anchor="end">0</text><text x="54" y="46" text-anchor="end">{most}</text>',
        f'<text x="620" y="360" text-anchor="end">{longest}</text>',
    ]
    for number, (colour, (name, curve)) in enumerate(zip(COLOURS, curves.items(), strict=True)):
        points = " ".join(
            f"{60 + 560 * at / longest:.1f},{340 - 300 * count / max(1, most):.1f}" for at, count in enumerate(curve, 1)
        )
        lines += [
            f'<polyline points="60,340 {points}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{70 + 180 * number}" y="360" fill="{colour}">{name}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def crawled(web: PydocWeb, pages: int, *, is_plain: bool) -> list[Truth]:
    """Crawl *web* once and return what its pages really are."""
    output = FOLDER / ("plain.jsonl" if is_plain else "pages.jsonl")
    output.unlink(missing_ok=True)
    if not is_plain:
        shutil.rmtree(JOB, ignore_errors=True)
        LEDGER.unlink(missing_ok=True)
    environment = {**os.environ, "http_proxy": web.proxy_url, "no_proxy": ""}
    told = run(plain_command(pages, output) if is_plain else addon_command(pages, output), environment)
    if not is_plain:
        (FOLDER / "figures.json").write_text(json.dumps(json.loads(told)["figures"]), encoding="utf-8")
    return [web.truth(url) for url in urls_of(output)[:pages]]


def plain_command(pages: int, output: Path) -> list[str]:
    spider = Path(__file__).with_name("plain_spider.py")
    options = ["-a", f"seeds={FOLDER / 'seeds.txt'}", "-s", f"CLOSESPIDER_PAGECOUNT={pages}", "-L", "ERROR"]
    return [*SCRAPY, "runspider", str(spider), *options, "-o", str(output)]


def addon_command(pages: int, output: Path) -> list[str]:
    """What a user types: ``scrapy replica crawl SEEDS --topic FOLDER --job DIR``."""
    options = ["--topic", str(FOLDER / "topic"), "--job", str(JOB), "--max-pages", str(pages)]
    command = [*SCRAPY, "replica", "crawl", str(FOLDER / "seeds.txt"), "--scope", "any", *options, "-o", str(output)]
    # The command is polite to strangers (1 request a second to a host); this web is our own.
    command += ["-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8", "-s", f"REPLICA_LEDGER={LEDGER}"]
    say("  " + " ".join(["scrapy", *command[len(SCRAPY) :]]))
    return [*command, "--json", "-L", "ERROR"]


def urls_of(items: Path) -> list[str]:
    with items.open(encoding="utf-8") as lines:
        return [json.loads(line)["url"] for line in lines]


def summary(truths: Sequence[Truth], pages: int) -> Figures:
    """Return the figures of a crawl of at most *pages*, each page counted once whatever its URL."""
    rows = {}
    for what, of_them in ((DIFFERENT, lambda truth: not truth.is_trap), (ON_TOPIC, lambda truth: truth.is_networking)):
        for share in SHARES:
            rows[f"{what} at {share} %"] = len(
                {truth.page for truth in truths[: pages * share // 100] if of_them(truth)}
            )
    n_trap = sum(truth.is_trap for truth in truths)
    rows["pages fetched"] = len(truths)
    rows["  copies of others"] = len(truths) - n_trap - rows[f"{DIFFERENT} at 100 %"]
    rows["  pages of the calendar trap"] = n_trap
    return rows


def told(values: Sequence[int]) -> str:
    if len(values) == 1:
        return f"{values[0]:,}"
    return f"{statistics.mean(values):.0f} ({min(values)} to {max(values)})"


def sentence(plain: Sequence[Figures], with_addon: Sequence[Figures]) -> str:
    """Return the result in one sentence."""
    parts = []
    for what in (DIFFERENT, ON_TOPIC):
        name = f"{what} at 50 %"
        before, after = (statistics.mean(one[name] for one in each) for each in (plain, with_addon))
        parts.append(f"{after:.0f} {what} instead of {before:.0f}")
    return wrapped(f"In the first half of the fetches the add-on finds {' and '.join(parts)}.")


# A WARC file


def rehearse(warc: str, topic: str | None, pages: int) -> int:
    """Rehearse on *warc* twice and compare; return the exit code."""
    seeds = front_pages(warc)
    (FOLDER / "seeds.txt").write_text("\n".join(seeds) + "\n", encoding="utf-8")
    say(f"{len(seeds)} front pages of {warc} are the seeds, e.g. {seeds[0]}")
    order = ["--topic", topic] if topic else ["--strategy", "breadth-first"]
    columns: list[dict[str, float]] = []
    for name, options in (("plain", ["--plain"]), ("pages", ["--job", str(JOB), "-s", f"REPLICA_LEDGER={LEDGER}"])):
        output = FOLDER / f"{name}.jsonl"
        output.unlink(missing_ok=True)
        command = ["replica", "rehearse", warc, "--seeds", str(FOLDER / "seeds.txt"), *order, *options]
        command += ["--max-pages", str(pages), "-o", str(output)]
        say("  " + " ".join(["scrapy", *command]))
        columns.append(json.loads(run([*SCRAPY, *command, "--json", "-L", "ERROR"], dict(os.environ)))["figures"])
    names = ("pages", "novel", "near_duplicates", "exact_duplicates", "cpu_ms_per_page", "wall_s", "max_rss_mb")
    rows = [(name, *(column[name] for column in columns)) for name in names]
    print_table(("", PLAIN, WITH_ADDON), rows)
    print_decisions(columns[1])
    print_ledger()
    return 0


def front_pages(warc: str) -> list[str]:
    """Return the front page of each host near the beginning of *warc*, or else its first page."""
    from scrapy_replica.warc.archive import open_archive  # noqa: PLC0415 - wanted with --warc only

    first: dict[str, str] = {}
    for record in itertools.islice(open_archive([warc]).records(), FIRST_RECORDS):
        parts = urlsplit(record.url)
        if record.status == 200 and (parts.netloc not in first or parts.path in {"", "/"}):
            first[parts.netloc] = record.url
    if not first:
        sys.exit(f"{warc}: no page with status 200 among its first {FIRST_RECORDS} records")
    return list(first.values())[:MANY_SEEDS]


# Both


def run(command: Sequence[str], environment: dict[str, str]) -> str:
    """Run *command*, its progress on standard error, and return its standard output."""
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if result.returncode:
        sys.exit(f"failed with exit code {result.returncode}: {' '.join(command)}")
    return result.stdout


def say(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)


def print_table(header: Sequence[str], rows: Any) -> None:
    print()
    for name, *values in (header, *rows):
        cells = (f"{value:>17,.10g}" if isinstance(value, (int, float)) else f"{value:>17}" for value in values)
        print(f"{name:<42}", *cells)


def print_decisions(figures: dict[str, float]) -> None:
    print("\nDecisions of the add-on")
    for name, count in figures.items():
        if name.startswith("decision."):
            _, reason, action = name.split(".")
            told = f"{REASONS[Reason(reason)]}: {ACTIONS[Action(action)]}"
            print(f"  {told:<69} {count:>7,}")
    samples = figures["samples"]
    if samples:
        low, high = figures["false_drop_rate_low"], figures["false_drop_rate_high"]
        rate = f"{figures['false_drop_rate']:.1%} (95 % interval {low:.1%} to {high:.1%})"
        print(f"  false drops in {samples} samples: {rate}")
    else:
        print("  false drops: none of the dropped URLs was fetched as a sample")


def print_ledger() -> None:
    """Print where the ledger lies, and what ``explain`` says of one URL in it."""
    print(f"\nEvery decision is in {JOB / 'replica.sqlite'}, and a line of {LEDGER}")
    with LEDGER.open(encoding="utf-8") as lines:
        last = {decision["url"]: decision for decision in map(json.loads, lines)}
    saved = [one for one in last.values() if one["action"] != "fetch" and "***" not in one["url"]]  # left out there
    if saved:
        url = max(saved, key=lambda decision: (decision["action"] == "drop", decision["at"]))["url"]
        print(f"\n$ scrapy replica explain {JOB} '{url}'")
        print(run([*SCRAPY, "replica", "explain", str(JOB), url], dict(os.environ)), end="")


if __name__ == "__main__":
    sys.exit(main())
