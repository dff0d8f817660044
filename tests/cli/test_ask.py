"""`ask`: what it prints, how it ends for every way in which a turn can go, how its calls are decided; and `compare`, which asks several."""

import hashlib
import json
import re
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.desk import KEY, Desk, calls_of, desk, loud, rule, server
from tests.kit.bodies import DONE, asks, chunk, text
from tests.kit.peer import Answer, Exchange, hangs, head
from tests.kit.program import Ended, Programs
from tui_host.errors import JSON


@pytest.fixture(scope="module")
def plain(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("plain")) as found:
        yield found


def answer(place: Desk, *answers: Answer) -> None:
    place.provider.answers[:] = answers


def test_the_answer_alone_stands_on_standard_output_and_a_question_comes_from_standard_input(plain: Desk) -> None:
    answer(plain, text("Hello ", "\x1b[31mred\x1b[0m ", "\u202eworld.\n\n"))
    ended = plain.ask("-", stdin="第一行\nsecond line\n".encode())
    assert (ended.code, ended.out, ended.err) == (0, "Hello ␛[31mred␛[0m ⟨202e⟩world.\n\n\n".encode(), "")
    assert plain.provider.messages(-1) == [{"role": "user", "content": "第一行\nsecond line\n"}]


def test_the_answers_that_a_question_of_the_model_proposes_are_told(plain: Desk) -> None:
    options = '<options>["东京", "\\u001b[31mParis"]</options>'
    asks_back = text(f"<ask_followup_question><question>Where?</question>{options}</ask_followup_question>")
    answer(plain, asks_back, asks_back)
    ended = plain.ask("--protocol", "cline", "weather?")
    assert (ended.code, ended.out) == (0, b"Where?\n")
    assert "the model asks, with proposed answers: 东京 · ␛[31mParis (reply with: tui-host ask --session 2" in ended.err
    as_json = plain.ask("--json", "--protocol", "cline", "weather?").json
    assert as_json["question"] == {"text": "Where?", "options": ["东京", "\x1b[31mParis"]}


def test_a_turn_that_is_done_is_one_object(plain: Desk) -> None:
    answer(plain, text("all ", "good", tokens=(12, 7)))
    before = len(plain.provider.requests)
    ended = plain.ask("--json", "well?")
    (request,) = plain.provider.requests[before:]  # and none outside the turn
    assert request.data.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    found = ended.json
    assert list(found) == ["session", "turn", "answer", "stop", "steps", "calls", "usage", "error"]
    assert (ended.code, ended.err) == (0, "")
    assert plain.listed()[0]["id"] == found["session"]
    assert list(found.values())[1:] == [1, "all good", "done", 1, [], {"input": 12, "output": 7}, None]


def test_a_session_goes_on_with_what_was_said_and_with_the_model_that_is_typed(plain: Desk) -> None:
    answer(plain, text("Ann."), text("You said Ann."))
    first = plain.ask("--json", "I am Ann").json
    assert isinstance(first["session"], str)
    second = plain.ask("--json", "who am I?", "--session", first["session"][:-1], "--model", "mine/other").json
    assert (second["session"], second["turn"]) == (first["session"], 2)
    assert plain.provider.messages(-1) == [
        {"role": "user", "content": "I am Ann"},
        {"role": "assistant", "content": "Ann."},
        {"role": "user", "content": "who am I?"},
    ]
    assert json.loads(plain.provider.bodies[-1])["model"] == "other"
    assert plain.listed()[0]["turns"] == 2


