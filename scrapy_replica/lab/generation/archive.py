"""A generated web as a direct archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from scrapy_replica.lab.archives.direct import Batch, Writer
from scrapy_replica.lab.generation.web import Chunk, Web


def batch_of(web: Web, chunk: Chunk) -> Batch:
    """Return *chunk* as what the writer of archives takes."""
    rows, links, texts = chunk.rows, chunk.links, web.vocabulary.anchors
    titles = [texts[title] for title in chunk.titles.tolist()]
    targets = links.targets.astype(np.int32)
    return Batch(
        chunk.urls, rows.start, rows.ids, rows.counts, links.start, targets, links.anchors.astype(np.int32), titles
    )


def write_archive(web: Web, folder: Path, chunks: Iterable[Chunk]) -> None:
    """Write *chunks*, which are all of *web*, into *folder*."""
    with Writer(folder, web.vocabulary.words, web.vocabulary.anchors) as writer:
        for chunk in chunks:
            writer.add(batch_of(web, chunk))
        writer.finish([0], web.labels)
