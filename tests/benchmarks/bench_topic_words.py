# ruff: noqa: E501 - data
"""A topic in words against five examples: mean average precision over sixteen topics of three labelled crawls.

The five are no part of what is ranked. Beside the words stands the cosine to them in an embedding made from 3,000 pages
of the same crawl.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.description import Description
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.pages.terms import terms

TOPICS = {
    "uci": {
        "teaching": "teaching materials, lectures and assignments",
        "machine_learning": "machine learning research and courses",
        "courses": "courses of the department, syllabus and schedule",
        "theory_geometry": "algorithms, theory of computation and computational geometry",
        "bioinformatics": "bioinformatics and computational biology",
    },
    "emacswiki": {
        "CategoryCompletion": "completion of commands, words and file names",
        "CategoryGnus": "reading mail and news with Gnus",
        "CategoryRegexp": "regular expressions, search and replace",
        "CategoryFaces": "faces, fonts and colors of text",
    },
    "mdn_archived": {
        "spidermonkey": "SpiderMonkey, the JavaScript engine, and its C API",
        "crypto_nss": "cryptography, certificates and the NSS library",
        "extensions": "writing browser extensions and add-ons",
        "webapi_b2g": "Web APIs of Firefox OS and devices",
        "build_dev": "building the source code of Mozilla",
        "accessibility": "accessibility of web pages and applications",
        "thunderbird_mail": "Thunderbird, mail messages and address books",
    },
}
DETAILED = {
    "teaching": "teaching materials such as lecture notes, slides, assignments, homework, quizzes, labs and exams for students",
    "machine_learning": "machine learning research and courses: neural networks, classifiers, data sets, Bayesian inference",
    "courses": "courses of the department with their syllabus, schedule, textbook, grading, instructor, office hours",
    "theory_geometry": "algorithms, theory of computation, computational geometry, graphs, complexity, data structures, proofs",
    "bioinformatics": "bioinformatics and computational biology: genomes, proteins, gene expression, molecular databases",
    "CategoryGnus": "reading mail and news with Gnus: groups, servers, articles, scoring, spam filters and sending messages",
    "CategoryRegexp": "regular expressions for search and replace: matching groups, patterns, backreferences, query replace",
    "spidermonkey": "SpiderMonkey, the JavaScript engine, and its C API: contexts, runtimes, values, objects, garbage collection",
    "crypto_nss": "cryptography, certificates and the NSS library: SSL, keys, tokens, PKCS modules, signatures and encryption",
    "extensions": "writing browser extensions and add-ons: overlays, install manifests, chrome packages, toolbars, preferences",
    "webapi_b2g": "Web APIs of Firefox OS and devices: telephony, battery, contacts, settings, alarms and sensors of phones",
    "accessibility": "accessibility of web pages and applications: screen readers, roles, keyboards, ARIA attributes",
    "thunderbird_mail": "Thunderbird, mail messages and address books: folders, accounts, headers, attachments and filters",
}
"""The same in two lines."""
LABELS = {"uci": "topics", "emacswiki": "categories", "mdn_archived": "topics"}
WARM_UP, UNLABELLED, EXAMPLES, CHOSEN = 60, 3_000, 5, 15
DIMENSIONS = 256


def crawl_of(shared, name):
    """Return terms and labels of the pages of a crawl, in the order in which a breadth-first visit meets them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(shared / "focus" / f"{name}.parquet", columns=["id", "depth", "text", LABELS[name]])
    pages = sorted(rows.to_pylist(), key=lambda row: (row["depth"], row["id"]))
    pages = [row for row in pages if row["depth"] >= 0]
    return [terms(row["text"] or "") for row in pages], [set(row[LABELS[name]] or ()) for row in pages]


