"""``scrapy replica lab replicas``: how well hosts that are one site are told from others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.config import Config
from scrapy_replica.lab.commands.output import existing
from scrapy_replica.records import Noise

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy_replica.lab.replicas.em_in_order import Told
    from scrapy_replica.lab.replicas.replica_experiments import Experiment

_FEWEST_HOSTS = 200
"""Hosts of a made-up web whose folds all have replicas."""


def add_replica_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab replicas`` takes."""
    parser.add_argument("path", metavar="DIR|WARC", nargs="?", help="a folder with warc/ and truth.csv, or a web")
    parser.add_argument("--hosts", metavar="CSV", help="DIR|WARC is a web: table of host, kind, replica_of")
    parser.add_argument("--made", type=int, metavar="N", help="a made-up web of N hosts in place of DIR|WARC")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the made-up web")
    parser.add_argument(
        "--draws", type=int, default=1, metavar="N", help="with --made --tables: N webs, from --seed on"
    )
    parser.add_argument("--tables", action="store_true", help="the published tables: thresholds, features, methods")
    parser.add_argument("--times", action="store_true", help="what EM costs from scratch and incremental")
    parser.add_argument("--plots", metavar="DIR", help="write curves and what the collection is like: PNG, SVG, CSV")
    parser.add_argument("--crawl", action="store_true", help="rehearse one crawl over all hosts and judge in it")
    parser.add_argument("--train", metavar="DIR", help="learn from this folder instead of the other folds")
    parser.add_argument("--model", metavar="FILE", help="take this judge as it is")
    parser.add_argument("--groups", metavar="FILE", help="measure a groups.csv that mine wrote instead")
    parser.add_argument(
        "--noise", choices=[n.value for n in Noise], default=Config.noise.value, help="see REPLICA_NOISE"
    )


def replica_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab replicas``, or the published tables with ours in them."""
    _check(opts)
    if opts.tables or opts.times or opts.plots:
        return _experiment_figures(opts)
    folder, noise = existing(opts.path), Noise(opts.noise)
    train, model = (existing(name) if name else None for name in (opts.train, opts.model))
    groups, hosts = (existing(name) if name else None for name in (opts.groups, opts.hosts))
    from scrapy_replica.lab.replicas import replica_crawl, replica_pairs, replicas  # noqa: PLC0415 - extra lab
    from scrapy_replica.sites.judge import Judge  # noqa: PLC0415

    if hosts is not None:
        table, pages = replica_pairs.load_web(folder, hosts, noise)
        other = replica_pairs.load(train, noise)[0] if train else None
        return replicas.figures_of(table, pages, other=other, judge=Judge.load(model) if model else None)
    if groups is not None:
        return replicas.figures_of_groups(replica_pairs.read_truth(folder), groups)
    if not opts.crawl:
        return replicas.evaluate(folder, train_folder=train, model=model, noise=noise)
    truth, pages = replica_pairs.read_truth(folder), replica_pairs.read_pages(folder, noise)
    if model is not None:
        return replica_crawl.crawl_figures(truth, pages, Judge.load(model))
    table = replica_pairs.pair_table(truth, pages, replica_pairs.alias_hosts(folder))
    held_out = replica_crawl.held_out_crawl_figures(truth, pages, table)
    return replica_crawl.crawl_figures(truth, pages, Judge.load()) | {
        name.replace("crawl.", "held_out.", 1): value for name, value in held_out.items()
    }


def _check(opts: argparse.Namespace) -> None:
    is_experiment = opts.tables or opts.times or opts.plots
    if (opts.path is None) == (opts.made is None):
        raise ValueError("lab replicas takes a folder or a WARC file, or --made N in place of it")
    if opts.made is not None and opts.made < _FEWEST_HOSTS:
        raise ValueError(f"--made is {opts.made}: it must be at least {_FEWEST_HOSTS}")
    if opts.made is not None and not is_experiment:
        raise ValueError("--made has no texts to judge: it takes --tables, --times or --plots")
    if opts.draws < 1 or (opts.draws > 1 and (opts.made is None or not opts.tables)):
        raise ValueError(f"--draws is {opts.draws}: it is a number of webs, and takes --made N --tables")
    if opts.made is not None and opts.hosts:
        raise ValueError("--hosts says what is true of a web that is read: --made knows it")
    if opts.path and Path(opts.path).is_file() and not opts.hosts:
        raise ValueError(f"{opts.path} is a file: a web takes --hosts CSV, which says what its hosts are")
    others = [name for name in ("crawl", "groups", "train", "model") if getattr(opts, name)]
    if others and is_experiment:
        raise ValueError(f"--{others[0]} has no tables, times or plots: leave it out")
    if opts.hosts and (opts.crawl or opts.groups):
        raise ValueError(f"--{'crawl' if opts.crawl else 'groups'} takes a folder with truth.csv: leave --hosts out")
    if opts.plots and Path(opts.plots).is_file():
        raise ValueError(f"--plots: {opts.plots} is a file: name a folder")


def _experiment_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    from tqdm import tqdm  # noqa: PLC0415 - extra warc

    from scrapy_replica.lab.replicas import replica_experiments as experiments  # noqa: PLC0415 - extra lab
    from scrapy_replica.lab.replicas.replica_plots import prepared  # noqa: PLC0415

    if opts.plots:
        prepared(Path(opts.plots))
    experiment = _experiment(opts)
    figures: dict[str, float] = {}
    texts: list[str] = []
    with tqdm(file=sys.stderr, disable=None, leave=False, bar_format="{elapsed} {desc}") as bar:
        told: Told = bar.set_description_str
        if opts.tables:
            if opts.draws > 1:
                seeds = range(opts.seed, opts.seed + opts.draws)
                parts = {"published": experiments.tables_of_made(opts.made, seeds, told)}
            else:
                parts = experiments.tables_of(experiment, told)
            for name, part in parts.items():
                figures |= {f"{name}.{key}": value for key, value in part.figures.items()}
                texts.append(f"{part.title}\n\n{part.text}")
        if opts.times:
            part = experiments.times_of(experiment, told)
            figures |= part.figures
            texts.append(part.text)
        if opts.plots:
            part = experiments.plots_of(experiment, Path(opts.plots), told)
            figures |= part.figures
            texts.append(part.text)
    return figures if opts.json else "\n\n".join(texts)


def _experiment(opts: argparse.Namespace) -> Experiment:
    from scrapy_replica.lab.replicas import replica_experiments as experiments  # noqa: PLC0415 - extra lab

    if opts.made is not None:
        return experiments.of_made(opts.made, opts.seed)
    path, noise = existing(opts.path), Noise(opts.noise)
    return experiments.of_pages(path, existing(opts.hosts) if opts.hosts else None, noise)
