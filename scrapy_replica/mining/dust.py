"""DUST rules of a finished crawl: the crawl's own learners and judge, host by host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.urls.judge import shipped
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.learners.proposing import finished
from scrapy_replica.urls.pattern import parse
from scrapy_replica.urls.rule import Rule, share_argument


class ClusterRow(NamedTuple):
    """A row of :data:`~scrapy_replica.mining.schema.URLS`."""

    host: str
    url: str
    cluster: int | None


def rules_of(rows: Iterable[ClusterRow]) -> Iterator[Rule]:
    """Yield what the pages of each host teach; *rows* come in order of host."""
    for _, group in groupby(rows, itemgetter(0)):
        yield from _rules_of_host(group)


def _rules_of_host(rows: Iterable[ClusterRow]) -> list[Rule]:
    """Return the rules of one host, of which a sample of its URLs is seen, those with twins first."""
    by_name: dict[str, HostPages] = {}
    for row in rows:
        form = form_of(row.url)
        pages = by_name.setdefault(parse(form).host, HostPages())
        if form not in pages.clusters:
            pages.add(form, row.cluster, row.cluster)
    rules: list[Rule] = []
    for pages in by_name.values():
        if pages.is_due():
            rules += finished(combined.learn_in_steps(*pages.lesson(), judge=shipped()))
    return rules


def merged(learnt: Iterable[Rule], acted: Iterable[tuple[Mapping[str, Any], bool]]) -> list[Rule]:
    """Return the rules *learnt* and those in force where they were mined, without what was found wrong there.

    :param acted: rules of jobs that acted or were tried, and whether they do by now.
    """
    known = [(Rule.from_dict(rule), is_acting) for rule, is_acting in acted]
    refuted = [rule for rule, is_acting in known if not is_acting]
    found = {rule.key: rule for rule in learnt}
    found |= {rule.key: rule for rule, is_acting in known if is_acting}
    return [rule for rule in found.values() if not any(_is_refuted(rule, wrong) for wrong in refuted)]


def _is_refuted(rule: Rule, wrong: Rule) -> bool:
    return rule.host == wrong.host and share_argument(rule, wrong)
