"""The decision tree over five attributes of Lutz 2013, and how it was judged there.

*Descoberta de ruido em paginas da web oculta atraves de uma abordagem de aprendizagem supervisionada*, UFRGS, p. 42 to
54. Every element of a data set's pages is a row: composite text density, density sum, QueryScore, matches in its own
text, levels below the body. A data set is a site here. Published are weighted means over both classes (table 4.4) and
confusion matrices (table 4.5).

*Readings.* Nothing is told of J48's settings, so they are those that it comes with. The density sum is the paper's,
over children; :data:`DESCENDANTS` takes that over descendants, as p. 37 words it. The rows of a data set are cut at
random, 66 % to learn from (p. 51), so siblings of one page stand on both sides: that is the published measure, and
sites and vendors left out are beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from scrapy_replica.lab.measures import from_counts
from scrapy_replica.lab.pages.cetd import descendant_sums
from scrapy_replica.lab.replicas.j48 import tree
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.hidden_web import N_QUERY_COLUMNS

if TYPE_CHECKING:
    from scrapy_replica.lab.pages.form_results import LabelledPage

PUBLISHED = {
    "e4s": (44488, 147, 915, 592),
    "missing": (30576, 0, 27, 104),
    "pubs": (15946, 0, 6, 28),
    "drinkgenius": (30835, 2, 331, 61),
    "onlinerace": (62304, 172, 255, 306),
    "posteritati": (31005, 3, 46, 96),
    "book": (15438, 9, 11, 266),
    "career": (119437, 1563, 4076, 370),
    "mldb": (14789, 632, 1281, 109),
}
"""Table 4.5 (p. 54): the :class:`Confusion` of each data set there."""
DESCENDANTS = "descendants"
LEARNT_SHARE = 0.66
SPLITS = ("rows", "site", "vendor")
"""The published cut of each site's rows, every site left out, every vendor left out."""


class Confusion(NamedTuple):
    """Elements by what they are and what they were called, in the order of table 4.5."""

    noise_as_noise: int = 0
    noise_as_content: int = 0
    content_as_content: int = 0
    content_as_noise: int = 0

    def measures(self) -> dict[str, float]:
        """Return precision, recall and F1 of the content, of the noise, and weighted by how much there is of each."""
        rr, rc, cc, cr = self
        noise, content = from_counts(rr, rr + cr, rr + rc), from_counts(cc, cc + rc, cc + cr)
        n_noise, n_content = rr + rc, cc + cr
        figures = {}
        for place, measure in enumerate(("precision", "recall", "f1")):
            weighted = n_noise * noise[place] + n_content * content[place]
            figures[f"content_{measure}"] = content[place]
            figures[f"noise_{measure}"] = noise[place]
            figures[f"weighted_{measure}"] = weighted / max(n_noise + n_content, 1)
        return figures


def total(some: Iterable[Confusion]) -> Confusion:
    """Add *some*."""
    return Confusion(*(sum(counts) for counts in zip(*some, strict=True)))


def confusion(found: BoolArray, truth: BoolArray) -> Confusion:
    """Count elements, both of shape (n,), true for content."""
    called = ((~truth, ~found), (~truth, found), (truth, found), (truth, ~found))
    return Confusion(*(int(np.sum(is_so & is_called_so)) for is_so, is_called_so in called))


def attributes(page: LabelledPage, *, over_descendants: bool = False) -> FloatArray:
    """Return the five attributes of every element, shape (n, 5), in the order of p. 42."""
    densities, sums, depths = page.rows.T[:3]
    scores, matches = page.rows.T[-N_QUERY_COLUMNS : -N_QUERY_COLUMNS + 2]
    if over_descendants:
        sums = descendant_sums(page.tree, densities)
    return np.column_stack([densities, sums, scores, matches, depths])


def evaluate(pages: Sequence[LabelledPage], seed: int = 0) -> dict[str, float]:
    """Return the figures of the tree on *pages*, shares 0..1 and counts of elements; *seed* makes the cut.

    Names: ``five.<split>.<class>_<measure>``, over all elements, with ``split`` of :data:`SPLITS`; the counts of
    :class:`Confusion` in place of ``<class>_<measure>``; both with ``<site>.`` or ``<vendor>.`` before them; all with
    ``five_descendants`` in place of ``five``; and ``published.<data set>.`` with those of table 4.5.

    :raises ValueError: there is one site or one vendor only.
    """
    for split, held in (("site", {page.site for page in pages}), ("vendor", {page.vendor for page in pages})):
        if len(held) < 2:
            raise ValueError(f"the pages are of one {split} only ({held.pop()}): there is nothing to leave out")
    figures: dict[str, float] = {}
    for name, over_descendants in (("five", False), (f"five_{DESCENDANTS}", True)):
        rows = [attributes(page, over_descendants=over_descendants) for page in pages]
        for split in SPLITS:
            found = judged(pages, rows, split, seed)
            figures |= _figures(f"{name}.{split}", total(found.values()))
            vendors = {site.partition("-")[0] for site in found}
            for group in sorted(vendors | set(found)):
                own = [counts for site, counts in found.items() if site == group or site.startswith(f"{group}-")]
                figures |= _figures(f"{name}.{split}.{group}", total(own))
    for data_set, counts in PUBLISHED.items():
        figures |= _figures(f"published.{data_set}", Confusion(*counts))
    return figures


def _figures(name: str, counts: Confusion) -> dict[str, float]:
    named: Mapping[str, float] = counts.measures() | counts._asdict()
    return {f"{name}.{key}": value for key, value in named.items()}


def judged(pages: Sequence[LabelledPage], rows: Sequence[FloatArray], split: str, seed: int) -> dict[str, Confusion]:
    """Return the confusion matrix of each site, its elements judged by a tree that did not learn from them."""
    labels = [page.is_content for page in pages]
    if split == "rows":
        return {
            site: _cut(np.concatenate([rows[p] for p in places]), np.concatenate([labels[p] for p in places]), seed)
            for site, places in _groups(pages, lambda page: page.site).items()
        }
    found: defaultdict[str, list[Confusion]] = defaultdict(list)
    for places, others in _left_out(pages, split):
        model = tree(np.concatenate([rows[p] for p in others]), np.concatenate([labels[p] for p in others]))
        for place in places:
            found[pages[place].site].append(confusion(model.says(rows[place]), labels[place]))
    return {site: total(some) for site, some in found.items()}


def _left_out(pages: Sequence[LabelledPage], split: str) -> Iterator[tuple[list[int], list[int]]]:
    groups = _groups(pages, lambda page: page.site if split == "site" else page.vendor)
    for own in groups.values():
        yield own, [place for group in groups.values() if group is not own for place in group]


def _groups(pages: Sequence[LabelledPage], key: Callable[[LabelledPage], str]) -> dict[str, list[int]]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, page in enumerate(pages):
        groups[key(page)].append(place)
    return dict(groups)


def _cut(rows: FloatArray, labels: BoolArray, seed: int) -> Confusion:
    order = np.random.default_rng(seed).permutation(len(rows))
    learnt, rest = np.split(order, [round(LEARNT_SHARE * len(rows))])
    return confusion(tree(rows[learnt], labels[learnt]).says(rows[rest]), labels[rest])
