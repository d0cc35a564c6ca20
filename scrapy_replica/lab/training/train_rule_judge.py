"""Trains the judge of candidate rules: ``python -m scrapy_replica.lab.training.train_rule_judge MODEL TABLE ...``.

The tables are like that of ``lab dust``; each is read as a collection of hosts of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from scrapy_replica.lab.dust.dust import read
from scrapy_replica.lab.dust.dust_judge import cube_of, hosts_of
from scrapy_replica.urls.judge import RuleJudge


def main(arguments: Sequence[str]) -> None:
    """Train the judge and write it."""
    model, *tables = arguments
    found = [hosts_of(read(table)) for table in tables]
    examples = [example for hosts in found for known in hosts.examples.values() for example in known]
    RuleJudge(cube_of(examples)).save(Path(model))


if __name__ == "__main__":
    main(sys.argv[1:])
