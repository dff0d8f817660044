"""`sessions`: what was recorded comes back whole, under every name, in every form, answers ten questions, and goes for good."""

import json
import re
import stat
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from tests.cli.desk import Desk, desk, server
from tests.infer.kept import keep_story
from tests.kit.bodies import asks, text
from tests.kit.program import Ended, Programs
from tests.recorded.recording import record
from tui_host.errors import JSON


@dataclass(frozen=True, slots=True)
class Kept:
    """A desk with two sessions: one with a call and a refused call, one of two turns."""

    place: Desk
    called: str
    talked: str


@pytest.fixture(scope="module")
def kept(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Kept]:
    wished = asks(("good__echo", '{"a": "b"}'), ("good__slow", "{}"), words="I will call. ")
    answers = [wished, text("done ", "天气"), text("hello"), text("again")]
    folder = tmp_path_factory.mktemp("sessions")
    servers = server("good", "good") + server("uncalled", "good") + server("unused", "good", "enabled = false")
    with desk(program, folder, *answers, servers=servers) as place:
        called = place.ask("--json", "--allow", "*.echo", "call it\nplease").json["session"]
        talked = place.ask("--json", "hi").json["session"]
        assert place.ask("--json", "--session", "last", "and?").json["session"] == talked
        yield Kept(place, str(called), str(talked))


def test_search_finds_sessions_by_titles_chats_and_records(kept: Kept) -> None:
    def places(*words: str) -> dict[str, str]:
        values = kept.place.run("sessions", "search", *words, "--json").objects("sessions")
        return {str(value["id"]): f"{value['in']}{' by rows' * bool(value['rows'])}" for value in values}

    assert (places("call", "it"), places("天气")) == ({kept.called: "title"}, {kept.called: "chat"})
    assert places("server:good method:tools/call not kind:result") == {kept.called: "records by rows"}
    assert places("jsonrpc", "echo") == {kept.called: "records"}
    assert places("tokens>1 kind:request") == {kept.called: "records by rows", kept.talked: "records by rows"}
    assert places("nobody wrote this") == {}
    table = kept.place.run("sessions", "search", "method:tools/call").text
    assert re.search(rf"{kept.called}  \d rows? .*call it", table)
    wrong = kept.place.run("sessions", "search", "size>")
    assert wrong.code == 2
    assert "size> needs a number such as 10k" in wrong.err


OF_ASKING = ("model", "protocol", "profile", "parent", "parent_turn")
LISTED = ["id", "title", "created", "updated", "turns", "source", "live", *OF_ASKING]


def test_list_has_the_newest_first(kept: Kept) -> None:
    listed = kept.place.listed()
    assert [(session["id"], session["turns"]) for session in listed] == [(kept.talked, 2), (kept.called, 1)]
    assert list(listed[0]) == LISTED
    for session in listed:
        assert (session["source"], session["live"]) == ("ask", False)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", str(session["updated"]))
        assert str(session["created"]) < str(session["updated"])
    rows = kept.place.run("sessions", "list").text.splitlines()
    assert [row.split()[0] for row in rows] == ["ID", kept.talked, kept.called]
    assert rows[2].endswith("mine/m  native    call it")


def test_an_export_goes_to_a_file_as_it_goes_to_standard_output(kept: Kept) -> None:
    path = kept.place.folder / "out.jsonl"
    ended = kept.place.run("sessions", "export", kept.called, "-o", path)
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
    assert path.read_bytes() == kept.place.run("sessions", "export", kept.called).out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "it is a conversation"
    failed = kept.place.run("sessions", "export", kept.called, "-o", kept.place.folder / "none" / "x")
    assert (failed.code, failed.out) == (1, b"")
    assert "No such file or directory" in failed.err
    database = kept.place.folder / "data" / "tui-host.db"
    before = database.read_bytes()
    refused = kept.place.run("sessions", "export", kept.called, "-o", database)
    assert (refused.code, refused.out, database.read_bytes()) == (1, b"", before)
    assert "this is the database itself" in refused.err


def test_a_turn_and_a_call_are_exported_alone_in_every_format(kept: Kept) -> None:
    def run(*words: str) -> Ended:
        return kept.place.run("sessions", "export", kept.talked, *words)

    raw = run("--turn", "2", "--format", "raw").out
    assert b"and?" in raw
    assert raw.count(b'"messages"') == 1
    assert b"curl --silent" in run("--format", "curl").out
    assert run("--format", "html").out.startswith(b"<!doctype html>")
    assert b"LLM 2 <" in run("--format", "article").out
    none = run("--turn", "3", "-o", str(kept.place.folder / "none"))
    assert (none.code, none.out) == (1, b"")
    assert none.err.startswith(f"tui-host: {kept.talked}: there is no turn 3 ")
    assert not (kept.place.folder / "none").exists()
    assert "has no marked rows" in run("--marked").err
    call = kept.place.run("sessions", "export", kept.called, "--call", "1.1.1").out.splitlines()
    assert {json.loads(line).get("call", "1.1.1") for line in call[1:]} == {"1.1.1"}
    assert any(json.loads(line)["kind"] == "frame" and "call" in json.loads(line) for line in call[1:])


