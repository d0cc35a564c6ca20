"""The sentence that status, report and control page begin with."""

from __future__ import annotations

import pytest

from scrapy_replica.coverage import Coverage
from scrapy_replica.crawldb.revisits import Pass
from scrapy_replica.crawldb.status import UNTESTED, ClaimFigures, Status, Traffic
from scrapy_replica.decision import Mode, Reason
from scrapy_replica.report.headline import headline, summary

NONE = Coverage(0, 0, 0, 0)
FINE = {
    "fetches": 200,
    "pages": 180,
    "new": 90,
    "repeats": 80,
    "on_topic": None,
    "errors": 10,
    "saved": 100,
    "mirrors": 2,
    "rules": 1,
    "blocked_by_hand": 0,
    "rules_by_hand": 0,
    "tests": 52,
    "wrong": 0,
    "coverage": NONE,
}


def status_of(more):
    told = FINE | more
    tests, wrong = told["tests"], told["wrong"]
    relevant, traffic = told["on_topic"] or 0, (told["fetches"], told["pages"], told["new"], told["repeats"], 0)
    claims = ClaimFigures(
        holding=told["mirrors"] + told["blocked_by_hand"],
        blocked_by_hand=told["blocked_by_hand"],
        ended={},
        verdicts=(),
        n_verdicts=0,
        rules={},
        in_force=told["rules"] + told["rules_by_hand"],
        rules_by_hand=told["rules_by_hand"],
        new_rules=(),
        n_new_rules=0,
    )
    return Status(
        spider="",
        has_topic=told["on_topic"] is not None,
        first_at=None,
        last_at=None,
        seconds=0.0,
        urls={},
        demoted=0,
        total=Traffic(*traffic, relevant, told["errors"]),
        recent=Traffic(),
        unchanged=0,
        recent_unchanged=0,
        n_hosts=0,
        hosts=(),
        decisions={},
        dropped={Reason.REPLICA_HOST: told["saved"]},
        tested={
            Reason.REPLICA_HOST: UNTESTED._replace(
                same=tests - wrong, other=wrong, squares=tests, samples=tests, false_drops=wrong
            )
        }
        if tests
        else {},
        claims=claims,
        coverage=told["coverage"],
        unrequested=0,
        beyond=0,
        outside={},
        resting={},
        come_back=Pass(),
    )


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "Going well: 50 % of 180 pages new, 2 mirrors and 1 rule found, 52 tests, none wrong."),
        ({"fetches": 0}, ""),
        (
            {"mirrors": 0, "rules": 0, "repeats": 9, "blocked_by_hand": 1, "tests": 0},
            "Going well: 50 % of 180 pages new, 1 blocked host by hand.",
        ),
        (
            {"mirrors": 0, "blocked_by_hand": 3, "rules_by_hand": 1, "tests": 0},
            "Going well: 50 % of 180 pages new, 1 rule found, 3 blocked hosts and 1 rule by hand.",
        ),
        (
            {"on_topic": 45, "tests": 0},
            "Going well: 50 % of 180 pages new, 25 % on the topic, 2 mirrors and 1 rule found.",
        ),
        (
            {"mirrors": 0, "rules": 0, "repeats": 9, "tests": 0, "coverage": Coverage(300, 200, 100, 1)},
            "Going well: 50 % of 180 pages new, about 99 % of what is within reach found.",
        ),
        ({"mirrors": 0, "rules": 0, "repeats": 9, "tests": 0}, "Going well: 50 % of 180 pages new."),
        ({"mirrors": 0, "rules": 0, "saved": 500, "tests": 0}, "Going well: 50 % of 180 pages new."),
        (
            {"mirrors": 0, "rules": 0, "saved": 0, "tests": 0},
            "Going well: 50 % of 180 pages new, 44 % repeat others, no mirror or rule found for them.",
        ),
        ({"wrong": 1}, "Going well: 50 % of 180 pages new, 2 mirrors and 1 rule found, 52 tests, 1 wrong."),
        (
            {"wrong": 9, "mirrors": 0, "rules": 0, "repeats": 9, "new": 36},
            "Look here: 9 of 52 tests of what is saved were wrong, 20 % of 180 pages new, 52 tests, 9 wrong.",
        ),
        (
            {"errors": 150, "mirrors": 0, "rules": 0, "repeats": 9, "tests": 0},
            "Look here: 75 % of the fetches brought no page, 50 % of 180 pages new.",
        ),
        (
            {"new": 3, "mirrors": 0, "rules": 0, "repeats": 9, "tests": 0},
            "Look here: next to nothing is new, 1.7 % of 180 pages new.",
        ),
        (
            {"on_topic": 0, "mirrors": 0, "rules": 0, "repeats": 9, "tests": 0},
            "Look here: no page is on the topic, 50 % of 180 pages new, 0 % on the topic.",
        ),
        ({"fetches": 3, "pages": 0, "errors": 3, "mirrors": 0, "rules": 0, "tests": 0}, "Begun: no page so far."),
    ],
)
def test_says_first_whether_somebody_should_look(more, told):
    assert headline(status_of(more)) == told


def test_sums_up_in_one_line():
    status = status_of({"saved": 200})
    told = summary(status, Mode.DEMOTE)
    assert told == "at least 200 of 400 requests saved (50 %), 2 mirrors and 1 rule found, 52 tests, none wrong"
    assert summary(status, Mode.OBSERVE) == "200 URLs fetched; REPLICA_MODE is observe, so nothing is saved"