def examples_beside(description, seen):
    """Return a model of *description* and of the pages *seen* that have most of it."""
    general = Background.shipped()
    described, model = Description(), Relevance()
    described.fit(description, general.with_documents(seen))
    best = sorted(seen, key=described.relevance, reverse=True)[:CHOSEN]
    unlabelled = [one for one in seen[:: max(1, len(seen) // 1_000)] if one not in best]
    model.describe(description, general.with_documents(unlabelled))
    model.fit(best, general.with_documents(unlabelled))
    return model


def embedding(unlabelled):
    """Return what makes unit vectors of documents: LSI of the *unlabelled* ones, their words weighted by rarity."""
    text = pytest.importorskip("sklearn.feature_extraction.text")
    decomposition = pytest.importorskip("sklearn.decomposition")
    vectors = text.TfidfVectorizer(analyzer=lambda found: Counter(found).elements(), sublinear_tf=True, min_df=2)
    learnt = vectors.fit_transform(unlabelled)
    svd = decomposition.TruncatedSVD(DIMENSIONS, random_state=1).fit(learnt)

    def embed(documents):
        rows = svd.transform(vectors.transform(documents))
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    return embed


@pytest.mark.shared
def test_words_and_examples(shared, capsys):
    average_precision = pytest.importorskip("sklearn.metrics").average_precision_score
    found: dict[str, list[float]] = {}
    for name, topics in TOPICS.items():
        pages, labels = crawl_of(shared, name)
        draw = random.Random(1)
        unlabelled = draw.sample(pages, UNLABELLED)
        embed = embedding(unlabelled)
        vectors = embed(pages)
        general = Background.shipped()
        for topic, words in topics.items():
            truth, description = np.array([topic in known for known in labels]), terms(words)
            alone, warm = Description(), Description()
            alone.fit(description, general)
            warm.fit(description, general.with_documents(pages[:WARM_UP]))
            given = draw.sample([place for place, known in enumerate(truth) if known and pages[place]], EXAMPLES)
            drawn, others = [pages[place] for place in given], np.setdiff1d(np.arange(len(pages)), given)
            five, many = Relevance(), Relevance()
            five.fit(drawn, general)
            many.fit(drawn, Background.from_documents(unlabelled))
            both = Relevance()
            both.describe(description, general.with_documents(unlabelled))
            both.fit(drawn, Background.from_documents(unlabelled))
            models = {
                "the words, against the shipped term statistics": alone,
                "with the first 60 pages of the crawl beside them": warm,
                "and 15 of the first 960 pages as examples": examples_beside(description, pages[:960]),
                "and 15 of 3,840": examples_beside(description, pages[:3_840]),
                "five examples, against the shipped term statistics": five,
                "five examples and 3,000 unlabelled pages": many,
                "the same, and the words": both,
            }
            scores = {row: np.array([model.relevance(one) for one in pages]) for row, model in models.items()}
            nearness = vectors @ embed([description])[0]
            scores["nearness to the words in an embedding of these 3,000"] = nearness
            scores["the same, and how far a page has the words"] = nearness + scores[[*scores][1]]
            for row, values in scores.items():
                found.setdefault(row, []).append(average_precision(truth[others], values[others]))
    with capsys.disabled():
        for row, values in found.items():
            print(f"{row:<55} {np.mean(values):.3f}  least {min(values):.3f}")


@pytest.mark.shared
def test_what_is_relevant(shared, capsys):
    """Mean F1 of what is above .5, of descriptions in a line, in two, and of a page as one; of every third page."""
    found: dict[str, list[float]] = {"a line": [], "two lines": [], "a page": []}
    for name, topics in TOPICS.items():
        pages, labels = crawl_of(shared, name)
        background = Background.shipped().with_documents(pages[:WARM_UP])
        for label, words in topics.items():
            first = next(p for p, of in zip(pages, labels, strict=True) if label in of and sum(p.values()) > 200)
            detailed = terms(DETAILED.get(label, ""))
            for kind, description in (("a line", terms(words)), ("two lines", detailed), ("a page", first)):
                if description:
                    described = Description()
                    described.fit(description, background)
                    is_told = np.array([described.relevance(page) > 0.5 for page in pages[::3]])
                    is_so = np.array([label in of for of in labels[::3]])
                    found[kind].append(2 * (is_told & is_so).sum() / max(1, is_told.sum() + is_so.sum()))
    with capsys.disabled():
        for kind, values in found.items():
            print(f"{kind:<12}{np.mean(values):.3f} of {len(values)} topics")
