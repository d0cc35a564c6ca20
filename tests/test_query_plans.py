"""No statement of the store reads a whole table for a page."""

from __future__ import annotations

import inspect
from random import Random

import pytest
from crawldb_contract import url

from scrapy_replica.claim import Claim, Standing, Work
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import URGENT
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.revisits import History
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.crawldb.texts import Text
from scrapy_replica.crawldb.visits import Visit
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Capture, Doubt, Form, Link, UncertainPair, Verdict

SMALL = {
    "rules_in_force",
    "leased",
    "with_payload",
    "holding",
    "taken_back",
    "open_orders",
    "uncertain_pairs",
    "awaiting",
}
"""Partial indexes that hold little by what they are, and a table of 200 rows at most: a scan of one is a look-up."""

BOUNDED = ("SCAN texts", "SCAN marks", "SCAN unrequested")
"""Tables of at most 1,000 rows, and one of which all counts when nothing is left to fetch."""
ONCE = {
    "SELECT COUNT(*) FROM sqlite_master",
    "SELECT COUNT(*) FROM seen_items",  # 100,000 at most
    "SELECT id, name, slot FROM hosts",
    "SELECT host FROM seed_hosts",
    "SELECT key FROM names WHERE key IS NOT NULL LIMIT ?",
    "SELECT url FROM samples WHERE url IS NOT NULL LIMIT ?",
    "SELECT representative FROM samples WHERE representative IS NOT NULL LIMIT ?",
    "SELECT representative FROM suppressed WHERE representative IS NOT NULL LIMIT ?",
    "SELECT simhash FROM pages WHERE simhash IS NOT NULL",
    "SELECT url, relevance, body FROM visits ORDER BY id",
    "SELECT id, url FROM visits WHERE relevance IS NOT NULL ORDER BY id",
    "SELECT id, url, relevance, body FROM visits WHERE url = ? AND relevance IS NOT NULL ORDER BY id DESC LIMIT 1",
    "DELETE FROM visits",
    (
        "SELECT name, SUM(visits - 1), SUM(changes), SUM(checked_at - first_at)"
        " FROM revisits JOIN hosts ON hosts.id = revisits.host WHERE visits > 1 GROUP BY name"
    ),
    "SELECT copy, canonical FROM verdicts WHERE standing = 'refuted'",
    "SELECT work FROM work ORDER BY id",
    (
        "SELECT DISTINCT representative FROM suppressed WHERE representative IS NOT NULL AND NOT EXISTS ( SELECT 1 FROM"
        " urls LEFT JOIN pages ON pages.url = urls.id WHERE urls.key = representative AND CASE urls.state"
        " WHEN 3 THEN EXISTS (SELECT 1 FROM suppressed AS again WHERE again.url = urls.id)"
        " WHEN 2 THEN pages.url IS NULL OR pages.status < 400 ELSE 1 END) LIMIT ?"
    ),
    "SELECT COUNT(*) FROM (SELECT 1 FROM pages WHERE status = 200 LIMIT ?)",
    (
        "SELECT reason, outcome = 'other', SUM(weight), SUM(weight * weight), COUNT(*) FROM samples"
        " WHERE reason IS NOT NULL AND outcome IN ('same', 'other') GROUP BY 1, 2"
    ),
    (
        "SELECT id, rule, state, is_manual, right_pairs, wrong_pairs, images, proofs FROM rules"
        " WHERE state = 'refuted' ORDER BY id"
    ),
    (
        "SELECT copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, expires_at IS NULL"
        " FROM verdicts WHERE standing = 'in force' ORDER BY id"
    ),
}
"""What is run when a job is opened, or by a command, or a few times in all."""

