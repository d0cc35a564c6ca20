from __future__ import annotations

import re
from collections import Counter

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.pages import terms as module
from scrapy_replica.pages.simhash import UNSPACED
from scrapy_replica.pages.stop_words import STOP_WORDS
from scrapy_replica.pages.terms import terms

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("abcdeXYZ éß\u2019'_7-.\n中文かなไ")), max_size=120)


def reference_terms(text: str, language: str, stemmer: Stemmer.Stemmer | None) -> dict[str, int]:
    counts: Counter[str] = Counter()
    text = text.lower()
    for run in re.findall(f"[{UNSPACED}]+", text):
        counts.update([run] if len(run) == 1 else [run[place : place + 2] for place in range(len(run) - 1)])
    counts.update(re.findall(r"[^\W\d_]{2,}", re.sub(f"[{UNSPACED}]", " ", text)))
    found: Counter[str] = Counter()
    for word, count in counts.items():
        if word not in STOP_WORDS.get(language, ()) and len(word) <= 40:
            found[stemmer.stemWord(word) if stemmer else word] += count
    return dict(found)


class TestTerms:
    @given(TEXTS)
    def test_equal_the_definition(self, text):
        assert terms(text, "en") == reference_terms(text, "en", Stemmer.Stemmer("english"))
        assert terms(text, "xx") == reference_terms(text, "xx", None)

    def test_english(self):
        text = "The networks were CONNECTED; connecting 3 networks in 2024 isn't a problem, x."
        assert terms(text) == {"network": 2, "connect": 2, "problem": 1}

    @pytest.mark.parametrize(
        ("language", "text", "expected"),
        [
            ("pt", "As redes e a informação das universidades", {"red": 1, "inform": 1, "univers": 1}),
            ("es", "Las universidades y la red de los estudiantes", {"univers": 1, "red": 1, "estudi": 1}),
            ("de", "Die Häuser und das Haus", {"haus": 2}),
            ("it", "La ricerca e gli studenti della rete", {"ricerc": 1, "student": 1, "ret": 1}),
            ("fr", "Les réseaux et les étudiants de la ville", {"réseau": 1, "étudi": 1, "vill": 1}),
        ],
    )
    def test_other_languages(self, language, text, expected):
        assert terms(text, language) == expected

    def test_no_language_is_english_and_an_unknown_one_is_not_stemmed(self):
        assert terms("the networks", None) == terms("the networks", "en") == {"network": 1}
        assert terms("the networks", "zz") == {"the": 1, "networks": 1}

    def test_scripts_without_spaces_give_bigrams(self):
        assert terms("日本語のweb、語") == {"日本": 1, "本語": 1, "語の": 1, "web": 1, "語": 1}

    @pytest.mark.parametrize("text", ["", "1234 5 6.7", "a b c", "the of and", "x" * 41])
    def test_no_terms(self, text):
        assert terms(text) == {}

    def test_a_full_cache_changes_nothing(self, monkeypatch):
        monkeypatch.setattr(module, "_CACHED_WORDS", 3)
        text = " ".join(f"walking{chr(97 + n)} talked running" for n in range(10))
        assert terms(text) == reference_terms(text, "en", Stemmer.Stemmer("english"))


class TestStopWords:
    def test_stand_as_the_text_has_them(self):
        for words in STOP_WORDS.values():
            assert all(word == word.lower() and word.isalpha() for word in words)
