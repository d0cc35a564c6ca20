from __future__ import annotations

import csv
import gzip
import sys
from collections import Counter
from random import Random

import pytest

from scrapy_replica.lab.manuals import changes
from scrapy_replica.lab.manuals.folder import alike, make
from scrapy_replica.lab.manuals.hosts import COPIES, NEARLY
from scrapy_replica.lab.manuals.packages import TABLE, Edition, read_table, unpacked
from scrapy_replica.lab.manuals.trees import MAX_PAGES, read_tree
from scrapy_replica.lab.replicas.replica_pairs import load

N_PAGES = 30


def text(seed, n):
    rng = Random(seed)
    return " ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(n))


def write_manual(folder, family, version, changed=0.0):
    root = folder / "usr/share/doc" / family / "html"
    root.mkdir(parents=True)
    links = "".join(f"<li><a href='page{n}.html'>Page {n}</a></li>" for n in range(1, N_PAGES))
    for n in range(N_PAGES):
        edited = Random(f"{family}{version}{n}").random() < changed
        words = [text(f"{family}{n}{part}{version if edited else ''}", 60) for part in range(3)]
        body = f"<nav><ul>{links}</ul></nav><h1>Page {n}</h1>" + "".join(f"<p>{each}</p>" for each in words)
        name = "index.html" if n == 0 else f"page{n}.html"
        (root / name).write_text(f"<html><head><title>Page {n} - {family}</title></head><body>{body}</body></html>")


def edition(family, version, language="en"):
    return Edition(family, "debian", f"{family}-doc", version, language, "MIT")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    packages, out = tmp_path_factory.mktemp("packages"), tmp_path_factory.mktemp("made") / "out"
    editions = [edition(f"work{n}", version) for n in range(9) for version in ("1.0-1", "2:2.0-1")]
    for each in editions:
        write_manual(packages / each.name, each.family, each.version, 0.6 if each.version != "1.0-1" else 0.0)
    (packages / edition("empty", "1").name).mkdir()
    told = []
    n_hosts = make([*editions, edition("empty", "1")], packages, out, 1, told.append)
    return out, n_hosts, told


def rows_of(file):
    with file.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def test_each_edition_has_its_host_and_each_kind_of_copy_and_near_miss_is_made(made):
    out, n_hosts, told = made
    kinds = Counter(row["host_status"] for row in rows_of(out / "hosts.csv"))
    assert kinds["original"] == 18
    assert set(kinds) == {"original", *COPIES, *NEARLY}
    assert n_hosts == kinds.total() == len(list((out / "warc").iterdir()))
    assert told == ["left out: empty-doc 1 has fewer than 12 pages of text"]


def test_hosts_of_one_edition_are_replicas_and_versions_quotes_and_forks_are_near_misses(made):
    out, _, _ = made
    host = {row["host"]: row for row in rows_of(out / "hosts.csv")}
    found = Counter()
    for row in rows_of(out / "truth.csv"):
        a, b = host[row["host_a"]], host[row["host_b"]]
        kinds = {a["host_status"], b["host_status"]}
        if row["relation"] == "replica":
            assert a["site"] == b["site"]
            assert not kinds & set(NEARLY)
        if row["relation"] == "near_miss":
            assert a["family"] == b["family"]
            assert a["site"] != b["site"]
        found[row["relation"], "fork" in kinds or "quote" in kinds] += 1
    assert found["replica", False] >= 18
    assert found["near_miss", True] >= 4
    assert found["unrelated", False] > 100


def test_the_folder_is_read_as_one_of_captures_is_and_copies_are_likelier_than_versions(made):
    out, _, _ = made
    table, pages = load(out)
    assert all(len(found) >= 6 for found in pages.values())
    near = table.raw[:, 1]  # pages within 10 bits
    aliases = table.is_alias & table.is_replica
    assert table.is_candidate[aliases].all()
    assert near[aliases].min() > 0.9
    assert set(table.family[table.is_replica]) <= {f"work{n}" for n in range(9)}


def test_the_same_seed_makes_the_same_hosts(made, tmp_path):
    packages = tmp_path / "packages"
    editions = [edition(f"work{n}", "1.0-1") for n in range(3)]
    for each in editions:
        write_manual(packages / each.name, each.family, each.version)
    for name in ("first", "second"):
        make(editions, packages, tmp_path / name, 5, print)
    first, second = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("first", "second")
    )
    assert first == second


def test_editions_of_equal_text_are_neither_replicas_nor_near_misses(tmp_path):
    editions = [edition("work", version) for version in ("1.0", "1.1", "2.0")]
    for each, changed in zip(editions, (0.0, 0.0, 0.7), strict=True):
        write_manual(tmp_path / each.name, each.family, each.version, changed)
    trees = {each: read_tree(tmp_path / each.name) for each in editions}
    assert alike(trees) == {frozenset((editions[0].name, editions[1].name))}


