"""What is known in plain words, and crawled text that cannot harm a terminal."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.claim import Claim, Restoration, Standing, Why
from scrapy_replica.decision import Action, Outcome, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.words import phrases, rules, terminal
from scrapy_replica.words import text as of_others

MIRROR = Claim.read("mirror b.example of a.example")
WRONG = {"pairs": 7, "wrong": 1, "for example": ["x is not y"]}


@pytest.mark.parametrize(
    ("crawled", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;another title\x07after", "after"),
        ("\x1b]8;;http://evil.example\x1b\\link", "link"),
        ("\x9b31mred", "red"),
        ("over\rwritten\nline\tand\x08\x00", "over written line and"),
        ("gnp.\u202eexe\u2066\u2069\u200e\ufeff", "gnp. exe"),
        ("a\u2028b\ud800c", "a b c"),
        ("e\u0301" + "\u0301" * 500 + "f", "e\u0301\u0301\u0301f"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("x" * 10_000, "x" * 199 + "…"),
        ("<b>no markup of ours</b>", "<b>no markup of ours</b>"),
        ("", ""),
    ],
)
def test_crawled_text_is_one_plain_line(crawled, shown):
    assert of_others.cleaned(crawled) == shown


@given(st.text(st.characters(codec=None, categories=None)), st.integers(5, 60))
def test_whatever_was_crawled_fits_and_prints(crawled, width):
    shown = of_others.shortened(crawled, width)
    assert of_others.width_of(shown) <= width
    assert "\n" not in shown
    assert all(c.isprintable() or c in "\u200c\u200d" for c in shown)
    shown.encode("utf-8")


def test_a_url_keeps_both_ends():
    shown = of_others.shortened("http://a.example/" + "x/" * 200 + "last.html", 40)
    assert shown.startswith("http://a.example/x")
    assert shown.endswith("x/last.html")
    assert len(shown) == 40


def test_counts_and_scores():
    assert terminal.counted(1, "link") == "1 link"
    assert terminal.counted(0, "link") == "0 links"
    assert terminal.counted(1_200, "copy", "copies") == "1,200 copies"
    assert terminal.score(0.80541) == "0.81"
    assert [terminal.percent(value) for value in (0.0, 0.004, 0.123, 1.0)] == ["0 %", "0.4 %", "12 %", "100 %"]


@given(st.lists(st.text("ab é漢", min_size=1, max_size=30)), st.integers(0, 6), st.integers(20, 80))
def test_lines_fit_and_lose_nothing(parts, indent, width):
    text = " ".join(parts)
    lines = terminal.wrapped(text, indent, indent + 2, width).split("\n")
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert of_others.width_of(line) <= width or len(line.split()) == 1


def test_a_long_url_stays_whole():
    url = "http://a.example/" + "x" * 100
    assert terminal.wrapped(f"it stands for {url} now", 2).split("\n") == ["  it stands for", "  " + url, "  now"]


def test_a_table_fits_whatever_is_in_it():
    rows = [("漢" * 50, 1_234, 0.51234, "http://a.example/" + "y" * 90), ("b\x1b[2J", 5, 1.0, "")]
    lines = terminal.table(["host", "pages", "score", "url"], rows).splitlines()
    assert max(map(of_others.width_of, lines)) <= 80
    assert lines[0].split() == ["host", "pages", "score", "url"]
    assert lines[2].split() == ["b", "5", "1.00"]
    assert "1,234   0.51  http://a.ex" in lines[1]
    assert terminal.table(["host"], []) == "host\n"


VERDICT = Verdict(
    "docs.a.example",
    "a.example",
    "",
    "docs",
    0.9,
    17,
    {"cknown": 0.883, "sm10": 0.9056, "bj25": 0.76, "bj50": 0.9611, "teq": 0.8313, "lsame": 0.9833, "tnum": 0.0},
)


def test_a_verdict_tells_its_witnesses():
    assert phrases.evidence_of(VERDICT) == [
        "pages in equal places that agree: 16 of 17",
        "with equal titles: 13 of 15",
        "in one language: 17 of 17",
        "text in common on the median page: 100 %",
        "known paths that both have: 88 %",
    ]
    assert phrases.place_of(VERDICT) == f"{VERDICT.copy}/ is {VERDICT.canonical}/docs/"
    assert phrases.evidence_of(Verdict("a.example", "b.example", "", "", 1.0, 0)) == []


@pytest.mark.parametrize(
    ("reason", "evidence", "told"),
    [
        (
            Reason.REPLICA_HOST,
            {"canonical": "a.example", "score": 0.80541},
            "not fetched: its host is a copy of a.example (score 0.81)",
        ),
        (
            Reason.MANUAL_BLOCK,
            {"canonical": "a.example", "score": 1.0},
            "not fetched: its host is a copy of a.example, as a person said",
        ),
        (
            Reason.DUST_RULE,
            {"rules": [8, 7], "representative": "http://a.example/", "fetched": True},
            "not fetched: rule 8 and 7 takes it for the page at http://a.example/, which was fetched or waits",
        ),
        (
            Reason.EXACT_DUPLICATE_LINKS,
            {"page": "http://a.example/", "repeats": "http://b.example/", "counterpart": "http://b.example/x"},
            (
                "not fetched: it was found on http://a.example/, which has the text of http://b.example/; "
                "there the same link is http://b.example/x"
            ),
        ),
        (
            Reason.TRAP_BUDGET,
            {"kind": "calendar"},
            "not fetched: it is another date of a calendar, and the last dates brought nothing new",
        ),
        (
            Reason.PATH_BUDGET,
            {"prefix": "a.example/b"},
            "not fetched: as many new pages as REPLICA_PATH_BUDGET allows were fetched of a.example/b",
        ),
    ],
)
def test_decisions_are_sentences(reason, evidence, told):
    assert phrases.decided(Action.DROP, Action.DROP, reason, evidence) == told


def test_decisions_tell_the_mode_the_sample_and_what_comes_back():
    evidence = {"canonical": "a.example", "score": 0.9}
    made = Action.DEMOTE, Action.DROP, Reason.REPLICA_HOST, evidence
    assert phrases.decided(*made).startswith("waits behind the others, for it is a guess (in drop mode: not fetched): ")
    sample = phrases.decided(Action.FETCH, *made[1:], is_sampled=True, outcome="other")
    assert sample.startswith("fetched as a sample")
    assert sample.endswith("; wrongly so: it is a page of its own")
    observed = phrases.decided(Action.FETCH, *made[1:])
    assert observed.startswith("fetched, since nothing is saved in observe mode (otherwise: not fetched): its host")
    for told, words_ in [
        (Restoration(Why.GONE, "http://b.example/"), "http://b.example/, which stood for it, brought no page"),
        (Restoration(Why.ENDED, str(MIRROR)), "b.example is no longer blocked"),
        (Restoration(Why.REFUTED, str(MIRROR)), "samples showed that b.example is no copy of a.example after all"),
        (Restoration(Why.REFUTED, "rule 3", WRONG), "rule 3 was wrong for 1 pair of 7; x is not y"),
        (Restoration(Why.ENDED, "rule 3"), "rule 3 holds no more"),
        (Restoration(Why.REFUTED, "trap b.example of calendar"), "(calendar on b.example)"),
        (Restoration(Why.REPEATS, "http://b.example/"), "repeats http://b.example/"),
        (Restoration(Why.ORPHANED), "a process that is gone"),
    ]:
        back = phrases.decided(Action.FETCH, Action.FETCH, Reason.REPLICA_HOST, told.evidence())
        assert back.startswith("comes back: ")
        assert words_ in back


@given(
    st.sampled_from(Action),
    st.sampled_from(Action),
    st.sampled_from(Reason),
    st.dictionaries(
        st.sampled_from(["canonical", "score", "rules", "page", "repeats", "kind", "prefix", "gone", "ended", "host"]),
        st.text(),
        max_size=3,
    ).filter(lambda told: not {"score", "rules"} & told.keys()),
    st.none() | st.sampled_from([outcome.value for outcome in Outcome]),
)
def test_hostile_evidence_breaks_no_line(action, wanted, reason, evidence, outcome):
    told = phrases.decided(action, wanted, reason, evidence, outcome=outcome)
    assert told.isprintable() or "\u200c" in told or "\u200d" in told


def test_every_reason_action_and_outcome_has_words():
    assert phrases.REASONS.keys() == set(Reason)
    assert phrases.ACTIONS.keys() == set(Action)
    assert phrases.OUTCOMES.keys() == set(Outcome)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("mirror a.example of b.example", "a.example is a copy of b.example"),
        ("rule 12", "rule 12"),
        ("trap a.example of calendar", "calendar on a.example"),
        ("unshared a.example of b.example", "only a.example, a copy of b.example, links to it"),
        ("fetched a.example of b.example", "a.example, a copy of b.example, had brought it before"),
        ("links a.example of b.example", "links to b.example on pages that repeat those of a.example"),
        ("budget a.example of path-budget", "limit of pages below its path (a.example)"),
        ("excluded */of */x", "pattern excluded by hand (*/of */x)"),
        ("scope", "place out of scope"),
    ],
)
def test_claims(name, told):
    assert phrases.claim(Claim.read(name)) == told
    assert str(Claim.read(name)) == name


@pytest.mark.parametrize(
    ("host", "context", "steps", "told"),
    [
        ("a.example", [], [["drop", "sid", None]], "on a.example the page is the same without the argument sid"),
        (
            "a.example",
            [["q:token", "=", "x1", True]],
            [["drop", "sid", "5cc3"], ["set", "sid", "1a29"], ["drop", "api_key", "s3cret"]],
            (
                "on a.example the page is the same without the argument sid=***, with the argument sid=***, "
                "without the argument api_key=***, where argument token is ***"
            ),
        ),
        (
            ".a.example",
            [["p0", "=", "shop", True], ["q:id", "has", "", False]],
            [["drop", "sort", "asc"], ["unslash", "", None]],
            (
                "below a.example the page is the same without the argument sort=asc, without slashes at the end, "
                "where part 1 of the path is shop and there is no argument id"
            ),
        ),
        (
            "",
            [["p-1", "class", "digits", True]],
            [["replace", "index.html", ""]],
            "on any host the page is the same without index.html, where the last part is a number",
        ),
        (
            "a.example",
            [],
            [["template", "/p/{0}", "/q?id={0}"]],
            "on a.example the page is the same with /q?id={0} for /p/{0}",
        ),
    ],
)
def test_rules(host, context, steps, told):
    assert rules.rule({"host": host, "context": context, "transformation": steps}) == told


def test_why_a_file_cannot_be_read(tmp_path):
    def why(read, *errors):
        with pytest.raises(errors) as raised:
            read()
        return of_others.unreadable(raised.value)

    assert why((tmp_path / "no").read_bytes, OSError) == "No such file or directory"
    assert why(b"a\xff".decode, UnicodeDecodeError) == "it is no UTF-8 (byte 1)"
    cut = gzip.compress(b"http://a.example/ " * 99)[:-12]
    assert why(lambda: gzip.decompress(cut), EOFError) == "it is cut off"


@pytest.mark.parametrize(
    ("values", "told"),
    [((0.5, 0.87), ["0.50", "0.87"]), ((0.868, 0.871), ["0.868", "0.871"]), ((0.5, 0.5), ["0.50", "0.50"])],
)
def test_scores_that_differ_are_told_apart(values, told):
    assert terminal.scores(*values) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [("one two", "one two"), ("one two three four", "one two …"), ("\u6f22" * 99, "\u6f22" * 10 + " …"), ("", "")],
)
def test_an_excerpt_ends_with_a_word(text, told):
    assert of_others.excerpt(text, 12) == told


def test_a_rule_that_was_never_wrong_is_not_called_refuted():
    assert phrases.rule_standing(Standing.REFUTED, 2) == "refuted"
    assert phrases.rule_standing(Standing.REFUTED, 0).startswith("ended, for its tests")
    assert phrases.rule_standing(Standing.IN_FORCE, 0) == "in force"


def test_a_rule_between_shapes_tells_no_token():
    change = ["template", "/in?n={0}&token=s3cret", "/in?n=1&token=s3cret"]
    gate = {"host": "a.example", "context": [], "transformation": [change]}
    part = {"host": "a.example", "context": [], "transformation": [["replace", "/x?token=s3cret", "/y?token=s3cret"]]}
    assert rules.rule(gate) == "on a.example all of /in?n={0}&token=*** lead to /in?n=1&token=***"
    assert "s3cret" not in rules.rule(part)
