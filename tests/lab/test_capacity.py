from __future__ import annotations

import json
from functools import partial

import pytest
from command_line import replica

from scrapy_replica.lab.commands.sizing import REDIS_NODE, needs, redis_bytes


def amounts(*numbers):
    return {(need.where, need.what): need.amount for need in needs(*numbers)}


command = partial(replica, "lab", "capacity")


class TestNeeds:
    def test_ten_times_as_much_needs_no_more_than_ten_times(self):
        small, large = amounts(10**6, 10**4, 2 * 10**7), amounts(10**7, 10**5, 2 * 10**8)
        assert small.keys() == large.keys()
        assert all(small[name] <= large[name] <= 10.01 * small[name] + 1 for name in small)

    def test_each_job_fits_on_its_node(self):
        for urls in (1, 10**6, 10**8, 10**9, 10**11):
            jobs = amounts(urls, 1, 0)["many processes, Redis", "jobs, a node of Redis each"]
            assert (jobs - 1) * REDIS_NODE < redis_bytes(urls, 1) <= jobs * REDIS_NODE

    def test_more_links_cost_processor_time_and_no_room(self):
        few, many = amounts(10**6, 100, 2 * 10**7), amounts(10**6, 100, 10**8)
        assert {name[1] for name in few if few[name] != many[name]} == {"processor time"}

    @pytest.mark.parametrize("numbers", [(-1, 1, 1), (10, 0, 1), (10, 11, 1), (10, 1, -1), (0, 0, 0)])
    def test_what_makes_no_sense_is_refused(self, numbers):
        with pytest.raises(ValueError, match=r"--(urls|hosts|links) is"):
            needs(*numbers)


class TestCommand:
    def test_in_words_it_fits_the_terminal(self):
        done = command("--urls", 10**9, "--hosts", 10**7)
        assert (done.code, done.err) == (0, "")
        assert max(map(len, done.out.splitlines())) <= 80
        assert "memory of Redis, all fetched" in done.out

    def test_as_json_it_is_in_bytes_and_seconds(self):
        done = command("--urls", 1000, "--hosts", 10, "--json")
        told = json.loads(done.out)
        assert told["inputs"] == {"urls": 1000, "hosts": 10, "links": 20_000}
        assert {need["unit"] for need in told["needs"]} == {"bytes", "seconds", ""}
        assert told["needs"] == [need._asdict() for need in needs(1000, 10, 20_000)]
        assert set(told["figures"].values()) == {need["amount"] for need in told["needs"]}

    def test_one_line_says_what_is_wrong(self):
        done = command("--urls", 10, "--hosts", 20)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert "--hosts is 20" in done.err
