"""`ask` and tool calls: what is decided, by whom, what is sent, and what the model is told of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.desk import Desk, desk, loud, rule, server
from tests.kit.bodies import asks, text
from tests.kit.peer import Exchange
from tests.kit.program import Ended, Programs
from tui_host.errors import JSON

ENTRY_IN_CONTRACT = ["server", "tool", "asked", "sent", "decision", "by", "reason", "result", "is_error", "ms"]
ENTRY = [*ENTRY_IN_CONTRACT, "schema_errors", "output_errors", "changed_numbers"]
ACTS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae")
"""What acts on a terminal, but line ends (which a terminal's driver writes as CR LF)."""


def calls_of(ended: Ended) -> list[dict[str, JSON]]:
    found = ended.json["calls"]
    assert isinstance(found, list)
    calls: list[dict[str, JSON]] = []
    for call in found:
        assert isinstance(call, dict)
        assert list(call) == ENTRY
        calls.append(call)
    return calls


def told(place: Desk) -> list[str]:
    """What the model is told of its calls in the last request, in order."""
    return [str(message["content"]) for message in place.provider.messages(-1) if message["role"] == "tool"]


def test_each_call_is_decided_for_itself_and_told_in_the_order_it_was_asked(program: Programs, tmp_path: Path) -> None:
    wished = asks(
        ("good__slow", '{"seconds":0.3}'),
        ("good__echo", '{"deep": {"ä": [1, 2.50]}}'),
        ("good__nothing", '{"a":1}'),
        ("good__echo", '{"a":'),
        ("bad__echo", "{}"),
        ("good__progress", "{}"),
        ("other__echo", '{"b":2}'),
    )
    servers = server("good", "good") + server("bad", "rpc-error") + server("other", "good")
    rules = rule("other.*", "deny") + rule("good.progress", "ask") + rule("good.progress", "allow")
    with desk(program, tmp_path, wished, text("so be it"), servers=servers, more=rules) as place:
        ended = place.ask("--json", "--allow", "good.slow", "--allow", "*.echo", "go")

    slow, echo, unknown, unread, failed, asked, denied = calls_of(ended)
    assert (ended.code, ended.json["stop"], ended.json["steps"]) == (3, "done", 2)
    assert (slow["sent"], slow["decision"], slow["by"], slow["is_error"]) == (
        {"seconds": 0.3},
        "approved",
        "flag",
        False,
    )
    assert slow["result"] == {"content": [{"type": "text", "text": "slept"}]}
    assert isinstance(slow["ms"], float)
    assert slow["ms"] >= 300
    assert (echo["asked"], echo["sent"]) == ({"deep": {"ä": [1, 2.5]}},) * 2
    assert (unknown["server"], unknown["tool"], unknown["decision"], unknown["by"]) == (
        "",
        "good__nothing",
        "invalid",
        "default",
    )
    assert (unread["server"], unread["tool"], unread["asked"]) == ("good", "echo", '{"a":')
    assert (unread["decision"], unread["sent"], unread["result"]) == ("invalid", None, None)
    assert (failed["decision"], failed["result"], failed["is_error"]) == ("approved", None, True)
    assert (asked["decision"], asked["by"], asked["sent"]) == ("rejected", "default", None)
    assert (denied["decision"], denied["by"], denied["sent"]) == ("rejected", "rule", None)

    reasons = [unknown["reason"], unread["reason"], failed["reason"]]
    for reason, words in zip(reasons, ("no tool good__nothing", "not JSON", "the printer is on fire"), strict=True):
        assert words in str(reason)
    assert [call["reason"] for call in (slow, echo, asked, denied)] == [None] * 4

    answers = told(place)
    assert len(answers) == 7
    assert answers[0] == "slept"
    assert json.loads(answers[1]) == {"deep": {"ä": [1, 2.5]}}
    assert "no tool good__nothing" in answers[2]
    assert "on fire" in answers[4]
    assert "Nobody was there to approve" in answers[5]


@pytest.mark.parametrize(
    ("options", "more", "code", "decided"),
    [
        ((), "", 3, ("rejected", "default")),
        (("--yes",), "", 0, ("approved", "flag")),
        (("--allow", "g*.e*"), "", 0, ("approved", "flag")),
        (("--allow", "good.slow"), "", 3, ("rejected", "default")),
        ((), rule("good.*", "allow"), 0, ("approved", "rule")),
        (("--yes",), rule("*.echo", "deny"), 0, ("rejected", "rule")),
    ],
    ids=["nothing", "yes", "a pattern", "another pattern", "an allow rule", "a deny rule"],
)
def test_rules_and_flags_decide_and_the_exit_code_tells(
    program: Programs, tmp_path: Path, options: Sequence[str], more: str, code: int, decided: tuple[str, str]
) -> None:
    answers = (asks(("good__echo", "{}")), text("done"))
    with desk(program, tmp_path, *answers, servers=server("good", "good"), more=more) as place:
        ended = place.ask("--json", "go", *options)
    [call] = calls_of(ended)
    assert (ended.code, (call["decision"], call["by"])) == (code, decided)
    assert (call["sent"] is None) == (decided[0] == "rejected")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_what_nobody_could_be_asked_is_told_once_for_each_tool_with_the_option_that_allows_it(
    program: Programs, tmp_path: Path, options: Sequence[str]
) -> None:
    wished = asks(("good__echo", "{}"), ("good__echo", '{"a":1}'), ("good__slow", "{}"), ("good__progress", "{}"))
    with desk(
        program, tmp_path, wished, text("done"), servers=server("good", "good"), more=rule("*.slow", "deny")
    ) as place:
        ended = place.ask(*options, "go")
    assert ended.code == 3
    assert ended.told == (
        "tui-host: good.echo: 2 calls were refused, because nobody can be asked here (allow with --allow 'good.echo')\n"
        "tui-host: good.progress: a call was refused, because nobody can be asked here (allow with --allow 'good.progress')\n"
    )
    assert b"--allow" not in ended.out


def test_a_server_gets_the_listed_variables_and_its_own_alone(program: Programs, tmp_path: Path) -> None:
    servers = server("env", "environment", 'env = { OWN = "its own", LANG = "zh_CN.UTF-8" }')
    with desk(program, tmp_path, asks(("env__echo", "{}")), text("done"), servers=servers) as place:
        ended = place.run("ask", "--json", "--yes", "go", env={"TZ": "UTC", "SECRET_OF_MINE": "x", "PYTHONPATH": ""})
    given: dict[str, str] = json.loads(told(place)[0])
    given.pop("LC_CTYPE", None)  # Python's own, where the locale is C
    assert ended.code == 0
    assert sorted(given) == ["HOME", "LANG", "OWN", "PATH", "TERM", "TZ"]
    assert (given["OWN"], given["LANG"]) == ("its own", "zh_CN.UTF-8")


def typed(place: Desk, *lines: str) -> Ended:
    """Ask on a terminal, and type a line at each question."""
    running = place.start("ask", "go", terminal=True)
    running.type("y\n")  # before any question is there: it decides nothing
    for number, line in enumerate(lines, start=1):
        running.until(lambda n=number: running.out.data.count(b"reject with a reason: ") >= n, "a question")
        running.type(line)
    ended = running.wait()
    assert ended.left == ()
    return ended


def test_on_a_terminal_each_call_is_asked_and_the_reason_is_told_to_the_model(
    program: Programs, tmp_path: Path
) -> None:
    wished = asks(("good__echo", '{"a":1}'), ("good__echo", '{"b":2}'), ("good__echo", '{"c":3}'))
    with desk(program, tmp_path, wished, text("so be it"), servers=server("good", "good")) as place:
        ended = typed(place, "maybe\n", "y\n", "n it is  too late\n", "N\n")
        shown_later = place.run("sessions", "show", "last").text
    shown = ended.text.replace("\r\n", "\n")
    assert ended.code == 3
    assert (
        'Approve good.echo? (1 of 3)\n  | {\n  |   "a": 1\n  | }\n  described by the server: The tool echo.\n' in shown
    )
    assert shown.rstrip().endswith("so be it")
    first, second, third = told(place)
    assert first == '{"a":1}'
    assert "it is  too late" in second
    assert "not run" in third
    assert "rejected by you" in shown_later


def test_the_end_of_the_terminals_input_refuses_what_is_open(program: Programs, tmp_path: Path) -> None:
    wished = asks(("good__echo", '{"a":1}'), ("good__echo", '{"b":2}'))
    with desk(program, tmp_path, wished, text("well"), servers=server("good", "good")) as place:
        ended = typed(place, "y\n", "\x04")
    assert ended.code == 3
    first, second = told(place)
    assert first == '{"a":1}'
    assert "Nobody was there" in second


def test_nothing_foreign_acts_on_a_terminal(program: Programs, tmp_path: Path) -> None:
    clears = "\x1b[2J\x1b]52;c;Y3VybA==\x07\u202e\x9b31m"

    async def wish(exchange: Exchange) -> None:
        """Ask for both tools by the names that they were offered under."""
        names: list[str] = re.findall(r'"name": ?"([^"]+)"', exchange.request.body.decode())
        arguments = json.dumps({"a": clears}, ensure_ascii=False)
        await exchange.send(*asks(*((name, arguments) for name in names), words=clears))

    with desk(program, tmp_path, wish, text("end ", clears), servers=loud()) as place:
        ended = typed(place, "y\n", "y\n")
        assert ended.text.count("Approve loud.") == 2
        # What is for people is so in a pipe too, whose other end may be a terminal.
        on_terminals = (
            ("servers", "check"),
            ("sessions", "show", "last"),
            ("sessions", "export", "last", "--format", "markdown"),
        )
        screens = [place.start(*words, terminal=True).wait().out for words in on_terminals]
        screens += [place.run(*words).out for words in on_terminals]
        screens.append(ended.out)
        for screen in screens:
            assert ACTS.search(screen) is None, ACTS.search(screen)
            assert b"Y3VybA==" in screen
        listed = place.start("sessions", "show", "last", "--json", terminal=True).wait().out
        assert ACTS.search(listed) is None
        said = [item.get("text") for item in json.loads(listed)["items"]]
        assert said[-2] == f"end {clears}"  # nothing of it is lost
