"""What a host puts around each of its pages is no part of what these are compared with other hosts by."""

from __future__ import annotations

from dataclasses import replace

import pytest
from replica_sites import page, text_of

from scrapy_replica.crawl.hosts.frames import FIRST_PAGES, Frames
from scrapy_replica.sites.evidence import is_same_page, mark_of

NOTE = text_of("a note below each page", 50)


def framed(number, host="copy.example", words=40, note=NOTE):
    return page(host, f"/{number}", f"{text_of(number, words)}\n{note}")


def learnt():
    frames = Frames()
    for number in range(FIRST_PAGES):
        assert frames.without(framed(number)) is not None
    return frames


def test_short_pages_are_their_originals_but_for_the_frame():
    original = page("site.example", "/9", text_of(9, 40))
    assert not is_same_page(mark_of(framed(9)), mark_of(original))
    bare = learnt().without(framed(9))
    assert (bare.text, bare.words, bare.simhash) == (original.text, original.words, original.simhash)
    assert is_same_page(mark_of(bare), mark_of(original))


def test_a_frame_that_is_no_main_text_on_long_pages_is_known_by_what_stands_beside_it():
    frames = Frames()
    for number in range(FIRST_PAGES):
        frames.without(replace(page("copy.example", f"/{number}", text_of(number, 300)), beside=NOTE.lower()))
    assert frames.without(framed(9)).text == text_of(9, 40)


def test_the_frame_is_that_of_the_host():
    frames = learnt()
    assert frames.without(framed(9, "other.example")).text.endswith(NOTE)
    assert frames.without(framed(9, note=text_of("another note", 50))).words == 90


@pytest.mark.parametrize("words", [0, 10])
def test_a_page_of_next_to_nothing_but_its_frame_is_taken_as_a_whole(words):
    one = framed(9, words=words)
    assert learnt().without(one) is one


def test_what_some_of_the_first_pages_say_is_no_frame():
    frames = Frames()
    for number in range(FIRST_PAGES):
        frames.without(framed(number, note=NOTE if number % 2 else ""))
    assert frames.without(framed(9)).text.endswith(NOTE)


def test_pages_without_text_are_not_counted():
    frames = Frames()
    for number in range(FIRST_PAGES):
        frames.without(page("copy.example", f"/picture-{number}", ""))
    for number in range(FIRST_PAGES):
        frames.without(framed(number))
    assert frames.without(framed(9)).words == 40
