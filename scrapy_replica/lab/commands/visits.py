"""``scrapy replica lab visits``: which strategy finds the topic first."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.lab.commands.output import existing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy_replica.lab.visits.visit import Limits
    from scrapy_replica.lab.visits.visit_variants import Variant


def add_visit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab visits`` takes."""
    parser.add_argument("file", metavar="FILE", help="labelled crawl (Parquet), or folder of a direct archive")
    parser.add_argument("--topic", required=True, help="label of the pages to find")
    parser.add_argument("--strategies", nargs="+", metavar="NAME", help="names of REPLICA_STRATEGY, and omniscient")
    parser.add_argument("--pages", type=int, metavar="N", help="end each visit after N pages")
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="draws of the examples (5)")
    parser.add_argument("--examples", type=int, default=50, metavar="N", help="examples of the topic (50)")
    parser.add_argument(
        "--unlabelled", type=int, default=3_000, metavar="N", help="unlabelled pages (3000); 0: a topic alone"
    )
    parser.add_argument("--cap-host", type=int, metavar="N", help="most pages of one host")
    parser.add_argument("--cap-domain", type=int, metavar="N", help="most pages of one registered domain")
    parser.add_argument(
        "--vary",
        nargs="+",
        action="append",
        default=[],
        metavar="WHAT",
        help="a row for each value: alpha .5 .75, distance 4 5 6 7, or weights tf tfidf",
    )
    parser.add_argument("--frozen", action="store_true", help="also with models of a visit before, not trained again")
    parser.add_argument(
        "--states", action="store_true", help="the states of each HMM beside its observations and the true distances"
    )
    parser.add_argument(
        "--exact", action="store_true", help="hmm-dynamic beside what it leaves out; a small collection"
    )
    parser.add_argument("--job", metavar="DIR", help="keep visits in DIR; the same command goes on where it ended")
    parser.add_argument("--every", type=float, metavar="MINUTES", help="between two checkpoints in DIR (5)")
    parser.add_argument("--plot", metavar="FILE", help="draw the curves into FILE (.png, .svg, .pdf)")
    parser.add_argument("--curves", metavar="FILE", help="write the curves into FILE (.csv, .json)")


def visit_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab visits``, or their table, draw the plot and write the curves."""
    file = existing(opts.file)
    _check(opts)
    from scrapy_replica.lab.visits import visit_curves, visit_exact, visits  # noqa: PLC0415 - extra lab
    from scrapy_replica.lab.visits.visit import Limits  # noqa: PLC0415
    from scrapy_replica.lab.visits.visit_job import MINUTES  # noqa: PLC0415
    from scrapy_replica.lab.visits.visit_variants import varied  # noqa: PLC0415

    if opts.plot:
        visit_curves.pyplot()
    rows = varied(opts.strategies or visits.STRATEGIES, opts.vary, opts.frozen)
    limits = Limits(opts.pages, opts.cap_host, opts.cap_domain)
    numbers = opts.draws, opts.examples, opts.unlabelled
    if opts.states:
        return _states(opts, file, [row for row in rows if row.has_distance], limits)
    if opts.exact:
        exact = visit_exact.evaluate(file, opts.topic, *numbers, limits)
        flat = {f"{name}.{key}": value for name, row in exact.items() for key, value in row.items()}
        return flat if opts.json else visit_exact.table(exact)
    minutes = MINUTES if opts.every is None else opts.every
    job = Path(opts.job) if opts.job else None
    result = visits.evaluate(file, opts.topic, rows, *numbers, limits=limits, job=job, minutes=minutes)
    if opts.plot:
        with _writing("plot", opts.plot):
            visit_curves.plot(result, Path(opts.plot))
    if opts.curves:
        with _writing("curves", opts.curves):
            visit_curves.write(result, Path(opts.curves))
    return result["figures"] if opts.json else visits.table(result)


@contextmanager
def _writing(option: str, name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OSError(f"--{option} {name} cannot be written ({error.strerror})") from None


def _states(opts: argparse.Namespace, file: Path, rows: Sequence[Variant], limits: Limits) -> Mapping[str, float] | str:
    from scrapy_replica.lab.visits import visit_states  # noqa: PLC0415 - extra lab

    if not rows:
        raise ValueError("--states needs --strategies hmm-static, hmm-dynamic or hmm-second-order")
    found = visit_states.evaluate(file, opts.topic, rows, opts.draws, opts.examples, opts.unlabelled, limits)
    if opts.plot:
        visit_states.plot(found["found"][rows[0].name], f"{file.name}: {opts.topic}, {rows[0].name}", Path(opts.plot))
    return found["figures"] if opts.json else visit_states.table(found)


def _check(opts: argparse.Namespace) -> None:
    for option, least in (("draws", 1), ("examples", 1), ("unlabelled", 0), ("pages", 1), ("every", 0)):
        value = getattr(opts, option)
        if value is not None and not value >= least:
            raise ValueError(f"--{option} is {value}: it must be at least {least}")
    if opts.every is not None and not opts.job:
        raise ValueError("--every needs --job, the folder that checkpoints are written to")
    for option, kinds in (("plot", (".png", ".svg", ".pdf")), ("curves", (".csv", ".json"))):
        name = getattr(opts, option)
        if name and Path(name).suffix not in kinds:
            raise ValueError(f"--{option} {name}: its name ends with {', '.join(kinds)}")
        if name and not Path(name).absolute().parent.is_dir():
            raise ValueError(f"--{option} {name}: there is no folder {Path(name).absolute().parent}")
    if opts.states and opts.exact:
        raise ValueError("--states and --exact are two questions: ask one")
    unheard = ("job", "curves", "frozen") if opts.states else ("job", "curves", "frozen", "plot", "strategies", "vary")
    given = [f"--{name}" for name in unheard if getattr(opts, name)] if opts.states or opts.exact else []
    if given:
        raise ValueError(f"leave {', '.join(given)} out: {'--states' if opts.states else '--exact'} is without")
    if (opts.states or opts.exact) and not opts.unlabelled:
        raise ValueError("--states and --exact need --unlabelled above 0")
    if any(len(change) < 2 for change in opts.vary):
        raise ValueError("--vary takes what is varied and its values: --vary alpha .5 .75")
