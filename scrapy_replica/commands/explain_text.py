"""What is known of a URL or host, as lines of 80 columns for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_replica.claim import Claim, Standing
from scrapy_replica.crawldb.contract import State
from scrapy_replica.decision import Action, Reason
from scrapy_replica.records import Novelty
from scrapy_replica.words.phrases import ACTIONS, OUTSIDE, REASONS, STANDINGS, claim
from scrapy_replica.words.terminal import counted, score, time_of, wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PARTS = {
    "chance": "chance that its page is relevant",
    "return": "discounted return of what lies behind it",
    "relevance": "relevance of the page that links to it",
    "words": "relevance of its own words",
    "link_words": "what links with its words led to",
    "nearness": "nearness of the page that links to it",
    "bias": "what every link begins with",
    "parent": "relevance of the best page that links to it",
    "mean_parent": "mean relevance of the pages that link to it",
    "in_links": "number of pages that link to it, logarithm",
    "directory": "what its directory led to",
    "host": "what its host led to",
    "anchor": "what links with its text led to",
    "children": "what links of that page led to",
    "neighbours": "what links beside it led to",
    "words_x_parent": "its words x relevance of that page",
    "directory_x_parent": "its directory x relevance of that page",
    "children_x_parent": "links of that page x its relevance",
    "is_new": "how little its directory was tried",
    "untried": "links of that page that were not tried, log",
    "page_words": "what pages with the words of that page led to",
    "way": "what was expected behind the link to that page",
}
"""Parts of scores in words."""

STATES = {
    State.WAITING: "waiting",
    State.LEASED: "being fetched",
    State.DONE: "fetched",
    State.DROPPED: "not fetched",
}
"""States of URLs in words."""

NOVELTIES = {
    Novelty.NOVEL: "new",
    Novelty.EXACT_DUPLICATE: "of a text that another page has",
    Novelty.NEAR_DUPLICATE: "of nearly the text of another page",
    Novelty.UNKNOWN: "of too little text to tell",
}
"""What pages are beside those fetched before, in words."""

LEAST_SHARE = 0.005
"""Share of a score that is told."""


def in_words(known: Mapping[str, Any]) -> str:
    """Return *known* as lines for a person."""
    lines = _host_lines(known) if "host" in known else _url_lines(known)
    return "\n".join(lines) + "\n"


SEEDS = 5
"""Hosts of seeds that are told."""

SHOWN_VALUES, MAX_VALUE = 5, 60
"""Values of a field of a form that are told, and characters of each."""


def scope_in_words(known: Mapping[str, Any]) -> str:
    """Return why a URL does not belong to the crawl, as lines for a person."""
    lines = [_line("url", known["url"]), _line("state", f"out of scope: {OUTSIDE[known['why']]}")]
    if hosts := known.get("hosts of the seeds"):
        more = f" and {len(hosts) - SEEDS:,} more" if len(hosts) > SEEDS else ""
        lines.append(_line("hosts of the seeds", ", ".join(hosts[:SEEDS]) + more))
    return "\n".join(lines) + "\n"


def _line(name: str, told: object) -> str:
    return wrapped(f"{name}: {cleaned(str(told), 2_000)}", hanging=2)


def _url_lines(known: Mapping[str, Any]) -> Iterator[str]:
    if "asked for" in known:
        yield _line("asked for", f"{known['asked for']}; not known to the letter, but as:")
    yield _line("url", known["url"])
    behind = ", behind the others" if known["demoted"] and known["state"] == State.WAITING.value else ""
    yield _line("state", STATES[State(known["state"])] + behind)
    for other in known.get("in its place", ()):
        yield _line("in its place", other["url"] + _briefly(other))
    if "suppressed by" in known:
        yield _line("because", "; ".join(_claims(known)))
    yield _line("found on", known["found on"] or "nothing, it is a seed or was asked for by the spider")
    yield _line("links from a seed", known["depth"])
    yield from _page_lines(known)
    yield from _score_lines(known)
    yield "decisions:" if known["decisions"] else "decisions: none, nothing spoke against it"
    for made in known["decisions"]:
        yield wrapped(f"{time_of(made['at'])} {made['in words']}", 2, 4)


def _claims(known: Mapping[str, Any]) -> list[str]:
    names: list[str] = known["suppressed by"]
    return [claim(Claim.read(one)) + (f": {known['rules'][one]}" if one in known["rules"] else "") for one in names]


def _briefly(other: Mapping[str, Any]) -> str:
    if "state" not in other:
        return ""
    status = f", status {other['status']}" if "status" in other else f", {other['error']}" if "error" in other else ""
    return f" ({STATES[State(other['state'])]}{status})"


def _page_lines(known: Mapping[str, Any]) -> Iterator[str]:
    if "fetched at" in known:
        yield _line("fetched at", time_of(known["fetched at"]))
    if "visits" in known:
        changed = counted(known["changes"], "visit")
        yield _line(
            "visited", f"{known['visits']} times, last {time_of(known['last visit'])}; {changed} found a change"
        )
    if "gone since" in known:
        yield _line("gone since", time_of(known["gone since"]))
    for name in ("status", "error", "title", "words"):
        if name in known:
            yield _line(name, known[name])
    if "relevance" in known:
        yield _line("relevance", score(known["relevance"]))
    if "marked" in known:
        yield _line("marked by hand", "on the topic" if known["marked"] else "not on the topic")
    for name, is_for in (("words for the topic", True), ("words against it", False)):
        if told := [one for one in known.get("topic words", ()) if (one["share"] > 0) is is_for]:
            yield _line(name, ", ".join(f"{one['term']} {one['share']:+.3f}" for one in told[:: 1 if is_for else -1]))
    if "novelty" in known:
        yield _line("the page is", NOVELTIES[Novelty(known["novelty"])])
    if "repeats" in known:
        yield _line("it repeats", known["repeats"])
    if "uses" in known:
        yield _line("its site", "; ".join(f"{verdict} {use}" for use, verdict in known["uses"].items()))
    for source, value in known.get("site says", ()):
        yield _line(source, value)


def _score_lines(known: Mapping[str, Any]) -> Iterator[str]:
    if known["priority"]:
        yield _line("priority", known["priority"])
    if known["score"] == "urgent":
        yield _line("score", "before all others: it was to decide something, or added by hand")
    elif known["score"] or known["state"] == State.WAITING.value:
        yield _line("score", score(known["score"]))
    if "no score" in known:
        yield _line("score now", f"cannot be told: {known['no score']}")
    if "score now" in known:
        yield _line("score now", score(known["score now"]))
    if known.get("judged by"):
        yield _line("judged by", known["judged by"])
    for name in ("distance", "distance of that page"):
        if name in known:
            yield _line(f"{name} from the topic", _links(known[name]))
    if "score parts" in known:
        yield "what the score is made of: value x weight"
        yield from _part_lines(known["score parts"])
    for name, parts in known.get("log odds", {}).items():
        yield f"log odds of the {PARTS[name]}"
        yield from _part_lines(parts)


def _part_lines(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in sorted(parts, key=lambda part: -abs(part["share"])):
        if abs(part["share"]) < LEAST_SHARE:
            break
        name = PARTS.get(part["name"], part["name"])
        yield f"  {name:<46} {part['value']:7.2f} x {part['weight']:6.2f} = {part['share']:7.2f}"


def _links(distance: Mapping[str, Any]) -> str:
    """Return a distance in words."""
    far, estimated, known = distance["far"], distance["estimated"], distance["known"]
    now = "no way known yet" if known >= far else f"{counted(known, 'link')} as known by now"
    if estimated is None:
        return f"not estimated so early, {now}"
    told = f"{estimated} links or more" if estimated >= far else counted(estimated, "link")
    return f"{told} as estimated, {now}"


def _host_lines(known: Mapping[str, Any]) -> Iterator[str]:
    yield _line("host", known["host"])
    if known["ip"]:
        yield _line("ip", known["ip"])
    yield _line(
        "URLs", ", ".join(f"{count:,} {STATES[State(state)]}" for state, count in known["urls"].items()) or "none"
    )
    if known["pages"]:
        pages = known["pages"].items()
        yield _line("pages", ", ".join(f"{count:,} {NOVELTIES[Novelty(novelty)]}" for novelty, count in pages))
    if "verdict" in known:
        yield from _verdict_lines(known)
    if "replicas" in known:
        yield _line("copies of it", ", ".join(known["replicas"]))
    yield "decisions:" if known["decisions"] else "decisions: none, nothing spoke against it"
    for made in known["decisions"]:
        action, why = Action(made["action"]), REASONS[Reason(made["reason"])]
        done = "it came back, or was fetched as a test" if action is Action.FETCH else ACTIONS[action]
        yield wrapped(f"{counted(made['urls'], 'URL')}: {why}; {done}", 2, 4)
    yield from _form_lines(known)


def _verdict_lines(known: Mapping[str, Any]) -> Iterator[str]:
    by_hand, is_in_force = known["by"] == "hand", known["standing"] == Standing.IN_FORCE.value
    how = "by hand" if by_hand else f"by the judge, score {score(known['score'])}"
    yield _line(
        "a copy of" if is_in_force else "was taken for a copy of",
        f"{known['canonical']}, since {time_of(known['since'])} {how}",
    )
    if not is_in_force:
        yield _line("but", STANDINGS[Standing(known["standing"])])
    if known["place"]:
        yield _line("where", known["place"])
    for witness in known["evidence in words"]:
        yield wrapped(witness, 2, 4)


def _form_lines(known: Mapping[str, Any]) -> Iterator[str]:
    if known.get("forms"):
        yield "forms:"
    for form in known.get("forms", ()):
        login = " (a login)" if form["is_login"] else ""
        yield wrapped(f"{form['method']} {cleaned(form['action'], 2_000)}{login}", 2, 6)
        yield from map(_field, form["fields"])
    if known.get("query"):
        yield wrapped(f"terms sent to them: {cleaned(' '.join(known['query']), 2_000)}", 2, 4)


def _field(field: Mapping[str, Any]) -> str:
    name, label = cleaned(field["name"]), cleaned(field["label"])
    told = f"{name} ({label})" if label else name
    values = [cleaned(value, MAX_VALUE) or "(empty)" for value in field["values"][:SHOWN_VALUES]]
    more = len(field["values"]) - len(values)
    if more > 0:
        values.append(f"and {counted(more, 'other')}")
    return wrapped(f"{told}: {', '.join(values)}" if values else told, 4, 6)
