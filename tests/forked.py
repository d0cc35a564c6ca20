"""Programs in processes of their own that begin with Scrapy and the add-on imported: a second less each.

They are forked from one process that imported these and did nothing else. What a start of Python does itself is left to
``test_examples.py``, ``test_extras.py`` and ``.ci/bare.py``, which start commands as a person does.
"""

from __future__ import annotations

import atexit
import faulthandler
import itertools
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from multiprocessing import get_context
from pathlib import Path

from scrapy.cmdline import execute

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        *("scrapy.cmdline", "scrapy.crawler", "scrapy.extensions.feedexport", "itemadapter._imports"),
        *("scrapy_replica.addon", "scrapy_replica.components.extension", "scrapy_replica.commands.rehearse"),
    ]
)
OUTPUTS, NUMBERS = tempfile.TemporaryDirectory(), itertools.count()
atexit.register(OUTPUTS.cleanup)


class Program:
    """``scrapy`` or a script with its arguments, which runs; as ``subprocess.Popen`` with a pipe for each output.

    :param is_strict: warnings are errors.
    """

    def __init__(self, *command, cwd=None, env=None, is_strict=False):
        self._files = [Path(OUTPUTS.name, f"{next(NUMBERS)}") for _ in range(2)]
        told = [*map(str, command)]
        given = (told, os.fspath(cwd or "."), {**(os.environ if env is None else env)}, self._files, is_strict)
        self._process = CONTEXT.Process(target=_begin, args=given)
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=None):
        """Wait for its end, and return its exit code."""
        self._process.join(timeout)
        if self.poll() is None:
            self.send_signal(signal.SIGUSR2)  # it tells where it is
            time.sleep(1)
            told = self._files[1].read_text(encoding="utf-8")
            raise AssertionError(f"it runs for more than {timeout} s:\n{told}")
        return self.poll()

    def kill(self):
        self._process.kill()

    def communicate(self, timeout=None):
        """Wait for its end, and return what it wrote to both outputs."""
        self.wait(timeout)
        return tuple(file.read_text(encoding="utf-8") for file in self._files)


def run(*command, timeout=120, **how):
    """Run a program to its end, or kill it after *timeout* seconds; warnings are errors."""
    program = Program(*command, **how, is_strict=True)
    try:
        out, err = program.communicate(timeout)
    finally:
        if program.poll() is None:
            program.kill()
    return subprocess.CompletedProcess(command, program.poll(), out, err)


def _begin(command, cwd, environment, files, is_strict):
    for number, file in enumerate([Path(os.devnull), *files]):
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    faulthandler.register(signal.SIGUSR2, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    script = command[0] != "scrapy"
    # As of `python -m scrapy`, and `python SCRIPT`.
    sys.path[:0] = [
        str(Path(command[0]).parent) if script else "",
        *environment.get("PYTHONPATH", "").split(os.pathsep),
    ]
    sys.argv = command
    if is_strict:
        warnings.resetwarnings()
        warnings.simplefilter("error")
    if script:
        runpy.run_path(command[0], run_name="__main__")
    else:
        execute()
