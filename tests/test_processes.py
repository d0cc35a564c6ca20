"""Several processes with one crawl: real ones, on a web of this machine, with a Redis of their own."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from processes import NumberedWeb, end_all, until

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.database import RedisCrawlDB


def kept(folder):
    """URLs of the responses in the WARC files of *folder*, all of which are finished."""
    urls = Counter()
    for path in folder.iterdir():
        assert path.name.endswith(".warc.gz")
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
                urls[record.headers["WARC-Target-URI"]] += 1
    return urls


class TestTogether:
    def test_every_page_and_none_twice(self, started, tmp_path):
        with NumberedWeb(400, seconds=0.1).serving() as web:
            keep = {"REPLICA_WARC": str(tmp_path / "warc")}
            both = [started("topic", name, keep, seeds=web.of(0)) for name in ("one", "two")]
            stats = end_all(*both)
            assert web.fetched() == Counter(web.whole)
            assert kept(tmp_path / "warc") == Counter(web.whole)
            items = [item["url"] for process in both for item in process.found]
            assert sorted(items) == sorted(web.whole)
            share = Counter(asked.who for asked in web.asked)
            assert min(share.values()) > 30, "both had their part"
        for one in stats:
            assert one["finish_reason"] == "finished"
        assert max(one["replica/all/page/observed"] for one in stats) == 400
        assert max(one["replica/all/item_scraped_count"] for one in stats) == 400

    def test_one_that_comes_late_takes_its_part(self, started):
        with NumberedWeb(500, seconds=0.1).serving() as web:
            one = started("topic", "one", seeds=web.of(0))
            until(lambda: len(web.asked) > 60)
            two = started("topic", "two", seeds=web.of(0))
            feeds = {"FEEDS": {str(one.items): {"format": "jsonl"}}}
            wrong = {"a": feeds, "b": {"REPLICA_STRATEGY": "random"}}
            others = [started("topic", name, settings, seeds=web.of(0)) for name, settings in wrong.items()]
            for other, why in zip(others, ("another process writes to it", "REPLICA_STRATEGY"), strict=True):
                other.ended()
                assert other.code == 1
                told = [line for line in other.told.splitlines() if "ERROR" in line]
                assert len(told) == 1
                assert why in told[0]
            end_all(one, two)
            assert web.fetched() == Counter(web.whole)
            assert len(two.found) > 10
            assert len(one.found) + len(two.found) == 500

    def test_a_finished_crawl_is_not_fetched_again(self, started):
        with NumberedWeb(40).serving() as web:
            end_all(started("topic", "one", seeds=web.of(0)))
            end_all(started("topic", "two", seeds=web.of(0)))
            assert web.fetched() == Counter(web.whole)

    def test_an_ordinary_spider_yields_what_it_yields_with_plain_scrapy(self, started):
        """Links, meta, headers, POST, bytes, errbacks, callbacks that raise."""
        status = {}
        with NumberedWeb(120, seconds=0.1, status=status).serving() as web:
            status.update({web.of(number): 404 for number in (17, 44)})
            plain = started("ordinary", "plain", {"ADDON": False, "REPLICA_CRAWLDB": None}, seeds=web.of(0))
            plain.ended()
            web.asked.clear()
            both = [started("ordinary", name, seeds=web.of(0)) for name in ("one", "two")]
            for process in both:
                process.ended()
                assert process.code == 0, process.told
            items = sorted(json.dumps(item, sort_keys=True) for process in both for item in process.found)
            assert items == sorted(json.dumps(item, sort_keys=True) for item in plain.found)
            assert all(process.found for process in both)


POLITE = {"DOWNLOAD_DELAY": 1.0, "DOWNLOAD_DELAY_JITTER": 0.0, "RANDOMIZE_DOWNLOAD_DELAY": False}


class TestManners:
    @staticmethod
    def pauses(web):
        """Least and mean seconds between two requests to a host; a busy machine notes some late."""
        times = defaultdict(list)
        for asked in sorted(web.asked):
            times[asked.url.split("/")[2]].append(asked.at)
        found = [b - a for at in times.values() for a, b in itertools.pairwise(at)]
        return min(found), sum(found) / len(found)

    def test_delays_hold_over_all_processes(self, started):
        with NumberedWeb(16, hosts=2).serving() as web:
            end_all(*(started("topic", name, POLITE, seeds=web.of(0)) for name in ("one", "two")))
            assert web.fetched() == Counter(web.whole)
            least, mean = self.pauses(web)
            assert least > 0.6
            assert mean > 0.95

    def test_delays_hold_where_a_host_changes_hands(self, started):
        """One process is killed, another one is asked to end: their hosts go over to the third."""
        with NumberedWeb(30, hosts=3).serving() as web:
            three = [started("topic", name, POLITE, lease=2, seeds=web.of(0)) for name in ("one", "two", "three")]
            until(lambda: len(web.asked) > 6)
            three[0].kill()
            until(lambda: len(web.asked) > 14)
            three[1].send(signal.SIGINT)
            three[1].ended()
            end_all(three[2])
            assert set(web.fetched()) == web.whole
            least, mean = self.pauses(web)
            assert least > 0.6
            assert mean > 0.95

    def test_what_is_asked_at_once_of_a_host(self, started):
        at_once = []
        with NumberedWeb(40, hosts=2, seconds=0.1).serving() as web:
            both = [
                started("topic", name, {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}, seeds=web.of(0))
                for name in ("one", "two")
            ]
            end_all(*both)
            for host in range(1, 3):
                at = [asked.at for asked in sorted(web.asked) if asked.url.startswith(web.url(host))]
                at_once += [b - a for a, b in itertools.pairwise(at)]
        assert min(at_once) > 0.05


class TestEnds:
    def test_ctrl_c_ends_one_and_the_others_go_on(self, started):
        with NumberedWeb(200, seconds=0.05).serving() as web:
            both = [started("topic", name, lease=60, seeds=web.of(0)) for name in ("one", "two")]
            until(lambda: len(web.asked) > 40)
            both[0].send(signal.SIGINT)
            stats = both[0].ended()
            assert stats["finish_reason"] == "shutdown"
            begun = time.monotonic()
            end_all(both[1])
            assert time.monotonic() - begun < 50, "leases went back at once"
            assert web.fetched() == Counter(web.whole)
            assert sorted(item["url"] for process in both for item in process.found) == sorted(web.whole)

    def test_killed_again_and_again(self, started):
        """Of three processes one is killed every so often and started again: nothing is lost."""
        lots = random.Random(1)
        with NumberedWeb(500, seconds=0.06).serving() as web:
            three = [started("topic", name, lease=2, seeds=web.of(0)) for name in ("one", "two", "three")]
            kills = []
            while any(process.process.poll() is None for process in three):
                time.sleep(lots.uniform(1.0, 2.5))
                victim = lots.choice(three)
                if len(kills) < 8 and victim.process.poll() is None and len(web.asked) < 450:
                    victim.kill()
                    kills.append((time.monotonic(), victim.name))
                    victim.start()
                assert len(web.asked) < 2_000
            end_all(*three)
            assert len(kills) >= 3
            assert set(web.fetched()) == web.whole
            asked = defaultdict(list)
            for one in sorted(web.asked):
                asked[one.url].append(one)
            for times in asked.values():
                for first in times[:-1]:  # each but the last was in flight when its process was killed
                    assert any(who == first.who and 0 <= at - first.at < 3 for at, who in kills), first
            assert len(web.asked) - len(web.whole) <= 3 * 8 * len(kills)
            assert {item["url"] for process in three for item in process.found} == web.whole

    def test_redis_is_away_for_a_while(self, started, redis_server):
        with NumberedWeb(300, seconds=0.05).serving() as web:
            redis_server.stop()
            redis_server.start(appendonly="yes", appendfsync="always")
            both = [started("topic", name, seeds=web.of(0)) for name in ("one", "two")]
            until(lambda: len(web.asked) > 60)
            redis_server.stop()
            time.sleep(10)
            before = len(web.asked)
            redis_server.start()
            stats = end_all(*both)
            assert before < 300
            assert web.fetched() == Counter(web.whole)
            assert all(one["finish_reason"] == "finished" for one in stats)
            assert sorted(item["url"] for process in both for item in process.found) == sorted(web.whole)

    def test_one_that_was_stopped_for_too_long_is_out(self, started):
        with NumberedWeb(250, seconds=0.06).serving() as web:
            one, two = (started("topic", name, lease=2, seeds=web.of(0)) for name in ("one", "two"))
            until(lambda: len(web.asked) > 50)
            one.send(signal.SIGSTOP)
            time.sleep(5)
            one.send(signal.SIGCONT)
            one.ended()
            end_all(two)
            assert set(web.fetched()) == web.whole
            assert {item["url"] for process in (one, two) for item in process.found} == web.whole
            told = [line for line in one.told.splitlines() if "ERROR" in line]
            assert len(told) == 1, one.told
            assert "Traceback" not in one.told


class TestSilence:
    def test_where_all_were_silent_nobody_is_taken_for_dead(self, redis_server):
        """As after a time in which Redis was away."""
        address = redis_server.address(prefix="job", lease=3)
        one, two = (RedisCrawlDB(address, "x") for _ in range(2))
        time.sleep(3.5)
        one.listen()
        for _ in range(16):
            two.listen()
            time.sleep(0.25)
        with pytest.raises(StoreError):
            one.listen()
        two.close()
        with contextlib.suppress(StoreError):
            one.close()


class TestIdle:
    def test_one_that_has_nothing_to_do_takes_little_time(self, started):
        """One host, which one process has; the other one waits."""
        with NumberedWeb(12, hosts=1).serving() as web:
            both = [started("topic", name, POLITE, seeds=web.of(0)) for name in ("one", "two")]
            until(lambda: len(web.asked) > 2)
            spent = [used(process) for process in both]
            time.sleep(5)
            spent = [used(process) - before for process, before in zip(both, spent, strict=True)]
            end_all(*both)
            print(f"seconds of processor time in 5 s: {spent}")
            assert min(spent) < 0.5


def used(process):
    """Return seconds of processor time that a process took so far."""
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
