"""Visits that are kept, interrupted and gone on with."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from command_line import replica

from scrapy_replica.focus.links import LinkWords
from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.lab.archives.direct import DirectArchive, Writer
from scrapy_replica.lab.strategies import STRATEGIES, make
from scrapy_replica.lab.visits import checkpoint, visit_job, visits
from scrapy_replica.lab.visits.omniscient import Omniscient
from scrapy_replica.lab.visits.visit import Limits, Visit, visit
from scrapy_replica.lab.visits.visit_job import VisitJob
from scrapy_replica.lab.visits.visit_variants import Variant, varied

PAGES = 400


@pytest.fixture(scope="module")
def web() -> Collection:
    chance = np.random.default_rng(5)
    on_topic = [page // 10 % 5 == 2 for page in range(PAGES)]
    words = [f"w{word}" for word in range(60)]
    terms = [
        {**dict.fromkeys(chance.choice(words, 8).tolist(), 1), **({"markov": 3, "chain": 1} if yes else {})}
        for yes in on_topic
    ]
    near = [[*(page // 10 * 10 + chance.integers(0, 10, 4)).tolist(), (page + 1) % PAGES] for page in range(PAGES)]
    links = [[(target, "a page") for target in {*row, int(chance.integers(PAGES))}] for row in near]
    urls = [(f"http://h{page % 7}.org/d{page // 10}/{page}", "", each) for page, each in enumerate(terms)]
    return build(urls, links, [0], {"markov": np.flatnonzero(on_topic).tolist()})


@pytest.fixture(scope="module")
def archive(web: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives") / "web"
    writer = Writer(folder, web.vocabulary, web.anchor_texts)
    writer.add(web.columns)
    writer.finish(web.seeds, web.labels)
    return folder


def relevance(web: Collection) -> np.ndarray:
    return np.where(web.relevant("markov"), 0.9, 0.05)


def begun(web: Collection, name: str, limits: Limits = Limits()) -> Visit:  # noqa: B008 - frozen
    if name == "omniscient":
        mask = web.relevant("markov")
        return Visit(web, Omniscient(web, mask), mask.astype(float), limits, warm_up=0)
    words = LinkWords(lambda terms: 0.8 if "markov" in terms else 0.1, lambda text: dict.fromkeys(text.split(), 1))
    return Visit(web, make(name, 0, words), relevance(web), limits)


class TestCheckpoint:
    @pytest.mark.parametrize("name", [*sorted(STRATEGIES), "omniscient"])
    def test_a_visit_goes_on_from_it_as_if_it_had_not_ended(self, name: str, web: Collection, tmp_path: Path) -> None:
        limits = Limits(per_host=50)
        whole = begun(web, name, limits)
        first = begun(web, name, limits)
        for step in range(400):
            if step == 170:
                checkpoint.save(first, tmp_path / "c", told=1)
                first = begun(web, name, limits)
                assert checkpoint.load(first, tmp_path / "c") == {"told": 1}
            for each in (whole, first):
                if each.goes_on:
                    each.step()
        assert first.order.tolist() == whole.order.tolist()
        assert 170 < first.pages < PAGES

    def test_a_damaged_one_is_one_line(self, web: Collection, tmp_path: Path) -> None:
        file = tmp_path / "c"
        checkpoint.save(begun(web, "hmm-dynamic"), file)
        data = file.read_bytes()
        half, other = data[: len(data) // 2], data[:300] + bytes(200) + data[500:]
        for damaged in (b"", half, other):
            file.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"c is damaged.*delete it"):
                checkpoint.load(begun(web, "hmm-dynamic"), file)

    def test_without_room_the_one_before_stands(self, web: Collection, tmp_path: Path) -> None:
        file = tmp_path / "c"
        checkpoint.save(begun(web, "best-first"), file)
        before, limit = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limit[1]))
        try:
            with pytest.raises(OSError, match="make room, run the same command again"):
                checkpoint.save(begun(web, "hmm-dynamic"), file)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert [each.name for each in tmp_path.iterdir()] == ["c"]
        assert file.read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from scrapy_replica.lab.visits import visit_job, visits
from scrapy_replica.lab.visits.visit import Visit

visit_job.TOLD_PAGES = 20
step = Visit.step
def counted(self):
    step(self)
    if self.pages == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
Visit.step = counted
visits.evaluate(Path(sys.argv[1]), "markov", ["hmm-dynamic"], 1, 10, 100, job=Path(sys.argv[2]), minutes=0)
"""