SORTED = {
    (
        "SELECT id, rule, state, is_manual, right_pairs, wrong_pairs, images, proofs FROM rules"
        " WHERE host = '' OR host >= '.' AND host < '/' ORDER BY id"
    ),
    (
        "SELECT urls.id, urls.url, urls.parent, urls.depth, fetched_at, status, is_news, mark, neighbours,"
        " content, cluster, aliases, leads, leads_to FROM pages"
        " JOIN urls ON urls.id = pages.url WHERE pages.host IN (?) ORDER BY fetched_at, pages.url"
    ),
    (
        "SELECT DISTINCT hosts.name FROM pages JOIN urls ON urls.id = pages.url JOIN urls AS finder"
        " ON finder.id = urls.parent JOIN hosts ON hosts.id = finder.host"
        " WHERE pages.host IN (SELECT id FROM hosts WHERE name = ?1) AND hosts.name <> ?1 LIMIT ?2"
    ),
    (
        "SELECT copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, wanted, doubt, pages"
        " FROM uncertain_pairs ORDER BY ABS(wanted - score), pair"
    ),
    (
        "DELETE FROM uncertain_pairs WHERE pair IN"
        " (SELECT pair FROM uncertain_pairs ORDER BY ABS(wanted - score), pair LIMIT -1 OFFSET ?)"
    ),
}
"""What sorts all that it finds: the rules for many hosts, at opening; the pages of a host, when it is met; the 200
uncertain pairs."""


class Calls:
    """An object that takes note which of its methods are used."""

    def __init__(self, wrapped):
        self._wrapped = wrapped
        self._called = set()

    def __getattr__(self, name):
        self._called.add(name)
        return getattr(self._wrapped, name)


def uncalled(calls):
    methods = inspect.getmembers(type(calls._wrapped), inspect.isfunction)
    return {name for name, _ in methods if not name.startswith("_")} - calls._called


@pytest.fixture
def statements(monkeypatch):
    """SQL -> values of one call, of every statement that is executed."""
    statements = {}

    read, write_many = Connection.read, Connection.write_many

    def noted(self, sql, values=()):
        statements[sql] = values
        return read(self, sql, values)

    def all_noted(self, sql, rows):
        statements[sql] = rows[0] if rows else ()
        write_many(self, sql, rows)

    monkeypatch.setattr(Connection, "read", noted)
    monkeypatch.setattr(Connection, "write_many", all_noted)
    return statements


def use(db, folder):
    """Call every method of every table; return those that were left out."""
    names = "urls suppressed pages visits ledger samples verdicts uncertain_pairs orders rules forms blocks texts"
    tables = [Calls(getattr(db, name)) for name in (*names.split(), "revisits", "seeds", "captures", "items")]
    urls, suppressed, pages, visits, ledger, samples, verdicts, pairs, orders, rules, forms, blocks, texts, *rest = (
        tables
    )
    revisits, seeds, captures, items = rest
    items.enter({1})
    items.keep(1, {1})
    items.know({1})
    items.add_brought(1, {2})
    assert items.brought(1) == {2}
    assert (items.of_page(1), items.are_given()) == ({1}, True)
    with db.span():
        use_urls(urls, suppressed)
        use_revisits(urls, revisits)
        use_seeds(seeds)
    use_pages(pages, visits, ledger, samples)
    use_what_others_entered(urls, suppressed, pages, visits)
    verdict = Verdict("a", "b", "", "", 0.9, 20)
    verdicts.enter(verdict, 1.0, 2.0)
    assert verdicts.of("a") == verdict
    verdicts.end("c", Standing.DISABLED)
    verdicts.refuted()
    verdicts.expired(3.0)
    assert list(verdicts.holding()) == [verdict]
    pairs.enter(UncertainPair(verdict, 0.95, Doubt.SCORE))
    assert len(pairs.all()) == 1
    pairs.decided("a", "b")
    pairs.forget("a")
    number = rules.enter({"host": "a"}, 1.0)
    rules.update(number, Standing.IN_FORCE, 1, 0, 0)
    rules.set_proofs(number, [("http://a/1", 1)])
    rules.update(number, Standing.DISABLED, 1, 0, 0)
    assert len(list(rules.rows())) == len(list(rules.of_host("a"))) == 1
    assert rules.row(number).id == number
    assert list(rules.acting()) == list(rules.wide()) == list(rules.refuted()) == []
    forms.enter("a", Form("http://a/f", "get", (), is_login=False))
    forms.of_host("a")
    forms.add_terms("a", ["x"])
    forms.terms("a")
    blocks.enter("a", b"x")
    blocks.state("a")
    captures.enter(b"digest", Capture("http://a/1", "2026-01-01T00:00:00Z", "a.warc.gz"))
    captures.find(b"digest")
    captures.of_url("http://a/1")
    use_texts(texts)
    db.commit()
    given = orders.give("allow", {"host": "a"}, 1.0)
    assert [order.id for order in orders.open()] == [given]
    orders.answer(given, 2.0, None)
    assert len(list(orders.done("allow"))) == len(orders.last(9)) == orders.row(given).id == 1
    db.commit()
    return {f"{type(table._wrapped).__name__}.{name}" for table in tables for name in uncalled(table)}