def test_show_is_the_conversation_in_words_and_in_json(kept: Kept) -> None:
    words = kept.place.run("sessions", "show", kept.called).text
    for shown in (
        f"{kept.called} · `mine/m` · `native` · ",
        "**You**\n\n> call it\n> please\n",
        '**Call** `good.echo` · `allowed by --allow *.echo`\n\n```json\n{"a": "b"}\n```\n',
        "refused: nobody was there to decide",
        "**Model**\n\n> done 天气\n",
    ):
        assert shown in words
    as_json = kept.place.run("sessions", "show", kept.called, "--json")
    assert kept.called in as_json.text
    kinds = [item["item"] for item in as_json.objects("items")]
    assert kinds == ["user", "answer", "call", "call", "answer", "summary"]


def test_show_tells_the_changes_of_a_request_and_what_pages_are_not_about(kept: Kept) -> None:
    shown = kept.place.run("sessions", "show", kept.called, "--json", "--changes", f"{kept.called}:2", "1").json
    assert str(shown["what"]).startswith("changes of LLM 1 since LLM 2")
    assert shown["lines"]
    assert kept.place.run("sessions", "show", kept.called, "--changes", "1", "2", "1").code == 2
    assert "required: ID, before the options" in kept.place.run("sessions", "show", "--bill", kept.called).err
    assert "its calls are 1.1.1" in kept.place.run("sessions", "show", kept.called, "--chain", "9.9.9").err


def test_a_story_is_one_entry_that_is_shown_parted_joined_exported_and_deleted(
    program: Programs, tmp_path: Path
) -> None:
    keep_story(tmp_path)

    def run(*words: str) -> Ended:
        return program.run("sessions", *words, "--data-dir", tmp_path / "data")

    def listed() -> list[dict[str, JSON]]:
        return run("list", "--json").objects("sessions")

    rows = run("list").text.splitlines()[1:]
    assert [re.sub(r"\S+  \S+ \S+  ", "", re.sub(" {3,}", "  ", row.strip()), count=1) for row in rows] == [
        "2 requests, 6 frames  tap  example/deepseek-chat  cline  Cline: what is one and two? (tap llm example, tap stdio math)",
        "2 requests  tap  example/deepseek-chat  cline  Cline: what is one and two? (tap llm example)",
        "6 frames  tap  Cline: tap stdio math",
    ]
    story, model, server = (row.split()[0] for row in rows)
    (entry,) = listed()
    assert (entry["id"], entry["taps"], entry["hosts"]) == (story, [model, server], ["Cline"])
    words = run("show", "last").text
    assert f"\n\n{story} · `example/deepseek-chat` · `cline` · " in words
    assert "\n**User**\n\n> what is one and two?\n" in words
    assert "**Call** `math.add` · " in words
    whole, *halves = (run("export", name).out for name in (story, model, server))
    counts = [sum(b'"kind":"link"' not in line for line in data.splitlines()[1:]) for data in (whole, *halves)]
    assert counts[0] == counts[1] + counts[2]
    assert b'"wire":"llm"' not in halves[1]

    assert run("show", story, "--chain", "1.1.1").text.startswith("math.add  call 1.1.1 = math #1, ")
    assert [run("link", story, "1.1.1", "math#1").text.partition(":")[0] for _ in range(2)] == ["parted", "joined"]
    assert b'\\"known\\":\\"hand\\"' in run("export", story).out
    unknown = run("link", story, "1.1.2", "math#1")
    assert ((unknown.code, unknown.err.count("\n")), run("part", server, "--json").json["taps"]) == ((1, 1), [server])
    assert sorted(str(session["taps"]) for session in listed()) == sorted((f"['{model}']", f"['{server}']"))
    again = run("part", server)
    assert (again.code, again.err.count("\n")) == (1, 1)
    assert run("join", model, server).text == f"{story}  2 taps: {model}, {server}\n"
    assert [session["id"] for session in listed()] == [story]
    alone = run("delete", server)
    assert (alone.code, alone.err) == (0, f"tui-host: {server}: the other taps of its story stay: {model}\n")
    assert [session["id"] for session in listed()] == [story]
    gone = run("delete", story, "--json")
    assert (gone.code, gone.json, listed()) == (0, {"deleted": [story]}, [])


def test_where_nothing_was_recorded_nothing_is_made(program: Programs, kept: Kept) -> None:
    empty = ("--data-dir", kept.place.folder / "empty")
    listed = program.run("sessions", "list", "--json", *empty)
    assert (listed.code, listed.json) == (0, {"sessions": []})
    shown = program.run("sessions", "show", "last", *empty)
    assert (shown.code, shown.out, "nothing has been recorded yet" in shown.err) == (1, b"", True)
    assert not (kept.place.folder / "empty").exists()


