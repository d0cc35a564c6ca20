"""What one process writes to its tables comes to be in those of the others, and nothing else."""

from __future__ import annotations

from contextlib import closing

import pytest
from crawldb_contract import CrawlDBMachine, StopError, enter, failing_page
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis_server import RedisServer

from scrapy_replica.claim import Claim, Work
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.ids import Ids
from scrapy_replica.crawldb.redis.local_tables import LOCAL_META, URLS, LocalTables, pack, unpack
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import DONE, WAITING

SETTINGS = settings(max_examples=30, stateful_step_count=40, suppress_health_check=list(HealthCheck))


def names(connection):
    rows = connection.read("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in rows]


def tables(connection):
    """All rows of all tables, but those that say something of the file."""
    found = {name: set(connection.read(f"SELECT * FROM {name}").fetchall()) for name in names(connection)}
    found["meta"] = {row for row in found["meta"] if row[0] not in LOCAL_META}
    return found


def ship(mirror, *others):
    """Do what a commit does; return what was shipped."""
    changes = mirror.changed()
    for other in others:
        other.apply(changes.rows)
        other.apply_urls([(change.id, change.row) for change in changes.urls])
        assert other.changed() == ([], [])
    mirror.shipped()
    mirror.commit()
    return changes


class Pair:
    """A process and one that hears of it."""

    def __init__(self):
        self.one, self.other = SqliteCrawlDB(None), SqliteCrawlDB(None)
        self.mirror, self.heard = LocalTables(self.one.connection), LocalTables(self.other.connection)

    def ship(self):
        changes = ship(self.mirror, self.heard)
        assert tables(self.other.connection) == tables(self.one.connection)
        return changes


@pytest.fixture
def pair():
    found = Pair()
    yield found
    found.one.close()
    found.other.close()


# Values


VALUES = st.one_of(
    st.none(),
    st.text(st.characters()),
    st.binary(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(allow_nan=False),
)


@given(st.lists(VALUES, max_size=5))
def test_values_come_back_as_they_were(values):
    found = unpack(pack(values))
    assert found == tuple(values)
    assert [*map(type, found)] == [*map(type, values)]


# Any change of any table


def row_of(columns, keys):
    """Rows whose key is one of few, so that they are written again; other unique columns follow the key."""

    def value(kind, number):
        if kind == "INTEGER":
            return number
        if kind == "BLOB":
            return b"\xff%d" % number
        return f"\u20ac{number}" if kind == "TEXT" else float("inf") if number == 7 else number + 0.5

    def row(key, rest):
        found = []
        for _, name, kind, *_, place in columns:
            is_unique = place or (name in {"key", "work"}) or keys == "hosts"
            found.append(value(kind, key + place if is_unique else rest))
        return found

    return st.builds(row, st.integers(0, 3), st.sampled_from([0, 1, 7]))


@st.composite
def steps(draw, columns):
    name = draw(st.sampled_from(sorted(columns)))
    row = draw(row_of(columns[name], name))
    what = draw(st.sampled_from(["insert", "replace", "update", "delete", "move"]))
    return name, what, row


def columns_of(connection):
    return {name: connection.read(f"PRAGMA table_info({name})").fetchall() for name in names(connection)}


COLUMNS = columns_of(Connection(None))


def carry_out(connection, step):
    name, what, row = step
    columns = [column for _, column, *_ in COLUMNS[name]]
    keys = [column for _, column, *_, place in COLUMNS[name] if place]
    of_key = [row[columns.index(key)] for key in keys]
    condition = " AND ".join(f"{key} = ?" for key in keys)
    places = ", ".join("?" * len(row))
    if what in {"insert", "replace"}:
        # What is given a number is not entered in place of another row; urls and hosts never are.
        kind = "REPLACE" if what == "replace" and name not in {URLS, "hosts", "work"} else "IGNORE"
        connection.write(f"INSERT OR {kind} INTO {name} VALUES ({places})", row)
    elif what == "update":
        changes = ", ".join(f"{column} = ?" for column in columns)
        connection.write(f"UPDATE OR IGNORE {name} SET {changes} WHERE {condition}", [*row, *of_key])
    elif what == "move" and name not in {URLS, "hosts", "work"}:
        new = [f"moved {key}" if isinstance(key, str) else key for key in of_key]
        changes = ", ".join(f"{key} = ?" for key in keys)
        connection.write(f"UPDATE OR IGNORE {name} SET {changes} WHERE {condition}", [*new, *of_key])
    else:
        connection.write(f"DELETE FROM {name} WHERE {condition}", of_key)


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(st.booleans(), st.lists(steps(COLUMNS), max_size=6)), max_size=3)))
def test_whatever_is_written_comes_to_the_others(commits):
    with closing(Connection(None)) as one, closing(Connection(None)) as other:
        mirror, heard = LocalTables(one), LocalTables(other)
        for spans in commits:
            before = dict(one.read("SELECT id, state FROM urls").fetchall())
            for fails, written in spans:
                span(one, written, fails=fails)
            changes = ship(mirror, heard)
            assert tables(other) == tables(one)
            assert {change.id: change.before for change in changes.urls} == {
                change.id: before.get(change.id) for change in changes.urls
            }
            assert len({(name, key) for name, key, _ in changes.rows}) == len(changes.rows)


