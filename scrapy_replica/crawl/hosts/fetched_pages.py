"""Pages that copies brought before they were known as copies: they stand for those of the canonical host."""

from __future__ import annotations

from scrapy_replica.records import Verdict
from scrapy_replica.sites.alignment import joined, normal_path, relative
from scrapy_replica.sites.detector import Detector
from scrapy_replica.sites.evidence import path_of


class FetchedPages:
    """Knows them of the copies that evidence found: whoever blocks a host by hand wants the other one's pages."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._urls: dict[str, dict[str, str]] = {}
        """Copy -> relative path -> URL of each page, as they were when first asked for."""

    def instead_of(self, url: str, host: str) -> tuple[list[Verdict], str] | None:
        """Return the URL fetched on a copy that stands for *url* on the canonical *host*, and the verdicts for it."""
        return self._instead_of(normal_path(path_of(url)), host)

    def _instead_of(self, path: str, host: str) -> tuple[list[Verdict], str] | None:
        for verdict in self._detector.copies.of(host):
            rest = relative(path, verdict.canonical_prefix)
            if rest is None or verdict.is_manual:
                continue
            if (found := self._of(verdict).get(rest)) is not None:
                return [verdict], found
            if (beyond := self._instead_of(joined(verdict.copy_prefix, rest), verdict.copy)) is not None:
                return [verdict, *beyond[0]], beyond[1]
        return None

    def of_host(self, copy: str) -> list[str]:
        """Return the URLs fetched on *copy*; none if it is no copy."""
        verdict = self._detector.verdicts.get(copy)
        return [] if verdict is None or verdict.is_manual else list(self._of(verdict).values())

    def _of(self, verdict: Verdict) -> dict[str, str]:
        pages = self._urls.get(verdict.copy)
        if pages is None:
            copy = self._detector.candidates.host(verdict.copy)
            rests = copy.view(verdict.copy_prefix)[0] if copy.origin else {}
            raw = {rest: copy.paths.get(joined(verdict.copy_prefix, rest)) for rest in rests}
            pages = {rest: f"{copy.origin}{path}" for rest, path in raw.items() if path is not None}
            self._urls[verdict.copy] = pages
        return pages

    def forget(self, copy: str) -> None:
        """Read the pages of *copy* anew when they are asked for."""
        self._urls.pop(copy, None)
