"""Numbers for URLs, shared by the strategies that remember links."""

from __future__ import annotations

MOST_URLS = 2_000_000


class UrlIds:
    """URL -> number from 1, in the order found; at most *most*, later URLs are all 0, the URL nothing is known of.

    About 150 bytes a URL.
    """

    def __init__(self, most: int = MOST_URLS) -> None:
        self._most = most
        self.numbers: dict[str, int] = {}

    def id_of(self, url: str) -> int:
        number = self.numbers.get(url)
        if number is None:
            if len(self.numbers) >= self._most:
                return 0
            number = self.numbers[url] = len(self.numbers) + 1
        return number