def span(connection, written, *, fails):
    try:
        with connection.span():
            for step in written:
                carry_out(connection, step)
            if fails:
                raise StopError
    except StopError:
        pass


class MirroredMachine(CrawlDBMachine):
    """All operations on URLs, also such as are taken back; another process hears of them."""

    def open(self):
        self.pair = Pair()
        self.db = self.pair.one
        self.before = {}

    def commit(self):
        changes = self.pair.ship()
        for change in changes.urls:
            assert change.before == self.before.get(change.id)
        self.before = dict(self.db.connection.read("SELECT id, state FROM urls").fetchall())

    def teardown(self):
        self.commit()
        super().teardown()
        self.pair.other.close()


TestMirrored = MirroredMachine.TestCase
TestMirrored.settings = SETTINGS


# What is noted


def test_nothing_is_noted_of_what_the_file_says_of_itself(pair):
    enter(pair.one, "a/1")
    pair.one.commit()
    assert [key for name, key, _ in pair.mirror.changed().rows if name == "meta"] == []


def test_the_state_before_is_that_of_the_last_commit(pair):
    (kept, taken) = enter(pair.one, "a/1", "a/2")
    assert {change.before for change in pair.ship().urls} == {None}
    assert pair.one.urls.take().id == kept
    pair.one.urls.finish([kept])
    pair.one.urls.drop(taken)
    assert [(change.id, change.before, change.row[4]) for change in pair.ship().urls] == [(1, WAITING, DONE), (2, 0, 3)]
    assert pair.ship() == ([], [])


def test_what_is_taken_back_was_not_written(pair):
    with failing_page(pair.one):
        enter(pair.one, "a/1")
        pair.one.set_meta("x", b"1")
        pair.one.suppressed.begin(Work(Claim.read("rule 1")))
    assert pair.ship() == ([], [])


def test_urls_that_are_deleted(pair):
    enter(pair.one, "a/1", payload=b"xyz")
    enter(pair.one, "a/2")
    pair.ship()
    pair.one.urls.forget_waiting(b"x")
    assert [(change.id, change.before, change.row) for change in pair.ship().urls] == [(1, WAITING, None)]


def test_a_row_that_was_written_here_and_is_not_shipped_stays(pair):
    pair.one.set_meta("x", b"mine")
    pair.other.set_meta("x", b"theirs")
    pair.other.set_meta("y", b"theirs")
    pair.mirror.apply(pair.heard.changed().rows)
    assert (pair.one.meta("x"), pair.one.meta("y")) == (b"mine", b"theirs")
    assert [unpack(key) for _, key, _ in pair.mirror.changed().rows] == [("x",)]


