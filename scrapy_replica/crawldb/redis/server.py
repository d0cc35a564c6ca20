"""The Redis server of a job: scripts are run on it, and who runs them waits while it is away."""

from __future__ import annotations

import logging
import re
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.errors import told
from scrapy_replica.crawldb.redis.libraries import (
    Connection,
    NoBackoff,
    Retry,
    SSLConnection,
    UnixDomainSocketConnection,
    exceptions,
)
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from scrapy_replica.crawldb.redis.address import Address

logger = logging.getLogger(__name__)

T = TypeVar("T")

Value = bytes | str | int | float

LEAST = (6, 2)
"""Version of Redis that has all commands of the scripts; every Valkey has them, and calls itself Redis 7.2 as well."""

ANSWER_S, CONNECT_S = 10.0, 5.0
"""Seconds after which a server that says nothing is taken for lost."""

MAX_PAUSE_S, TELL_S = 1.0, 10.0
"""Seconds between two tries to reach the server again, at most, and between two lines of the log about it."""

KEPT_S = 30 * 86_400
"""For how long the server remembers the last reply to a process."""

PASSED_OVER = {"id": 100_000, "id:hosts": 100_000} | {
    f"id:{table}": 100 for table in ("forms", "orders", "rules", "verdicts", "work")
}
"""Keys of the last numbers that were given, and how many a start of the server passes over: more than are given in the
last seconds before it ends."""


class Server:
    """One connection to the server of a job.

    After the first error that is raised every further call raises it again, since nobody knows what became of the
    changes; a server that only goes away for a while is waited for.

    :raises StoreError: it cannot be reached, is too old, would forget keys, or refuses us.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.name = secrets.token_hex(8)
        """Of this process."""
        self.seen = 0
        """Number of the last change that this process knows of (key ``seq``)."""
        self._number = self._answered = 0
        """Number of the last change that was sent, and of the last that was carried out."""
        self._life = b""
        self._ahead_s = 0.0
        self._error: StoreError | None = None
        self._connection: Any = _connection(address, self._greet)  # partly typed
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def key(self, name: str) -> str:
        """Return the name of a key of the job; all of them lie on one node of a cluster."""
        return f"{{{self.address.prefix}}}:{name}"

    def now(self) -> float:
        """Return the time by the server's clock, which is that of all processes (seconds since the epoch)."""
        return time.time() + self._ahead_s

    def call(self, script: str, keys: Sequence[str], args: Sequence[Value] = (), *, is_change: bool = True) -> Any:
        """Run the Lua script of that name, which lies beside this module, and return what it returns.

        A script that changes something is carried out once, however often its call had to be sent: the server keeps the
        number of the last call and its reply. While the server is away, or reads its data, this waits.

        :param keys: their names in the job, without the prefix.
        :raises StoreError: the server refuses, or has lost what it had; the wait was ended by a signal.
        """
        text, name = _script(script, is_change)
        names = [self.key(key) for key in keys]
        values = [arg.encode("utf-8", "surrogatepass") if isinstance(arg, str) else arg for arg in args]
        if is_change:
            self._number += 1
            names.append(self.key(f"done:{self.name}"))
            values += [self._number, KEPT_S]
        command = [len(names), *names, *values]
        reply = self._ask(lambda: self._evaluate(text, name, command))
        self._answered = self._number
        return reply

    def run(self, command: str, *args: Value) -> Any:
        """Run a command that may be carried out twice, with the whole names of its keys."""
        return self._ask(lambda: self._command(command, *args))

    def run_many(self, commands: Sequence[Sequence[Value]]) -> list[Any]:
        """Run commands that may be carried out twice, sent at once."""
        return self._ask(lambda: self._commands(commands))

    def close(self) -> None:
        self._connection.disconnect()

    # What is sent

    def _begin(self) -> None:
        try:
            self._connection.connect()
        except exceptions.BusyLoadingError as error:
            self._wait(lambda: None, error)
        except exceptions.RedisError as error:
            raise self._failed(error) from None

    def _command(self, *command: Value) -> Any:
        self._connection.send_command(*command)
        return self._connection.read_response()

    def _commands(self, commands: Sequence[Sequence[Value]]) -> list[Any]:
        self._connection.send_packed_command(self._connection.pack_commands(commands))
        replies = [self._reply() for _ in commands]
        if error := next((reply for reply in replies if isinstance(reply, exceptions.ResponseError)), None):
            raise error
        return replies

    def _reply(self) -> Any:
        try:
            return self._connection.read_response()
        except exceptions.ResponseError as error:
            return error  # until the other replies are read

    def _evaluate(self, text: str, name: str, command: Sequence[Value]) -> Any:
        try:
            return self._command("EVALSHA", name, *command)
        except exceptions.NoScriptError:  # new to the server, or forgotten
            return self._command("EVAL", text, *command)

    def _ask(self, what: Callable[[], T]) -> T:
        if self._error is not None:
            raise self._error
        try:
            return what()
        except exceptions.RedisError as error:
            if not _is_away(error):
                raise self._failed(error) from None
            return self._wait(what, error)

    def _wait(self, what: Callable[[], T], error: exceptions.RedisError) -> T:
        """Try again until the server answers."""
        begun = spoken = time.monotonic()
        pause = 0.01
        with _signals() as ended:
            logger.warning("%s does not answer (%s): waiting for it", self.address, error)
            while not ended:
                time.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_S)
                try:
                    self._connection.connect()
                    found = what()
                except exceptions.RedisError as again:
                    if not _is_away(again):
                        raise self._failed(again) from None
                    error = again
                else:
                    logger.info("%s answers again, after %.0f s", self.address, time.monotonic() - begun)
                    return found
                if time.monotonic() - spoken >= TELL_S:
                    spoken = time.monotonic()
                    logger.warning("%s is away for %.0f s (%s): still waiting", self.address, spoken - begun, error)
        raise self._refuse("did not answer, and the wait for it was ended: the same command goes on from what it has")

    # What is to be refused

    def _greet(self, connection: Any) -> None:
        """Log in to a server that was just connected to, and look at it."""
        connection.on_connect()
        lines = self._command("INFO").decode("utf-8", "replace").splitlines()
        info = dict(line.split(":", 1) for line in lines if ":" in line)
        if not self._life:
            self._look(info)
        # One that reads its data answers INFO, and refuses what comes next.
        life = info.get("run_id", "?").encode()
        text, name = _script("lives", False)
        keys = [self.key(key) for key in ("lives", "seq", f"done:{self.name}", *PASSED_OVER)]
        told = [life, self._life, self._answered, *PASSED_OVER.values()]
        found = self._evaluate(text, name, [len(keys), *keys, *told])
        if not isinstance(found, int):
            raise self._refuse(
                "holds something that no process of this crawl wrote: begin it again under another prefix"
            )
        if found < (self.seen if self._life else 0):
            raise self._refuse(
                "came back without its last changes: start all processes of the crawl again, which goes on from what"
                " it has, and let it write each change to its disk (appendonly yes)"
            )
        self._life = life
        seconds, micros = self._command("TIME")
        self._ahead_s = int(seconds) + int(micros) / 1e6 - time.time()

    def _look(self, info: dict[str, str]) -> None:
        """Refuse a server that will not do."""
        version = cleaned(info.get("redis_version", "of no version"))
        if tuple(map(int, re.findall(r"\d{1,4}", version)))[:2] < LEAST:
            raise self._refuse(f"is Redis {version}: {'.'.join(map(str, LEAST))} is needed, or Valkey")
        if info.get("role") == "slave":
            raise self._refuse("is a replica, which is only read: give the address of its master")
        policy = info.get("maxmemory_policy", "noeviction")
        if policy != "noeviction" and info.get("maxmemory", "0") != "0":
            raise self._refuse(f"forgets keys when it is full ({policy}): set maxmemory-policy noeviction")

    def _failed(self, error: exceptions.RedisError) -> StoreError:
        self._error = told(self.address, error, is_first=not self._life)
        return self._error

    def _refuse(self, why: str) -> StoreError:
        self._error = StoreError(f"{self.address} {why}")
        return self._error


