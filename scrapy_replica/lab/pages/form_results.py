"""Content and noise on hidden-web pages: the model, its two parts, and the tree without the domain query, beside CETD.

The folder holds ``councils/<vendor>-<site>/`` with ``pages/*.html``, ``truth/*.json``, ``queries.csv`` and perhaps
``forms/*.html``; the pages of ``swde/<site>/`` beside it make frames. Label rule: an element is content if it is a gold
record or lies inside one, noise otherwise.
Needs the extra ``lab`` (scikit-learn).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from lxml import etree, html

from scrapy_replica.lab.measures import precision_recall_f1
from scrapy_replica.lab.pages.form_changes import Change, Frame, few, unchanged
from scrapy_replica.lab.replicas import five_attributes
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.forms import DomainQuery, form_fields
from scrapy_replica.pages.hidden_web import (
    MODEL_FILE,
    N_QUERY_COLUMNS,
    DecisionTree,
    LogisticModel,
    RecordModel,
    content_elements,
    node_features,
    own_matches,
)
from scrapy_replica.pages.noise import content_entries
from scrapy_replica.pages.text_tree import INVISIBLE, TextTree, body_of, hides, read_text_tree

TREE = {"criterion": "entropy", "min_samples_leaf": 15, "max_leaf_nodes": 60, "random_state": 0}
LINEAR_C = 0.001
Judge = Callable[[FloatArray], FloatArray]
"""From rows to how far each is content."""
Fit = Callable[[Sequence["LabelledPage"]], Judge]


@dataclass(slots=True)
class LabelledPage:
    """A page's elements with their features and truth."""

    site: str
    tree: TextTree
    rows: FloatArray
    is_content: BoolArray

    @property
    def vendor(self) -> str:
        """The search system that the site runs."""
        return self.site.partition("-")[0]


def read_pages(folder: Path, change: Change = unchanged) -> list[LabelledPage]:
    """Read the labelled pages of every site below *folder*, each changed so.

    :raises ValueError: there are none.
    """
    pages = [page for site in sorted((folder / "councils").glob("*/")) for page in _site_pages(site, change)]
    if not pages:
        raise ValueError(f"{folder} has no labelled pages: councils/<vendor>-<site>/truth/<id>.json")
    return pages


