"""Items as evidence: a hash of what an item says, whatever its URLs, its time and the spider's own numbers are."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import date, datetime, timedelta, timezone
from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

import mmh3
from scrapy.http import HtmlResponse

from scrapy_replica.address import host_of, shown_local
from scrapy_replica.components.slots import SLOT
from scrapy_replica.components.told import told_text
from scrapy_replica.crawl.urls.leads import guessed_names
from scrapy_replica.records import Novelty

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_replica.urls.sessions import Sessions

MAX_PARTS = 10_000
"""Values of one item that are read."""
MAX_DEPTH = 40
"""A tree of data that a page keeps for its script lies 12 deep: with 8 a price there was left out."""
MAX_BYTES = 500_000
"""Of a response or a document that are read for what an item says of it."""
MAX_LOOKED_FOR = 300
"""Texts of one item that are looked for in its response."""
MAX_JOINED = 8
"""Parts of a token that are."""
MOST_ON_THEIR_WAY = 10_000
"""Repeated items that are held until a pipeline asks for them: one that another pipeline dropped is never asked for."""

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//\S+$|/\S*$", re.IGNORECASE)
_DOCUMENT = re.compile(r"<(?:html|body|!doctype)\b", re.IGNORECASE)
_TOKEN = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[0-9A-Za-z_+/=-]{16,}$")
"""Made by a machine: a UUID, a hash, a session id."""
_ANY_TOKEN = re.compile(r"(?=[a-z_+=-]*\d)(?=[\d_+=-]*[a-z])[\da-z_+=-]{12,}", re.IGNORECASE)
_BORDER = re.compile(r"[^0-9a-z]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*$")
_NUMBERS, _CLOCK = re.compile(r"\d+"), re.compile(r"(\d\d?):(\d\d)")
LONGEST_TIME = 40
"""Characters of a text that says nothing but the time."""
_DAY = timedelta(days=1)
MOST_OF_TIME = 1e14
"""Milliseconds since the epoch are less; a number of 2,048 bits cannot be compared with a time at all."""

_SHOWN = re.compile(
    r"""<option\b[^<>]{0,300}>(?P<option>[^<]*)|<(?:img|iframe|source|embed|video)\b[^<>]{0,300}?\bsrc\s*=\s*["']?(?P<src>[^"'\s>]+)"""
    r"""|\sdata-[\w-]+\s*=\s*(?P<quote>["'])(?P<data>.{0,300}?)(?P=quote)""",
    re.IGNORECASE,
)
"""What of a document is no text, and may be all that tells it from another: choices, pictures, data for scripts."""
_NAMELESS = re.compile(
    r"(?:x-(?:amz|goog)-.*|expires|policy|ts|timestamp|rnd|rand(?:om)?|cb|cache_?bust\w*|no_?cache|_\w*|w|h|width|height"
    r"|lst|list|origin|pos(?:ition)?|rank|source|via|v(?==\d))(?:=|$)",
    re.IGNORECASE,
)
"""Arguments that a server signs each time anew, that keep caches away, say how large a picture is wanted, or where the
link to it stood."""
_NOVELTIES = tuple(text for one in Novelty for text in (one.value, one.name, str(one)))
"""What a spider may write that tells the novelty of a page."""
_OF_THE_REQUEST = ("depth", "download_latency", SLOT, "redirect_times", "retry_times")
"""Keys of ``meta`` whose values differ each time that a page is fetched; they stay out of fields of that name."""
HostTest = Callable[[str], bool]
"""Tells something of a host."""
_said: WeakKeyDictionary[Response, str] = WeakKeyDictionary()
"""Response -> its URL, what it says and what its callback was told in small letters, where an item asked for it."""


class PageItem(dict[str, Any]):
    """An item that tells what the add-on thinks of a page: it is no evidence of anything else."""


def item_hashes(
    items: list[Any], response: Response, said: Sequence[object] = (), is_crawled: HostTest = lambda _: False
) -> set[int]:
    """Return 64 bits, signed, for each of the *items* that a callback made of *response* and that says something.

    Left out is what would make every item another one: the URL of the page and what the add-on *said* of it; of other
    URLs the domain and the folder of the page, sessions and how they were come by; the text of documents,
    which are judged as pages; the present time; and what a machine made. Of the last two what the response holds is
    kept, and what the callback was told: the UUID that the spider gives each item is left out, that of a picture is
    not. Nothing that an item holds makes this fail: what is no text, number, time or collection counts as the name of
    its type.
    """
    found = set()
    for item in items:
        if isinstance(item, PageItem):
            continue
        try:
            told = "\n".join(_Reader(response, said, is_crawled).read("", item, 0))
        except Exception:  # noqa: BLE001 - its class may do as it likes
            told = type(item).__name__
        if told:
            found.add(mmh3.hash64(told.encode("utf-8", "surrogatepass"))[0])
    return found


