from __future__ import annotations

from scrapy_replica.pages.repetition import BlockCounter


class TestBlockCounter:
    def test_a_text_on_most_pages_is_repeated_and_others_are_not(self):
        counter = BlockCounter()
        for page in range(20):
            counter.add(["Menu", "Menu", f"Article {page}", "Often" if page % 2 else "Rarely" if page < 2 else ""])
        assert counter.is_repeated("menu")
        assert counter.is_repeated("Often")
        assert not counter.is_repeated("Article 3")
        assert not counter.is_repeated("Rarely")

    def test_nothing_is_repeated_after_a_few_pages(self):
        counter = BlockCounter()
        for _ in range(counter.min_pages - 1):
            counter.add(["Menu"])
        assert not counter.is_repeated("Menu")
        counter.add(["Menu"])
        assert counter.is_repeated("Menu")

    def test_a_full_counter_forgets_what_was_seen_least_recently(self):
        counter = BlockCounter(max_blocks=50)
        for page in range(200):
            counter.add(["Menu", *(f"{page} {line}" for line in range(10))])
        assert len(counter.counts) == 50
        assert counter.is_repeated("Menu")
