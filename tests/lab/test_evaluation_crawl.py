"""``eval crawl``: what a whole crawl of a closed web finds, loses and saves."""

from __future__ import annotations

import json

import pytest
from scrapy.cmdline import execute
from web import page, record

from scrapy_replica.lab.crawls.crawl_figures import Block, Draw, Fetched, figures_of
from scrapy_replica.lab.crawls.crawl_truth import HostTruth, PageTable

GOOD, COPY = "http://good.example/", "http://copy.example/"
KEYS = {f"u{number}": key for number, key in enumerate("aabbccdd")}


class TestFigures:
    def test_a_crawl_that_fetches_each_page_once_saves_all_that_can_be_saved(self):
        draw = Draw(Fetched(["u0", "u2", "u4", "u6"]), Fetched(list(KEYS)), KEYS)
        found = draw.figures(HostTruth())
        assert (found["kept"], found["saved_of_oracle"], found["copies"], found["lost"]) == (1, 1, 0, 0)

    def test_what_is_lost_is_counted_by_reason(self):
        draw = Draw(
            Fetched(["u0", "u1", "u2"]), Fetched(list(KEYS)), KEYS, reasons={"c": "replica-host", "d": "unseen"}
        )
        found = draw.figures(HostTruth())
        assert draw.lost == {"c", "d"}
        assert (found["kept"], found["lost"]) == (0.5, 2)
        assert (found["lost.replica-host"], found["lost.unseen"]) == (1, 1)
        assert (found["fetched"], found["keys"], found["copies"]) == (3, 2, 1)
        assert found["saved_of_oracle"] == 5 / 4

    def test_pages_found_early_are_held_against_plain_after_as_many_fetches(self):
        ours = Fetched(["u0", "u2", "u4", "u6"], cpu_seconds=2.0)
        found = Draw(ours, Fetched(list(KEYS), cpu_seconds=2.0), KEYS).figures(HostTruth())
        assert (found["keys_at_25"], found["plain.keys_at_25"], found["found_at_25"]) == (2, 1, 2)
        assert (found["keys_at_100"], found["found_at_100"]) == (4, 1)
        assert (found["cpu_ratio"], found["cpu_of_crawl_ratio"]) == (2, 1)

    def test_a_page_that_the_table_does_not_know_is_a_fetch_and_no_key(self):
        found = Draw(Fetched(["u0", "elsewhere"]), Fetched(list(KEYS)), KEYS).figures(HostTruth())
        assert (found["unknown_pages"], found["keys"], found["copies"]) == (1, 1, 1)

    def test_several_draws_have_mean_and_spread(self):
        draws = [Draw(Fetched(urls), Fetched(list(KEYS)), KEYS) for urls in (["u0"], ["u0", "u2", "u4"])]
        found = figures_of(draws, HostTruth())
        assert (found["kept"], found["kept_min"], found["kept_max"]) == (0.5, 0.25, 0.75)

    def test_a_reason_of_one_draw_only_is_nought_in_the_other(self):
        plain = Fetched(list(KEYS))
        lossy = Draw(Fetched(["u0", "u2", "u4"]), plain, KEYS, reasons={"d": "dust-rule"})
        assert figures_of([lossy, Draw(plain, plain, KEYS)], HostTruth())["lost.dust-rule"] == 0.5


class TestBlocks:
    ROWS = (
        "url,host,page_key,edited,status,role,text\n"
        "http://a/1,a,k1,0,200,tree,x\nhttp://a/2,a,k2,0,200,tree,x\nhttp://a/3,a,k3,0,200,tree,x\n"
        "http://b/1,b,k1,0,200,tree,x\nhttp://b/2,b,k2,0,301,redirect,\n"
        "http://q/1,q,k1,0,200,quoted,x\nhttp://q/2,q,q2,0,200,own,x\nhttp://q/3,q,q3,0,200,own,x\n"
    )
    BLOCKS = (Block("b", "a", 8), Block("a", "b", 3), Block("q", "a", 5))

    def test_page_keys_tell_a_copy_from_a_host_that_quotes(self, tmp_path):
        (tmp_path / "urls.csv").write_text(self.ROWS)
        table = PageTable.read(tmp_path / "urls.csv")
        assert table.key_of["http://b/1"] == "k1"
        assert "http://b/2" not in table.key_of  # a redirect is no page
        found = Draw(Fetched([]), Fetched([]), {}, self.BLOCKS).figures(table.hosts())
        assert (found["blocks"], found["wrong_blocks"], found["wrong_blocks.own"]) == (3, 1, 1)
        assert found["pages_to_verdict"] == 5.5  # of the right ones

    def test_a_table_of_hosts_says_who_is_a_copy_of_a_copy(self, tmp_path):
        lines = "host,kind,replica_of\na,original,\nb,alias,a\nc,stale,b\nq,quote,\n"
        (tmp_path / "hosts.csv").write_text(lines)
        hosts = HostTruth.read(tmp_path / "hosts.csv")
        assert hosts.is_right("c", "a")
        assert hosts.is_right("a", "c")
        found = Draw(Fetched([]), Fetched([]), {}, self.BLOCKS).figures(hosts)
        assert (found["wrong_blocks"], found["wrong_blocks.quote"]) == (1, 1)


