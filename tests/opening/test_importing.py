"""Files of others become sessions, whose calls and chat are found as a tap's are."""

import gzip
import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.capture.drafts import everything_in
from tests.opening.captured import ASK, ASKS, CALL, CHAT, END, PIECE, archive, entry, read, seen, stream, told
from tests.opening.imports import chat, exported_whole, links, whole, written
from tui_host.capture.ladder.ladder import Ladder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.infer.stories import Stories, TapStory
from tui_host.opening import files
from tui_host.opening.files import in_utf_8, open_file
from tui_host.opening.importing import import_files

CALLED: dict[str, JSON] = {**ASK, "params": {"name": "add", "arguments": {"a": 1}}}
RESULT: JSON = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "11"}]}}
TOLD: JSON = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "11"}],
}  # fmt: skip


def test_an_archive_becomes_a_session_without_a_credential_on_the_disk(store: Store, tmp_path: Path) -> None:
    url = "https://api.deepseek.com/v1/chat/completions?key=sk-in-the-query"
    entries = [
        entry(url, CHAT, stream(ASKS), "2026-11-22T02:13:06Z"),
        entry("https://docs.example/mcp", CALLED, json.dumps(RESULT), "2026-11-22T02:13:07Z"),
        entry(url, TOLD, stream(PIECE, END), "2026-11-22T02:13:08Z"),
    ]
    path = written(tmp_path, "a.har", archive(*entries).replace(b"Bearer sk-1", b"Bearer sk-in-a-header"))
    imported = import_files(store, [path], Redactor([("OTHER", "by-its-value-1")]))
    story = whole(store, imported.id)
    assert links(store, imported.id) == ["asked", "sent", "answered", "told"]
    assert [kind for kind, _ in chat(store, imported.id)] == ["user", "call", "answer"]
    assert (story.info.source, story.info.turns, story.info.model) == ("import", 1, "deepseek/m")
    assert story.info.title.endswith("hi (a.har)")
    (listed,) = Stories(store).listed()
    assert isinstance(listed, TapStory)
    assert listed.listed_source == "import"
    path.unlink()
    assert b"sk-in-a" not in everything_in(tmp_path)
    assert b"sk-in-the-query" not in everything_in(tmp_path)


def test_what_stands_before_a_fault_is_kept(store: Store, tmp_path: Path) -> None:
    url = "https://api.deepseek.com/v1/chat/completions"
    path = written(tmp_path, "a.har", archive(entry(url, CHAT, ""), entry(url, CHAT, ""))[:-20])
    with pytest.raises(TuiHostError, match=r"archive is broken: it is cut off; what stands before is kept as") as error:
        import_files(store, [path], Redactor())
    (info,) = store.sessions.list()
    assert error.value.what.endswith(info.id)
    assert not info.live
    assert [record.kind for record, _ in store.session_records(info.id)].count("request") == 1


def test_several_files_are_one_session_joined_by_their_times(store: Store, tmp_path: Path) -> None:
    model = f"2026-11-20T10:00:00Z {json.dumps(CHAT)}\n2026-11-20T10:00:01Z data: {json.dumps(ASKS)}\n"
    later = f"2026-11-20T10:00:04Z {json.dumps(TOLD)}\n2026-11-20T10:00:05Z data: {json.dumps(END)}\n"
    server = f"2026-11-20T10:00:02Z -> {json.dumps(CALLED)}\n2026-11-20T10:00:03Z <- {json.dumps(RESULT)}\n"
    files = [written(tmp_path, "model.log", model + later), written(tmp_path, "math.log", f'{server}{{"a": 1}}\n')]
    imported = import_files(store, files, Redactor())
    told = ["Left out of math.log: lines that are of neither wire (1, first line 3)."]
    assert (imported.notices, sorted(links(store, imported.id))) == (told, ["answered", "asked", "sent", "told"])
    assert [(each.id, each.title) for each in store.sessions.list()] == [(imported.id, "model.log and math.log")]


