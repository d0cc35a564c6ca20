from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from scrapy_replica.focus.topic import Document, load_topic


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def jsonl(path: Path, *rows: object) -> Path:
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


class TestFolder:
    def test_reads_text_and_html_with_sub_folders(self, tmp_path: Path) -> None:
        write(tmp_path / "a.txt", "\ufeffsockets and ports")
        write(tmp_path / "sub" / "b.HTML", "<p>packets")
        write(tmp_path / "notes.pdf", b"%PDF")
        assert load_topic(tmp_path).documents == (
            Document(text="sockets and ports"),
            Document(html="<p>packets"),
        )

    def test_gzip(self, tmp_path: Path) -> None:
        write(tmp_path / "a.htm.gz", gzip.compress(b"<p>packets"))
        assert load_topic(str(tmp_path)).positives[0].html == "<p>packets"

    def test_html_in_its_declared_encoding(self, tmp_path: Path) -> None:
        write(tmp_path / "a.html", '<meta charset="iso-8859-2"><p>źródło'.encode("iso-8859-2"))
        assert load_topic(tmp_path).documents[0].html == '<meta charset="iso-8859-2"><p>źródło'

    def test_a_bad_byte_of_html_costs_one_character(self, tmp_path: Path) -> None:
        write(tmp_path / "a.html", b'<meta charset="utf-8"><p>pack\xffet')
        assert load_topic(tmp_path).documents[0].html == '<meta charset="utf-8"><p>pack\ufffdet'


class TestUrls:
    @pytest.mark.parametrize("name", ["t.txt", "t.urls", "t.LST"])
    def test_one_a_line(self, tmp_path: Path, name: str) -> None:
        path = write(tmp_path / name, "# mine\r\nhttp://a.org/1\r\n\r\nHTTPS://b.org/?q=2\nhttp://a.org/1\n")
        topic = load_topic(path)
        assert topic.urls == ("http://a.org/1", "HTTPS://b.org/?q=2")
        assert topic.documents == ()

    def test_gzip(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.txt.gz", gzip.compress(b"http://a.org/\n"))
        assert load_topic(path).urls == ("http://a.org/",)


class TestJsonl:
    @pytest.mark.parametrize("label", [1, True, 1.0, "positive"])
    def test_positive(self, tmp_path: Path, label: object) -> None:
        assert load_topic(jsonl(tmp_path / "t.jsonl", {"text": "a", "label": label})).positives[0].text == "a"

    @pytest.mark.parametrize("label", [0, False, None, "negative", "unlabelled"])
    def test_background(self, tmp_path: Path, label: object) -> None:
        path = jsonl(tmp_path / "t.jsonl", {"html": "<p>a"}, {"text": "b", "label": label})
        topic = load_topic(path)
        assert topic.positives == (Document(html="<p>a"),)
        assert topic.background == (Document(text="b", is_positive=False),)

    def test_text_before_html_and_blank_lines(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", '\n{"html": "<p>a", "text": "a"}\n\n{"text": " ", "html": "<p>b"}\n')
        assert load_topic(path).documents == (Document(text="a"), Document(html="<p>b"))

    def test_gzip(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl.gz", gzip.compress(b'{"text": "a"}'))
        assert load_topic(path).documents == (Document(text="a"),)


class TestRefused:
    @pytest.mark.parametrize(
        ("name", "content", "where", "why"),
        [
            ("t.jsonl", b'{"text": "a"}\n{"text": \n', ":2", "not JSON"),
            ("t.jsonl", b"[" * 100_000, ":1", "not JSON"),
            ("t.jsonl", b'["a"]', ":1", "not an object"),
            ("t.jsonl", b'{"text": "a"}\n{"title": "b"}', ":2", "neither"),
            ("t.jsonl", b'{"text": 7}', ":1", "neither"),
            ("t.jsonl", b'{"text": "a", "label": "maybe"}', ":1", "'maybe' is unknown"),
            ("t.jsonl", b'{"text": "a", "label": [1]}', ":1", "unknown"),
            ("t.jsonl", b'{"text": "a", "label": 0}', "", "no positive example"),
            ("t.jsonl", b"", "", "no positive example"),
            ("t.jsonl", b'{"text": "a"}\n{"text": "\xe9"}', ":2", "not UTF-8"),
            ("t.jsonl.gz", b"not gzip", "", "cannot be read"),
            ("t.jsonl.gz", gzip.compress(b'{"text": "a"}' * 99, mtime=0)[:-12], "", "cannot be read"),
            ("t.txt", b"http://a.org/\nsockets and ports\n", ":2", "not an http"),
            ("t.txt", b"# nothing\n\n", "", "no URL"),
            ("t.pdf", b"%PDF", "", "give a folder"),
            ("d/a.txt", b"caf\xe9", "", "not UTF-8"),
            ("d/a.html", b" \n", "", "is empty"),
            ("d/a.pdf", b"%PDF", "", "no .txt or .html file"),
        ],
    )
    def test_in_one_line_that_names_the_place(
        self, tmp_path: Path, name: str, content: bytes, where: str, why: str
    ) -> None:
        path = write(tmp_path / name, content)
        given = tmp_path / "d" if name.startswith("d/") else path
        named = given if why.startswith("no .txt") else path
        with pytest.raises(ValueError, match=why) as refused:
            load_topic(given)
        assert str(refused.value).startswith(f"{named}{where}: ")
        assert "\n" not in str(refused.value)

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"nowhere: no such file or folder; a topic in words has two or more"):
            load_topic(tmp_path / "nowhere")

    def test_empty_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"no .txt or .html file in this folder"):
            load_topic(tmp_path)
