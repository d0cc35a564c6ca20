"""The features of links by one matrix a page, beside the same features said one by one."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.focus import window
from scrapy_replica.focus.link_features import CHANCE_WEIGHTS, MOST_LOG_ODDS
from scrapy_replica.focus.links import LinkWords, directories, path_and_query
from scrapy_replica.focus.outcomes import CHANCE, OUTCOMES, PRIOR_WEIGHT, DirectoryTree
from scrapy_replica.focus.strategies.link_aware import LinkAware
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Link, Page

SECTIONS = ("people", "courses/ml", "courses/db", "misc", "gone")


def relevance_of(counts: Any) -> float:
    return min(1.0, 0.05 + 0.45 * ("markov" in counts) + 0.3 * ("chain" in counts))


def crawled(pages: int, seed: int) -> tuple[LinkAware, list[str]]:
    """Return a strategy that was shown a crawl, fetches in vain among it, and all URLs that it met."""
    draw = np.random.default_rng(seed)
    strategy = LinkAware(LinkWords(relevance_of, terms))
    url, met = "http://a.example/", ["http://a.example/"]
    for number in range(pages):
        text = " ".join(draw.choice(["markov", "chain", "photo", "staff", f"w{number % 40}"], 3))
        page = Page(url, "a.example", terms=terms(text))
        strategy.visited(page, relevance_of(page.terms))
        links = []
        for _ in range(int(draw.integers(1, 12))):
            section, at = SECTIONS[int(draw.integers(len(SECTIONS)))], int(draw.integers(60))
            host = f"{'ab'[at % 2]}.example"
            links.append(Link(f"http://{host}/{section}/{at}.html", str(draw.choice(["next", "markov", "home page"]))))
        met += [link.url for link in links]
        strategy.scores(page, links)
        strategy.rescored()
        strategy.unproductive(f"http://b.example/gone/{int(draw.integers(60))}.html")
        url = met[int(draw.integers(len(met)))]
    return strategy, list(dict.fromkeys(met))


def mean_of(tree: DirectoryTree, prefixes: list[str], which: int) -> float:
    """Return the shrunk mean of the deepest directory that has a number, from the outermost inwards."""
    columns = tree.state()
    total, count, unproductive = columns[f"total {which}"], columns[f"count {which}"], columns["unproductive"]
    mean = (total[0] + 0.05) / (count[0] + 1.0)
    for prefix in prefixes:
        if slot := tree.names.slot(tree.names.find(prefix)):
            outcomes = count[slot] or (unproductive[slot] if which == CHANCE else 0.0)
            mean = (total[slot] + PRIOR_WEIGHT * mean) / (outcomes + PRIOR_WEIGHT)
    return mean


def one_by_one(strategy: LinkAware, url: str, which: int) -> dict[str, float]:
    table, graph, head = strategy.table, strategy.graph, strategy.heads[which]
    row = graph.urls.row(graph.urls.find(url))
    prefixes, tree = directories(url), table.directories
    # Of what was forgotten the place is looked up; what is fetched again before it is linked has none.
    is_placed = not row or table.groups[row, 0]
    known = [prefix for prefix in prefixes if is_placed and tree.names.find(prefix)]
    directory, everywhere = mean_of(tree, known, which), tree.mean(which)
    slot = tree.names.slot(tree.find(known))
    largest, sum_, in_links, words = table.facts[row].tolist() if row else [directory] * 4
    _, anchor, parent = table.groups[row].tolist()
    page = graph.pages.row(parent)
    group = table.anchors.state()["sums"][which, table.anchors.names.slot(anchor)]
    followed, total = graph.pages["outcomes"][page, 2 * which : 2 * which + 2].tolist()
    children = (total + PRIOR_WEIGHT * everywhere) / (followed + PRIOR_WEIGHT)
    around, among = 0.0, 0.0
    if place := int(graph.urls["place"][row]):
        for step in (-3, -2, -1, 1, 2, 3):
            target = graph.urls.row(int(graph.links["target"][graph.links.row(place + step)]))
            around += float(table.fates[target, which])
            among += float(table.fates[target, len(OUTCOMES) + which])
    buckets = [number for number in table.link_words[row].tolist() if number]
    weights = head.link_words.state()["weights"]
    said = sum(float(weights[number]) for number in buckets) / math.sqrt(max(1, len(buckets)))
    new, tried = int(graph.pages["new"][page]), int(graph.pages["tried"][page])
    return {
        "bias": 1.0,
        "parent": largest,
        "mean_parent": sum_ / max(in_links, 1.0),
        "in_links": math.log(max(in_links, 1.0)),
        "directory": directory,
        "host": mean_of(tree, known[:1], which),
        "anchor": (float(group[1]) + PRIOR_WEIGHT * everywhere) / (float(group[0]) + PRIOR_WEIGHT),
        "children": children,
        "neighbours": (among + children) / (around + 1.0),
        "words": words,
        "words_x_parent": words * largest,
        "directory_x_parent": directory * largest,
        "children_x_parent": children * largest,
        "is_new": 1.0 / math.sqrt(1.0 + (tree.state()[f"count {which}"][slot] if slot else 0.0)),
        "nearness": float(graph.pages["near"][page]),
        "untried": math.log1p(max(0, new - tried)),
        "page_words": max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, float(graph.pages["word_odds"][page, which]))),
        "link_words": max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, said)),
        "way": max(-MOST_LOG_ODDS, min(MOST_LOG_ODDS, float(graph.pages["way"][page]))),
    }


@pytest.mark.parametrize(("seed", "most_urls"), [(1, 10_000), (2, 10_000), (3, 100)])
def test_a_matrix_says_what_each_link_says_alone(seed: int, most_urls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "MOST_URLS", most_urls)
    strategy, urls = crawled(200, seed)
    rows = strategy.table.rows(urls)
    assert (rows == 0).any() == (most_urls < len(urls))  # some were forgotten
    features = strategy.features.of(rows, urls)
    assert features.shape == (len(OUTCOMES), len(urls), len(CHANCE_WEIGHTS))
    for which in OUTCOMES:
        for place, url in enumerate(urls):
            said = one_by_one(strategy, url, which)
            assert list(said) == list(CHANCE_WEIGHTS)
            found = dict(zip(said, features[which, place].tolist(), strict=True))
            assert found == pytest.approx(said, rel=1e-5, abs=1e-6), (url, which)


def test_the_words_of_a_link_are_those_of_its_anchor_and_url_in_one_text() -> None:
    seen: list[dict[str, int]] = []

    def keep(counts: Any) -> float:
        seen.append(dict(counts))
        return 0.5

    texts = ["", "Markov chains of the Markov kind", "über 漢字 markov", "\u0e01\u0e02 end"]
    urls = ["http://a.example/", "http://a.example/markov/chains-and-kinds.html?q=%E6%BC%A2+markov"]
    read = LinkWords(keep, terms)
    links = [Link(url, text) for url in urls for text in texts]
    read(links)
    for link, counts in zip(links, seen, strict=True):
        words = "markov chains and kinds html q 漢 markov" if "markov" in link.url else ""
        whole = terms(f"{link.text} {words}")
        assert list(counts.items()) == list(whole.items())  # in one order, so that sums are the same


@given(
    st.text("ahtps:/?#;.%[]@ é\t\n0", max_size=20), st.sampled_from(["", "http://", "https://a.org", "http://a.org/"])
)
def test_a_url_is_split_as_the_standard_library_does(rest: str, start: str) -> None:
    try:
        parts = urlsplit(start + rest)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            path_and_query(start + rest)
        return
    assert path_and_query(start + rest) == (parts.path, parts.query)