@pytest.mark.parametrize(
    ("said", "stop", "words"),
    [
        (head("401 No", kind="application/json") + b'{"error":{"message":"no such key"}}', "error", "no such key"),
        (head() + chunk({"content": "so far"}) + chunk(finish="length") + DONE, "length", "token limit"),
    ],
)
def test_what_is_not_done_ends_with_one_and_says_why(plain: Desk, said: bytes, stop: str, words: str) -> None:
    answer(plain, said)
    ended = plain.ask("--json", "well?")
    found = ended.json
    assert (ended.code, found["stop"], found["steps"]) == (1, stop, 1)
    assert (words in ended.err, ended.err.count("\n")) == (True, 1)
    if isinstance(found["error"], dict):
        assert sorted(found["error"]) == ["remedy", "what", "where"]
        assert words in str(found["error"]["what"])
    else:
        assert found["answer"] == "so far"


def test_what_the_model_needs_is_told_before_any_server_is_waited_for(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, servers=server("mute", "no-initialize")) as place:
        preset = place.ask("--json", "hi", "--model", "openai/gpt-4.1-mini")
        (tmp_path / "other.toml").write_text('model = "openai/gpt-4.1-mini"\n')
        chosen = place.program.run("ask", "hi", "--config", tmp_path / "other.toml", "--data-dir", place.data)
        assert not place.data.exists()
    assert [(ended.code, ended.out) for ended in (preset, chosen)] == [(2, b"")] * 2
    mistake = "providers.openai: OPENAI_API_KEY is not set (set the environment variable"
    assert preset.err.startswith(f"tui-host: {mistake}")
    assert chosen.err.startswith(f"tui-host: {tmp_path}/other.toml: model: {mistake}")  # the file that chooses it


def test_servers_that_failed_are_told_and_harm_no_other(program: Programs, tmp_path: Path) -> None:
    unset = '[servers.bare]\ncommand = "true"\nenv = { TOKEN = "${NOT_THERE}" }\n'
    servers = unset + server("exits", "exits") + server("good", "good")
    with desk(program, tmp_path, asks(("good__echo", "{}")), text("well"), servers=servers) as place:
        ended = place.ask("--json", "--yes", "hi")
    assert (ended.code, ended.json["answer"]) == (0, "well")
    remedy = "set the environment variable NOT_THERE and start again"
    assert ended.told.splitlines() == [
        f"tui-host: bare is not connected: servers.bare.env.TOKEN: NOT_THERE is not set ({remedy})",
        "tui-host: exits is not connected: exited 4",
    ]


def test_records_that_could_not_be_kept_are_told(program: Programs, tmp_path: Path) -> None:
    # Words that do not repeat: however they are packed, they are more than the database may grow to.
    words = [hashlib.sha256(str(number).encode()).hexdigest() + " " for number in range(4000)]
    with desk(program, tmp_path, text(*words)) as place:
        ended = place.start("ask", "--json", "hi", file_limit=220_000).wait()
    assert (ended.code, ended.json["answer"]) == (0, "".join(words))
    # Where coverage is measured its file is over the limit too, and it says so at the end.
    told = [line for line in ended.err.splitlines() if line.startswith("tui-host: ")]
    assert len(told) == 1
    assert re.fullmatch(r"tui-host: [\d,]+ records were not stored: the database cannot be written: .*", told[0])
    assert ended.err.startswith(told[0])


def test_nothing_is_left_on_the_disk_without_a_record(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("unheard")) as place:
        ended = place.ask("--json", "--no-record", "hush")
        assert (ended.code, ended.json["answer"], ended.err) == (0, "unheard", "")
        assert not place.data.exists()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["config.toml"]


def test_a_credential_is_on_no_output_and_in_no_file(program: Programs, tmp_path: Path) -> None:
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    refused = head("401 Unauthorized", kind="application/json") + echo
    calls = asks(("env__echo", json.dumps({"key": KEY})))
    servers = server("env", "environment", 'env = { TOKEN = "${MY_KEY}" }')
    with desk(program, tmp_path, refused, calls, text("the key is ", KEY), servers=servers) as place:
        told = [place.ask("--json", "hi"), place.ask("--json", "--yes", "which key?")]
        told += [place.run("sessions", verb, "last") for verb in ("show", "export")]
        assert [ended.code for ended in told] == [1, 0, 0, 0]
        # It was really there: in the request, in the call's arguments and in the server's environment.
        assert KEY.encode() in place.provider.requests[0].data
        assert KEY.encode() not in place.files()
        for ended in told:
            assert KEY not in ended.text + ended.err
            assert "⟨secret:MY_KEY⟩" in ended.text


