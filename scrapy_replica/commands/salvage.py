"""``scrapy replica doctor --salvage``: a new job of what can be read of a damaged one."""

from __future__ import annotations

from scrapy_replica.commands.command import print_figures, say
from scrapy_replica.commands.job import salvaging

CALLED = {"pages": "fetches", "samples": "tests_of_claims"}
"""Tables whose rows have another name among the figures."""


def salvage(job: str, folder: str, *, as_json: bool) -> None:
    """Read what can be read of *job*, which no crawl can open any more, into a new one, and leave it as it is."""
    found = salvaging(job, folder)
    figures = {
        **{f"urls_{state.value.replace(' ', '_')}": count for state, count in found.urls.items()},
        **{CALLED.get(table, table): count for table, count in found.rows.items()},
        "lost_urls": found.lost,
        "fetched_again": found.fetched_again,
        "restored": found.restored,
        "unreadable": found.unreadable,
    }
    print_figures(figures, {"job": job, "out": folder}, as_json=as_json)
    say(f"give the command of the crawl again, with {folder} for {job}")
