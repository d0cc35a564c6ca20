"""Content and noise on hidden-web pages: the decision tree, with and without the domain query, beside plain CETD.

The folder holds ``councils/<vendor>-<site>/`` with ``pages/*.html``, ``truth/*.json``, ``queries.csv`` and perhaps
``forms/*.html``. Label rule: an element is content if it is a gold record or lies inside one, noise otherwise.
Needs the extra ``lab`` (scikit-learn).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import html

from scrapy_replica.lab.measures import precision_recall_f1
from scrapy_replica.lab.replicas import five_attributes
from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.forms import DomainQuery, form_fields
from scrapy_replica.pages.hidden_web import (
    MODEL_FILE,
    N_QUERY_COLUMNS,
    DecisionTree,
    content_elements,
    node_features,
    own_matches,
    visible_elements,
)
from scrapy_replica.pages.noise import content_entries
from scrapy_replica.pages.text_tree import TextTree, read_text_tree

TREE = {"criterion": "entropy", "min_samples_leaf": 15, "max_leaf_nodes": 60, "random_state": 0}


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


def read_pages(folder: Path) -> list[LabelledPage]:
    """Read the labelled pages of every site below *folder*.

    :raises ValueError: there are none.
    """
    pages = [page for site in sorted((folder / "councils").glob("*/")) for page in _site_pages(site)]
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


def _site_pages(site: Path) -> list[LabelledPage]:
    terms = site_query(site).terms
    pages = []
    for truth in sorted(site.glob("truth/*.json")):
        root = _parse(site / "pages" / f"{truth.stem}.html")
        tree = read_text_tree(root)
        if not tree.text([0]):
            continue
        elements = visible_elements(root)
        places = {element: entry for entry, element in enumerate(elements)}
        is_content = np.zeros(len(elements), dtype=bool)
        for record in json.loads(truth.read_text(encoding="utf-8"))["records"]:
            for element in root.xpath(record["record_xpath"]):
                entry = places.get(element)
                if entry is not None:
                    is_content[entry : tree.ends[entry]] = True
        rows = node_features(tree, own_matches(elements, terms))
        pages.append(LabelledPage(site.name, tree, rows, is_content))
    return pages


def fit(pages: Sequence[LabelledPage], *, with_query: bool = True) -> DecisionTree:
    """Train the decision tree (entropy, as C4.5) on *pages*, classes weighted equally."""
    try:
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - an extra
    except ImportError as error:
        message = "training needs scikit-learn: pip install 'scrapy-replica[lab]'"
        raise ImportError(message) from error
    model = DecisionTreeClassifier(**TREE)
    weights = np.concatenate([np.full(len(page.rows), 1 / len(page.rows)) for page in pages])
    labels = np.concatenate([page.is_content for page in pages])
    model.fit(
        _seen(np.concatenate([page.rows for page in pages]), with_query=with_query), labels, weights * len(labels)
    )
    tree = model.tree_
    values = tree.value[:, 0, :]
    arrays = (tree.feature, tree.threshold, tree.children_left, tree.children_right, values[:, 1] / values.sum(axis=1))
    named = dict(zip(DecisionTree.__slots__, arrays, strict=True))
    named["features"] = np.where(tree.children_left < 0, -1, tree.feature)
    return DecisionTree.from_arrays(named)


def _seen(rows: FloatArray, *, with_query: bool) -> FloatArray:
    return rows if with_query else rows[:, :-N_QUERY_COLUMNS]


def evaluate(folder: Path) -> dict[str, float]:
    """Return precision, recall and F1 over the elements of all held-out pages, 0..1.

    Names: ``<who>.<split>.<class>_<measure>``: who is ``tree``, ``tree_without_query`` or ``cetd``; split is
    ``leave_site_out`` or ``leave_vendor_out``; class is ``content``, ``noise`` or ``weighted`` (by support). With them
    those of :func:`five_attributes.evaluate`.

    :raises ValueError: there are no labelled pages, or of one site or vendor only.
    """
    pages = read_pages(folder)
    figures = five_attributes.evaluate(pages)
    splits: dict[str, Callable[[LabelledPage], str]] = {
        "leave_site_out": lambda page: page.site,
        "leave_vendor_out": lambda page: page.vendor,
    }
    for split, key in splits.items():
        for who, with_query in (("tree", True), ("tree_without_query", False)):
            found = _held_out(pages, key, with_query=with_query)
            figures |= _measures(f"{who}.{split}", pages, found)
        figures |= _measures(f"cetd.{split}", pages, [_cetd(page) for page in pages])
    return figures


def _held_out(
    pages: Sequence[LabelledPage], key: Callable[[LabelledPage], str], *, with_query: bool
) -> list[BoolArray]:
    groups = defaultdict(list)
    for place, page in enumerate(pages):
        groups[key(page)].append(place)
    found: dict[int, BoolArray] = {}
    for name, places in groups.items():
        model = fit([page for page in pages if key(page) != name], with_query=with_query)
        for place in places:
            page = pages[place]
            found[place] = content_elements(page.tree, model.content_share(_seen(page.rows, with_query=with_query)))
    return [found[place] for place in range(len(pages))]


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
    parser = argparse.ArgumentParser(description="train the decision tree for hidden-web pages")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=MODEL_FILE)
    options = parser.parse_args(arguments)
    pages = read_pages(options.folder)
    record = {"pages": len(pages), "sites": len({page.site for page in pages}), "tree": TREE}
    arrays: dict[str, Any] = fit(pages).to_arrays()
    np.savez_compressed(options.output, record=np.array(json.dumps(record, sort_keys=True)), **arrays)


if __name__ == "__main__":
    main()
