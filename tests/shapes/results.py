"""What callbacks yield: items of all kinds on pages that differ by nothing else, pipelines, and nothing at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from io import BytesIO
from itertools import count
from threading import Lock
from typing import Any, ClassVar
from uuid import uuid4

import attrs
import scrapy
from hostile.building import text
from hostile.scenario import Crawled, Scenario
from scrapy.exceptions import DropItem
from scrapy.pipelines.files import FilesPipeline

from shapes.building import SHELL, drawn, nearby, script, store
from shapes.shape import (
    BOTH,
    SHOP,
    Answer,
    Contents,
    Place,
    Reader,
    ScriptReader,
    Shape,
    ids_of,
    items_of,
    pages_of,
    scenario,
)


class StoreItem(scrapy.Item):
    id = scrapy.Field()
    name = scrapy.Field()


@dataclass
class StoreRecord:
    id: int
    name: str


@attrs.define
class StoreAttrs:
    id: int
    name: str


def modelled(data: dict[str, Any]) -> Any:
    from pydantic import create_model

    return create_model("StoreModel", id=(int, ...), name=(str, ...))(id=data["id"], name=data["name"])


class Unhashable:
    """Compares by what it holds and so has no hash; prints as its address, as objects do."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unhashable) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


class Broken:
    """Nothing can be asked of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equal")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    __hash__ = None  # type: ignore[assignment]


def nested(data: dict[str, Any]) -> Any:
    return {"store": {"name": data["name"], "lines": [data["street"], [data["phone"], {"id": data["id"]}]]}}


def huge(data: dict[str, Any]) -> Any:
    """A megabyte, at whose end alone stands what differs."""
    return {"id": data["id"], "body": "x" * 1_000_000 + data["name"]}


def dated(data: dict[str, Any]) -> Any:
    return {"opened": datetime.fromtimestamp(86_400 * data["id"], timezone.utc)}


def cyclic(data: dict[str, Any]) -> Any:
    item = dict(data)
    item["self"] = item
    return item


def deep(data: dict[str, Any]) -> Any:
    """Deeper than Python's stack."""
    value: list[Any] = []
    for _ in range(2_000):
        value = [value]
    return {"id": data["id"], "value": value}


KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "dataclass": lambda data: StoreRecord(data["id"], data["name"]),
    "attrs": lambda data: StoreAttrs(data["id"], data["name"]),
    "scrapy.Item": lambda data: StoreItem(id=data["id"], name=data["name"]),
    "pydantic": modelled,
    "nested": nested,
    "bytes": lambda data: {"raw": data["name"].encode()},
    "datetime": dated,
    "set": lambda data: {"words": {data["name"], data["street"]}},
}
"""Items whose fields can be printed."""

ODD: tuple[Callable[[int], Any], ...] = (
    Unhashable,
    lambda number: Broken(),
    lambda number: {number: 1, "a": 2, None: 3, (4,): {5, "six", None}},
    lambda number: float("nan"),
    lambda number: 10**5_000 + number,
    lambda number: f"\udcff\ud800{number}",
    lambda number: (k for k in range(number)),
    lambda number: BytesIO(bytes(number)),
    lambda number: Lock(),
    lambda number: lambda: number,
)
"""Values that have no hash, no order, no end, no print or no copy."""


def odd(data: dict[str, Any]) -> Any:
    number = data["id"]
    return {"id": number, "value": ODD[number % len(ODD)](number)}


ODD_KINDS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "1 MB": huge,
    "cycle": cyclic,
    "deep": deep,
    "odd values": odd,
}


def hidden_site(n: int) -> Answer:
    """*n* stores with data that no text holds: they stand in a comment."""
    return nearby(n, lambda number: f"{SHELL}<!-- {json.dumps(store(number))} -->")


def hidden(response: Any) -> dict[str, Any]:
    return json.loads(response.xpath("//comment()").re_first(r"\{.*\}"))


