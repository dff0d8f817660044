"""`compare`: the same question to several, what is told of each and of all, and how it ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.cli.desk import desk, loud
from tests.kit.bodies import asks, text
from tests.kit.peer import hangs, head
from tests.kit.program import Ended, Programs
from tui_host.errors import JSON

MATH = '[servers.math]\nbundled = "math"\n'


def columns_of(ended: Ended) -> list[dict[str, list[dict[str, JSON]]]]:
    found: dict[str, list[dict[str, list[dict[str, JSON]]]]] = json.loads(ended.out)
    assert list(found) == ["question", "repeat", "columns", "error"]
    return found["columns"]


def test_each_column_is_a_session_whose_bytes_are_those_that_went_over_the_wire(
    program: Programs, tmp_path: Path
) -> None:
    said = (text("one", tokens=(12, 7)), text("<attempt_completion><result>two</result></attempt_completion>"))
    with desk(program, tmp_path, *said) as place:
        ended = place.run(
            "compare", "-", "--json", "--with", "mine/a:b", "--with", "mine/a:b:cline", stdin="天气？".encode()
        )
        listed = place.listed()
        first, second = [column["runs"][0] for column in columns_of(ended)]
        bodies = place.provider.bodies
        table = place.run("sessions", "list").text
    rows = [("mine/a:b  native" in row, "mine/a:b  cline" in row) for row in table.splitlines()[1:]]
    assert rows == [(False, True), (True, False)]
    assert (ended.code, ended.told) == (0, "tui-host: 1 of 2: mine/a:b:native\ntui-host: 2 of 2: mine/a:b:cline\n")
    told = [(run["answer"], run["stop"], run["requests"], run["steps"]) for run in (first, second)]
    assert told == [(answer, "done", 1, 1) for answer in ("one", "two")]
    assert (first["usage"], first["calls"], first["error"]) == ({"input": 12, "output": 7}, [], None)
    assert [json.loads(body)["model"] for body in bodies] == ["a:b", "a:b"]
    for run, body in zip((first, second), bodies, strict=True):
        size: dict[str, int] = json.loads(json.dumps(run["bytes"]))
        assert (size["sent"], size["injected"] > 0, size["received"] > 0) == (len(body), run is second, True)
    assert sorted(str(run["session"]) for run in (first, second)) == sorted(str(each["id"]) for each in listed)


def test_what_varies_between_the_repeats_is_told_and_what_does_not_fit_the_tools_schema(
    program: Programs, tmp_path: Path
) -> None:
    wished = ('{"a":1,"b":2}', '{"a":1,"b":"2"}', '{"a":1}')
    said = [answer for arguments in wished for answer in (asks(("math__add", arguments)), text("well"))]
    said[-2:] = [asks(("math__add", wished[-1]), ("math__power", "{}")), text("so")]
    words = ("compare", "go", "--with", "mine/m", "--repeat", "3", "--allow", "math.*", "--json")
    with desk(program, tmp_path, *said, servers=MATH) as place:
        [column] = columns_of(place.run(*words))
    unknown = {"server": "", "tool": "math__power", "runs": 1, "calls": 1}
    assert column["tools"] == [{"server": "math", "tool": "add", "runs": 3, "calls": 3}, unknown]
    varied = [{"json": json, "runs": 1} for json in ("2", '"2"', None)]
    assert column["varying"] == [{"server": "math", "tool": "add", "call": 1, "argument": "b", "values": varied}]
    assert (column["schema_errors"], column["answers"]) == (
        2,
        [{"answer": "well", "runs": 2}, {"answer": "so", "runs": 1}],
    )
    calls = [call for run in column["runs"] for call in _list(run["calls"])]
    assert [(call["decision"], call["by"]) for call in calls[:3]] == [("approved", "flag")] * 3
    assert calls[1]["schema_errors"] == ["b: '2' is not of type 'number'"]


def test_a_table_tells_the_call_that_was_refused_the_column_that_failed_and_the_option_that_allows(
    program: Programs, tmp_path: Path
) -> None:
    broken = head("401 Unauthorized", kind="application/json") + b'{"error":{"message":"no \\u001b[2J key"}}'
    said = (asks(("loud__shout", '{"a":"\\u001b[2J"}')), text("so be it"), broken)
    with desk(program, tmp_path, *said, servers=loud()) as place:
        ended = place.run("compare", "hi", "--with", "mine/m", "--with", "mine/n:react")
    assert ended.code == 1
    lines = [" ".join(line.split()) for line in ended.text.splitlines()]
    assert lines[:2] == ["mine/m:native mine/n:react", "ended done error"]
    assert "steps 2 1" in lines
    assert 'calls: loud.shout {"a":"\\u001b[2J"} · refused: nobody was there to decide' in lines
    assert [line for line in lines if line.startswith("answer")] == ["answer: so be it", "answer: none"]
    assert "no ␛[2J key" in ended.text
    assert "\x1b" not in ended.text
    assert "a call was refused, because nobody can be asked here (allow with --allow 'loud.shout')" in ended.told


def test_a_signal_ends_it_and_what_was_done_so_far_is_told(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("done"), hangs(head())) as place:
        running = place.start("compare", "hi", "--json", "--repeat", "2", "--with", "mine/m", "--with", "mine/n")
        running.until(lambda: len(place.provider.requests) >= 2, "the second request")
        running.signal(signal.SIGINT)
        ended = running.wait()
    assert (ended.code, ended.left) == (130, ())
    assert [[run["stop"] for run in column["runs"]] for column in columns_of(ended)] == [["done"], ["stopped"]]


def _list(value: JSON) -> list[dict[str, JSON]]:
    assert isinstance(value, list)
    return [item for item in value if isinstance(item, dict)]
