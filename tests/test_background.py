from __future__ import annotations

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.focus.background import LANGUAGES, Background, pack, unpack
from scrapy_replica.lab.training.build_background import SNOWBALL, stem_frequencies

STEMS = st.text(st.characters(categories=["L"]), min_size=1, max_size=8)


class TestShipped:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_shares_of_stems(self, language: str) -> None:
        frequencies = Background.shipped(language).frequencies
        assert len(frequencies) == 25_000
        assert 0.8 < sum(frequencies.values()) < 1.0
        assert min(frequencies.values()) > 0
        assert all(stem.isalpha() and stem == stem.lower() for stem in frequencies)

    @pytest.mark.parametrize(
        ("language", "common", "rare"),
        [
            ("en", "people", "protocols"),
            ("de", "Jahre", "Protokolle"),
            ("fr", "années", "protocoles"),
            ("es", "años", "protocolos"),
            ("it", "anni", "protocolli"),
            ("pt", "anos", "protocolos"),
        ],
    )
    def test_common_words_have_the_larger_share(self, language: str, common: str, rare: str) -> None:
        frequencies = Background.shipped(language).frequencies
        stem = Stemmer.Stemmer(SNOWBALL[language]).stemWord
        assert frequencies[stem(common.lower())] > 10 * frequencies[stem(rare.lower())] > 0

    def test_unknown_language_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match=r"'xx', only for de, en, es, fr, it, pt"):
            Background.shipped("xx")


class TestDocuments:
    def test_pages_without_terms_are_left_out(self) -> None:
        assert Background.from_documents([{"a": 1}, {}]).documents == ({"a": 1},)

    def test_added_to_statistics(self) -> None:
        shipped = Background.shipped("en")
        both = shipped.with_documents([{"a": 1}]).with_documents([{"b": 2}, {}])
        assert both.documents == ({"a": 1}, {"b": 2})
        assert both.frequencies == shipped.frequencies
        assert shipped.documents == ()


class TestPack:
    @given(st.dictionaries(STEMS, st.floats(1e-9, 1.0), min_size=1))
    def test_round_trip(self, frequencies: dict[str, float]) -> None:
        again = unpack(pack(frequencies))
        assert list(again) == list(frequencies)
        assert list(again.values()) == pytest.approx(list(frequencies.values()), rel=1e-6)


class TestStemFrequencies:
    def test_words_of_one_stem_are_added_up(self) -> None:
        words = {"Routers": 0.2, "packet": 0.15, "router": 0.1, "don't": 0.05, "3d": 0.05, "x": 0.5}
        shares = stem_frequencies(words, "en")
        assert shares == pytest.approx({"router": 0.3, "packet": 0.15, "don": 0.05})
        assert list(shares) == ["router", "packet", "don"]
