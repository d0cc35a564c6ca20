"""What a crawl may begin with, and what it refuses in one line."""

from __future__ import annotations

import pytest

from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.config import ConfigError


@pytest.mark.parametrize(
    "seeds",
    [
        ["https://a.example/"],
        ["http://a.example/?q=1,2", "http://127.0.0.1:8080"],
        ["http://[2001:db8::1]:8080/", "HTTP://A.example/", "https://bücher.example/ä"],
        ["file:///tmp/page.html"],
    ],
)
def test_urls(seeds, tmp_path):
    assert read_seeds(" ".join(seeds)) == seeds
    (tmp_path / "seeds.txt").write_text("\n".join(["# from a friend", *seeds, ""]), encoding="utf-8")
    assert read_seeds(str(tmp_path / "seeds.txt")) == seeds


@pytest.mark.parametrize(
    "wrong", ["http://", "https:///path", "http://:80/", "http://[::1/", "http://a.example:99999/", "ftp://a.example/"]
)
def test_one_that_has_no_host_to_ask_is_refused(wrong, tmp_path):
    with pytest.raises(ConfigError, match="no http or https URL") as told:
        read_seeds(f"http://good.example/ {wrong}")
    assert wrong in str(told.value)
    (tmp_path / "seeds.txt").write_text(f"http://good.example/\n{wrong}\n")
    with pytest.raises(ConfigError, match=r"in .*seeds\.txt is no http or https URL"):
        read_seeds(str(tmp_path / "seeds.txt"))


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("", "expected URLs such as https://example.org/, got nothing"),
        ("example.org", "did you mean https://example.org/?"),
        ("nowhere.txt", "neither a URL nor a readable file of URLs"),
    ],
)
def test_what_is_no_url(word, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as told:
        read_seeds(word)
    assert says in str(told.value)