def site_query(site: Path) -> DomainQuery:
    """Return the domain query of a *site* folder: what was submitted, and the labels of its recorded forms."""
    query = DomainQuery()
    with (site / "queries.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if not row["assigned_from"].startswith("ARTIFICIAL"):
                query.add((row["field"], row["value"]))
    for path in sorted(site.glob("forms/*.html")):
        query.add_fields(form_fields(_parse(path)))
    return query


def _parse(path: Path) -> Any:
    return html.document_fromstring(path.read_bytes(), parser=html.HTMLParser(encoding="utf8"))


def read_framed(folder: Path) -> list[LabelledPage]:
    """Read the labelled pages, those of each site in the frames of another site below ``swde``; none without that."""
    frames = [Frame(site, _parse) for site in sorted((folder / "swde").glob("*/"))]
    sites = sorted((folder / "councils").glob("*/"))
    return [
        page for place, site in enumerate(sites) if frames for page in _site_pages(site, frames[place % len(frames)])
    ]


def _site_pages(site: Path, change: Change) -> list[LabelledPage]:
    terms = site_query(site).terms
    pages = []
    for n, truth in enumerate(sorted(site.glob("truth/*.json"))):
        root = _parse(site / "pages" / f"{truth.stem}.html")
        paths = [record["record_xpath"] for record in json.loads(truth.read_text(encoding="utf-8"))["records"]]
        records = change(root, [element for path in paths for element in root.xpath(path)], n)
        tree = read_text_tree(root)
        if records is None or not tree.text([0]):
            continue
        elements = visible_elements(root)
        places = {element: entry for entry, element in enumerate(elements)}
        is_content = np.zeros(len(elements), dtype=bool)
        for element in records:
            entry = places.get(element)
            if entry is not None:
                is_content[entry : tree.ends[entry]] = True
        rows = node_features(tree, own_matches(tree, terms))
        pages.append(LabelledPage(site.name, tree, rows, is_content))
    return pages


def visible_elements(root: etree._Element) -> list[etree._Element]:
    """Return the elements that ``read_text_tree`` has entries for, in that order."""
    walker = etree.iterwalk(body_of(root), events=("start",))
    elements: list[etree._Element] = []
    for _, element in walker:
        if elements and (element.tag in INVISIBLE or hides(element.get("style", ""))):
            walker.skip_subtree()
        else:
            elements.append(element)
    return elements


def fit(pages: Sequence[LabelledPage]) -> RecordModel:
    """Train the model on *pages*."""
    return RecordModel(fit_tree(pages), fit_linear(pages))


def _examples(pages: Sequence[LabelledPage]) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Rows, labels and weights: every page weighs the same."""
    weights = np.concatenate([np.full(len(page.rows), 1 / len(page.rows)) for page in pages])
    rows = np.concatenate([page.rows for page in pages])
    return rows, np.concatenate([page.is_content for page in pages]), weights * (len(weights) / weights.sum())


def fit_tree(pages: Sequence[LabelledPage], *, with_query: bool = True) -> DecisionTree:
    """Train the decision tree (entropy, as C4.5) on *pages*."""
    try:
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = "training needs scikit-learn: pip install 'scrapy-replica[lab]'"
        raise ImportError(message) from error
    model = DecisionTreeClassifier(**TREE)
    rows, labels, weights = _examples(pages)
    model.fit(rows if with_query else rows[:, :-N_QUERY_COLUMNS], labels, weights)
    tree = model.tree_
    values = tree.value[:, 0, :]
    arrays = (tree.feature, tree.threshold, tree.children_left, tree.children_right, values[:, 1] / values.sum(axis=1))
    named = dict(zip(DecisionTree.__slots__, arrays, strict=True))
    named["features"] = np.where(tree.children_left < 0, -1, tree.feature)
    return DecisionTree.from_arrays(named)


def fit_linear(pages: Sequence[LabelledPage]) -> LogisticModel:
    """Train logistic regression on *pages*."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - an extra

    rows, labels, weights = _examples(pages)
    seen = rows[:, :-N_QUERY_COLUMNS]
    logarithms = np.copysign(np.log1p(np.abs(seen)), seen)
    mean, scale = logarithms.mean(axis=0), logarithms.std(axis=0) + 1e-3
    model = LogisticRegression(C=LINEAR_C, max_iter=300).fit((logarithms - mean) / scale, labels, weights)
    slopes = model.coef_[0] / scale
    return LogisticModel(slopes, float(model.intercept_[0] - slopes @ mean))


FITS: dict[str, Fit] = {
    "model": lambda pages: fit(pages).content_share,
    "tree": lambda pages: fit_tree(pages).content_share,
    "tree_without_query": lambda pages: fit_tree(pages, with_query=False).content_share,
    "linear": lambda pages: fit_linear(pages).content_share,
}


def evaluate(folder: Path) -> dict[str, float]:
    """Return precision, recall and F1 over the elements of all held-out pages, 0..1.

    Names: ``<who>.<split>.<class>_<measure>``: who is of :data:`FITS` or ``cetd``; split is ``leave_site_out`` or
    ``leave_vendor_out``; class is ``content``, ``noise`` or ``weighted`` (by support). With them those of
    :func:`five_attributes.evaluate` and :func:`transfer`.

    :raises ValueError: there are no labelled pages, or of one site or vendor only.
    """
    pages = read_pages(folder)
    figures = five_attributes.evaluate(pages)
    splits: dict[str, Callable[[LabelledPage], str]] = {
        "leave_site_out": lambda page: page.site,
        "leave_vendor_out": lambda page: page.vendor,
    }
    for split, key in splits.items():
        for who, learn in FITS.items():
            figures |= _measures(f"{who}.{split}", pages, _held_out(pages, key, learn))
        figures |= _measures(f"cetd.{split}", pages, [_cetd(page) for page in pages])
    return figures | transfer(pages, {"few": read_pages(folder, few), "framed": read_framed(folder)})


def _held_out(pages: Sequence[LabelledPage], key: Callable[[LabelledPage], str], learn: Fit) -> list[BoolArray]:
    groups = defaultdict(list)
    for place, page in enumerate(pages):
        groups[key(page)].append(place)
    found: dict[int, BoolArray] = {}
    for name, places in groups.items():
        judge = learn([page for page in pages if key(page) != name])
        for place in places:
            found[place] = content_elements(pages[place].tree, judge(pages[place].rows))
    return [found[place] for place in range(len(pages))]


def transfer(pages: Sequence[LabelledPage], changed: Mapping[str, Sequence[LabelledPage]]) -> dict[str, float]:
    """Return the content's F1 on sites of other vendors, learnt from *pages* of one vendor or of all but one.

    Names: ``<who>.<one or others>.<plain or name in changed>.<mean or worst>``, over the sites.
    """
    figures: dict[str, float] = {}
    for who, learn in FITS.items():
        for split in ("one", "others"):
            found: defaultdict[str, list[float]] = defaultdict(list)
            for vendor in {page.vendor for page in pages}:
                judge = learn([page for page in pages if (page.vendor == vendor) == (split == "one")])
                for name, some in {"plain": pages, **changed}.items():
                    judged = [page for page in some if (page.vendor == vendor) != (split == "one")]
                    found[name] += _by_site(judged, judge)
            for name, f1s in found.items():
                if f1s:
                    figures[f"{who}.{split}.{name}.mean"] = fmean(f1s)
                    figures[f"{who}.{split}.{name}.worst"] = min(f1s)
    return figures


def _by_site(pages: Sequence[LabelledPage], judge: Judge) -> list[float]:
    counts: defaultdict[str, five_attributes.Confusion] = defaultdict(five_attributes.Confusion)
    for page in pages:
        own = five_attributes.confusion(content_elements(page.tree, judge(page.rows)), page.is_content)
        counts[page.site] = five_attributes.total((counts[page.site], own))
    return [count.measures()["content_f1"] for count in counts.values()]


def _cetd(page: LabelledPage) -> BoolArray:
    found = np.zeros(len(page.rows), dtype=bool)
    for entry in content_entries(page.tree):
        found[entry : page.tree.ends[entry]] = True
    return found


def _measures(name: str, pages: Sequence[LabelledPage], found: Sequence[BoolArray]) -> dict[str, float]:
    truth = np.concatenate([page.is_content for page in pages])
    answer = np.concatenate(found)
    figures: dict[str, float] = {}
    weighted = dict.fromkeys(("precision", "recall", "f1"), 0.0)
    for label, positive in (("content", True), ("noise", False)):
        values = precision_recall_f1(answer == positive, truth == positive)
        for measure, value in zip(weighted, values, strict=True):
            figures[f"{name}.{label}_{measure}"] = value
            weighted[measure] += value * float((truth == positive).mean())
    return figures | {f"{name}.weighted_{measure}": value for measure, value in weighted.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Train on all pages of a folder and write the model file."""
    parser = argparse.ArgumentParser(description="train the model for hidden-web pages")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=MODEL_FILE)
    options = parser.parse_args(arguments)
    pages = read_pages(options.folder)
    record = {"pages": len(pages), "sites": len({page.site for page in pages}), "tree": TREE, "linear_c": LINEAR_C}
    arrays: dict[str, Any] = fit(pages).to_arrays()
    np.savez_compressed(options.output, record=np.array(json.dumps(record, sort_keys=True)), **arrays)


if __name__ == "__main__":
    main()
