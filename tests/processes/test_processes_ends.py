"""How processes of one crawl end: by a signal, killed, without Redis, stopped for too long."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter, defaultdict

from job_processes import NumberedWeb, end_all, until


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
            redis_server.start(appendonly="yes")
            both = [started("topic", name, seeds=web.of(0)) for name in ("one", "two")]
            until(lambda: len(web.asked) > 60)
            redis_server.stop()
            time.sleep(7)  # longer than the lease
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
