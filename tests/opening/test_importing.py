"""Files of others become sessions: what is joined, on which clock, and how much."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.capture.drafts import everything_in
from tests.capture.held import is_held
from tests.opening.captured import ASK, CHAT, PIECE, archive, entry
from tests.opening.imports import GOLDEN, SESSION, exported, written
from tests.steps import steps
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.json.narrowing import mapping
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.imported_records import turns_of
from tui_host.capture.store.store import Store
from tui_host.errors import JSON, TuiHostError
from tui_host.opening import importing
from tui_host.opening.import_types import Progress
from tui_host.opening.importing import import_files

END: JSON = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def test_an_archive_becomes_a_session_with_its_calls_joined_and_no_credential_on_the_disk(
    store: Store, tmp_path: Path
) -> None:
    called: list[dict[str, object]] = [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    ]
    piece = {
        "choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **called[0]}]}, "finish_reason": "tool_calls"}]
    }
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "11"}]}}
    told = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": called},
        {"role": "tool", "tool_call_id": "call_1", "content": "11"},
    ]
    url = "https://api.deepseek.com/v1/chat/completions?key=sk-in-the-query"
    entries = [
        entry(url, CHAT, f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n", "2026-11-22T02:13:06Z"),
        entry("https://docs.example/mcp", ASK, json.dumps(result), "2026-11-22T02:13:07Z"),
        entry(
            url,
            json.loads(json.dumps({"model": "m", "messages": told})),
            f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(END)}\n\n",
            "2026-11-22T02:13:08Z",
        ),
    ]
    path = written(tmp_path, "a.har", archive(*entries).replace(b"Bearer sk-1", b"Bearer sk-in-a-header"))
    imported = import_files(store, [path], Redactor([("OTHER", "by-its-value-1")]))
    links = [json.loads(r.data) for r, _ in store.session_records(imported.id) if r.kind == "link"]
    assert [(link["relation"], link["known"]) for link in links] == [
        ("asked", "id"),
        ("sent", "value"),
        ("answered", "value"),
        ("told", "id"),
    ]
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert [item["item"] for item in items] == ["user", "call", "answer"]
    found = store.find_session(imported.id)
    assert (found.source, found.turns, found.model) == ("import", 1, "deepseek/m")
    path.unlink()
    assert b"sk-in-a" not in everything_in(tmp_path)
    assert b"sk-in-the-query" not in everything_in(tmp_path)


@pytest.mark.parametrize(
    ("text", "words", "remedy"),
    [
        (
            '{"tui_host":9,"session":{}}\n',
            "reads form 1 of record lines, not 9",
            "the version of tui-host that wrote it",
        ),
        ('{"log":{"entries":[{"a":1},{"b"', "this HTTP archive is broken", "capture what a host says"),
    ],
)
def test_a_file_of_which_nothing_is_read_is_told_with_what_is_broken_and_what_to_do(
    store: Store, tmp_path: Path, text: str, words: str, remedy: str
) -> None:
    with pytest.raises(TuiHostError) as error:
        import_files(store, [written(tmp_path, "file", text)], Redactor())
    assert words in error.value.what
    assert remedy in error.value.remedy


def test_an_archive_of_other_things_is_told_as_such_and_nothing_stays(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "a.har", archive(entry("https://a.example/", {}, "<html>")))
    with pytest.raises(TuiHostError, match=r"no exchange .* exchanges with neither a model nor an MCP server \(1\)"):
        import_files(store, [path], Redactor())
    assert not store.sessions.list()
    assert not store.read("SELECT 1 FROM captures")


def test_who_waits_for_an_import_has_its_session_from_the_first_record_on_and_what_was_read_if_it_fails(
    store: Store, tmp_path: Path
) -> None:
    seen: list[tuple[str, bool]] = []

    def look(session: str) -> None:
        found = store.sessions.get(session)
        seen.append((session, found is not None and found.live))

    log = written(tmp_path, "a.log", f"{json.dumps(ASK)}\n" * 3)
    whole = import_files(store, [log], Redactor(), begun=look)
    assert [(each.id, each.live, each.title) for each in store.sessions.list()] == [(whole.id, False, "a.log")]
    own = GOLDEN.read_bytes()
    with pytest.raises(TuiHostError, match="seq does not grow"):
        import_files(store, [written(tmp_path, "b.jsonl", own + own.splitlines()[-1])], Redactor(), begun=look)
    assert seen == [(whole.id, True), (SESSION, True)]
    assert {each.id: each.live for each in store.sessions.list()} == {whole.id: False, SESSION: False}
    assert len(list(store.session_records(SESSION))) == len(own.splitlines()) - 1
    with pytest.raises(TuiHostError, match="this is none"):
        import_files(store, [written(tmp_path, "c.txt", "two eggs")], Redactor(), begun=look)
    assert len(store.sessions.list()) == len(seen) == 2


def test_all_records_are_kept_before_turns_and_calls_are_looked_for(store: Store, tmp_path: Path) -> None:
    log = written(tmp_path, "a.log", f"{json.dumps(CHAT)}\ndata: {json.dumps(END)}\n\n{json.dumps(ASK)}\n")
    sessions: list[str] = []
    kept: list[Ladder] = []

    def look(progress: Progress) -> None:
        if progress.done == progress.expected:
            kept.append(Ladder())
            kept[-1].feed(record for record, _ in store.session_records(sessions[0]))

    imported = import_files(store, [log], Redactor(), look, sessions.append)
    rows = [row.turn for row in kept[-1].rows]
    kept[-1].put_into_turns(turns_of(store, imported.id))
    assert (rows, [row.turn for row in kept[-1].rows]) == ([0, 0, 0], [1, 1, 0])
    assert [kept[-1].sections.turn_of(number) for number in range(3)] == [1, 1, 0]


def test_answers_alone_are_turns_whose_questions_are_not_known(store: Store, tmp_path: Path) -> None:
    answer = f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(END)}\n\ndata: [DONE]\n\n"
    imported = import_files(store, [written(tmp_path, "answers.log", f"first\n{answer}")], Redactor())
    alone = import_files(store, [written(tmp_path, "answer.sse", answer)], Redactor())
    for session in (imported.id, alone.id):
        items = [json.loads(text) for text in store.sessions.item_texts(session)]
        assert [(item["item"], item["turn"], item["text"]) for item in items] == [("answer", 1, "hello")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_that_lost_its_empty_lines_is_read_as_a_log(store: Store, tmp_path: Path, end: str) -> None:
    pieces: list[JSON] = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in ("a", "b")),
    ]
    lines = (f"event: {mapping(piece)['type']}{end}data: {json.dumps(piece)}{end}" for piece in pieces)
    imported = import_files(store, [written(tmp_path, "a.sse", "".join(lines))], Redactor())
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert items[0]["text"] == "ab"


def test_a_task_that_cline_kept_is_told_whole_with_its_calls_and_no_model_that_it_does_not_name(
    store: Store, tmp_path: Path
) -> None:
    call = "<use_mcp_tool><server_name>math</server_name><tool_name>add</tool_name><arguments>{}</arguments></use_mcp_tool>"
    task = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nsum\n</task>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": call}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "[use_mcp_tool for 'math'] Result:"}, {"type": "text", "text": "3"}],
        },
        {"role": "assistant", "content": "<attempt_completion><result>three</result></attempt_completion>"},
    ]
    imported = import_files(store, [written(tmp_path, "task.json", json.dumps(task))], Redactor())
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert [item["item"] for item in items] == ["user", "call", "answer"]
    assert [items[0]["text"], items[1]["tool"], items[1]["result"], items[2]["text"]] == [
        "sum",
        "math__add",
        "3",
        "three",
    ]
    found = store.find_session(imported.id)
    assert (found.model, found.protocol, found.turns) == ("", "cline", 1)


def test_what_a_file_does_not_have_is_not_made_up_and_stays_so_when_it_is_exported_and_brought_in_again(
    store: Store, there: Store, tmp_path: Path
) -> None:
    asked = written(tmp_path, "body.json", json.dumps(CHAT))
    answered = written(tmp_path, "answer.sse", f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(END)}\n\n")
    rows: list[list[tuple[object, ...]]] = []
    for path in (asked, answered):
        text = exported(store, import_files(store, [path], Redactor()).id)
        assert not any({"mono"} & json.loads(line).keys() for line in text.splitlines())
        again = import_files(there, [written(tmp_path, "again.jsonl", text)], Redactor())
        assert exported(there, again.id) == text
        ladder = Ladder()
        ladder.feed([record for record, _ in there.session_records(again.id)])
        rows.append(
            [(row.kind, row.method, row.status, row.mono_ns, row.end_mono_ns, row.missing) for row in ladder.rows]
        )
    assert [(kind, missing) for kind, *_, missing in rows[0]] == [("request", False), ("response", True)]
    assert [(kind, missing) for kind, *_, missing in rows[1]] == [("request", True), ("response", False)]
    assert {row[1:5] for found in rows for row in found} == {("", 0, None, None)}
    told = b"".join(FORMATS["markdown"].export(there, there.find_session(again.id))).decode()
    assert "request · not in the file" in told


def test_a_time_that_no_database_holds_is_left_out_with_a_word_and_what_told_it_is_kept(
    store: Store, tmp_path: Path
) -> None:
    late = entry("https://api.deepseek.com/v1/chat/completions", CHAT, "{}", "9999-12-31T23:59:59.999-05:00")
    later = entry("https://api.deepseek.com/v1/chat/completions", CHAT, "{}", "9999-12-31T23:59:59.999Z")
    imported = import_files(store, [written(tmp_path, "late.har", archive(late, later))], Redactor())
    assert sum("2099" in notice for notice in imported.notices) == 1
    assert {record.mono_ns for record, _ in store.session_records(imported.id)} == {None}
    assert not store.notices


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_the_database_itself_is_refused_before_it_is_opened(store: Store, tmp_path: Path, ending: str) -> None:
    """To close it would give up the locks by which SQLite holds it."""
    own = store.path.with_name(store.path.name + ending)
    link = tmp_path / "link.jsonl"
    link.symlink_to(own)
    with pytest.raises(TuiHostError, match="the database itself"):
        import_files(store, [link], Redactor())
    assert is_held(store.path)


# Clocks.


CALLS = 8
TOOLS: JSON = [{"type": "function", "function": {"name": "get_status", "parameters": {"type": "object"}}}]


def stamped(seconds: float, arrow: str, value: JSON) -> str:
    at = datetime(2026, 11, 20, 10) + timedelta(seconds=seconds)  # noqa: DTZ001 - as logs have it
    return f"{at.isoformat(timespec='milliseconds')} {arrow} {json.dumps(value)}"


def logs(off: float, chance: random.Random, pause: float = 0.0, same: int = 2) -> tuple[str, str]:
    """What a proxy before the model and a wrapper of the server wrote of a host that asks again, and is told the same so many times."""
    model: list[str] = []
    server: list[str] = []
    messages: list[JSON] = [{"role": "user", "content": "watch the job until it is done"}]
    now = 0.0
    for number in range(CALLS):
        text = f"{number // same * 12} % done"
        call: JSON = {
            "id": f"call_{number}x{chance.randrange(10**9)}",
            "type": "function",
            "function": {"name": "get_status", "arguments": "{}"},
        }
        said: JSON = {"role": "assistant", "content": None, "tool_calls": [call]}
        model.append(stamped(now, "->", {"model": "gpt-x", "messages": messages, "tools": TOOLS}))
        now += pause + chance.uniform(0.8, 1.5)
        answer: JSON = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": said}]}
        model.append(stamped(now, "<-", answer))
        asked: JSON = {"method": "tools/call", "params": {"name": "get_status", "arguments": {}}}
        server.append(stamped(now + 0.01 + off, "->", {"jsonrpc": "2.0", "id": number, **asked}))
        now += chance.uniform(0.05, 0.2)
        brought: JSON = {"content": [{"type": "text", "text": text}]}
        server.append(stamped(now + off, "<-", {"jsonrpc": "2.0", "id": number, "result": brought}))
        now += 0.02
        messages = [*messages, said, {"role": "tool", "tool_call_id": call["id"], "content": text}]
    model.append(stamped(now, "->", {"model": "gpt-x", "messages": messages, "tools": TOOLS}))
    return "\n".join(model), "\n".join(server)


def joined(store: Store, folder: Path, texts: tuple[str, str]) -> list[tuple[int, int]]:
    """The calls of two logs, by their numbers, with the numbers of what was found to carry and to answer them."""
    paths = [written(folder, name, text) for name, text in zip(("model.log", "mcp.log"), texts, strict=True)]
    imported = import_files(store, paths, Redactor())
    numbers: dict[int, int] = {}
    exchanges: list[str | None] = []
    links: list[tuple[str, int]] = []
    for record, _ in store.session_records(imported.id):
        if record.kind == "frame":
            numbers[record.seq] = json.loads(record.data)["id"]
        elif record.kind == "request":
            exchanges.append(record.exchange)
        elif record.kind == "link":
            link = json.loads(record.data)
            if link["relation"] in {"sent", "answered"}:
                links.append((link["call"], link["span"]["seq"]))
    return [(exchanges.index(call.rsplit(".", 2)[1]), numbers[seq]) for call, seq in links]


@pytest.mark.parametrize("off", [-2.5, -1.2, 0.0, 1.2, 2.5])
def test_no_call_of_a_log_is_given_a_frame_that_fits_a_clock_which_is_off(
    store: Store, tmp_path: Path, off: float
) -> None:
    for seed in range(4):
        found = joined(store, tmp_path, logs(off, random.Random(seed)))  # noqa: S311
        assert all(asked == sent for asked, sent in found), found
        assert off or len(found) == 2 * CALLS


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (0.0, []),
        (3600.0, ["The servers' times are taken to be 3,600 s later than the model's, so that the calls fit, if it was one run."]),
        (-3625.0, ["The servers' times are taken to be 3,625 s earlier than the model's, so that the calls fit, if it was one run."]),
        (864_000.0, []),
    ],
)  # fmt: skip
def test_that_clocks_were_taken_to_differ_is_told_and_what_another_day_brought_is_not_joined(
    store: Store, tmp_path: Path, off: float, words: list[str]
) -> None:
    texts = logs(off, random.Random(1), 2.0, same=1)  # noqa: S311
    paths = [written(tmp_path, name, text) for name, text in zip(("model.log", "mcp.log"), texts, strict=True)]
    assert list(import_files(store, paths, Redactor()).notices) == words
    assert (len(joined(store, tmp_path, texts)) > 0) == (off < 864_000)


# Sizes.


ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}})
LOGS = {
    "calls of one id that nobody answers": [f">>> {json.dumps(ASK)}"],
    "calls of one id, each answered": [f">>> {json.dumps(ASK)}", f"<<< {ANSWER}"],
    "requests that say the same": [json.dumps(CHAT)],
    "exchanges that say the same": [json.dumps(CHAT), f"data: {json.dumps(PIECE)}", "data: [DONE]"],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LOGS)
def test_twice_as_long_a_log_takes_twice_as_many_steps_however_its_records_are_alike(tmp_path: Path, name: str) -> None:
    def taken(size: int) -> int:
        store = Store.open(tmp_path / f"{size}" / "tui-host.db")
        log = written(tmp_path, f"{size}.log", "\n".join(LOGS[name] * (size // len(LOGS[name]))))
        found = steps(lambda: import_files(store, [log], Redactor()))
        store.close()
        return found

    taken(30)  # what is read once in a process's life
    assert taken(900) < 2.3 * taken(450)


def test_a_chat_that_tells_the_beginning_alone_ends_with_a_line_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(tmp_path / "tui-host.db")
    asked = [json.dumps({"model": "m", "messages": [{"role": "user", "content": f"question {i}"}]}) for i in range(9)]
    log = written(tmp_path, "model.log", "\n".join(asked))
    own = written(tmp_path, "own.jsonl", exported(store, import_files(store, [log], Redactor()).id))
    for path in (log, own):
        whole = import_files(store, [path], Redactor())
        monkeypatch.setattr(importing, "JOINED_LIMIT", 4 * len(asked[0]))
        part = import_files(store, [path], Redactor())
        monkeypatch.undo()
        before, after = ([json.loads(text) for text in store.sessions.item_texts(each.id)] for each in (whole, part))
        assert after[-1]["item"] == "note"
        assert "The chat tells the first" in after[-1]["what"]
        assert sum(item["item"] == "user" for item in before) == 9
        assert 0 < sum(item["item"] == "user" for item in after) < 9
        assert (whole.notices, part.notices) == ((), (importing.TOLD_IN_PART,))
    store.close()
