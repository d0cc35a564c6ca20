"""``make fuzz``: broken input of every kind, until something raises or takes long."""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
from pathlib import Path

from fuzz.loop import run
from fuzz.targets import TARGETS

HANGS_S = 120
MEMORY = Path("/dev/shm")
"""Jobs are written thousands of times; on a disk most of the time goes by waiting for it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(TARGETS)}; all if none is named")
    parser.add_argument("--inputs", type=int, default=10_000, help="of each kind (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each kind at most (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, help="the same seed gives the same inputs (default: %(default)s)"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write what is at fault there")
    opts = parser.parse_args()
    if unknown := set(opts.kinds) - set(TARGETS):
        parser.error(f"there is no {', '.join(unknown)}; choose of {', '.join(TARGETS)}")
    failed = False
    if MEMORY.is_dir():
        tempfile.tempdir = str(MEMORY)
    print(f"{'kind':<10}{'inputs':>10}{'CPU s':>9}{'slowest s':>11}{'number':>10}{'faults':>8}")
    for kind in opts.kinds or TARGETS:
        faulthandler.dump_traceback_later(opts.seconds + HANGS_S, exit=True)
        begun = time.process_time()
        told = run(kind, n=opts.inputs, seconds=opts.seconds, seed=opts.seed)
        cpu = time.process_time() - begun
        print(
            f"{kind:<10}{told.n:>10,}{cpu:>9.0f}{told.slowest_s:>11.2f}{told.slowest:>10,}{len(told.faults):>8}",
            flush=True,
        )
        for fault in told.faults:
            print(f"\n{kind} {fault.number} (seed {opts.seed}), {len(fault.data)} bytes: {fault.what}", flush=True)
            if opts.keep is not None:
                opts.keep.mkdir(parents=True, exist_ok=True)
                (opts.keep / f"{kind}-{opts.seed}-{fault.number}").write_bytes(fault.data)
        failed |= bool(told.faults)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