def use_what_others_entered(urls, suppressed, pages, visits):
    assert (urls.found([2])[0].url, urls.claimed()) == ("http://a/1", ())
    assert pages.remote([1])[0].simhash == 5
    visits.add(Visit("http://a/1", 0.5, {"x": 1}, []))
    assert [number for number, _ in visits.of([visits.newest, 99])] == [visits.newest]
    visits.count_remote(1)
    suppressed.enter([Suppressed(2, Claim.read("mirror a of b"), 7)])
    assert (suppressed.claims(), suppressed.orphans(9)) == ([Claim.read("mirror a of b")], [7])


def use_texts(texts):
    for url_id in (1, 2):
        texts.enter(Text(url_id, 0.5, "text", {"x": url_id}))
    texts.set_worths([(1, 0.25), (2, 0.75)])
    assert [(one.url_id, one.worth) for one in texts.kept()] == [(1, 0.25), (2, 0.75)]
    texts.drop([2])
    assert texts.after(0, 9) == [Text(1, 0.25, "text", {"x": 1})]
    texts.mark(1, {"x": 3}, is_relevant=True)
    assert [mark.is_relevant for mark in texts.marks()] == [True]
    assert texts.terms(1) == {"x": 3}
    assert texts.terms_at("http://a/0") is not None
    assert texts.said_of("http://a/0") is True
    assert [question.excerpt for question in texts.questions()] == ["text"]


def use_revisits(urls, revisits):
    url_id = urls.discover([url("again/1", URGENT)])[0][0]
    urls.take()
    urls.finish([url_id])
    revisits.enter(History(url_id, visits=2, believed=1, changed=(1.0,)))
    revisits.of_page(1)
    revisits.forget_fingerprints([url_id])
    assert revisits.of(url_id) == revisits.done_after(0, 9)[0][0] == revisits.believed_of("again", 9)[0]
    assert revisits.changes_of_hosts() == {"again": (1, 0, 0.0)}
    revisits.forget_fingerprints([url_id])
    revisits.doubt("again")
    assert revisits.is_doubted("again")
    assert urls.renew([(url_id, 0.5, None)]) == 1
    urls.draw(Random(1))


def use_urls(urls, suppressed):
    ids = [one for one, _ in urls.discover([url(f"a/{n}", is_dropped=n == 3) for n in range(9)])]
    urls.discover([url("a/1", 1.0), url("a/3", 1.0), url("new/1", payload=b"live")])
    keys = [urls.key_of(one) for one in ids]
    urls.find(keys)
    urls.expect(keys)
    urls.known(keys[0])
    urls.url_of(ids[0])
    urls.row(ids[0])
    urls.waiting_urls("a", 5)
    urls.leased_urls("a")
    urls.hosts.set_ip("a", "10.0.0.1")
    urls.first_id()
    urls.heads(3)
    urls.hold("b")
    urls.release("b")
    urls.hosts.pause("a")
    urls.hosts.resume("a")
    url_id = urls.take().id
    urls.set_parent(url_id, url_id)
    urls.demote(url_id)
    urls.retry(urls.take().id, 0, None)
    urls.finish([urls.take().id])
    urls.rescore(dict.fromkeys(keys, 0.5))
    urls.set_scores([(urls.row(url_id), 0.6) for url_id in ids])
    urls.drop(ids[5])
    urls.drop(ids[6])
    suppressed.enter([Suppressed(ids[5], Claim.read("rule 1"), 5), Suppressed(ids[6], Claim.read("rule 2"), 6)])
    suppressed.restore(Work(None, 5), 10)
    suppressed.restore(Work(Claim.read("rule 2")), 10)
    suppressed.claims_for(5)
    suppressed.final_representative(5)
    suppressed.enter([Suppressed(ids[5], Claim.read("mirror a of b"), 5)])
    suppressed.some_of(Claim.read("mirror a of b"), 3)
    suppressed.last_of(Claim.read("mirror a of b"))
    suppressed.count(Claim.read("mirror a of b"), 5)
    assert suppressed.newest_of(Claim.read("mirror a of b")) == ids[5]
    suppressed.last_of(Claim.read("mirror a of b"), is_alone=True)
    suppressed.of_url(ids[5])
    suppressed.restore_one(ids[5])
    suppressed.begin(Work(Claim.read("rule 1")))
    suppressed.end(Work(Claim.read("rule 1")))
    suppressed.unfinished()
    urls.forget(ids[7])
    urls.forget_waiting(b"live")


