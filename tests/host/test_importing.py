"""Files brought in as sessions: our own come out again line for line, those of others joined and without secrets; or nothing stays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.capture.captured import ASK, CHAT, PIECE, archive, entry
from tests.capture.drafts import FixedClock, any_draft, everything_in, frame
from tui_host.capture.exports import EXPORTS
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.link import Link, Span
from tui_host.capture.record import Draft, Head, Place
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact import Redactor
from tui_host.capture.session import SessionInfo, Source
from tui_host.capture.store.store import Store
from tui_host.capture.words import mapping
from tui_host.errors import JSON, TuiHostError
from tui_host.host.importing import import_files

GOLDEN = Path(__file__).parent.parent / "golden" / "session.jsonl"
SESSION = "20261121-134501-x7k2q"
END: JSON = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "here" / "tui-host.db")
    yield opened
    opened.close()


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "there" / "tui-host.db")
    yield opened
    opened.close()


def exported(store: Store, session: str) -> bytes:
    return b"".join(EXPORTS["jsonl"](store, store.find_session(session)))


def written(folder: Path, name: str, text: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def info(source: Source = "chat", identity: str = SESSION) -> SessionInfo:
    return SessionInfo(
        id=identity,
        title="what's 6 × 5?",
        created_ns=1_795_268_701_000_000_000,
        updated_ns=1_795_268_709_123_456_000,
        turns=2,
        source=source,
        live=False,
        model="demo/openai",
        protocol="native",
    )


def made(store: Store, session: SessionInfo) -> None:
    store.sessions.put_back(session)
    store.run(lambda _: None)


def recorded(store: Store, capture: str, drafts: Sequence[Draft]) -> None:
    recorder = Recorder(store, Redactor(), capture=capture, clock=FixedClock())
    for draft in drafts:
        recorder.append(draft)
    assert recorder.close()


def test_a_session_comes_out_again_line_for_line_also_where_it_is_already_and_is_listed_as_an_import(
    store: Store,
) -> None:
    first = import_files(store, [GOLDEN], Redactor())
    second = import_files(store, [GOLDEN], Redactor())
    assert first.id == SESSION
    assert second.id != first.id
    assert exported(store, first.id) == exported(store, second.id) == GOLDEN.read_bytes()
    assert {each.listed_source for each in store.sessions.list()} == {"import"}
    assert store.chain(first.id, "c1").call == "c1"


def test_what_several_captures_and_other_sessions_have_of_it_comes_out_in_the_same_order(
    store: Store, there: Store, tmp_path: Path
) -> None:
    own, other = SESSION, "20261121-134501-other"
    call = frame(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n', session=own)
    plain = frame(b'{"jsonrpc":"2.0","method":"x"}\n')
    theirs = frame(session=other, connection="math#1")
    request = Draft(
        wire="llm", kind="request", peer="demo", direction="out", exchange="x1", place=call.place, data=b"{}"
    )
    failed = [
        Draft(wire="llm", kind=kind, peer="demo", direction="in", exchange="x1", place=call.place)
        for kind in ("error",)
    ]
    retried = [
        Draft(wire="llm", kind="request", peer="demo", direction="out", exchange="x2", place=call.place, data=b"{}")
    ]
    # in the first capture the session used no server, so that the second one's preamble comes first of all
    recorded(there, "b-capture", [request, *failed, *retried])
    recorded(there, "a-capture", [plain, theirs, plain, call, plain, theirs, plain])
    made(there, info())
    before = exported(there, own)
    assert before.count(b'"preamble":true') == 2

    again = import_files(store, [written(tmp_path, "own.jsonl", before)], Redactor())
    assert exported(store, again.id) == before


def test_what_a_tap_recorded_comes_out_again_line_for_line_and_stays_a_tap_of_one_capture(
    store: Store, there: Store, tmp_path: Path
) -> None:
    recorded(there, SESSION, [frame(session=SESSION, turn=None), frame(session=SESSION, turn=None, direction="in")])
    made(there, info("tap"))
    text = exported(there, SESSION)
    path = written(tmp_path, "tap.jsonl", text)
    for name in (SESSION, f"{SESSION}~2"):
        assert import_files(store, [path], Redactor()).id == name
        assert exported(store, name) == text
        found = store.find_session(name)
        assert (found.source, found.listed_source) == ("tap", "import")
        assert [record.capture for record, _ in store.session_records(name)] == [name] * 2


@given(st.lists(any_draft, min_size=1, max_size=12))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_records_survive_export_and_import(tmp_path: Path, drafts: list[Draft]) -> None:
    number = sum(1 for _ in tmp_path.iterdir())
    there, here = (Store.open(tmp_path / f"{name}{number}" / "tui-host.db") for name in ("there", "here"))
    try:
        recorded(there, "c1", [*drafts, frame(session=SESSION)])
        made(there, info())
        before = exported(there, SESSION)
        again = import_files(here, [written(tmp_path, f"{number}.jsonl", before)], Redactor())
        assert exported(here, again.id) == before
    finally:
        there.close()
        here.close()


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
    links = [json.loads(r.draft.data) for r, _ in store.session_records(imported.id) if r.draft.kind == "link"]
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
    ("line", "words"),
    [
        (b'{"capture":"c1"', "not a record"),
        (
            b'{"capture":"../c1","seq":9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"end"}',
            "the capture's id is none",
        ),
        (b'{"capture":"c1","seq":-9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"end"}', "seq"),
        (
            b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45:01Z","mono":99999999999999999999,"wire":"llm","kind":"end"}',
            "range",
        ),
        (b'{"capture":"c1","seq":9,"time":"2026-11-21T13:45:01Z","wire":"llm","kind":"run"}', "not a record"),
        (b'{"tui_host":1,"session":{}}', "not a session's line"),
        (GOLDEN.read_bytes().splitlines()[-1], "seq does not grow"),
        (b"[" * 100_000, "not a record"),
    ],
)
def test_a_line_that_is_no_record_is_named_and_nothing_stays(
    store: Store, tmp_path: Path, line: bytes, words: str
) -> None:
    path = written(tmp_path, "own.jsonl", GOLDEN.read_bytes() + line + b"\n")
    with pytest.raises(TuiHostError) as error:
        import_files(store, [path], Redactor())
    assert words in error.value.what
    assert error.value.where == "own.jsonl, line 19"
    assert not store.sessions.list()
    assert not store.read("SELECT 1 FROM captures")


@pytest.mark.parametrize("files", [1, 2])
def test_the_logs_of_taps_are_one_story_in_one_file_or_in_two_also_where_one_is_cut(
    store: Store, there: Store, tmp_path: Path, files: int
) -> None:
    function = {"index": 0, "id": "i", "function": {"name": "math__add", "arguments": "{}"}}
    piece = {"choices": [{"index": 0, "delta": {"tool_calls": [function]}, "finish_reason": "tool_calls"}]}
    stream = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}\n'
    url = Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions")
    asked = Draft(wire="llm", kind="request", peer="demo", exchange="x1", direction="out", head=url)
    texts: list[bytes] = []
    for name, drafts in {
        "20261121-134501-model": [
            replace(asked, data=json.dumps(CHAT).encode()),
            replace(asked, kind="response", head=Head(status=200), direction="in"),
            replace(asked, kind="chunk", head=None, data=stream, direction="in"),
            replace(asked, kind="end", head=None, data=b'{"reason": "complete"}', direction="in"),
        ],
        "20261121-134501-serve": [frame(call, session=None), frame(b"[]\n" * 20, session=None)],
    }.items():
        recorded(there, name, [replace(draft, place=Place(session=name)) for draft in drafts])
        made(there, info("tap", name))
        texts.append(exported(there, name))
    texts[1] = texts[1][:-30]
    told = ["tap{}.jsonl ends within a line: it is read up to there."]
    if files == 1:  # in which each of two taps was killed
        texts = [b"".join((texts[0], texts[0].splitlines()[-1][:50], b"\n", texts[1]))]
        told.append("tap{}.jsonl has 1 line broken off before another session begins: left out.")
    paths = [written(tmp_path, f"tap{number}.jsonl", text) for number, text in enumerate(texts)]
    if files == 2:  # the story's export, and a tap's own log
        paths.append(written(tmp_path, "again.jsonl", texts[0]))
    imported = import_files(store, paths, Redactor())
    assert len([r for r, _ in store.session_records(imported.id) if r.draft.kind == "request"]) == 1
    assert imported.notices == tuple(words.format(files - 1) for words in told)
    links = [json.loads(r.draft.data) for r, _ in store.session_records(imported.id) if r.draft.kind == "link"]
    assert [link["relation"] for link in links] == ["asked", "sent"]


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


def test_a_file_cannot_add_to_a_capture_of_this_machine(store: Store, tmp_path: Path) -> None:
    recorded(store, "c1", [frame(session="20261121-134501-here1"), frame()])
    before = [record.draft.data for record in store.records(capture="c1")]
    imported = import_files(store, [GOLDEN], Redactor())
    assert [record.draft.data for record in store.records(capture="c1")] == before
    assert {record.capture for record, _ in store.session_records(imported.id)} == {"c1~2"}
    assert exported(store, imported.id) == GOLDEN.read_bytes()


def test_a_session_of_ours_tells_its_chat_with_its_own_turns_calls_and_decisions(
    store: Store, there: Store, tmp_path: Path
) -> None:
    step = Place(session=SESSION, turn=3, step=1)
    call = Place(session=SESSION, turn=3, step=1, call="3.1.1")
    url = Head(method="POST", url="http://127.0.0.1:9/v1/chat/completions")
    function = {"index": 0, "id": "i", "function": {"name": "math__add", "arguments": "{}"}}
    piece = {"choices": [{"index": 0, "delta": {"tool_calls": [function]}, "finish_reason": "tool_calls"}]}
    stream = f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n".encode()
    link = Link(relation="asked", call="3.1.1", span=Span(exchange="x1"), server="math", tool="add")
    decision = b'{"server":"math","tool":"add","decision":"rejected","by":"person","words":"rejected by you"}'
    model = Draft(wire="llm", kind="request", peer="demo", exchange="x1", place=step)
    recorded(
        there,
        "c1",
        [
            replace(model, head=url, data=json.dumps(CHAT).encode(), direction="out"),
            replace(model, kind="response", head=Head(status=200, headers=(("content-type", "text/event-stream"),))),
            replace(model, kind="chunk", data=stream, direction="in"),
            replace(model, kind="end", data=b'{"reason": "complete"}', direction="in"),
            Draft(wire="host", kind="link", place=call, data=link.to_bytes()),
            Draft(wire="host", kind="decision", place=call, data=decision),
        ],
    )
    made(there, info())
    imported = import_files(store, [written(tmp_path, "own.jsonl", exported(there, SESSION))], Redactor())
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert [(item["item"], item["turn"]) for item in items] == [("user", 3), ("call", 3)]
    told = ("call", "server", "tool", "state", "by", "words")
    assert [items[1][name] for name in told] == ["3.1.1", "math", "add", "rejected", "person", "rejected by you"]


def test_answers_alone_are_turns_whose_questions_are_not_known(store: Store, tmp_path: Path) -> None:
    answer = f"data: {json.dumps(PIECE)}\n\ndata: {json.dumps(END)}\n\ndata: [DONE]\n\n"
    imported = import_files(store, [written(tmp_path, "answers.log", f"first\n{answer}")], Redactor())
    alone = import_files(store, [written(tmp_path, "answer.sse", answer)], Redactor())
    for session in (imported.id, alone.id):
        items = [json.loads(text) for text in store.sessions.item_texts(session)]
        assert [(item["item"], item["turn"], item["text"]) for item in items] == [("answer", 1, "hello")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stream_that_lost_its_empty_lines_has_them_again_and_that_is_told(
    store: Store, tmp_path: Path, end: str
) -> None:
    pieces: list[JSON] = [
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in ("a", "b")),
    ]
    lines = (f"event: {mapping(piece)['type']}{end}data: {json.dumps(piece)}{end}" for piece in pieces)
    imported = import_files(store, [written(tmp_path, "a.sse", "".join(lines))], Redactor())
    items = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert items[0]["text"] == "ab"
    assert imported.notices == ("a.sse has lost the empty lines that end a stream's events: they are put back.",)


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


@pytest.mark.parametrize(
    "error",
    [
        '{"type": "error", "error": {"type": "invalid_request_error", "message": "a header is missing"}}',
        '{"error": "a header is missing"}',
    ],
)
def test_an_error_alone_is_an_answer(store: Store, tmp_path: Path, error: str) -> None:
    imported = import_files(store, [written(tmp_path, "error.json", error)], Redactor())
    (item,) = [json.loads(text) for text in store.sessions.item_texts(imported.id)]
    assert item["what"] == "the answer is an error: a header is missing"


def test_an_answer_alone_is_of_the_model_that_it_names(store: Store, tmp_path: Path) -> None:
    answer = f'data: {json.dumps(PIECE)[:-1]}, "model": "deepseek-chat"}}\n\n'
    imported = import_files(store, [written(tmp_path, "oa.sse", answer)], Redactor())
    assert store.find_session(imported.id).model == "oa/deepseek-chat"


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
    told = b"".join(EXPORTS["markdown"](there, there.find_session(again.id))).decode()
    assert "request · not in the file" in told


@pytest.mark.parametrize("first", ["model", "sums"])
@pytest.mark.parametrize("timed", ["", "model", "sums", "model sums"])
def test_two_logs_are_joined_in_one_order_whichever_of_them_tells_times(
    store: Store, tmp_path: Path, timed: str, first: str
) -> None:
    """No time is made up for the one that tells none, and the years between files tell nothing."""
    model: list[str] = []
    sums: list[str] = []
    said: list[JSON] = []
    for turn in range(3):
        said.append({"role": "user", "content": f"and {turn}?"})
        model.append(json.dumps({"model": "m", "messages": said}))
        function = {"index": 0, "id": f"i{turn}", "function": {"name": "add", "arguments": f'{{"a": {turn % 2}}}'}}
        piece = {"choices": [{"index": 0, "delta": {"tool_calls": [function]}, "finish_reason": "tool_calls"}]}
        model += [f"data: {json.dumps(piece)}", "data: [DONE]"]
        sums.append(json.dumps({**ASK, "id": turn, "params": {"name": "add", "arguments": {"a": turn % 2}}}))
        sums.append(
            f'{{"jsonrpc": "2.0", "id": {turn}, "result": {{"content": [{{"type": "text", "text": "{turn}!"}}]}}}}'
        )
        said.append({"role": "assistant", "tool_calls": [{**function, "type": "function"}]})
        said.append({"role": "tool", "tool_call_id": f"i{turn}", "content": f"{turn}!"})
        model.append(json.dumps({"model": "m", "messages": said}))
        model += [f"data: {json.dumps(END)}", "data: [DONE]"]
        said.append({"role": "assistant", "content": "ok"})

    def log(name: str, lines: Sequence[str], seconds: Sequence[int]) -> Path:
        stamp = "2025-12-01T10:00:{:02} " if name in timed else ""
        told = (stamp.format(second) + line for line, second in zip(lines, seconds, strict=True))
        return written(tmp_path, f"{name}.log", "\n".join(told))

    paths = [
        log("model", model, [10 * turn + at for turn in range(3) for at in (0, 1, 2, 5, 6, 7)]),
        log("sums", sums, [10 * turn + at for turn in range(3) for at in (3, 4)]),
    ]
    os.utime(paths[0], (1, 1))
    imported = import_files(store, sorted(paths, key=lambda path: path.stem != first), Redactor())
    records = [record for record, _ in store.session_records(imported.id)]
    marks = {"request": "asks ", "end": "said ", "frame": "frame "}
    assert "".join(marks.get(each.draft.kind, "") for each in records) == "asks said frame frame asks said " * 3
    assert {(each.draft.wire == "llm", each.mono_ns is None) for each in records if each.draft.kind != "link"} == {
        (True, "model" not in timed),
        (False, "sums" not in timed),
    }
    links = [json.loads(each.draft.data) for each in records if each.draft.kind == "link"]
    frames = [each.seq for each in records if each.draft.kind == "frame"]
    joined = [(link["call"], link["span"]["seq"]) for link in links if link["relation"] in {"sent", "answered"}]
    calls = sorted({link["call"] for link in links if link["relation"] == "asked"})
    assert sorted(joined) == [(call, seq) for call, seq in zip(sorted(calls * 2), frames, strict=True)]
    assert not imported.notices


def test_a_log_without_times_to_which_nothing_belongs_is_told_as_such(store: Store, tmp_path: Path) -> None:
    timed = written(tmp_path, "model.log", f"2025-12-01T10:00:00 {json.dumps(CHAT)}\n")
    imported = import_files(store, [written(tmp_path, "sums.log", json.dumps(ASK)), timed], Redactor())
    assert imported.notices == (
        "sums.log without times: nothing in it belongs to what they have, and so it stands behind the others.",
    )
    assert [r.draft.wire for r, _ in store.session_records(imported.id)] == ["llm", "llm", "mcp"]


def test_a_time_that_no_database_holds_is_left_out_with_a_word_and_what_told_it_is_kept(
    store: Store, tmp_path: Path
) -> None:
    late = entry("https://api.deepseek.com/v1/chat/completions", CHAT, "{}", "9999-12-31T23:59:59.999-05:00")
    later = entry("https://api.deepseek.com/v1/chat/completions", CHAT, "{}", "9999-12-31T23:59:59.999Z")
    imported = import_files(store, [written(tmp_path, "late.har", archive(late, later))], Redactor())
    assert sum("2099" in notice for notice in imported.notices) == 1
    assert {record.mono_ns for record, _ in store.session_records(imported.id)} == {None}
    assert not store.notices


def test_an_import_of_which_nothing_can_be_kept_is_an_error_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path, "x.har", archive(entry("https://api.deepseek.com/v1/chat/completions", CHAT, "{}")))
    full = "CREATE TRIGGER t BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'not here'); END"
    store.run(lambda connection: connection.execute(full).fetchall())
    with pytest.raises(TuiHostError, match="nothing of it could be kept"):
        import_files(store, [path], Redactor())
    assert store.notices == ["something could not be kept: not here"]
    assert not store.sessions.list()