def given_hash(item: Any, response: Response, said: Sequence[object], sessions: Sessions) -> int | None:
    """Return 64 bits, signed, for all that *item* says, *sessions* left out; ``None`` where it cannot be read.

    Left out as well is what says how the page was come by, the present time, and what the spider makes up for each
    item.
    """
    try:
        told = "\n".join(_ExactReader(response, said, sessions).read("", item, 0))
    except Exception:  # noqa: BLE001 - its class may do as it likes
        return None
    return int(mmh3.hash64(told.encode("utf-8", "surrogatepass"))[0])


class RepeatedItems:
    """Items on their way to the pipelines that repeat those of other pages, and the URL that such a page repeats."""

    def __init__(self) -> None:
        self.is_asked = False
        """A pipeline wants to know."""
        self._repeats: OrderedDict[int, tuple[Any, str]] = OrderedDict()
        """Id of an item -> the item itself, so that no other has its id, and the URL."""

    def add(self, item: Any, url: str) -> None:
        """Take note that *item* repeats what the page at *url* gave."""
        self._repeats[id(item)] = item, url
        if len(self._repeats) > MOST_ON_THEIR_WAY:
            self._repeats.popitem(last=False)

    def pop(self, item: Any) -> str | None:
        """Return the URL of the page whose item *item* repeats; ``None`` if it is new."""
        return self._repeats.pop(id(item), (None, None))[1]


class _Reader:
    """Reads one item."""

    def __init__(self, response: Response, said: Sequence[object], is_crawled: HostTest) -> None:
        self._response, self._said, self._is_crawled = response, said, is_crawled
        self._left, self._to_look_for = MAX_PARTS, MAX_LOOKED_FOR

    def read(self, name: str, value: Any, depth: int) -> Iterator[str]:
        """Yield a line for each value below *value*, which the item calls *name*."""
        self._left -= 1
        if value is None or depth > MAX_DEPTH or self._left < 0 or self._is_of_the_crawl(name, value):
            return
        if isinstance(value, (bool, int, float, str)):
            told = self._scalar(value)
            if told:
                yield f"{name}={told}"
        elif isinstance(value, date):
            if not _is_now(value) or self._holds_time(value):
                yield f"{name}={value.isoformat()}"
        elif isinstance(value, (bytes, bytearray, memoryview)):
            told = self._bytes(bytes(value))
            if told:
                yield f"{name}={told}"
        elif isinstance(value, Mapping):
            for key in sorted(value, key=str):
                yield from self.read(f"{name}.{key}", value[key], depth + 1)
        elif isinstance(value, (list, tuple)):
            for member in value:
                yield from self.read(name, member, depth + 1)
        elif isinstance(value, Set):
            yield from sorted(line for member in value for line in self.read(name, member, depth + 1))
        else:
            # It brings pydantic where that is installed: 100 ms that no crawl pays whose items are dicts.
            from itemadapter import ItemAdapter  # noqa: PLC0415

            if ItemAdapter.is_item(value):
                yield from self.read(name, ItemAdapter(value), depth)
            else:
                told = self._scalar(_name_or_text(value))
                if told:
                    yield f"{name}={told}"

    def _is_of_the_crawl(self, path: str, value: Any) -> bool:
        """Tell whether a field says how the page was come by: its depth, its referrer, what the add-on thinks of it."""
        if not isinstance(value, (int, float, str, bytes)):
            return False
        if value in self._said:
            return True
        name, request = path.rpartition(".")[2].lower(), self._response.request
        if name == "novelty":
            return value in _NOVELTIES
        if name == "relevance":
            return isinstance(value, float) and 0 <= value <= 1
        if request is None:
            return False
        if "refer" in name:
            told = value.encode("utf-8", "replace") if isinstance(value, str) else value
            return request.headers.get("Referer") == told
        return name in _OF_THE_REQUEST and value == request.meta.get(name)

    def _bytes(self, raw: bytes) -> str:
        text = raw.decode("latin-1")
        is_page = isinstance(self._response, HtmlResponse) and raw == self._response.body
        is_document = is_page or _DOCUMENT.search(text[:2_000])
        return self._of_document(text) if is_document else str(mmh3.hash64(raw)[0])

    def _scalar(self, value: float | str) -> str:
        if not isinstance(value, str):
            text = f"{value:.12g}" if isinstance(value, float) else str(value)
            return "" if _is_timestamp(value) and not self._holds(text) else text
        text = " ".join(value.split())
        if _URL.match(text):
            return self._of_url(text)
        if _DOCUMENT.search(text[:2_000]):
            return self._of_document(text)
        return "" if self._is_made_up(text) else text

    def _of_document(self, text: str) -> str:
        """Return what a document shows beside its text, by which it is judged as a page."""
        found = set()
        for shown in _SHOWN.finditer(text[:MAX_BYTES]):
            told = (shown["src"] or shown["option"] or shown["data"] or "").strip()
            if shown["src"] or _URL.match(told):
                found.add(self._of_url(told))
            elif not _says_now(told):
                found.add(_ANY_TOKEN.sub("", told))
        return " ".join(sorted(found - {""}))

    def _of_url(self, url: str) -> str:
        """Return the path of *url* below the folder that it shares with the page, the numbers in that, and the
        arguments that may name something; its host where it has neither, and nothing was crawled there: no link home.

        Copies of a site lie on other hosts and below other folders, and may lead to the original. By the
        last names of paths alone, prints with ``/media/73/main.jpg`` or ``/media/<hash>/main.jpg`` were taken for one:
        40 to 65 of 150 and 52 of 180 were lost. So were 186 of 300 strips that lie beside their page, each below its
        date and under one name.
        """
        try:
            parts, own = urlsplit(url), urlsplit(self._response.url)
        except ValueError:
            return url
        names = [one for one in parts.query.split("&") if self._may_name(one)]
        if parts.path.rstrip("/") == own.path.rstrip("/"):
            return "" if {*names} <= {*own.query.split("&")} else " ".join(names)
        path, folder = parts.path.strip("/").split("/"), own.path.strip("/").split("/")[:-1]
        shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(path, folder, strict=False)))
        numbers = [name for name in path[:shared] if name.isdecimal()]
        told = " ".join(["/".join([*numbers, *path[shared:]]), *names]).strip()
        return told or ("" if parts.netloc == own.netloc or self._is_crawled(host_of(url)) else parts.netloc)

    def _may_name(self, argument: str) -> bool:
        """Tell whether *argument* may name what a URL shows: it is neither a session nor how the page was come by."""
        name, _, value = argument.partition("=")
        is_nameless = _NAMELESS.match(argument) or _says_now(value) or shown_local(f"?{argument}") != f"?{argument}"
        own = urlsplit(self._response.url).netloc
        leads_back = own and own in unquote(value)  # as a link to share the page
        return bool(value) and not (is_nameless or leads_back or name.lower() in guessed_names())

    def _is_made_up(self, text: str) -> bool:
        """Tell whether the spider made *text* for this item alone: a token, or the time as it writes it."""
        if _says_now(text) or (_TIME.match(text) and _is_now(_parsed(text))):
            return not self._holds(text)
        return bool(_TOKEN.match(text)) and not self._holds(text) and not self._holds_parts(text)

    def _holds(self, text: str) -> bool:
        """Tell whether the response holds *text*; not of more than :data:`MAX_LOOKED_FOR` texts of an item."""
        self._to_look_for -= 1
        return self._to_look_for >= 0 and text.lower() in _said_by(self._response)

    def _holds_parts(self, text: str) -> bool:
        """Tell whether the response holds all parts of *text*, which the spider may have joined."""
        parts = _BORDER.split(text.lower())
        return len(parts) <= MAX_JOINED and all(map(self._holds_part, parts))

    def _holds_part(self, part: str) -> bool:
        return self._holds(part) or self._holds(part.lstrip("0"))

    def _holds_time(self, at: date) -> bool:
        to_the_minute = at.isoformat()[:16]
        return self._holds(to_the_minute) or self._holds(to_the_minute.replace("T", " "))