@pytest.mark.parametrize(
    ("text", "words", "remedy"),
    [
        (b"", "there is nothing in it", "record with tui-host tap"),
        (b"one\ntwo \xff\n", "lines that are of neither wire (2, first line 1)", "one JSON value a line"),
        (b"\x1f\x8b{{{{{{{{", "gzip", "copy the file again"),
        (b'{"log": {"entries": [{"b"', "broken: it is cut off", "export a HAR"),
        (b'{"log": {"version": "1.2"}}', "no entries", "export a HAR"),
        (archive(entry("https://a.example/", {}, "<html>")), "neither a model nor an MCP server (1)", "export a HAR"),
        (b'[{"role": "user"}]', "not of messages", "put one body in a file"),
        (b'{"tui_host":9,"session":{}}\n', "reads form 1 of record lines, not 9", "the version of tui-host"),
        (b'{"tui_host":1,"session":{"created":"' + b"x" * 10**6 + b'"}}', "no session's line", "export the session"),
    ],
)
def test_a_refusal_says_what_to_do(store: Store, tmp_path: Path, text: bytes, words: str, remedy: str) -> None:
    with pytest.raises(SettingsError, match="this is the database itself"):
        import_files(store, [store.path], Redactor())
    with pytest.raises(TuiHostError) as error:
        import_files(store, [written(tmp_path, "math.log", text)], Redactor())
    assert words.replace("no session's", "not a session's") in error.value.what
    assert error.value.where.startswith("math.log")
    assert remedy in error.value.remedy
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    assert not store.sessions.list()
    assert not store.read("SELECT 1 FROM captures")


