"""What the webs are built of: pages that say which content they are, and whole sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from replica_sites import text_of
from web import HTML

from hostile.scenario import KEY

Answer = tuple[int, dict[str, str], Any]
Site = dict[str, Answer]


def text(seed: object, words: int = 80) -> str:
    """English as far as its short words go, so that nothing speaks against two hosts but what they say."""
    return text_of(str(seed), words)


def page(
    key: str,
    links: Iterable[str] = (),
    *,
    says: str | None = None,
    title: str = "",
    head: str = "",
    words: int = 80,
    headers: dict[str, str] | None = None,
) -> Answer:
    """A page that is the content *key*, and says so in its own words unless *says* is given."""
    body = says if says is not None else text(key, words)
    anchors = "".join(f'<li><a href="{link}">{link.rstrip("/").rpartition("/")[2]}</a></li>' for link in links)
    html = f"<html><head><title>{title}</title>{head}</head><body><p>{body}</p><ul>{anchors}</ul></body></html>"
    return 200, {**HTML, KEY: key, **(headers or {})}, html


def path(number: int) -> str:
    return f"/part-{number // 10}/page-{number}.html" if number else "/"


def site(
    host: str,
    n: int = 60,
    *,
    of: str | None = None,
    scheme: str = "http",
    path: Callable[[int], str] = path,
    says: Callable[[int], str | None] = lambda number: None,
    head: Callable[[int], str] = lambda number: "",
    more: Callable[[int], Iterable[str]] = lambda number: (),
    title: str = "",
    words: int = 80,
    fanout: int = 6,
) -> Site:
    """The *n* pages of the work *of* (its own, if not given) as *host* serves them: a tree, each page *fanout* links.

    Copies of one work are one content.
    """
    work = of or host
    pages = {}
    for number in range(n):
        children = [path(child) for child in range(fanout * number + 1, fanout * number + fanout + 1) if child < n]
        links = [*children, path(max(0, (number - 1) // fanout)), *more(number)]
        pages[f"{scheme}://{host}{path(number)}"] = page(
            f"{work} {number}",
            links,
            says=says(number),
            title=title.format(number) or f"Chapter {number} of {work}",
            head=head(number),
            words=words,
        )
    return pages


def shared_text(seed: object, own: float, common: object, words: int = 300) -> str:
    """The words of *common*, of which the share *own* is replaced by words of *seed*'s own, spread over the text."""
    random = Random(str((seed, common)))
    mine = iter(text(("own", seed), words).split())
    return " ".join(
        f"{next(mine)}{random.randrange(99)}" if random.random() < own else word for word in text(common, words).split()
    )


def first(pages: Site, share: float) -> Site:
    """That share of a site's *pages*, from its front page down: what a crawl meets first."""
    return dict(list(pages.items())[: int(share * len(pages))])