def test_a_session_that_another_process_writes_is_live_and_is_left_alone(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, hangs(head()), text("later")) as place:
        running = place.start("ask", "--json", "first")
        running.until(lambda: place.provider.requests, "a request")
        running.until(lambda: b"first" in place.files(), "the session on the disk")
        assert [session["live"] for session in place.listed()] == [True]
        second = place.ask("--json", "second", "--session", "last")
        assert (second.code, second.json["stop"]) == (1, "error")
        assert "another process has this session open" in second.err
        deleted = place.run("sessions", "delete", "last")
        assert (deleted.code, deleted.out) == (1, b"")
        assert "another process writes this session" in deleted.err
        running.signal(signal.SIGTERM)
        session = running.wait().json["session"]
        # Its process has ended: others may go on with it.
        assert place.ask("third", "--session", str(session)).out == b"later\n"


def test_files_go_along(plain: Desk, tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "notes.txt").write_text("one\n", "utf-8")
    answer(plain, text("I see."))
    files = ("--attach", str(tmp_path / "dot.png"), "--attach", str(tmp_path / "notes.txt"))
    assert plain.ask(*files, "look").code == 0
    content = json.loads(plain.provider.bodies[-1])["messages"][-1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text"]
    assert content[0]["text"] == "look\n\n[dot.png: image/png, 8 B]\n[notes.txt: text, 4 B]"
    assert content[1]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
    assert content[2]["text"] == '\n\n<file name="notes.txt">\none\n</file>'


# Calls

ACTS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae")
"""What acts on a terminal, but line ends (which a terminal's driver writes as CR LF)."""


def told(place: Desk) -> list[str]:
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
        ("good__progress", '{"a":1}'),
    )
    servers = server("good", "good") + server("bad", "rpc-error") + server("other", "good")
    rules = rule("other.*", "deny") + rule("good.progress", "ask") + rule("good.progress", "allow")
    with desk(program, tmp_path, wished, text("so be it"), servers=servers, more=rules) as place:
        ended = place.ask("--json", "--allow", "good.slow", "--allow", "*.echo", "go")
        answers = told(place)

    assert (ended.code, ended.json["stop"], ended.json["steps"]) == (3, "done", 2)
    calls = calls_of(ended)
    assert [(call["tool"], call["decision"], call["by"], call["sent"]) for call in calls] == [
        ("slow", "approved", "flag", {"seconds": 0.3}),
        ("echo", "approved", "flag", {"deep": {"ä": [1, 2.5]}}),
        ("good__nothing", "invalid", "default", None),
        ("echo", "invalid", "default", None),
        ("echo", "approved", "flag", {}),
        ("progress", "rejected", "default", None),
        ("echo", "rejected", "rule", None),
        ("progress", "rejected", "default", None),
    ]
    assert [call["asked"] for call in calls[1:4]] == [{"deep": {"ä": [1, 2.5]}}, '{"a":1}', '{"a":']
    assert [call["result"] for call in (calls[0], calls[4])] == [{"content": [{"type": "text", "text": "slept"}]}, None]
    assert [call["is_error"] for call in (calls[0], calls[4])] == [False, True]
    assert float(str(calls[0]["ms"])) >= 300
    assert (len(answers), answers[0], json.loads(answers[1])) == (8, "slept", {"deep": {"ä": [1, 2.5]}})
    for call, answered, reason in zip(calls[2:5], answers[2:5], ("no tool", "not JSON", "on fire"), strict=True):
        assert (reason in str(call["reason"]), reason in answered) == (True, True)
    assert (calls[5]["reason"], "Nobody was there" in answers[5]) == (None, True)
    # What nobody could be asked is told once for each tool, with the option that allows it.
    assert ended.told == (
        "tui-host: good.progress: 2 calls were refused, because nobody can be asked here (allow with --allow 'good.progress')\n"
    )
    assert b"--allow 'good" not in ended.out


