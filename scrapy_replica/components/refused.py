"""A crawl that cannot begin says why in one line."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy_replica.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


class RefusedError(ConfigError):
    """The crawl cannot begin: one line that names the setting or file and says what to do."""


@contextmanager
def refusing(setting: str = "") -> Iterator[None]:
    """Turn what a wrong setting, unusable file or missing extra raises into a :class:`RefusedError`, naming *setting*.

    Under ``scrapy crawl`` nobody catches it and asyncio logs it: as its line, without the traceback, which would tell a
    user nothing. The exit code is 1, as of every crawl that fails to begin.

    :raises RefusedError: the block raised ``ValueError``, ``OSError`` or ``ModuleNotFoundError``.
    """
    try:
        yield
    except (ValueError, OSError, ModuleNotFoundError) as error:
        logging.getLogger("asyncio").addFilter(_in_one_line)
        raise RefusedError(f"{setting}: {one_line(error)}" if setting else one_line(error)) from None


def one_line(error: Exception) -> str:
    """Return what *error* says, the file first where the system raised it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _in_one_line(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(error := record.exc_info[1], RefusedError):
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
