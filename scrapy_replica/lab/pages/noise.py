"""Main text against gold text: the learned extractor and CETD beside public extractors.

The folder holds ``<set>/html/<id>.html`` and ``<set>/gold/<id>.txt``. Measure: longest common subsequence of the words
(runs of word characters, lower case) of found and gold text; precision, recall and F1 per page, mean per set. Peers
are in the extra ``test``; one that is not installed is left out, and named in the log.
"""

from __future__ import annotations

import html as html_escape
import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import LCSseq

from scrapy_replica.lab.measures import from_counts
from scrapy_replica.lab.pages import cetd
from scrapy_replica.lab.training.train_extractor import gold_shares, group_of, parse, read_examples, train
from scrapy_replica.pages import extractor, noise
from scrapy_replica.pages.blocks import read_blocks
from scrapy_replica.pages.trees import BlendedModel

logger = logging.getLogger(__name__)

_WORD = re.compile(r"\w+")
Extract = Callable[[bytes], str]
N_PICTURED = 10
"""Pages of the file for people, evenly spaced over all."""
N_FOLDED = 5
"""Blocks in a row that all leave out and that are shown: menus would fill the screen."""


class Score(NamedTuple):
    """What one page says about one extractor: shares 0..1, CPU milliseconds."""

    precision: float
    recall: float
    f1: float
    milliseconds: float
    has_failed: bool


@dataclass(frozen=True, slots=True)
class GoldPage:
    """One page of a set, with the words of its gold text."""

    folder: str
    name: str
    html: bytes
    words: list[str]


def read_pages(folder: Path) -> list[GoldPage]:
    """Read every page of *folder* that has a gold text, by set and name."""
    pages = []
    for gold in sorted(folder.glob("*/gold/*.txt")):
        html = (gold.parents[1] / "html" / f"{gold.stem}.html").read_bytes()
        words = words_of(gold.read_text(encoding="utf-8", errors="replace"))
        pages.append(GoldPage(gold.parents[1].name, gold.stem, html, words))
    return pages


def words_of(text: str) -> list[str]:
    """Return the words of *text* as they are compared: runs of word characters in lower case."""
    return _WORD.findall(text.lower())