def typed(place: Desk, *lines: str) -> Ended:
    running = place.start("ask", "go", terminal=True)
    running.type("y\n")  # before any question is there: it decides nothing
    for number, line in enumerate(lines, start=1):
        running.until(lambda n=number: running.out.data.count(b"reject with a reason: ") >= n, "a question")
        running.type(line)
    ended = running.wait()
    assert ended.left == ()
    return ended


def test_on_a_terminal_each_call_is_asked_and_the_model_told_the_reason(program: Programs, tmp_path: Path) -> None:
    wished = asks(*(("good__echo", f'{{"a":{number}}}') for number in range(1, 5)))
    with desk(program, tmp_path, wished, text("so be it"), servers=server("good", "good")) as place:
        ended = typed(place, "maybe\n", "y\n", "n it is  too late\n", "N\n", "\x04")
        answers = told(place)
        shown_later = place.run("sessions", "show", "last").text
    shown = ended.text.replace("\r\n", "\n")
    assert ended.code == 3
    assert (
        'Approve good.echo? (1 of 4)\n  | {\n  |   "a": 1\n  | }\n  described by the server: The tool echo.\n' in shown
    )
    assert "\nso be it\n" in shown
    for answered, words in zip(answers, ('{"a":1}', "it is  too late", "not run", "Nobody was there"), strict=True):
        assert words in answered
    assert "rejected by you" in shown_later


def test_nothing_foreign_acts_on_a_terminal(program: Programs, tmp_path: Path) -> None:
    clears = "\x1b[2J\x1b]52;c;Y3VybA==\x07\u202e\x9b31m"

    async def wish(exchange: Exchange) -> None:
        names: list[str] = re.findall(r'"name": ?"([^"]+)"', exchange.request.body.decode())
        arguments = json.dumps({"a": clears}, ensure_ascii=False)
        await exchange.send(*asks(*((name, arguments) for name in names), words=clears))

    with desk(program, tmp_path, wish, text("end ", clears), servers=loud()) as place:
        ended = typed(place, "y\n", "y\n")
        assert ended.text.count("Approve loud.") == 2
        # What is for people is so in a pipe too, whose other end may be a terminal.
        commands = ("servers check", "sessions show last", "sessions export last --format markdown")
        on_terminals = [command.split() for command in commands]
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


# `compare`: the same question to several, what is told of each and of all, and how it ends.

MATH = '[servers.math]\nbundled = "math"\n'


def columns_of(ended: Ended) -> list[dict[str, list[dict[str, JSON]]]]:
    found: dict[str, list[dict[str, list[dict[str, JSON]]]]] = json.loads(ended.out)
    assert list(found) == ["question", "repeat", "columns", "error"]
    return found["columns"]


def test_each_column_is_a_session_whose_bytes_went_over_the_wire(program: Programs, tmp_path: Path) -> None:
    said = (text("one", tokens=(12, 7)), text("<attempt_completion><result>two</result></attempt_completion>"))
    with desk(program, tmp_path, *said) as place:
        ended = place.run(
            "compare", "-", "--json", "--with", "mine/a:b", "--with", "mine/a:b:cline", stdin="天气？".encode()
        )
        listed = place.listed()
        first, second = [column["runs"][0] for column in columns_of(ended)]
        bodies, table = place.provider.bodies, place.run("sessions", "list").text
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


def test_what_varies_between_repeats_is_told_and_what_does_not_fit_a_schema(program: Programs, tmp_path: Path) -> None:
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


def test_a_table_tells_what_was_refused_what_failed_and_what_allows_it(program: Programs, tmp_path: Path) -> None:
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
