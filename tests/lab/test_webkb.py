"""WebKB as a web to visit."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.texts import webkb
from scrapy_replica.lab.visits.visit_draws import draw
from scrapy_replica.lab.visits.visits import read

pyarrow = pytest.importorskip("pyarrow")
ROWS = {
    "id": [7, 9, 4],
    "url": ["http://cs.a.edu/index.html", "http://cs.a.edu/~smith/", "http://cs.a.edu/~smith/"],
    "university": ["cornell", "cornell", "misc"],
    "label": ["department", "course", "department"],
    "title": ["Department", None, ""],
    "text": ["all courses", "compilers", "compilers"],
    "html": ['<a href="~smith">Our <b>compilers</b></a> <a href="http://[">bad</a>', '<a href="/">up</a>', ""],
    "outlinks": [[9, 1], [7], None],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    import pyarrow.parquet as pq

    path = tmp_path / "webkb.parquet"
    pq.write_table(pyarrow.table(ROWS), path)
    return path


def test_links_have_the_anchors_of_the_pages(file: Path) -> None:
    pages = read(file)
    assert [pages.links(page) for page in range(3)] == [[1], [0], []]
    assert [list(pages.anchors(page)) for page in range(2)] == [["Our compilers"], ["up"]]
    assert pages.urls[2] == "http://cs.a.edu/~smith/#"
    assert pages.seeds.tolist() == [0]
    assert pages.labels["course"].tolist() == [1]
    assert pages.terms(0) == {"depart": 1, "cours": 1}


def test_a_visit_begins_at_the_home_that_is_named(file: Path) -> None:
    assert webkb.read_webkb(file, lambda _: {}, homes=["cs.a.edu"]).seeds.tolist() == [0, 2]
    with pytest.raises(ValueError, match="no department page of texas"):
        webkb.read_webkb(file, lambda _: {}, homes=["texas"])


@pytest.fixture(scope="module")
def pages(shared: Path) -> Documents:
    return read(shared / "text" / "webkb.parquet")


@pytest.mark.shared
def test_of_the_links_an_eighth_is_left(pages: Documents) -> None:
    assert (len(pages), len(pages.graph()[1]), int(pages.reachable().sum())) == (8_281, 15_143, 4_434)


@pytest.mark.shared
def test_against_few_pages_the_line_of_relevance_holds(pages: Documents) -> None:
    """Courses, 50 examples against 60 pages: F1 is .67, and with the line at half of what g says of courses .46."""
    relevant = pages.relevant("course")
    drawn = draw(pages, relevant, seed=0, labelled=50, background=60)
    told, wanted = drawn.topic.of_all_pages()[~drawn.labelled] > 0.5, relevant[~drawn.labelled]
    assert 2 * (told & wanted).sum() / (told.sum() + wanted.sum()) > 0.62
