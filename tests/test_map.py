"""The map of commands, their help and their errors, as a person meets them."""

import signal

import pytest
from command_line import replica

from scrapy_replica import commands
from scrapy_replica.commands.command import GROUPS
from scrapy_replica.commands.parser import CommandGroup, parser_of
from scrapy_replica.words.text import width_of

COMMANDS = {command.name: command for command in commands.load_commands()}
PARTS = {
    f"{group.name} {part.name}": part
    for group in COMMANDS.values()
    if isinstance(group, CommandGroup)
    for part in (kind() for kind in group.commands)
}


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_map_has_every_command_in_its_group(arguments):
    code, out, err = replica(*arguments)
    assert (code, err) == (0, "")
    assert max(map(width_of, out.splitlines())) <= 80
    for title in GROUPS.values():
        assert f"\n{title}\n" in out
    for name, command in COMMANDS.items():
        line = next(line for line in out.splitlines() if line.startswith(f"  {name} "))
        assert command.help.startswith(line.removeprefix(f"  {name} ").strip())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_must_be_given_first_and_an_example_that_is_right(name):
    code, out, _ = replica(name, "--help")
    assert code == 0
    assert out.startswith(f"usage: scrapy replica {name} ")
    assert max(map(width_of, out.splitlines())) <= 80
    assert "COMMAND" not in out
    own = [line.split()[3:] for line in COMMANDS[name].examples if line.startswith(f"scrapy replica {name} ")]
    assert own
    for example in own:
        arguments = example[: example.index(">")] if ">" in example else example
        parser_of(COMMANDS[name]).parse_args(arguments)  # ends the test where one is wrong


@pytest.mark.parametrize("name", PARTS)
def test_help_of_what_is_below_a_name(name):
    code, out, _ = replica(*name.split(), "--help")
    assert code == 0
    assert max(map(width_of, out.splitlines())) <= 80
    assert out.startswith(f"usage: scrapy replica {name} ")
    group, part = name.split()
    for line in PARTS[name].examples:
        words = line.split()
        assert words[:4] == ["scrapy", "replica", group, part]
        parser_of(COMMANDS[group]).parse_args(words[3:])


@pytest.mark.parametrize("arguments", [["job"], ["--job", "job"], ["--job=job"], ["job/replica.sqlite"]])
def test_a_job_is_named_in_one_way_everywhere(arguments):
    for words in (["hosts"], ["status"], ["judge"], ["report"], ["serve"], ["doctor"]):
        assert parser_of(COMMANDS[words[0]]).parse_args(arguments).job == "job"
    for words in (["explain", "--json", "x"], ["steer", "pause", "x"], ["rules", "disable", "3"], ["export", "links"]):
        command, *rest = words
        deep = [rest.pop(0)] if command in {"steer", "rules"} else []
        behind = arguments[0].startswith("--")
        line = [*deep, *rest, *arguments] if behind else [*deep, *arguments, *rest]
        assert parser_of(COMMANDS[command]).parse_args(line).job == "job"


def test_usage_names_file_and_job_before_options():
    assert "usage: scrapy replica explain JOB URL [options]\n" in replica("explain", "--help")[1]
    assert (
        "usage: scrapy replica steer block JOB MIRROR --as HOST [options]\n" in (replica("steer", "block", "--help")[1])
    )
    assert "usage: scrapy replica rules disable JOB ID [options]\n" in (replica("rules", "disable", "--help")[1])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explian"], "there is no command 'explian'; did you mean explain?"),
        (["xyzzy"], "there is no command 'xyzzy'; scrapy replica, alone, tells which there are"),
        (["explain"], "scrapy replica explain: the following arguments are required: JOB, URL"),
        (["explain", "http://a.example/", "--job"], "argument --job: expected one argument"),
        (["rules", "explode"], "invalid choice: 'explode'"),
        (["hosts", "--job", "x", "y"], "unrecognized arguments: y"),
        (["--colour", "hosts"], "unknown arguments: --colour; a command comes first"),
        (["hosts", "--job", "x", "-s", "nonsense"], "Invalid -s value, use -s NAME=VALUE"),
    ],
)
def test_wrong_use_is_one_line(arguments, says):
    code, out, err = replica(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_settings_before_and_after_the_command_count(tmp_path):
    code, _, err = replica("-s", "REPLICA_MODE=x", "crawl", "http://a.example/", "-s", "REPLICA_NOISE=none")
    assert code == 2
    assert "REPLICA_MODE is 'x'" in err


class Asleep:
    """A command in whose middle a person presses Ctrl-C."""

    name = "hosts"

    def run(self, opts, settings):
        signal.raise_signal(signal.SIGINT)  # heard before it returns; one sent to the process comes when it comes


@pytest.fixture
def ctrl_c():
    """Python's own handler, which a process that was started in the background does not have."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_told_without_a_traceback(monkeypatch, ctrl_c):
    monkeypatch.setattr("scrapy_replica.commands.hosts.HostsCommand.run", Asleep.run)
    assert replica("hosts", "--job", "x") == (130, "", "interrupted\n")