class HiddenReader(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        yield hidden(response)


def items(n: int, kind: str, make: Callable[[dict[str, Any]], Any], contents: Contents) -> Scenario:
    class KindReader(Reader):
        def read(self, response: Any) -> Iterable[Any]:
            yield make(hidden(response))

    tried = "Nothing but the items tells the pages apart."
    return scenario(f"items, {kind}", tried, hidden_site(n), spider=KindReader, contents=contents)


class Dropping:
    def process_item(self, item: Any) -> Any:
        if item["id"] % 3:
            raise DropItem("not wanted")
        return item


class Changing:
    """Leaves nothing of the item but its number, and adds what is new each time."""

    numbers = count()

    def process_item(self, item: Any) -> Any:
        for name in ("name", "street", "phone"):
            del item[name]
        item["uuid"] = next(self.numbers)
        return item


class MemoryFiles:
    def __init__(self, uri: str) -> None:
        self.files: dict[str, bytes] = {}

    def stat_file(self, path: str, info: Any) -> dict[str, Any]:
        return {}

    def persist_file(self, path: str, buf: BytesIO, info: Any, meta: Any = None, headers: Any = None) -> None:
        self.files[path] = buf.getvalue()


class Files(FilesPipeline):
    STORE_SCHEMES: ClassVar[dict[str, Any]] = {**FilesPipeline.STORE_SCHEMES, "memory": MemoryFiles}


class FilesReader(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        data = hidden(response)
        yield {**data, "file_urls": [f"{SHOP}/file/{data['id']}", f"{SHOP}/file/all"]}


def files_of(crawled: Crawled) -> set[str]:
    """Return the items with how many of their files came; of how a file came, Scrapy says now this, now that."""
    return {f"{item['id']}: {len(item['files'])}" for item in crawled.items}


def files(n: int) -> Scenario:
    """*n* stores with a file each, and one that all of them have."""
    stores = hidden_site(n)

    def answer(place: Place) -> Any:
        if place.path.startswith("/file/"):
            return 200, {"Content-Type": "application/pdf"}, f"%PDF {place.path}"
        return stores(place)

    return scenario(
        "items with files",
        "A pipeline fetches what items name.",
        answer,
        spider=FilesReader,
        contents=files_of,
        settings={"ITEM_PIPELINES": {Files: 100}, "FILES_STORE": "memory://"},
    )


def pipelines(n: int, pipeline: type) -> Scenario:
    return scenario(
        f"pipeline, {pipeline.__name__.lower()}",
        "What a callback yields is not what comes out in the end.",
        hidden_site(n),
        spider=HiddenReader,
        settings={"ITEM_PIPELINES": {pipeline: 100}},
    )


class Stamping(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        yield {**hidden(response), "fetched": datetime.now(timezone.utc), "uuid": uuid4()}


def stamped(n: int) -> Scenario:
    tried = "Items have a time and a number of their own."
    return scenario("items, stamped", tried, hidden_site(n), spider=Stamping)


def random_field(n: int) -> Scenario:
    """*n* stores whose pages have another number each time that they are fetched."""
    served = count()

    def body(number: int) -> str:
        return SHELL + script({**store(number), "random": drawn("served", next(served)).getrandbits(64)})

    tried = "Each fetch brings a number that no other brings."
    return scenario("random field", tried, nearby(n, body), spider=ScriptReader)


class Keeper(Reader):
    """Keeps the pages itself and yields nothing."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.kept: list[bytes] = []

    def read(self, response: Any) -> Iterable[Any]:
        self.kept.append(response.body)
        return []


def bodies(n: int) -> Scenario:
    site = nearby(n, lambda number: SHELL + script(store(number)))
    return scenario("bodies", "The spider yields nothing: it keeps bodies.", site, spider=Keeper, contents=pages_of)


class Equal(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        yield {"status": response.status}


def equal(n: int) -> Scenario:
    site = nearby(n, lambda number: f"<main><p>{text(number)}</p></main>")
    tried = "Each page gives the same item, and has a text of its own."
    return scenario("items, all equal", tried, site, spider=Equal, contents=pages_of)


SHAPES = [
    *(
        Shape(make=partial(items, kind=kind, make=make, contents=items_of), small=60, full=300)
        for kind, make in KINDS.items()
    ),
    *(
        Shape(make=partial(items, kind=kind, make=make, contents=ids_of), small=60, full=200)
        for kind, make in ODD_KINDS.items()
    ),
    Shape(make=partial(pipelines, pipeline=Dropping), small=60, full=300),
    Shape(make=partial(pipelines, pipeline=Changing), small=60, full=300),
    *(Shape(make=make, small=60, full=300) for make in (files, stamped, random_field, equal)),
    Shape(make=bodies, small=60, full=300, fast_modes=BOTH),
]