def test_the_same_work_begun_by_two_is_one(pair):
    pair.one.suppressed.begin(Work(Claim.read("rule 1")))
    pair.other.suppressed.begin(Work(Claim.read("rule 2")))
    pair.other.suppressed.begin(Work(Claim.read("rule 1")))
    pair.mirror.apply(pair.heard.changed().rows)
    pair.heard.shipped()
    pair.ship()
    pair.one.suppressed.end(Work(Claim.read("rule 1")))
    pair.ship()
    assert pair.other.suppressed.unfinished() == [Work(Claim.read("rule 2"))]


def test_what_is_written_silently_is_not_noted(pair):
    with pair.mirror.silent():
        pair.one.set_meta("x", b"1")
        with pair.mirror.silent():
            pair.one.set_meta("x", b"2")
        pair.one.set_meta("x", b"3")
    assert pair.mirror.changed() == ([], [])
    pair.one.set_meta("x", b"4")
    assert len(pair.mirror.changed().rows) == 1


# The first copy, and numbers


@pytest.fixture
def redis(tmp_path):
    with RedisServer(tmp_path) as redis:
        yield redis


@pytest.fixture
def server(redis):
    with closing(Server(Address.parse(redis.address()))) as server:
        yield server


def batches(connection, size):
    rows = connection.read("SELECT * FROM urls").fetchall()
    for start in range(0, len(rows), size):
        yield [(row[0], row) for row in rows[start : start + size]]


def test_the_first_copy_is_the_whole_job(pair, server):
    with pair.one.span():
        for number in range(3_000):
            pair.one.set_meta(f"key {number}", b"\x00\xff")
        enter(pair.one, *(f"h{number % 7}/{number}" for number in range(500)))
        pair.one.suppressed.begin(Work(Claim.read("rule 1")))
    server.run_many([["HSET", server.key(f"t:{name}"), key, row] for name, key, row in pair.mirror.changed().rows])
    n_rows = pair.heard.copy(server, batches(pair.one.connection, 64))
    assert tables(pair.other.connection) == tables(pair.one.connection)
    assert n_rows >= 3_508
    assert pair.heard.changed() == ([], [])


def test_numbers_are_given_once(redis, server):
    with closing(Server(Address.parse(redis.address()))) as second:
        ids = [Ids(server, 1), Ids(second, 2)]
        for table in ("decisions", "visits", "rules", "orders", "verdicts"):
            found = [one(table) for _ in range(200) for one in ids]
            assert len(set(found)) == len(found)
            for numbers in (found[::2], found[1::2]):
                assert numbers == sorted(numbers)
            assert all(0 < number < 1 << 63 for number in found)
        assert ids[0]("rules") == 401


def test_a_host_has_one_number(redis, server):
    with closing(Server(Address.parse(redis.address()))) as second:
        one, other = Ids(server, 1), Ids(second, 2)
        assert [one("hosts", "a", "a"), one("hosts", "a", "mine")] == [1, 2]
        assert [other("hosts", "b", "b"), other("hosts", "a", "mine"), other("hosts", "a", "a")] == [3, 2, 1]


def test_tables_take_the_numbers_that_are_given():
    """Those of other processes would otherwise be the same."""
    with closing(SqliteCrawlDB(None)) as db:
        asked = []

        def new_id(table, *names):
            asked.append((table, *names))
            return 1_000 + len(asked)

        db.connection.new_id = new_id
        enter(db, "a/1")
        db.suppressed.begin(Work(Claim.read("rule 1")))
        db.suppressed.begin(Work(Claim.read("rule 1")))
        number = db.rules.enter({"host": "a"}, 1.0)
        order = db.orders.give("pause", {}, 1.0)
        assert asked == [("hosts", "a", "a"), ("work",), ("rules",), ("orders",)]
        assert (number, order) == (1_003, 1_004)
        assert db.urls.take().host == "a"
        assert db.connection.read("SELECT id FROM work").fetchall() == [(1_002,)]
