from __future__ import annotations

import time
from dataclasses import replace

import pytest
from replica_sites import page

from scrapy_replica.pages.facts import facts_of
from scrapy_replica.sites.evidence import PageMark, is_same_page, mark_of, state_others
from scrapy_replica.sites.sketch import MOST_NUMBERS, numbers_in_common, numbers_sketch


class TestOffers:
    @pytest.mark.parametrize(
        ("text", "price"),
        [
            ("now only €12.99 a piece", "12.99 €"),
            ("now only 12,99 € a piece", "12,99 €"),
            ("12,99 EUR", "12,99 EUR"),
            ("CHF 1'299.00 each", "1'299.00 CHF"),
            ("US$ 1,299.00 each", "1,299.00 US$"),
            ("£5 off", "5 £"),
            ("1.299,00 kr.", "1.299,00 kr."),
            ("990 zł", "990 zł"),
            ("price:¥1200", "1200 ¥"),
        ],
    )
    def test_a_price_is_told_with_its_currency_on_either_side(self, text, price):
        assert facts_of(text).offers == {price}

    @pytest.mark.parametrize("text", ["12 EUROPEAN cities", "5 USDA grades", "the euro of 12 states", "12 Frogs"])
    def test_a_word_that_begins_like_a_currency_is_none(self, text):
        assert not facts_of(text).offers

    def test_stock_counts_beside_a_price(self):
        assert facts_of("12 EUR, Out of stock").offers == {"12 EUR", "out of stock"}
        assert facts_of("12 EUR, nicht auf Lager").offers == {"12 EUR", "auf lager"}
        assert not facts_of("we are never out of stock of good ideas").offers

    def test_data_of_an_offer_counts_and_other_data_does_not(self):
        data = (
            "name=Lamp\nprice=12.99\npriceCurrency=EUR\navailability=InStock\nproduct:price:amount=12.99\npriceless=no"
        )
        expected = {"price=12.99", "pricecurrency=eur", "availability=instock", "product:price:amount=12.99"}
        assert facts_of("A lamp", "", data).offers == expected


class TestNumbers:
    def test_separators_of_thousands_make_one_number(self):
        assert facts_of("1,234.56 and 1.234,56 and 1'234 of 12").numbers == {"1,234.56", "1.234,56", "1'234", "12"}

    @pytest.mark.parametrize(
        "text",
        [
            "Last modified: 2024-03-01 12:30:59",
            "updated 3 March 2024",
            "March 3, 2024, 9:05 pm",
            "am 3. März 2024",
            "01.03.2024 or 1/3/24",
            "in the years 1999 and 2024",
            "4 hours ago",
            "generated in 0.034 seconds",
            "Viewed 1,234 times",
            "1,234 views",
            "Visitors: 99182",
            "17 users online",
            "42 comments",
            "Besucher: 4711",
        ],
    )
    def test_what_changes_while_a_page_stays_the_same_is_none(self, text):
        assert facts_of(text).numbers == frozenset()

    def test_parts_of_words_and_of_tokens_are_none(self):
        assert facts_of("h264 v3 x2 3f9a2c 1b2c3d4e C4").numbers == frozenset()
        assert facts_of("a 5kg bag of 3 mm grains").numbers == {"5", "3"}

    def test_the_text_around_counts_where_the_main_text_has_none(self):
        assert facts_of("A lamp", "17 left").numbers_around == {"17"}
        assert not facts_of("A lamp of 60 W", "17 left").numbers_around

    def test_any_text_is_read_in_linear_time(self):
        begun = time.process_time()
        for text in ("1" * 200_000, "1." * 100_000, "1a" * 100_000, "$" * 200_000, "1 " * 100_000, "kr" * 100_000):
            facts_of(text, text, text)
        assert time.process_time() - begun < 5


def mark(text, **others):
    """The mark of a page of one text but for what *text* states."""
    return replace(mark_of(page("a.example", "/", text)), simhash=7, signature=7, **others)


class TestSketch:
    def test_few_numbers_are_compared_exactly(self):
        a, b = numbers_sketch(["1", "2", "3"]), numbers_sketch(["2", "3", "4", "5"])
        assert numbers_in_common(a, b) == pytest.approx(2 / 5)
        assert numbers_in_common(a, a) == 1
        assert numbers_in_common(a, b"") == 0

    def test_many_numbers_are_compared_by_a_sample(self):
        first, second = (numbers_sketch(map(str, range(start, start + 300))) for start in (0, 100))
        assert len(first) == 2 * MOST_NUMBERS
        assert numbers_in_common(first, second) == pytest.approx(0.5, abs=0.35)
        assert numbers_in_common(first, numbers_sketch(map(str, range(1_000, 1_300)))) <= 0.1

    def test_a_mark_keeps_what_its_page_states(self):
        one = mark("12 EUR, 17 left, 3 pieces", items=2**64 - 1, around=b"1234")
        assert PageMark.unpack(one.pack()) == one
        with pytest.raises(ValueError, match="bytes"):
            PageMark.unpack(one.pack()[:-1])


class TestStating:
    def test_another_price_is_another_page_however_alike_the_texts(self):
        assert not is_same_page(mark("12 EUR, 17 left"), mark("13 EUR, 17 left"))
        assert is_same_page(mark("12 EUR, 17 left"), mark("12 EUR, 17 left"))

    def test_most_numbers_must_be_others(self):
        assert not state_others(mark("1 2 3"), mark("1 2 4"))
        assert state_others(mark("1 2 3"), mark("1 5 4"))

    def test_a_page_that_states_nothing_tells_nothing(self):
        assert not state_others(mark("a lamp"), mark("a lamp of 60 W"))
        assert is_same_page(mark("a lamp"), mark("a lamp of 60 W"))
