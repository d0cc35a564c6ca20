"""``scrapy replica steer``: where a crawl goes and what it takes for a copy, changed while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import add_job_argument
from scrapy_replica.commands.names import without_scheme
from scrapy_replica.commands.orders import checked, order
from scrapy_replica.commands.parser import CommandGroup
from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.crawldb.orders import ALLOW, BLOCK, DIFFERENT, EXCLUDE, PAUSE, RESUME, SEEDS
from scrapy_replica.urls.scope import Pattern
from scrapy_replica.words.terminal import counted
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class BlockCommand(Command):
    """Blocks a host by hand; a running crawl obeys within a second."""

    name = "block"
    help = "fetch no more of MIRROR, a copy of HOST"
    examples = ("scrapy replica steer block mirror.example.org --as www.example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument(
            "mirror", metavar="MIRROR", help="the copy, as printed by hosts; HOST/PATH where its site lies below a path"
        )
        parser.add_argument("--as", dest="canonical", metavar="HOST", required=True, help="what is kept, likewise")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        (mirror, _, copy_prefix), (canonical, _, canonical_prefix) = (
            without_scheme(named).partition("/") for named in (opts.mirror, opts.canonical)
        )
        prefixes = {"copy_prefix": copy_prefix, "canonical_prefix": canonical_prefix}
        what = checked(opts.job, BLOCK, {"host": mirror, "canonical": canonical, **prefixes})
        return order(opts.job, BLOCK, what, f"{opts.mirror} is blocked as a copy of {opts.canonical}")


class AllowCommand(Command):
    """Takes a verdict back by hand, for good; a running crawl obeys within a second."""

    name = "allow"
    help = "never take HOST for a copy; what was not fetched of it comes back"
    examples = ("scrapy replica steer allow mirror.example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("host", metavar="HOST", help="a host, as printed by hosts")
        parser.add_argument("--beside", metavar="OTHER", help="say only that HOST and OTHER are two sites")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.beside is None:
            what = checked(opts.job, ALLOW, {"host": opts.host})
            told = f"{what['host']} is never taken for a copy, and what was not fetched of it for that comes back"
            return order(opts.job, ALLOW, what, told)
        what = checked(opts.job, DIFFERENT, {"host": opts.host, "other": opts.beside})
        sites = f"{what['host']} and {what['other']} are two sites"
        told = f"{sites}, and what was not fetched of one for the other comes back"
        return order(opts.job, DIFFERENT, what, told)


class AddCommand(Command):
    """Adds seeds to a crawl; a running one fetches them next."""

    name = "add"
    help = "fetch URLs next, and let their hosts into the scope"
    examples = (
        "scrapy replica steer add https://example.org/new/ --job job",
        "scrapy replica steer add seeds.txt --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("urls", nargs="+", metavar="URL", help="URLs, or a file with one URL a line")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        what = checked(opts.job, SEEDS, {"urls": [url for words in opts.urls for url in read_seeds(words)]})
        urls = what["urls"]
        told = f"{redacted(cleaned(urls[0]))} is" if len(urls) == 1 else f"{counted(len(urls), 'URL')} are"
        return order(opts.job, SEEDS, what, f"{told} fetched next")


class ExcludeCommand(Command):
    """Excludes a pattern of URLs from a crawl, or lifts one."""

    name = "exclude"
    help = "fetch nothing more that a pattern of URLs matches, or lift that"
    examples = (
        "scrapy replica steer exclude '*/calendar/*' --job job",
        "scrapy replica steer exclude '*/calendar/*' --lift --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("pattern", metavar="PATTERN", help="of whole URLs; * stands for any characters")
        parser.add_argument("--lift", action="store_true", help="fetch it after all: what was kept out comes back")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        pattern = Pattern(opts.pattern).text
        if opts.lift:
            told = f"{pattern} is fetched again, and what it kept out comes back"
            return order(opts.job, EXCLUDE, {"pattern": pattern, "lift": True}, told)
        return order(opts.job, EXCLUDE, {"pattern": pattern}, f"nothing more is fetched that matches {pattern}")


class PauseCommand(Command):
    """Lets a host pause."""

    name = "pause"
    help = "fetch nothing of HOST for now; what waits of it is kept"
    examples = ("scrapy replica steer pause example.org --job job",)
    kind, told = PAUSE, "pauses"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("host", metavar="HOST", help="a host, as printed by hosts")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        what = checked(opts.job, self.kind, {"host": opts.host})
        return order(opts.job, self.kind, what, f"{what['host']} {self.told}")


class ResumeCommand(PauseCommand):
    """Lets a host go on."""

    name = "resume"
    help = "go on with HOST, which paused"
    examples = ("scrapy replica steer resume example.org --job job",)
    kind, told = RESUME, "goes on"


class SteerCommand(CommandGroup):
    """Gives a crawl orders; a running one obeys within a second."""

    name = "steer"
    help = "block and allow hosts, add, exclude, pause and resume"
    group = "steer"
    metavar = "ORDER"
    commands = (BlockCommand, AllowCommand, AddCommand, ExcludeCommand, PauseCommand, ResumeCommand)