def use_seeds(seeds):
    seeds.enter("a")
    assert seeds.are_on("a")
    seeds.read_again()
    assert seeds.hosts() == {"a"}


def use_pages(pages, visits, ledger, samples):
    for url_id in (1, 2):
        pages.enter(Fetched(url_id, 1.0, 200, signature=b"s", simhash=5, words=9, novelty="novel", twin=1))
    pages.set_mark(1, b"mark")
    pages.set_relevance(1, 0.5)
    pages.set_news(1)
    pages.set_statements(1, "[]")
    assert pages.statements(1) == "[]"
    pages.set_content(1, 1, 1, "[]", b"")
    assert pages.leads(1) == b""
    pages.of_host("a")
    pages.linking_hosts("a", 5)
    pages.has_page(1)
    pages.has_host("a.example")
    pages.has_failed(1)
    pages.is_own(1)
    pages.leads_to(1)
    pages.has_error(1)
    pages.is_unread(1)
    pages.failed_on("a")
    pages.forget_marks("a")
    pages.judgement(1)
    pages.by_signature(b"s")
    pages.by_simhash(5)
    pages.text_urls(5, pages.text_places(5, 3)[0].host_id, 3)
    pages.simhashes()
    pages.count(9)
    pages.trace(1)
    pages.news(1)
    visits.add(Visit("http://a/1", 0.5, {"x": 1}, [Link("http://a/2")]))
    assert len(list(visits.tail())) == 1
    assert [number for number, _ in visits.after(0, 5)] == [number for number, _ in visits.pages()] == [visits.newest]
    assert visits.count_after(0) == 1
    assert [visit.terms for _, visit in visits.of([1])] == [{"x": 1}]
    visits.judge([(1, 0.25)])
    assert visits.terms_of("http://a/1") == {"x": 1}
    assert (visits.is_saving, visits.saved_until) == (False, 0)
    assert not visits._wrapped.is_due
    for state in (b"one", b"two"):
        visits.begin("known", iter([state]))
        for _ in range(4):
            visits.work()
        assert list(visits.checkpoint("known")) == [state]
    visits.clear()
    ledger.record(1, Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET), 1.0)
    ledger.knows(1, Reason.TRAP_BUDGET)
    ledger.last(1)
    samples.enter([Sample(1, "rule 1", Reason.DUST_RULE, 5, Stratum("a"), 1.0)])
    assert len(samples.of_url(1)) == len(samples.of_claim("rule 1")) == len(samples.awaiting(5)) == 1
    samples.settle(1, Outcome.SAME)
    samples.overturn(1)
    assert samples.beside(Claim.read("mirror a of b")) == (0, 0)
    samples.leading_further()
    assert samples.with_brought(Claim.read("mirror a of b")) == []
    assert samples.left() == []
    samples.retire("before: ")
    assert len(samples.tested()) == 1


def plan(sqlite, sql, values):
    return [row[3] for row in sqlite.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def is_scan(step):
    words = step.split()
    if words[0] != "SCAN" or step.startswith(("SCAN CONSTANT", "SCAN (", "SCAN SUBQUERY", *BOUNDED)):
        return False
    return words[-1] not in SMALL


def test_no_statement_scans_a_table(tmp_path, statements):
    SqliteCrawlDB(tmp_path).close()
    db = SqliteCrawlDB(tmp_path)
    left_out = use(db, tmp_path)
    ours = {
        sql: values
        for sql, values in statements.items()
        if sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")) and sql not in ONCE
    }
    sqlite = db.connection._sqlite
    plans = {sql: plan(sqlite, sql, values) for sql, values in ours.items()}
    db.close()
    used_within = {"savepoint", "undo", "store_count", "host_id", "restore", "is_first"}
    assert left_out <= {f"UrlTable.{name}" for name in used_within}
    assert len(plans) > 60
    assert {sql: steps for sql, steps in plans.items() if any(map(is_scan, steps))} == {}
    assert {sql for sql, steps in plans.items() if any("TEMP B-TREE" in step for step in steps)} == SORTED
