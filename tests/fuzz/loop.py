"""The loop: inputs of one kind, one after the other, and what was wrong with which."""

from __future__ import annotations

import logging
import time
import traceback
import warnings
from contextlib import ExitStack
from random import Random
from typing import NamedTuple

from fuzz.targets import TARGETS

SLOW_S = 1.0
"""Seconds of CPU time for one input that are a fault."""


class Fault(NamedTuple):
    """What was wrong with an input."""

    number: int
    data: bytes
    what: str


class Run(NamedTuple):
    """What came of some inputs of a kind."""

    n: int
    slowest_s: float
    slowest: int
    """Number of the input that took longest."""
    faults: list[Fault]


def run(kind: str, *, n: int, seconds: float, seed: int, most_faults: int = 5) -> Run:
    """Read at most *n* inputs of that *kind*, for so many *seconds*; the same *seed* gives the same inputs."""
    target, faults, slowest, number = TARGETS[kind], list[Fault](), (0.0, 0), 0
    logging.disable(logging.CRITICAL)
    try:
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = target.make(stack)
            ends = time.monotonic() + seconds
            while number < n and time.monotonic() < ends and len(faults) < most_faults:
                data = target.mutate(Random(f"{seed} {kind} {number}"), target.seeds, target.tokens)
                begun = time.process_time()
                try:
                    read(data)
                except Exception:  # noqa: BLE001 - that is what is looked for
                    faults.append(Fault(number, data, traceback.format_exc()))
                took = time.process_time() - begun
                slowest = max(slowest, (took, number))
                if took > SLOW_S:
                    faults.append(Fault(number, data, f"took {took:.1f} s"))
                number += 1
    finally:
        logging.disable(logging.NOTSET)
    return Run(number, *slowest, faults)
