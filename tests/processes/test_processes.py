"""Several processes with one crawl: real ones, on a web of this machine, with a Redis of their own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType
from job_processes import NumberedWeb, end_all, until
from redis import Redis


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
            wrong = {"a": feeds, "b": {"REPLICA_STRATEGY": "depth-first"}}
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
            both = [started("ordinary", name, seeds=web.of(0)) for name in ("one", "two")]
            for process in (plain, *both):
                process.ended()
                assert process.code == 0, process.told
            items = sorted(json.dumps(item, sort_keys=True) for process in both for item in process.found)
            assert items == sorted(json.dumps(item, sort_keys=True) for item in plain.found)
            assert all(process.found for process in both)


def used(process):
    """Return seconds of processor time that a process took so far."""
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

    def test_delays_hold_over_all_processes_and_who_waits_takes_little_time(self, started, redis_server):
        """Two hosts, which belong to two processes at most: another one has nothing to do."""
        with NumberedWeb(24, hosts=2).serving() as web, Redis(port=redis_server.port) as client:
            three = [started("topic", name, POLITE, seeds=web.of(0)) for name in ("one", "two", "three")]
            until(lambda: client.hlen("{job}:processes") == 3 and client.scard("{job}:idle") and len(web.asked) > 2)
            spent = [used(process) for process in three]
            time.sleep(5)
            spent = [used(process) - before for process, before in zip(three, spent, strict=True)]
            assert len(web.asked) < 24
            end_all(*three)
            assert max(spent) < 0.5
            assert web.fetched() == Counter(web.whole)
            least, mean = self.pauses(web)
            assert least > 0.6
            assert mean > 0.95

    def test_delays_hold_where_a_host_changes_hands(self, started):
        """One process is killed, another one is asked to end: their hosts go over to the third."""
        with NumberedWeb(24, hosts=3).serving() as web:
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
