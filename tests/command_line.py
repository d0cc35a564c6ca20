"""``scrapy replica COMMAND`` in this process: a second less than in one of its own."""

from __future__ import annotations

import contextlib
import io
from typing import NamedTuple

import pytest
from scrapy.cmdline import execute


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def replica(*arguments: object) -> Done:
    """Run the command with *arguments*."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as end:
        execute(["scrapy", "replica", *map(str, arguments)])
    return Done(end.value.code or 0, *(stream.buffer.getvalue().decode() for stream in (out, err)))