class _ExactReader(_Reader):
    """Reads an item word by word, URLs and documents as well."""

    def __init__(self, response: Response, said: Sequence[object], sessions: Sessions) -> None:
        super().__init__(response, said, lambda _: False)
        self._sessions, self._host = sessions, host_of(response.url)

    def _bytes(self, raw: bytes) -> str:
        return self._sessions.without(self._host, raw.decode("latin-1"))

    def _scalar(self, value: float | str) -> str:
        if not isinstance(value, str):
            return super()._scalar(value)
        return "" if self._is_made_up(value) else self._sessions.without(self._host, value)


def _said_by(response: Response) -> str:
    """Return URL and body of *response*, and what its callback was told, for :meth:`_Reader._holds`."""
    said = _said.get(response)
    if said is None:
        body = response.body[:MAX_BYTES].decode("utf-8", "replace")
        told = told_text(response.request)[:MAX_BYTES] if response.request is not None else ""
        said = _said[response] = unquote(f"{response.url} {body} {told}").lower()
    return said


def _is_now(at: date | None) -> bool:
    if not isinstance(at, datetime):
        return False
    now = datetime.now(timezone.utc) if at.tzinfo is not None else datetime.now()
    return abs(at - now) < _DAY


def _says_now(text: str) -> bool:
    """Tell whether *text* is the present day and hour, however they are written."""
    if len(text) > LONGEST_TIME:
        return False
    clock, is_number = _CLOCK.search(text), text.replace(".", "", 1).isdecimal()
    if not (clock or is_number):
        return False
    times = (datetime.now(), datetime.now(timezone.utc))
    if clock is None:
        return _is_timestamp(float(text)) or any(text.startswith(f"{now:%Y%m%d%H}") for now in times)
    numbers = {int(number) for number in _NUMBERS.findall(text)}
    return any({now.day, now.year} <= numbers and now.hour % 12 == int(clock[1]) % 12 for now in times)


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def _is_timestamp(value: float) -> bool:
    if not 0 < value < MOST_OF_TIME:
        return False
    now = datetime.now(timezone.utc).timestamp()
    return any(abs(value - scale * now) < scale * _DAY.total_seconds() for scale in (1, 1_000))


def _name_or_text(value: Any) -> str:
    """Return what tells of an object that is no data: its text, unless that is where it lies in memory."""
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - it may do as it likes
        return type(value).__name__
    return type(value).__name__ if " at 0x" in text else text[:1_000]