class TestJob:
    def test_killed_visits_go_on_in_the_same_order(self, archive: Path, tmp_path: Path) -> None:
        for pages in ("130", "290", "0"):
            command = [sys.executable, "-c", KILLED, str(archive), str(tmp_path / "killed"), pages]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            assert ended.returncode == (0 if pages == "0" else -9)
            assert "hmm-dynamic-0: 300 of 400 pages, " in ended.stderr or pages != "0"
            assert (tmp_path / "killed" / "hmm-dynamic-0.checkpoint").exists() == (pages != "0")
        visits.evaluate(archive, "markov", ["hmm-dynamic"], 1, 10, 100, job=tmp_path / "whole")
        orders = [np.load(tmp_path / job / "hmm-dynamic-0.order.npy") for job in ("killed", "whole")]
        assert len(orders[1]) > 350
        assert orders[0].tolist() == orders[1].tolist()

    def test_what_is_finished_is_not_visited_again(
        self, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = (archive, "markov", ["best-first", "omniscient"], 2, 10, 100)
        first = visits.evaluate(*given, job=tmp_path / "job")
        monkeypatch.setattr(Visit, "step", lambda _: pytest.fail("it was visited again"))
        assert visits.evaluate(*given, job=tmp_path / "job") == first

    def test_a_folder_of_other_visits_is_refused(self, archive: Path, tmp_path: Path) -> None:
        VisitJob(tmp_path, {"topic": "markov", "pages": 3})
        with pytest.raises(ValueError, match="another topic: name another folder or delete it"):
            VisitJob(tmp_path, {"topic": "chains", "pages": 3})

    def test_the_peak_is_that_since_it_was_forgotten(self) -> None:
        large = np.ones(20_000_000)
        del large
        before = visit_job.peak_bytes()
        visit_job.forget_peak()
        assert visit_job.peak_bytes() < before - 1e8


class TestArchive:
    @pytest.mark.parametrize("name", ["random", "hmm-dynamic", "link-aware"])
    def test_is_visited_as_the_collection_in_memory(self, name: str, web: Collection, archive: Path) -> None:
        orders = []
        for each in (web, DirectArchive(archive)):
            strategy = begun(web, name).strategy
            orders.append(visit(each, strategy, relevance(web), Limits(per_domain=40)).tolist())
        assert orders[0] == orders[1]

    def test_relevance_of_all_pages_is_that_of_each(self, web: Collection, archive: Path) -> None:
        drawn = visits.draw(web, web.relevant("markov"), 0, 20, 150)
        topic = drawn.topic
        wanted = [topic.relevance(page) for page in range(PAGES)]
        assert topic.of_all_pages() == pytest.approx(wanted)
        read = visits.draw(DirectArchive(archive), web.relevant("markov"), 0, 20, 150).topic
        assert read.of_all_pages() == pytest.approx(wanted)
        assert len(set(np.round(wanted, 3))) > 20


command = partial(replica, "lab", "visits")


class TestCommand:
    def test_an_archive_with_varied_and_frozen_models(self, archive: Path, tmp_path: Path) -> None:
        curves, job = tmp_path / "curves.csv", tmp_path / "job"
        names = ("--strategies", "best-first", "hmm-dynamic", "hmm-second-order")
        small = ("--draws", "2", "--examples", "10", "--unlabelled", "100", "--pages", "200")
        given = (str(archive), "--topic", "markov", *names, *small, "--job", str(job))
        code, out, _ = command(*given, "--vary", "alpha", ".5", ".75", "--frozen", "--curves", str(curves))
        assert code == 0
        rows = {"best-first"} | {
            f"{name} alpha {alpha}{frozen}"
            for name in names[2:]
            for alpha in (".5", ".75")
            for frozen in ("", " frozen bayes", " frozen both")
        }
        assert {line.rsplit(maxsplit=6)[0].strip() for line in out[out.index("strategy") :].splitlines()[1:]} == rows
        assert all(len(line) <= 80 for line in out.splitlines())
        table = curves.read_text().splitlines()
        assert table[0] == "strategy,draw,pages,found,f1,pref"
        assert len(table) == 1 + len(rows) * 2 * 201
        assert {line.split(",")[2] for line in table[1:]} >= {"0", "100", "190"}  # the ten examples count neither way
        code, out, _ = command(*given, "--json")
        figures = json.loads(out)["figures"]
        assert figures["hmm-dynamic.pref"] > 0.5
        assert figures["hmm-dynamic.peak_mb"] > 10

    def test_a_visit_that_found_nothing_is_told_beside_its_pref(self, archive: Path) -> None:
        few = ("--draws", "2", "--examples", "10", "--unlabelled", "100", "--strategies", "breadth-first", "--pages")
        for pages, is_told in (("2", True), ("200", False)):
            code, out, _ = command(str(archive), "--topic", "markov", *few, pages)
            assert (code, "breadth-first in 2 of 2 draws" in out.replace("\n", " ")) == (0, is_told)

    def test_one_visit_is_made_by_one_process(self, archive: Path, tmp_path: Path) -> None:
        fcntl = pytest.importorskip("fcntl")
        line = (archive, "markov", ["best-first"], 1, 10, 100)
        with (tmp_path / "best-first-0.lock").open("wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(ValueError, match="another process makes best-first-0"):
                visits.evaluate(*line, job=tmp_path)
        assert visits.evaluate(*line, job=tmp_path)["figures"]["best-first.pref"] > 0.5
        assert not list(tmp_path.glob("*.lock"))
        (tmp_path / "best-first-0.json").write_text("{")
        with pytest.raises(ValueError, match=r"best-first-0\.json is damaged: delete it"):
            visits.evaluate(*line, job=tmp_path)

    def test_a_full_disk_names_the_file(self, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match=r"visits\.json cannot be written \(No space left on device\): make room"):
            visits.evaluate(archive, "markov", ["best-first"], 1, 10, 100, job=tmp_path)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--vary", "beta", "1"), "--vary beta 1"),
            (("--vary", "alpha", "1.5"), "alpha lies within 0..1"),
            (("--vary", "distance", "0"), "a distance is at least 1"),
            (("--vary", "alpha"), "--vary takes"),
            (("--pages", "0"), "--pages is 0"),
            (("--every", "1"), "--every needs --job"),
            (("--unlabelled", "0", "--job", "x"), "--unlabelled 0"),
            (("--plot", "curves.txt"), "its name ends with .png"),
            (("--curves", "nowhere/c.csv"), "there is no folder"),
            (("--exact", "--states"), "--states and --exact are two questions"),
            (("--exact", "--plot", "x.png", "--vary", "alpha", "1", "--job", "x"), "leave --job, --plot, --vary out"),
            (("--states", "--curves", "x.csv"), "leave --curves out: --states"),
        ],
    )
    def test_wrong_use_is_one_line(self, archive: Path, arguments: tuple[str, ...], says: str) -> None:
        code, out, error = command(str(archive), "--topic", "markov", *arguments)
        assert (code, out) == (2, "")
        assert says in error
        assert error.count("\n") == 1


class TestVariants:
    def test_frozen_models_do_not_learn(self, archive: Path, tmp_path: Path) -> None:
        rows = varied(["hmm-dynamic"], [], is_frozen=True)
        assert [row.frozen for row in rows] == ["", "bayes", "both"]
        result = visits.evaluate(archive, "markov", rows, 1, 10, 100, job=tmp_path)
        online, *frozen = (result["figures"][f"{row.name}.pref"] for row in rows)
        assert online not in frozen

    def test_frozen_models_need_the_visit_they_come_from(self, archive: Path) -> None:
        with pytest.raises(ValueError, match="of the same strategy's visit before it"):
            visits.evaluate(archive, "markov", [Variant("hmm-dynamic", frozen="bayes")], 1, 10, 100)
