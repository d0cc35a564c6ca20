from __future__ import annotations

import numpy as np
from lxml import etree, html

from scrapy_replica.pages.blocks import HINT_BITS, count_words, read_blocks


def blocks_of(markup: str):
    return read_blocks(html.document_fromstring(markup))


class TestReadBlocks:
    def test_runs_end_at_block_borders_and_at_double_line_breaks(self):
        blocks = blocks_of("<body><div>a <b>b</b>c<p>d<br>e<br> <br>f</p>tail</div>end")
        assert blocks.texts == ["a bc", "d e", "f", "tail", "end"]

    def test_counts_words_inside_links(self):
        blocks = blocks_of("<p>one <a href=x>two three</a> four")
        assert (blocks.words, blocks.link_words, blocks.links) == ([4], [2], [1])

    def test_runs_of_a_node_are_those_of_its_subtree(self):
        blocks = blocks_of("<body><div><p>a</p><p>b</p></div><p>c</p>")
        node = blocks.signatures.tolist().index(blocks.tags.index("div"))
        assert blocks.texts[blocks.run_starts[node] : blocks.run_ends[node]] == ["a", "b"]
        assert blocks.texts[blocks.run_starts[0] : blocks.run_ends[0]] == ["a", "b", "c"]

    def test_what_is_not_shown_has_no_text_but_its_tail(self):
        hidden = (
            "<script>no</script>1<style>no</style>2<template><p>no</p></template>3<noscript><p>no</p></noscript>4"
            "<svg><text>no</text></svg>5<math><mi>no</mi></math>6<div hidden>no</div>7"
            "<div style='Display : none'><p>no</p></div>8<span style='visibility:hidden'>no</span>9<!-- no -->0"
        )
        assert "".join(blocks_of(f"<body>{hidden}").texts) == "1234567890"

    def test_parts_that_react_streams_hidden_are_text(self):
        assert blocks_of("<body><div hidden id='S:0'>late</div><div hidden id=x>no</div>").texts == ["late"]

    def test_text_in_custom_elements_pre_and_tables(self):
        assert blocks_of("<body><my-text>a</my-text><pre>b\n c</pre><table><tr><td>d<td>e</table>").texts == [
            "a",
            "b c",
            "d",
            "e",
        ]

    def test_hints_are_inherited_and_body_classes_are_none(self):
        blocks = blocks_of("<body class=sidebar><div id=comments><p>a</p></div><p>b</p>")
        first, second = (blocks.inherited_hints[node] for node in blocks.run_nodes)
        assert first & HINT_BITS["comment"]
        assert not second & (HINT_BITS["comment"] | HINT_BITS["side"])

    def test_short_words_tell_only_when_they_stand_alone(self):
        blocks = blocks_of("<body><div class='top-ads'>a</div><div class='shadow leads'>b</div>")
        first, second = (blocks.hints[node] for node in blocks.run_nodes)
        assert first & HINT_BITS["advert"]
        assert not second & HINT_BITS["advert"]

    def test_the_tree_is_not_changed_and_a_part_ends_before_its_tail(self):
        root = html.document_fromstring("<body><div>a<p>b</p></div>tail")
        before = etree.tostring(root)
        assert read_blocks(root.find(".//div")).texts == ["a", "b"]
        assert etree.tostring(root) == before

    def test_nesting_of_any_depth(self):
        root = etree.Element("div")
        # lxml climbs from an element that is let go to the nearest one that is held: hold all, let go from below.
        chain = [root]
        for _ in range(100_000):
            chain.append(etree.SubElement(chain[-1], "div"))
        chain[-1].text = "deep"
        blocks = read_blocks(root)
        assert blocks.texts == ["deep"]
        assert max(blocks.depths) == 100_001
        while chain:
            chain.pop()


class TestCountWords:
    def test_scripts_without_spaces_count_a_word_per_two_characters(self):
        texts = ["汉" * 40, "two words", "x" * 100]
        assert count_words(texts, np.array([40, 9, 100])).tolist() == [20, 2, 1]