def test_a_task_that_cline_kept_is_told_whole_with_its_calls_and_its_own_times(store: Store, tmp_path: Path) -> None:
    call = "<use_mcp_tool><server_name>math</server_name><tool_name>add</tool_name><arguments>{}</arguments></use_mcp_tool>"
    task: list[Mapping[str, JSON]] = [
        {"role": "user", "content": [{"type": "text", "text": "<task>\nsum\n</task>"}]},
        {"role": "assistant", "content": [{"type": "text", "text": call}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "[use_mcp_tool for 'math'] Result:"}, {"type": "text", "text": "3"}],
        },
        {"role": "assistant", "content": "<attempt_completion><result>three</result></attempt_completion>"},
    ]
    imported = import_files(store, [written(tmp_path, "task.json", json.dumps(task))], Redactor())
    assert chat(store, imported.id) == [("user", "sum"), ("call", "3"), ("answer", "three")]
    info = whole(store, imported.id).info
    assert (info.protocol, info.turns) == ("cline", 1)
    records = [record for record, _ in store.session_records(imported.id)]
    assert [record.kind for record in records] == ["request", "response", "chunk", "end"] * 2
    assert records[0].data == b'{"messages":[%s]}' % json.dumps(task[0]).encode()
    assert all(record.mono_ns is None and record.time_ns > 10**18 for record in records)  # the file's time, not 1970
    timed = [{**message, "ts": 1795312800000 + 1000 * number} for number, message in enumerate(task[:3])]
    again = import_files(store, [written(tmp_path, "timed.json", json.dumps(timed, indent=1))], Redactor())
    records = [record for record, _ in store.session_records(again.id)]
    assert [record.kind for record in records] == ["request", "response", "chunk", "end", "request", "end"]
    assert [record.time_ns // 10**9 - 1795312800 for record in records] == [0, 1, 1, 1, 2, 2]


def test_nothing_is_made_up_and_an_export_says_so_too(store: Store, there: Store, tmp_path: Path) -> None:
    asked = written(tmp_path, "body.json", json.dumps(CHAT))
    answered = written(tmp_path, "answer.sse", stream(PIECE, END))
    rows: list[list[tuple[object, ...]]] = []
    for path in (asked, answered):
        text = exported_whole(store, import_files(store, [path], Redactor()).id)
        assert not any({"mono"} & json.loads(line).keys() for line in text.splitlines())
        again = import_files(there, [written(tmp_path, "again.jsonl", text)], Redactor())
        assert exported_whole(there, again.id) == text
        ladder = Ladder()
        ladder.feed([record for record, _ in there.session_records(again.id)])
        rows.append([(it.kind, it.method, it.status, it.mono_ns, it.end_mono_ns, it.missing) for it in ladder.rows])
    assert [(kind, missing) for kind, *_, missing in rows[0]] == [("request", False), ("response", True)]
    assert [(kind, missing) for kind, *_, missing in rows[1]] == [("request", True), ("response", False)]
    assert {row[1:5] for found in rows for row in found} == {("", 0, None, None)}
    assert [text for kind, text in chat(store, "last") if kind == "answer"] == ["hello"]


def test_requests_without_their_answers_tell_the_conversation_that_they_hold_once(store: Store, tmp_path: Path) -> None:
    messages: list[JSON] = []
    lines: list[str] = []
    for number in range(3):
        messages.append({"role": "user", "content": f"question {number}"})
        lines.append(json.dumps({"model": "m", "messages": messages}))
        messages.append({"role": "assistant", "content": f"answer {number}"})
    imported = import_files(store, [written(tmp_path, "log.jsonl", "\n".join(lines))], Redactor())
    texts = [text for kind, text in chat(store, imported.id) if kind != "note"]
    assert texts == ["question 0", "answer 0", "question 1", "answer 1", "question 2"]
    first, *items, end = chat(store, import_files(store, [written(tmp_path, "body.json", lines[-1])], Redactor()).id)
    assert first == ("note", "4 earlier messages were not captured: the request repeats them")
    assert [text for _, text in items] == texts
    assert end == ("note", "the answer is not in the file")


# As they come: packed, in other codings, or of no format that can be read.

ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"2026-11-20 10:00:00 请求 {ASKED}\n2026-11-20 10:00:01 响应 data: {json.dumps(PIECE)}\n2026-11-20 10:00:01 响应 data: [DONE]\n"


def test_a_log_is_read_as_its_text_is_in_whatever_coding_and_packed_or_not() -> None:
    plain = f"{json.dumps(CHAT)}\ndata: {json.dumps(PIECE)}\n"
    packed = gzip.compress(plain.encode())
    for data in (packed, plain.encode("utf-16"), b"\xef\xbb\xbf" + plain.encode()):
        assert told(seen(data)) == told(seen(plain)) != []
        assert not in_utf_8("a.log", data).coding
    assert told(seen(packed + packed)) == told(seen(plain * 2))
    with pytest.raises(TuiHostError, match="gzip cannot unpack it"):
        seen(packed[:-9])
    assert [record.data for record in seen(LOG.encode("gb18030"))] == [record.data for record in seen(LOG)]
    assert in_utf_8("a.log", LOG.encode("gbk")).coding.startswith("a.log is in GBK")
    assert not in_utf_8("a.log", LOG.encode()[:-1]).coding
    wrong = b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}'
    for lead in (b"", b"2026-11-20 10:00:00 POST /v1/chat/completions "):
        found, wires = read(lead + wrong + b"\n")
        assert (found[0].data, wires.left_out) == (wrong, {})
    assert "no UTF-8" in in_utf_8("a.log", wrong).coding


def test_a_file_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        with pytest.raises(SettingsError, match=r"No such file.*name a file that you can read"):
            open_file(tmp_path / "none", stack)
        with pytest.raises(SettingsError, match=r"Is a directory.*name a file in it"):
            open_file(tmp_path, stack)
        monkeypatch.setattr(files, "_PIPE_LIMIT", 5)
        with pytest.raises(SettingsError, match="put it into a file"):
            open_file(Path("/dev/zero"), stack)