def test_a_tree_begins_with_its_start_page_and_keeps_further_pages_apart(tmp_path):
    write_manual(tmp_path / "big", "big", "1")
    root = tmp_path / "big/usr/share/doc/big/html"
    for n in range(50):
        (root / f"more{n}.html").write_text(f"<p>{text(n, 200)}</p>")
    (root / "zipped.html.gz").write_bytes(gzip.compress(f"<p>{text('z', 200)}</p>".encode()))
    tree = read_tree(tmp_path / "big")
    assert next(iter(tree.pages)) == "index.html"
    assert len(tree.pages) == MAX_PAGES
    assert tree.reserve
    assert not tree.pages.keys() & tree.reserve.keys()


@pytest.mark.parametrize("page", [b"", b"<p>", b"<html><frameset></frameset></html>", b"\xff\xfe<p>a</p>"])
def test_no_page_breaks_a_change(page):
    assert isinstance(changes.theme(page, 3), bytes)
    assert isinstance(changes.chrome(page, 3), bytes)
    assert isinstance(changes.edited(page, Random(1), 0.5, ["other"]), bytes)
    assert isinstance(changes.with_text_of(page, b"<p>other</p>"), bytes)


def test_a_theme_keeps_the_text_and_changes_what_is_around_it():
    page = "<html><head><title>One - Work</title></head><body><nav>menu</nav>"
    page += f"<div class='nav-content'><p>{text(1, 30)}</p></div></body></html>"
    other = changes.theme(page.encode(), 1).decode()
    assert text(1, 30) in other
    assert "menu<" not in other
    assert "One - Work" not in other


def test_a_renamed_work_keeps_its_links():
    page = b'<a href="flask.html">Flask</a> and flask, <a href="x/flask/y">z</a>'
    assert (
        changes.renamed(page, "flask", "Botol")
        == b'<a href="flask.html">Botol</a> and Botol, <a href="x/flask/y">z</a>'
    )


def test_the_table_names_sixty_families_with_licences():
    editions = read_table(TABLE)
    assert len({each.family for each in editions}) >= 60
    assert all(each.licence for each in editions)
    assert len(set(editions)) == len(editions)


def test_without_two_families_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="fewer than two families"):
        make([edition("empty", "1")], tmp_path / "none", tmp_path / "out", 1, print)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "table",
    [
        "a,b\n1,2\n",
        "family,registry,package,version,language,licence\nf,debian\n",
        "family,registry,package,version,language,licence\nf,cpan,p,1,en,MIT\n",
        "family,registry,package,version,language,licence\nf,debian,p,1,en,MIT,more\n",
    ],
)
def test_a_table_that_is_none_is_refused_in_one_line(tmp_path, table):
    (tmp_path / "table.csv").write_text(table, encoding="utf-8")
    with pytest.raises(ValueError, match=r"table\.csv, row 2: the columns are family, registry"):
        read_table(tmp_path / "table.csv")


DOCUSAURUS = """
import json, pathlib
config = json.loads(pathlib.Path("docusaurus.config.js").read_text().removeprefix("module.exports = "))
for page in pathlib.Path("docs").rglob("*.md"):
    site = pathlib.Path("build", page.relative_to("docs").with_suffix(""))
    site.mkdir(parents=True)
    text = f"{config['title']}: {page.read_text()}"
    links = '<a href="/package/docs/page5/#part">5</a> <a href="/elsewhere">no</a>'
    (site / "index.html").write_text(f"{text} {links}")
pathlib.Path("build/404.html").write_text("Page Not Found")
"""
NPM = """
import io, pathlib, sys, tarfile
if sys.argv[1] == "pack":
    with tarfile.open("work.tgz", "w:gz") as archive:
        for name in ["CHANGELOG.md", "docs/CHANGELOG.md", *(f"docs/page{n}.md" for n in range(12))]:
            file = tarfile.TarInfo(f"package/{name}")
            file.size = len(name)
            archive.addfile(file, io.BytesIO(name.encode()))
else:
    program = pathlib.Path("node_modules/.bin/docusaurus")
    program.parent.mkdir(parents=True)
    program.write_text(pathlib.Path(__file__).with_name("renderer").read_text())
    program.chmod(0o700)
"""


def write_program(file, text):
    file.write_text(f"#!{sys.executable}{text}", encoding="utf-8")
    file.chmod(0o700)


def test_what_npm_holds_as_markdown_is_rendered_and_the_folder_of_its_manual_taken(tmp_path, monkeypatch):
    write_program(tmp_path / "npm", NPM)
    write_program(tmp_path / "renderer", DOCUSAURUS)
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = unpacked(Edition("work", "docusaurus", "@of/work", "1.0", "en", "MIT"), tmp_path / "packages")
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert pages == {f"package/docs/page{n}/index.html" for n in range(12)}
    page = (folder / "package/docs/page3/index.html").read_text()
    assert page == ('work: docs/page3.md <a href="../page5/index.html#part">5</a> <a href="/elsewhere">no</a>')


def test_a_manual_that_cannot_be_rendered_is_left_out_in_one_line(tmp_path, monkeypatch):
    write_program(tmp_path / "npm", NPM)
    write_program(tmp_path / "renderer", "\nraise SystemExit(1)")
    monkeypatch.setenv("PATH", str(tmp_path))
    edition = Edition("work", "docusaurus", "@of/work", "1.0", "en", "MIT")
    with pytest.raises(OSError, match="docusaurus failed, so work is not rendered"):
        unpacked(edition, tmp_path / "packages")
