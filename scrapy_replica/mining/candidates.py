"""Candidate pairs of hosts: those that share path suffixes or main texts, by joins in the engine.

The rule is the crawl's (``sites.candidates``), over everything at once: lists of hosts that have a suffix or text are
complete before pairs are made of them, so one that more than 100 hosts share gives no evidence at all. A near text
counts where the last segments of the paths are equal and more than 100 hosts have that segment: without equal places
there is no verdict, and where fewer have it, the paths make the candidates.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import ibis

from scrapy_replica.mining.near import near
from scrapy_replica.mining.paths import NUMBERS, last_segment, number_of, suffixes
from scrapy_replica.sites.alignment import MAX_CUT, MAX_HOSTS
from scrapy_replica.sites.candidates import MAX_PARTNERS, MIN_SUFFIXES
from scrapy_replica.sites.detector import PROMISE
from scrapy_replica.sites.evidence_store import MAX_DISTANCE_BITS

if TYPE_CHECKING:
    from ibis.expr.types import StringValue, Table

    from scrapy_replica.mining.collection import CollectionTables
    from scrapy_replica.mining.engine import Engine

MAX_SHARED = 1_000_000_000
"""Places that two hosts share, over all pairs of hosts. Beyond, the longest lists, of less evidence, are left out."""
MAX_COMMON = 8
"""Pages of a host at paths that many hosts have whose texts are looked up: those of the lowest numbers, which mirrors
draw alike."""
MAX_WEAK = 1_000
"""Pairs that share one suffix, to learn what other hosts are like."""
MAX_TEXT_VOTES = 16
"""Suffixes that two hosts share from which on their texts have no vote in the alignment."""
_PART = 100_000_000  # shared places that are counted at a time
_MANY_WEAK = 1_000_000
_MANY_HOSTS = 2_000_000


class CandidatePairs:
    """The candidate pairs of a collection. What is built on is kept by the engine, and goes with it."""

    def __init__(self, collection: CollectionTables) -> None:
        self._collection = collection
        self._engine: Engine = collection.engine
        self._suffixes, cut = self._lists("suffixes", self._suffix_places())
        self._texts, _ = self._lists("texts", self._text_places())
        self._near = self._near_texts(cut)
        self._counts = self._counted()

    @cached_property
    def pairs(self) -> Table:
        """The candidates, as :data:`~scrapy_replica.mining.schema.PAIRS`."""
        counts = self._counts
        strong = self._named(counts.filter((counts.n_near > 0) | (counts.n_suffixes >= MIN_SUFFIXES)))
        # others share too little for a verdict: a crawl looks at them seldom
        least = ibis.least(strong.first_listed, strong.second_listed)
        promising = strong.filter((strong.n_near > 0) | (strong.n_suffixes >= PROMISE * least))
        return self._aligned("pairs", _of_few_partners(self._engine.keep("promising", promising)))

    @cached_property
    def names(self) -> Table:
        """``host``: the names of the hosts in pairs, weak ones as well."""
        both = self.pairs.select("first", "second").union(self.weak.select("first", "second"))
        names = both.select(host="first").union(both.view().select(host="second"), distinct=True)
        return self._engine.keep("paired_hosts", names)

    @cached_property
    def weak(self) -> Table:
        """Pairs that share one suffix and no text, at most 1,000, drawn by a hash of their names."""
        counts = self._counts
        weak = self._named(counts.filter((counts.n_near == 0) & (counts.n_suffixes < MIN_SUFFIXES)))
        drawn = weak.order_by((weak.first + "\n" + weak.second).hexdigest("md5")).limit(MAX_WEAK)
        return self._aligned("weak", drawn)

    def _suffix_places(self) -> Table:
        """Return ``key`` (of the suffix), ``host``, ``place`` (the prefix before it) of every suffix of a sample."""
        sample = self._collection.sample
        spread = sample.select("host", "normal", suffix=ibis.array(suffixes(sample.normal, MAX_CUT)).unnest())
        spread = spread.filter(spread.suffix != "")
        cut = spread.normal.length() - spread.suffix.length()
        prefix = ibis.ifelse(cut > 0, spread.normal.substr(0, cut - 1), "")
        return spread.select(key=self._engine.key(spread.suffix), host=spread.host, place=prefix)

    def _text_places(self) -> Table:
        sample = self._collection.sample
        return sample.filter(sample.text.notnull()).select(key="text", host="host", place="normal")

    def _lists(self, name: str, places: Table) -> tuple[Table, Table]:
        """Return the lists of 2 to 100 hosts, a row for each host with its least place, and the keys of longer ones."""
        engine = self._engine
        places = engine.keep(f"{name}_places", places)
        spans = places.group_by("key").agg(lowest=places.host.min(), highest=places.host.max())
        shared = engine.keep(f"{name}_shared", spans.filter(spans.lowest < spans.highest).select("key"))
        met = places.semi_join(shared, "key")
        once = engine.keep(f"{name}_once", met.group_by("key", "host").agg(place=met.place.min()))
        engine.drop(f"{name}_places")
        sizes = engine.keep(f"{name}_sizes", once.group_by("key").agg(n_hosts=once.count()))
        fitting = sizes.filter(sizes.n_hosts <= self._longest(sizes))
        lists = once.join(fitting, "key").join(self._draws(), "host")
        return engine.keep(name, lists.select("key", "host", "place", "n_hosts", "draw")), sizes.filter(
            sizes.n_hosts > MAX_HOSTS
        ).select("key")

    def _draws(self) -> Table:
        hosts = self._collection.hosts
        return hosts.select("host", draw=number_of(hosts.name))

    def _longest(self, sizes: Table) -> int:
        """Return how long a list may be, so that all of them make no more shared places than can be counted."""
        return next(most for most in range(MAX_HOSTS, 0, -1) if self._shared(sizes, most) <= MAX_SHARED or most == 1)

    def _shared(self, sizes: Table, most: int) -> int:
        n = sizes.filter(sizes.n_hosts <= most).n_hosts
        return self._engine.number((n * (n - 1)).sum()) // 2

    def _near_texts(self, cut: Table) -> Table:
        """Return ``lower`` and ``higher`` host, ``lower_place``, ``higher_place`` and ``n_hosts`` of near texts."""
        engine, members = self._engine, self._engine.keep("common", self._common_texts(cut))
        sizes = members.group_by("within", "simhash").agg(n_hosts=members.count())
        classes = engine.keep("classes", sizes.filter(sizes.n_hosts <= MAX_HOSTS))
        n_blocks = 8 if engine.number(self._collection.hosts.count()) < _MANY_HOSTS else 9
        pairs = near(engine, "near", classes.select("within", "simhash"), MAX_DISTANCE_BITS, n_blocks)
        pairs = engine.keep("near_few", _of_few_hosts(pairs, classes))
        one = members.select("within", "host", one="simhash", place="normal")
        two = members.select("within", "host", two="simhash", place="normal").view()
        joined = pairs.join(one, ["within", "one"]).join(two, ["within", "two"], rname="{name}_two")
        joined = joined.filter(joined.host != joined.host_two)
        is_lower = joined.host < joined.host_two
        return engine.keep(
            "near_hosts",
            joined.select(
                lower=ibis.ifelse(is_lower, joined.host, joined.host_two),
                higher=ibis.ifelse(is_lower, joined.host_two, joined.host),
                lower_place=ibis.ifelse(is_lower, joined.place, joined.place_two),
                higher_place=ibis.ifelse(is_lower, joined.place_two, joined.place),
                n_hosts=joined.n_hosts,
            ),
        )

    def _common_texts(self, cut: Table) -> Table:
        """Return a few fetched pages of each host at paths that many hosts have, each text of a place once."""
        sample = self._collection.sample
        texts = sample.filter(sample.simhash.notnull())
        texts = texts.mutate(within=self._engine.key(last_segment(texts.normal)))
        found = texts.semi_join(cut.rename(within="key"), "within").union(texts.filter(texts.normal == ""))
        window = ibis.window(group_by=found.host, order_by=[found.number, found.normal])
        found = found.mutate(rank=ibis.row_number().over(window))
        found = found.filter(found["rank"] < MAX_COMMON)
        return found.group_by("within", "simhash", "host").agg(normal=found.normal.min())

    def _counted(self) -> Table:
        """Return ``lower``, ``higher``, ``n_suffixes``, ``n_near`` of pairs of hosts; of the weak ones a draw."""
        engine = self._engine
        texts = _shared_places(self._texts).select("lower", "higher").union(self._near.select("lower", "higher"))
        texts = engine.keep("text_counts", texts.group_by("lower", "higher").agg(n_near=texts.count()))
        sizes = self._suffixes
        total = engine.number((sizes.n_hosts - 1).sum()) // 2
        draw_below = NUMBERS if total < _MANY_WEAK else max(NUMBERS * _MANY_WEAK // total, 1)
        n_parts = 1 << (total // _PART).bit_length()
        parts = [self._part(part, n_parts, texts, draw_below) for part in range(n_parts)]
        suffix_counts = engine.keep("suffix_counts", ibis.union(*parts) if n_parts > 1 else parts[0])
        rest = texts.anti_join(suffix_counts, ["lower", "higher"])
        rest = rest.mutate(n_suffixes=ibis.literal(0, "int64"))
        columns = ("lower", "higher", "n_suffixes", "n_near")
        return engine.keep("counts", suffix_counts.select(*columns).union(rest.select(*columns)))

    def _part(self, part: int, n_parts: int, texts: Table, draw_below: int) -> Table:
        """Return the counts of pairs whose lower host is in one *part* of all: so many need memory at a time."""
        lists = self._suffixes
        own = lists.filter((lists.host & (n_parts - 1)) == part) if n_parts > 1 else lists
        shared = _shared_places(own, lists)
        counts = shared.group_by("lower", "higher").agg(n_suffixes=shared.count(), draw=shared.draw.max())
        counts = counts.left_join(texts, ["lower", "higher"]).select("lower", "higher", "n_suffixes", "draw", "n_near")
        is_wanted = (counts.n_suffixes >= MIN_SUFFIXES) | counts.n_near.notnull() | (counts.draw < draw_below)
        counts = counts.filter(is_wanted).mutate(n_near=counts.n_near.fill_null(0)).drop("draw")
        return self._engine.keep(f"suffix_counts_{part}", counts)

    def _named(self, counts: Table) -> Table:
        """Return *counts* with ``first`` and ``second`` by name, and whether ``first`` is the higher by hash."""
        hosts = self._listed()
        lower = hosts.rename(lower="host", lower_name="name", lower_listed="listed")
        higher = hosts.view().rename(higher="host", higher_name="name", higher_listed="listed")
        named = counts.join(lower, "lower").join(higher, "higher")
        is_swapped = named.lower_name > named.higher_name
        return named.select(
            "lower",
            "higher",
            "n_suffixes",
            "n_near",
            is_swapped=is_swapped,
            first=ibis.ifelse(is_swapped, named.higher_name, named.lower_name),
            second=ibis.ifelse(is_swapped, named.lower_name, named.higher_name),
            first_listed=ibis.ifelse(is_swapped, named.higher_listed, named.lower_listed),
            second_listed=ibis.ifelse(is_swapped, named.lower_listed, named.higher_listed),
        )

    def _listed(self) -> Table:
        """Return the hosts with how many of their suffixes are in the lists."""
        hosts, lists = self._collection.hosts, self._suffixes
        found = hosts.left_join(lists.group_by("host").agg(listed=lists.count()), "host")
        return found.select("host", "name", listed=found.listed.fill_null(0))

    def _aligned(self, name: str, pairs: Table) -> Table:
        """Return *pairs* with the prefixes that win the election (``sites.alignment.Election``)."""
        pairs = self._engine.keep(f"{name}_named", pairs)
        few = pairs.filter((pairs.n_suffixes < MAX_TEXT_VOTES) & (pairs.n_near > 0))
        texts = _shared_places(self._texts).drop("draw").union(self._near)
        votes = _votes(_shared_places(self._suffixes), pairs).union(_votes(texts, few, are_paths=True))
        keys = ["first", "second", "first_prefix", "second_prefix"]
        votes = votes.group_by(keys).agg(weight=votes.weight.sum())
        # sums of logarithms in any order: 9 digits keep ties ties
        order = [
            votes.weight.round(9).desc(),
            votes.first_prefix.length() + votes.second_prefix.length(),
            votes.first_prefix,
            votes.second_prefix,
        ]
        votes = votes.mutate(rank=ibis.row_number().over(group_by=["first", "second"], order_by=order))
        winners = votes.filter(votes["rank"] == 0).select(*keys)
        found = pairs.left_join(winners, ["first", "second"])
        found = found.select(
            "first",
            "second",
            n_suffixes=found.n_suffixes.cast("int32"),
            n_near=found.n_near.cast("int32"),
            first_prefix=found.first_prefix.fill_null(""),
            second_prefix=found.second_prefix.fill_null(""),
            first_listed=found.first_listed.cast("int32"),
            second_listed=found.second_listed.cast("int32"),
        )
        return self._engine.keep(name, found)


def _shared_places(lists: Table, others: Table | None = None) -> Table:
    """Return the places that two hosts share: ``lower`` and ``higher`` host, their places, ``n_hosts`` and ``draw``."""
    one, two = lists, (lists if others is None else others).view()
    joined = one.join(two, ["key", one.host < two.host], rname="{name}_two")
    return joined.select(
        lower="host",
        higher="host_two",
        lower_place="place",
        higher_place="place_two",
        n_hosts="n_hosts",
        draw=(joined.draw + joined.draw_two) % NUMBERS,
    )


def _of_few_hosts(pairs: Table, classes: Table) -> Table:
    """Return near *pairs* of texts that, with all that are near, 100 hosts have at most, and ``n_hosts`` of the two."""
    one = classes.select("within", one="simhash", n_one="n_hosts")
    two = classes.select("within", two="simhash", n_two="n_hosts").view()
    pairs = pairs.join(one, ["within", "one"]).join(two, ["within", "two"])
    pairs = pairs.select("within", "one", "two", "n_one", "n_two")
    sides = pairs.select(within="within", text="one", own="n_one", near="n_two").union(
        pairs.select(within="within", text="two", own="n_two", near="n_one")
    )
    families = sides.group_by("within", "text").agg(n_hosts=sides.own.max() + sides.near.sum())
    large = families.filter(families.n_hosts > MAX_HOSTS).select("within", "text")
    kept = pairs.anti_join(large.rename(one="text"), ["within", "one"])
    kept = kept.anti_join(large.rename(two="text"), ["within", "two"])
    return kept.select("within", "one", "two", n_hosts=kept.n_one + kept.n_two)


def _of_few_partners(pairs: Table) -> Table:
    """Return the pairs that are among the 300 strongest of both their hosts."""
    sides = pairs.select("first", "second", "n_suffixes", "n_near", host="first", other="second").union(
        pairs.select("first", "second", "n_suffixes", "n_near", host="second", other="first")
    )
    order = [sides.n_near.desc(), sides.n_suffixes.desc(), sides.other]
    sides = sides.mutate(rank=ibis.row_number().over(group_by="host", order_by=order))
    weak = sides.filter(sides["rank"] >= MAX_PARTNERS).select("first", "second").distinct()
    return pairs.anti_join(weak.view(), ["first", "second"])


def _votes(shared: Table, pairs: Table, *, are_paths: bool = False) -> Table:
    """Return the votes of *shared* places for prefixes of *pairs*, by rarity.

    A place is the prefix before a shared suffix, or the path of a shared text: its prefix lies before what the two have
    in common at their ends.
    """
    wanted = pairs.select("lower", "higher", "first", "second", "is_swapped")
    votes = shared.join(wanted, ["lower", "higher"])
    if are_paths:
        votes = _unshared(votes)
    weight = (1 + MAX_HOSTS / votes.n_hosts).ln()
    votes = votes.select(
        "first",
        "second",
        first_prefix=ibis.ifelse(votes.is_swapped, votes.higher_place, votes.lower_place),
        second_prefix=ibis.ifelse(votes.is_swapped, votes.lower_place, votes.higher_place),
        weight=weight,
    )
    return votes.group_by("first", "second", "first_prefix", "second_prefix").agg(weight=votes.weight.sum())


def _unshared(votes: Table) -> Table:
    """Replace places that are paths by what stands before their longest common suffix, of at most 6 segments.

    As ``sites.alignment.unshared``: paths that end in different segments have no vote.
    """
    lower, higher = votes.lower_place, votes.higher_place
    tails = []
    for n in range(MAX_CUT, -1, -1):
        ending = rf"((?:[^/]*/){{{n}}}[^/]*)\z"
        tail = lower.re_extract(ending, 1)
        tails.append(((tail == higher.re_extract(ending, 1)) & (tail != ""), tail))
    votes = votes.mutate(tail=ibis.cases(((lower == higher) & (lower != ""), lower), *tails, else_=None))
    votes = votes.filter(votes.tail.notnull())

    def before(path: StringValue) -> StringValue:
        return path.substr(0, ibis.greatest(path.length() - votes.tail.length() - 1, 0))

    return votes.mutate(lower_place=before(votes.lower_place), higher_place=before(votes.higher_place))
