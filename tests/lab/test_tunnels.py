"""Distances of relevant pages along breadth-first paths, beside a walk up each path."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.cmdline import execute

from scrapy_replica.lab.archives.collection import build
from scrapy_replica.lab.visits import relevant_graph, tunnels


def collection_of(links, seeds=(0,), labels=()):
    pages = [(f"http://a.example/{page}", "", {}) for page in range(len(links))]
    return build(pages, [[(target, "") for target in row] for row in links], seeds, {"topic": list(labels)})


def measured(documents):
    return tunnels.figures(*tunnels.breadth_first_paths(documents), documents.relevant("topic"))


@st.composite
def webs(draw):
    size = draw(st.integers(1, 12))
    pages = st.integers(0, size - 1)
    links = draw(st.lists(st.lists(pages, max_size=4), min_size=size, max_size=size))
    return collection_of(links, draw(st.lists(pages, min_size=1, max_size=3)), draw(st.sets(pages)))


def ancestors(page, parents):
    while (page := int(parents[page])) >= 0:
        yield page


@given(webs())
def test_equals_a_walk_up_each_path(documents):
    order, parents = tunnels.breadth_first_paths(documents)
    assert sorted(order.tolist()) == np.flatnonzero(documents.reachable()).tolist()
    assert all(page in documents.links(int(parents[page])) for page in order.tolist() if parents[page] >= 0)
    relevant = documents.relevant("topic")
    lengths = []
    children = {(a, b): [] for a in (True, False) for b in (True, False)}
    for page in order.tolist():
        above = [bool(relevant[each]) for each in ancestors(page, parents)]
        if relevant[page] and True in above:
            lengths.append(1 + above.index(True))
        if len(above) >= 2:
            children[above[0], above[1]].append(bool(relevant[page]))
    found = measured(documents)
    assert found["tunnels.behind"] == len(lengths)
    assert found["tunnels.longest"] == max(lengths, default=0)
    if lengths:
        assert found["tunnels.within_2"] == pytest.approx(sum(length <= 2 for length in lengths) / len(lengths))
    for (parent, grandparent), values in children.items():
        name = f"{tunnels.KINDS[parent]}.{tunnels.KINDS[grandparent]}"
        assert found[f"children.pages.{name}"] == len(values)
        assert math.isnan(found[f"children.{name}"]) if not values else found[f"children.{name}"] == np.mean(values)


def test_a_tunnel_of_two_poor_pages():
    found = measured(collection_of([[1], [2], [3], []], labels=[0, 3]))
    assert (found["tunnels.relevant"], found["tunnels.behind"], found["tunnels.longest"]) == (2, 1, 3)
    assert (found["tunnels.within_2"], found["tunnels.within_3"]) == (0, 1)
    assert "parent other" in tunnels.table(found)


@given(webs())
def test_no_two_pages_of_a_group_lie_more_than_three_links_apart(documents):
    order = tunnels.breadth_first_paths(documents)[0]
    number = relevant_graph.numbered(relevant_graph.both_ways(documents), order, len(documents))
    assert (number[order] >= 0).all()
    apart = np.full((len(documents), len(documents)), 99)
    np.fill_diagonal(apart, 0)
    for page in range(len(documents)):
        for target in documents.links(page):
            apart[page, target] = apart[target, page] = min(1, apart[page, target])
    for middle in range(len(documents)):
        apart = np.minimum(apart, apart[:, middle, None] + apart[None, middle])
    for group in np.unique(number[order]):
        own = np.flatnonzero(number == group)
        assert apart[np.ix_(own, own)].max() <= 3


def test_groups_with_relevant_pages_hang_together_where_pages_link():
    chain = collection_of([[n + 1] for n in range(11)] + [[]], labels=[0, 5, 11])
    found = relevant_graph.groups(chain, np.arange(12), "topic")
    assert found.relevant.tolist() == [1, 1, 1]
    assert found.joined.tolist() == [[0, 1]]
    assert [part.tolist() for part in relevant_graph.parts(found)] == [[0, 1], [2]]


def test_command_reads_a_labelled_crawl(tmp_path, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "url": ["http://a.example/1", "http://a.example/2"],
        "text": ["", ""],
        "outlinks": [[1], [0]],
        "anchors": [["one"], ["two"]],
        "topics": [["wine"], ["wine"]],
    }
    file = tmp_path / "crawl.parquet"
    parquet.write_table(pa.table(columns).replace_schema_metadata({"seeds": json.dumps([0])}), file)
    picture = tmp_path / "graph.png"
    with pytest.raises(SystemExit) as ended:
        execute(["scrapy", "replica", "lab", "tunnels", str(file), "--topic", "wine", "--plot", str(picture), "--json"])
    assert ended.value.code == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert (figures["tunnels.within_1"], figures["groups"]) == (1, 1)
    assert picture.read_bytes()[:4] == b"\x89PNG"
