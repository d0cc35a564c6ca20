"""What ten marks bring: relevant pages after them, beside a crawl without and one with wrong ones, on a campus web."""

from __future__ import annotations

import gzip
import random
import shutil
import sqlite3
import subprocess
import sys

import pytest

from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.commands.truth import Truth
from scrapy_replica.crawl.topic.questions import asked_about
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.warc.archive import open_archive

TOPICS = ("machine_learning", "theory_geometry", "bioinformatics")
DRAWS = (1, 2, 3)
EXAMPLES, BEFORE, AFTER, MARKS = 5, 300, 1_000, 10
SHOWN = (250, 500, 1_000)
FRONT_PAGES = (
    "https://www.ics.uci.edu/ https://www.cs.uci.edu/ https://www.informatics.uci.edu/ https://www.stat.uci.edu/"
)


def rehearse(warc, folder, job, pages, seed):
    command = [sys.executable, "-m", "scrapy", "replica", "rehearse", warc, "--seeds", FRONT_PAGES]
    command += ["--topic", folder / "topic", "--job", job, "--max-pages", pages, "-s", f"REPLICA_SEED={seed}"]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


def fetched(job):
    with sqlite3.connect(job / FILE_NAME) as db:
        sql = "SELECT urls.url FROM pages JOIN urls ON urls.id = pages.url WHERE status = 200 ORDER BY fetched_at"
        return [url for (url,) in db.execute(sql)]


def draw_examples(archive, relevant, folder, seed):
    """Write some of the relevant pages as examples."""
    records = {url: archive.get(url) for url in sorted(relevant)}
    pool = [url for url, record in records.items() if record and record.status == 200 and len(record.body) > 1_500]
    (folder / "topic").mkdir(parents=True)
    for number, url in enumerate(random.Random(seed).sample(pool, EXAMPLES)):
        body = records[url].body
        html = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        (folder / "topic" / f"{number}.html").write_bytes(html.decode("utf-8", "replace").encode())


def mark(job, relevant, *, are_right):
    with reading(str(job)) as reader:
        pages = asked_about(reader, MARKS)
    with ordering(str(job)) as give:
        for page in pages:
            give(MARK, {"url": page.url, "is_relevant": (page.url in relevant) is are_right})


@pytest.mark.shared
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("draw", DRAWS)
def test_marks(shared, tmp_path, capsys, topic, draw):
    warc = shared / "web" / "campus.warc.gz"
    relevant = Truth.parse(f"{shared / 'web' / 'campus_urls.csv.gz'}:{topic}").relevant
    draw_examples(open_archive([warc]), relevant, tmp_path, draw)
    rehearse(warc, tmp_path, tmp_path / "begun", BEFORE, draw)
    n_before = len(fetched(tmp_path / "begun"))
    lines = []
    for name in ("none", "right", "wrong"):
        job = shutil.copytree(tmp_path / "begun", tmp_path / name)
        if name != "none":
            mark(job, relevant, are_right=name == "right")
        rehearse(warc, tmp_path, job, AFTER, draw)
        after = fetched(job)[n_before:]
        found = [sum(url in relevant for url in after[:pages]) for pages in SHOWN]
        lines.append(f"  {name:<6}" + "".join(f"{count:>7}" for count in found))
    with capsys.disabled():
        print(f"\n{topic}, draw {draw}: relevant pages among the next {', '.join(map(str, SHOWN))}", *lines, sep="\n")
