from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.rehearsal.collection import Collection, build
from scrapy_replica.rehearsal.direct import DirectArchive, Writer

WORDS = st.text("abcdé", min_size=1, max_size=3)
PAGES = st.lists(
    st.tuples(
        st.text("ab/é?\ud800", max_size=4),
        st.text("ab \n", max_size=3),
        st.dictionaries(WORDS, st.integers(1, 70_000), max_size=12),
        st.lists(st.tuples(st.integers(0, 10**6), st.text("xy ", max_size=2)), max_size=8),
    ),
    max_size=80,
)


def made(pages: list) -> Collection:
    urls = [(f"http://h{len(url)}.org/{url}", title, terms) for url, title, terms, _ in pages]
    links = [[(target % len(pages), text) for target, text in row] for *_, row in pages]
    labels = {"even": range(0, len(pages), 2), "none": []}
    return build(urls, links, [0] if pages else [], labels)


def written(collection: Collection, folder: Path, sizes: list[int]) -> DirectArchive:
    writer = Writer(folder, collection.vocabulary, collection.anchor_texts)
    first = 0
    while first < len(collection):
        stop = min(len(collection), first + sizes[first % len(sizes)])
        writer.add(collection.columns.part(first, stop))
        first = stop
    writer.finish(collection.seeds, collection.labels)
    return DirectArchive(folder)


@settings(max_examples=40, deadline=None)
@given(PAGES, st.lists(st.integers(1, 50), min_size=1, max_size=3))
def test_reads_what_was_written(pages: list, sizes: list[int]) -> None:
    wanted = made(pages)
    with tempfile.TemporaryDirectory() as folder:
        found = written(wanted, Path(folder), sizes)
        assert len(found) == len(pages)
        assert list(found.urls) == list(wanted.urls)
        assert (found.hosts, found.seeds.tolist()) == (wanted.hosts, wanted.seeds.tolist())
        assert {k: v.tolist() for k, v in found.labels.items()} == {k: v.tolist() for k, v in wanted.labels.items()}
        for number, (url, (_, title, terms, links)) in enumerate(zip(wanted.urls, pages, strict=True)):
            first = {}
            for target, text in links:
                first.setdefault(target % len(pages), text)
            first.pop(number, None)
            page = found.page(number)
            assert (page.url, page.title, page.terms) == (
                url,
                title or None,
                {w: min(n, 65_535) for w, n in terms.items()},
            )
            assert found.links(number) == list(first)
            assert [link.text for link in page.links] == list(first.values())
            assert found.number(url) == list(wanted.urls).index(url)
        assert found.number("http://nowhere.org/") is None
        starts, targets = found.graph()
        assert (starts.tolist(), targets.tolist()) == tuple(column.tolist() for column in wanted.graph())