def lcs_scores(found: Sequence[str], gold: Sequence[str]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the words *found* against *gold*; all 1 if both are empty."""
    if not found and not gold:
        return 1.0, 1.0, 1.0
    return from_counts(LCSseq.similarity(found, gold), len(found), len(gold))


def score(extract: Extract, page: GoldPage) -> Score:
    """Run *extract* on one *page*, parsing included; an exception is an empty text and counted as a failure."""
    has_failed = False
    start = time.process_time()
    try:
        text = extract(page.html)
    except Exception:  # noqa: BLE001 - whatever a peer raises is its failure on this page
        text, has_failed = "", True
    milliseconds = (time.process_time() - start) * 1000
    return Score(*lcs_scores(words_of(text), page.words), milliseconds, has_failed)


def evaluate(
    folder: Path, names: Iterable[str] | None = None, *, is_leave_set_out: bool = True, picture: Path | None = None
) -> dict[str, float]:
    """Return the figures of the extractors *names* (all that are installed) on the pages of *folder*.

    ``<name>.<set>.f1|precision|recall`` in 0..100 (means over pages), ``<name>.mean.f1`` (mean over sets),
    ``<name>.<set>.ms_median|ms_p95``, ``<name>.ms_median``, ``<name>.ms_p95`` and ``<name>.failures``.
    ``learned`` is judged on each set by an extractor that was trained on the others, sets of one origin left out
    together; without *is_leave_set_out* by the one that the package ships. *picture* is written by
    :func:`side_by_side`.

    :raises ValueError: there are no pages, or a single set and nothing to train on.
    """
    pages = read_pages(folder)
    if not pages:
        raise ValueError(f"{folder} has no <set>/gold/<id>.txt")
    chosen_extractors = extractors(names)
    groups = sorted({group_of(page.folder) for page in pages})
    judges: Mapping[str, extractor.Extractor] = dict.fromkeys(groups, extractor.shipped())
    if is_leave_set_out and ("learned" in chosen_extractors or picture is not None):
        judges = leave_set_out(folder, groups)
    if picture is not None:
        side_by_side(pages[:: max(len(pages) // N_PICTURED, 1)][:N_PICTURED], judges, picture)
    figures: dict[str, float] = {}
    for name, extract in chosen_extractors.items():
        chosen = dict.fromkeys(groups, extract)
        if name == "learned":
            chosen = {group: _learned(judge) for group, judge in judges.items()}
        scores = defaultdict(list)
        for page in pages:
            scores[page.folder].append(score(chosen[group_of(page.folder)], page))
        figures |= summary(name, scores)
    return figures


def summary(name: str, scores: Mapping[str, Sequence[Score]]) -> dict[str, float]:
    """Return the figures of one extractor from its *scores* per set."""
    figures: dict[str, float] = {}
    for folder, some in scores.items():
        times = [one.milliseconds for one in some]
        figures[f"{name}.{folder}.precision"] = 100 * fmean(one.precision for one in some)
        figures[f"{name}.{folder}.recall"] = 100 * fmean(one.recall for one in some)
        figures[f"{name}.{folder}.f1"] = 100 * fmean(one.f1 for one in some)
        figures[f"{name}.{folder}.ms_median"] = median(times)
        figures[f"{name}.{folder}.ms_p95"] = float(np.percentile(times, 95))
    every = [one for some in scores.values() for one in some]
    figures[f"{name}.mean.f1"] = fmean(figures[f"{name}.{folder}.f1"] for folder in scores)
    figures[f"{name}.ms_median"] = median(one.milliseconds for one in every)
    figures[f"{name}.ms_p95"] = float(np.percentile([one.milliseconds for one in every], 95))
    figures[f"{name}.failures"] = float(sum(one.has_failed for one in every))
    return figures


def leave_set_out(folder: Path, groups: Sequence[str]) -> dict[str, extractor.Extractor]:
    """Return, for each of the *groups* of sets below *folder*, the extractor trained on the others.

    :raises ValueError: there is one group only.
    """
    if len(groups) < 2:
        raise ValueError(f"{folder} holds one set only: nothing is left to train on (--shipped takes what is trained)")
    examples = list(read_examples(folder))
    firsts: dict[frozenset[str], BlendedModel] = {}
    return {group: train(examples, [other for other in groups if other != group], firsts) for group in groups}


def _learned(model: extractor.Extractor) -> Extract:
    return lambda html: extractor.texts(parse(html), model).main


def extractors(names: Iterable[str] | None = None) -> dict[str, Extract]:
    """Return the extractors *names*, or all that are installed, by name."""
    own: dict[str, Extract] = {
        "learned": lambda html: extractor.texts(parse(html)).main,
        "cetd": lambda html: noise.texts(parse(html)).main,
        "cetd-children": lambda html: cetd.children_text(parse(html)),
        "cetd-descendants": lambda html: cetd.descendants_text(parse(html)),
        "whole-page": lambda html: extractor.whole_text(parse(html)).main,
    }
    wanted = [*own, *_PEERS] if names is None else list(names)
    found: dict[str, Extract] = {}
    for name in wanted:
        if name in own:
            found[name] = own[name]
            continue
        module, make = _PEERS[name]
        try:
            found[name] = make(import_module(module))
        except ImportError as error:
            logger.warning("%s is left out (pip install 'scrapy-replica[test]'): %s", name, error)
    return found


def _text(html: bytes) -> str:
    """Decode a page for peers that take text only."""
    try:
        return html.decode("utf-8-sig")
    except UnicodeDecodeError:
        return html.decode("cp1252", errors="replace")


def _readability(module: Any) -> Extract:
    # Its summary is HTML; the text is read with our own walk so that only the choice of elements is judged.
    return lambda html: extractor.whole_text(parse(module.Document(_text(html)).summary().encode())).main


def _justext(module: Any) -> Extract:
    stop_words = module.get_stoplist("English")
    return lambda html: "\n".join(
        paragraph.text for paragraph in module.justext(html, stop_words) if not paragraph.is_boilerplate
    )


def _boilerpy3(module: Any) -> Extract:
    article = module.ArticleExtractor(raise_on_failure=False)
    return lambda html: str(article.get_content(_text(html)))


_PEERS: dict[str, tuple[str, Callable[[Any], Extract]]] = {
    "trafilatura": ("trafilatura", lambda module: lambda html: module.extract(html) or ""),
    "readability": ("readability", _readability),
    "justext": ("justext", _justext),
    "boilerpy3": ("boilerpy3.extractors", _boilerpy3),
    "resiliparse": (
        "resiliparse.extract.html2text",
        lambda module: lambda html: str(module.extract_plain_text(_text(html), main_content=True)),
    ),
}


_STYLE = (
    "body{font:14px/1.4 sans-serif;margin:0 16px}table{width:100%;table-layout:fixed;border-spacing:8px 1px}"
    "th{position:sticky;top:0;background:#fff;text-align:left;padding:6px}th small{font-weight:normal}"
    "td{vertical-align:top;padding:2px 6px;overflow-wrap:anywhere;color:#aaa}"
    "td.kept{color:#000;background:#d4f2d4}td.wrong{color:#000;background:#fbd5d5}td.missed{color:#000;background:#fdeeb5}"
)
_LEGEND = (
    "<p>One row for each block of text. <b style='background:#d4f2d4'>kept</b>, "
    "<b style='background:#fbd5d5'>kept, but not in the gold text</b>, "
    "<b style='background:#fdeeb5'>left out, but in the gold text</b>, grey: left out.</p>"
)


def side_by_side(pages: Sequence[GoldPage], judges: Mapping[str, extractor.Extractor], output: Path) -> None:
    """Write *pages* as one HTML file: a row per block, marked where each extractor keeps it and where the gold does.

    *judges* holds the learned extractor for each group of sets.
    """
    tables = "".join(_table(page, judges[group_of(page.folder)]) for page in pages)
    contents = " · ".join(f"<a href='#{page.folder}-{page.name}'>{page.folder}/{page.name}</a>" for page in pages)
    head = f"<!doctype html><meta charset=utf-8><title>Main text</title><style>{_STYLE}</style>"
    output.write_text(f"{head}{_LEGEND}<p>{contents}</p>{tables}", encoding="utf-8")


def _table(page: GoldPage, judge: extractor.Extractor) -> str:
    root = parse(page.html)
    blocks = read_blocks(root)
    is_kept = extractor.kept_runs(blocks, judge) if blocks.texts else np.zeros(0, dtype=bool)
    is_gold = gold_shares(blocks, " ".join(page.words)) >= 0.5
    dense = noise.texts(root).main
    learned = "\n".join(text for text, kept in zip(blocks.texts, is_kept.tolist(), strict=True) if kept)
    heads = "".join(
        f"<th>{name} <small>F1 {100 * lcs_scores(words_of(text), page.words)[2]:.1f}</small></th>"
        for name, text in (("learned", learned), ("CETD", dense))
    )
    # The lines of CETD are other blocks than these.
    marks = [is_kept, gold_shares(blocks, dense) >= 0.5, is_gold]
    blocks_and_marks = zip(blocks.texts, *(mark.tolist() for mark in marks), strict=True)
    rows = "".join(_rows(list(some)) for _, some in groupby(blocks_and_marks, lambda row: any(row[1:])))
    caption = f"<h2 id='{page.folder}-{page.name}'>{page.folder}/{page.name}</h2>"
    return f"{caption}<table><thead><tr>{heads}<th>gold</th></tr></thead>{rows}</table>"


def _rows(blocks: Sequence[tuple[str, bool, bool, bool]]) -> str:
    """Return the rows of *blocks*, each with its marks, gold last; a long stretch that all leave out is folded."""
    if len(blocks) > N_FOLDED and not any(blocks[0][1:]):
        texts = html_escape.escape(" | ".join(text for text, *_ in blocks))
        summary = f"<summary>{len(blocks)} blocks left out by all</summary>"
        return f"<tr><td colspan=3><details>{summary}{texts}</details></td></tr>"
    return "".join(
        f"<tr>{''.join(_cell(text, kept, in_gold) for kept in (learned, dense, in_gold))}</tr>"
        for text, learned, dense, in_gold in blocks
    )


def _cell(text: str, kept: bool, in_gold: bool) -> str:
    mark = "kept" if kept and in_gold else "wrong" if kept else "missed" if in_gold else ""
    return f"<td class='{mark}'>{html_escape.escape(text)}</td>"
