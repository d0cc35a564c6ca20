"""A Redis (or Valkey) server for tests: started on a free port, stopped, killed, and started again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time

import pytest
from redis import Redis

PROGRAMS = "redis-server", "valkey-server"


def program():
    """Return the server's program; without one the test is skipped, and fails in CI."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        assert not os.environ.get("CI"), "redis-server or valkey-server must be installed"
        pytest.skip("redis-server or valkey-server is not installed")
    return found


def free_port():
    """Return a port that is free; a node of a cluster takes the one 10,000 above as well."""
    port = 1 << 16
    while port > 55_000:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
    return port


class RedisServer:
    """A server on 127.0.0.1 whose data lie in *folder*.

    :param options: lines of its configuration, ``_`` for ``-``: ``maxmemory="2mb"``.
    """

    def __init__(self, folder, *, password=None, is_tls=False, **options):
        self._program = program()
        self.folder = folder
        self.port = free_port()
        self.password, self._is_tls = password, is_tls
        self._options = {"bind": "127.0.0.1", "dir": folder, "save": "", "appendonly": "no"} | options
        if password is not None:
            self._options["requirepass"] = password
        if is_tls:
            self._options |= {"port": 0, "tls_port": self.port, "tls_auth_clients": "no"}
            self.certificate, key = certificate(folder)
            self._options |= {"tls_cert_file": self.certificate, "tls_key_file": key}
            self._options["tls_ca_cert_file"] = self.certificate
        else:
            self._options["port"] = self.port
        self._process = None
        self.start()

    @property
    def place(self):
        return f"127.0.0.1:{self.port}"

    def address(self, **query):
        """Return the address of a job on it."""
        login = "" if self.password is None else f":{self.password}@"
        told = "&".join(f"{name}={value}" for name, value in query.items())
        return f"redis{'s' * self._is_tls}://{login}{self.place}/0{'?' * bool(told)}{told}"

    def start(self, **options):
        """Start it, and wait until it listens."""
        self._options |= options
        lines = [f"--{name.replace('_', '-')}={value}" for name, value in self._options.items()]
        told = [part for line in lines for part in line.split("=", 1)]
        self._process = subprocess.Popen(
            [self._program, *map(str, told)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        end = time.monotonic() + 20
        while not self._listens():
            assert self._process.poll() is None, self._process.stdout.read()
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.01)

    def _listens(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """End it as an operator does: it writes what it is told to."""
        if self._process is not None:
            self._process.terminate()
            self._ended()

    def kill(self):
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def clear(self):
        """Forget everything."""
        with Redis(port=self.port, password=self.password) as client:
            client.flushall()

    def info(self, name):
        """Return a figure of the server."""
        with Redis(port=self.port, password=self.password) as client:
            return client.info()[name]

    def signal(self, number):
        """Send it a signal."""
        self._process.send_signal(number)

    def _ended(self):
        self._process.communicate(timeout=20)
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def certificate(folder):
    """Make a certificate of 127.0.0.1, which signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        assert not os.environ.get("CI"), "openssl must be installed"
        pytest.skip("openssl is not installed")
    names = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-out", names[0], "-keyout", names[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return names


def server_of(store):
    """What *store* asks Redis by: no command shows what lies there, so tests look themselves."""
    return store._server


def die(store):
    """What the end of the process does to *store*, and the time that it takes until that is seen."""
    age(store)
    store.connection.abandon()
    server_of(store).close()


def age(store):
    """Let the time go by after which a process that says nothing is taken for dead."""
    server = server_of(store)
    server.run("ZADD", server.key("alive"), 1, server.name)