def _is_away(error: exceptions.RedisError) -> bool:
    """Tell whether waiting helps: the connection is lost, or the server reads its data or runs a slow script."""
    if isinstance(error, (exceptions.AuthenticationError, exceptions.AuthorizationError)):
        return False
    away = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ClusterDownError, exceptions.TryAgainError)
    return isinstance(error, away) or str(error).startswith("BUSY ")


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM in the list that is given; elsewhere than in the main thread none comes."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    numbers = signal.SIGINT, signal.SIGTERM
    before = [(number, signal.signal(number, lambda number, _: noted.append(number))) for number in numbers]
    try:
        yield noted
    finally:
        for number, handler in before:
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@cache
def _script(name: str, is_change: bool) -> tuple[str, str]:
    """Return the text of a script, with what it begins with, and its SHA-1."""
    text = _text(name)
    if "-- COMMON" in text:
        text = text.replace("-- COMMON", _text("common"))
    if is_change:
        text = _text("once").replace("-- SCRIPT", text)
    return text, sha1(text.encode(), usedforsecurity=False).hexdigest()


def _text(name: str) -> str:
    return Path(__file__).with_name(f"{name}.lua").read_text("utf-8")


def _connection(address: Address, greet: Callable[[Any], None]) -> Any:
    """Return a connection, not open yet; it opens itself, and is greeted, when it is used and was lost."""
    options: dict[str, Any] = {
        "redis_connect_func": greet,
        "db": address.db,
        "username": address.username,
        "password": address.password,
        "socket_timeout": ANSWER_S,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    kind: Any = UnixDomainSocketConnection if address.path else SSLConnection if address.is_tls else Connection
    if address.path:
        options["path"] = address.path
    else:
        options |= {"host": address.host, "port": address.port, "socket_connect_timeout": CONNECT_S}
    if address.is_tls:
        options |= {"ssl_cert_reqs": "required", "ssl_check_hostname": True}
    return kind(**options)