@pytest.fixture
def web(tmp_path):
    """A site of six pages and a copy of it that has one page more."""
    names = ["", *(f"p{number}" for number in range(1, 6))]
    rows, records = ["url,host,page_key,edited,status,role,text"], []
    for site in (GOOD, COPY):
        more = ["extra"] if site == COPY else []
        for name in [*names, *more]:
            links = [*(f"{other}#top" for other in names[1:]), *more] if not name else []
            records.append(record(site + name, page(links, seed=name or "front")))
            rows.append(f"{site}{name},{site.split('/')[2]},k{name},0,200,tree,")
    (tmp_path / "web.warc.gz").write_bytes(b"".join(records))
    (tmp_path / "urls.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "seeds.txt").write_text(f"{GOOD}\n{COPY}\n")
    (tmp_path / "aliases.txt").write_text("copy.example good.example\n")
    return tmp_path


def evaluate(capfd, web, *arguments):
    """Run the command; returns (exit code, figures, standard error)."""
    command = ["scrapy", "replica", "lab", "crawl", web / "web.warc.gz", "--seeds", web / "seeds.txt", "--json"]
    with pytest.raises(SystemExit) as end:
        execute([str(word) for word in (*command, *arguments)])
    out, error = capfd.readouterr()
    return end.value.code or 0, json.loads(out)["figures"] if out else {}, error


class TestCommand:
    def test_what_an_alias_of_the_user_s_loses_is_named(self, web, capfd):
        alias = ("-s", f"REPLICA_ALIASES={web / 'aliases.txt'}")
        code, found, error = evaluate(capfd, web, "--truth", web / "urls.csv", "--plain", *alias)
        assert code == 0, error
        assert (found["fetched"], found["plain.fetched"], found["plain.keys"]) == (6, 13, 7)
        assert (found["copies"], found["plain.copies"]) == (0, 6)
        assert (found["lost"], found["lost.unseen"]) == (1, 1)  # the copy's front page, which links to it, is not read
        assert f"lost: unseen  {COPY}extra" in error
        assert found["saved_of_oracle"] == round(7 / 6, 5)
        assert found["plain.keys_at_100"] == 7
        assert found["cpu_ratio"] > 0

    def test_texts_tell_the_pages_where_no_table_does(self, web, capfd):
        _, found, _ = evaluate(capfd, web, "-s", "REPLICA_MODE=observe")
        assert (found["kept"], found["plain.keys"], found["plain.fetched"]) == (1, 7, 13)
        assert "wrong_blocks" not in found  # nothing says which are right

    def test_draws_begin_elsewhere_and_keep_their_jobs(self, web, capfd):
        more = ("-s", "REPLICA_MODE=observe", "--draws", "2", "--job", web / "jobs", "--plot", web / "pages.png")
        _, found, _ = evaluate(capfd, web, "--truth", web / "urls.csv", *more)
        assert (found["kept_min"], found["fetched_min"], found["fetched_max"]) == (1, 13, 13)
        assert {path.name for path in (web / "jobs").iterdir()} == {"0", "1"}
        assert (web / "pages.png").read_bytes().startswith(b"\x89PNG")

    def test_a_dropped_page_has_the_reason_of_its_decision(self, web, capfd):
        (web / "seeds.txt").write_text(f"{GOOD}\n{COPY}extra\n")
        alias = ("-s", f"REPLICA_ALIASES={web / 'aliases.txt'}")
        _, found, error = evaluate(capfd, web, "--truth", web / "urls.csv", *alias)
        assert found["lost.manual-alias"] == 1, error

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("--draws", "0"), "--draws is 0"),
            (("--truth", "missing.csv"), "cannot read missing.csv"),
            (("--truth", "{web}/seeds.txt"), "has no column host, page_key"),
            (("-s", "REPLICA_MODE=sharp"), "REPLICA_MODE"),
        ],
    )
    def test_wrong_arguments_are_one_line(self, web, capfd, arguments, says):
        code, found, error = evaluate(capfd, web, *(word.format(web=web) for word in arguments))
        assert (code, found) == (2, {})
        assert says in error
        assert error.count("\n") == 1