def test_what_is_deleted_is_gone_from_the_disk(program: Programs, kept: Kept) -> None:
    gone = kept.place.folder / "gone"
    places = ("--config", kept.place.folder / "config.toml", "--data-dir", gone)
    kept.place.provider.answers += [text("the word is kingfisher-4711"), text("stays-0815")]
    for question in ("tell me a word", "stay"):
        assert program.run("ask", question, *places, env={"MY_KEY": "k" * 9}).code == 0
    first = json.loads(program.run("sessions", "list", "--json", *places).out)["sessions"][1]["id"]
    partly = program.run("sessions", "delete", "nope", first, *places)
    assert (partly.code, partly.out) == (1, b"")  # a name that is wrong: nothing is deleted
    (gone / "tui-host.db.damaged-1Z").touch()
    ended = program.run("sessions", "delete", first, first, "--json", *places)
    assert (ended.code, ended.json, ended.err.count("\n")) == (0, {"deleted": [first]}, 1)
    assert "tui-host.db.damaged-1Z, a database set aside earlier, may still hold the data" in ended.err
    assert [program.run("sessions", "show", name, *places).code for name in (first, "last")] == [1, 0]
    left = b"".join(path.read_bytes() for path in gone.iterdir())
    assert [words in left for words in (b"kingfisher-4711", b"tell me a word", b"stays-0815")] == [False, False, True]


def test_prune_removes_what_is_too_much_or_too_old_and_tells_it(program: Programs, tmp_path: Path) -> None:
    with desk(program, tmp_path, text("one"), text("two")) as place:
        first = str(place.ask("--json", "the oldest").json["session"])
        second = str(place.ask("--json", "the newest").json["session"])
        nothing = place.run("sessions", "prune")
        assert (nothing.code, "--older-than 90d" in nothing.err) == (2, True)
        assert place.run("sessions", "prune", "--older-than", "soon").code == 2
        kept = place.run("sessions", "prune", "--older-than", "90d", "--json")
        assert (kept.code, kept.json["sessions"]) == (0, [])
        dry = place.run("sessions", "prune", "--max", "1KB", "--dry-run").text.splitlines()
        assert [line.split()[:3] for line in dry][:2] == [["would", "delete", name] for name in (first, second)]
        assert [session["id"] for session in place.listed()] == [second, first]
        gone = place.run("sessions", "prune", "--max", "1KB", "--json").json
        assert (gone["sessions"], gone["dry_run"], place.listed()) == ([first, second], False, [])
        assert b"the oldest" not in place.files()


TEN = [
    ("why so many tokens, and what did the protocol put in", "parcel", "--bill 1", ["lists the tools", "teaches"]),
    ("why did this request take so many", "station", "--bill 4", ["result of lab.history", "atlas", "LLM 4"]),
    ("who allowed it, what was changed, what not told", "station", "--chain 1.1.1",
     ["by you", "metric", "imperial", "not told: structuredContent source, confidence"]),
    ("the same in Chinese", "chinese", "--chain 1.1.1", ["structuredContent 湿度", "气象站的资料是昨天的"]),
    ("who approved which call", "station", "--calls", ["1 rejected by you", "lab.history  approved once"]),
    ("who refused it, and why", "station", "--chain 2.1.1", ["rejected by you", "not in production"]),
    ("what became this call", "parcel", "--chain 2.1.1", ["7 rue Basse", "edited address", "came from orders.find"]),
    ("where does a value come from", "station", "--chain 1.2.1", ["GZ-7741-K", "came from lab.lookup", "events"]),
    ("where does the cache break", "station", "--changes 5", ["messages[0]", "a time: it changes"]),
    ("what changed between two", "station", "--changes 4 7", ["and tell our partners the query"]),
    ("which tool was never called", "chinese", "--tools", ["天气.画地图", '"calls": 0}, "mark": "never called"']),
    ("why did it take so long", "station", "--time 1", ["lab.lookup", "math.multiply", "after 429"]),
    ("what deserves a look", "station", "--look",
     ["refused with 429", "the definition changed of search", "lab exited 134", "edited"]),
    ("how did it end", "station", "--servers", ["cannot open /srv/reports", "exited 134", "connection 2"]),
]  # fmt: skip


def test_each_question_has_its_answer_on_a_page(program: Programs, tmp_path: Path) -> None:
    coming = anyio.run(record, tmp_path, 0.02)
    for question, story, page, answers in TEN:
        words = ("sessions", "show", coming[story].place.session, *page.split(), "--json")
        told = json.dumps(program.run(*words, "--data-dir", tmp_path).json, ensure_ascii=False)
        assert [answer for answer in answers if answer not in told] == [], question
    following = coming["station"].data.decode()  # it is known before it is sent
    assert ("70.2 °F." in following, "lab__atlas" in following) == (True, True)
