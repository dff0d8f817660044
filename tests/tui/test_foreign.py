"""What others recorded, in the app: files, taps that run, and their servers; nothing is sent from there."""

import json
from dataclasses import replace
from pathlib import Path

from tests.infer.forms import FORMS
from tests.infer.kept import KeptModelTap, KeptServerTap, keep_story
from tests.kit.app import MATH, OFF, running
from tests.kit.bodies import Answer, Call, Results, User
from tests.opening.captured import ASK, CHAT, TELL
from tui_host.capture.http.observer import Observer
from tui_host.capture.record import MISSING, Direction, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.imported_records import Intake
from tui_host.capture.store.store import Store
from tui_host.errors import JSON
from tui_host.infer.stories import Stories, TapStory
from tui_host.opening.importing import import_files
from tui_host.tui.sources import source_of

END = {"choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]}


def brought(folder: Path, *texts: str) -> None:
    files = [folder / name for name in ("one.log", "two.log")]
    store = Store.open(folder / "data" / "tui-host.db")
    try:
        for file, text in zip(files, texts, strict=False):
            file.write_text(text, encoding="utf-8")
            import_files(store, [file], Redactor())
    finally:
        store.close()


async def test_an_import_is_listed_shown_and_left_as_it_is(tmp_path: Path) -> None:
    brought(
        tmp_path, f"{json.dumps(CHAT)}\ndata: {json.dumps(END)}\n", f">>> {json.dumps(ASK)}\n<<< {json.dumps(TELL)}\n"
    )
    async with running(tmp_path, config=MATH) as app:
        await app.reach("f5", "one.log", "two.log", "import")
        await app.type("one", lambda: "two.log" not in app.text)
        await app.reach(
            "enter", "request  63", "answer", "hello", "from a file: read only   one/m", "From a file, read only."
        )
        await app.send("and?")
        await app.until_told("This was captured elsewhere")
        assert not app.session.turn - 1
        await app.until(lambda: app.app.host.pool is not None and app.app.host.pool.tools())
        assert {row.lane for row in app.inspector_source.ladder.rows} == {"llm"}  # no row of the servers that run here
        await app.reach("f5", "two.log")
        await app.type("two", lambda: "one.log" not in app.text)
        await app.reach("enter", "This capture has no chat", "#1 tools/call")


async def test_rows_and_chat_arrive_while_a_file_is_read_and_stay_where_they_are_afterwards(tmp_path: Path) -> None:
    """Another process writes them; here, by hand, what it would."""
    store = Store.open(tmp_path / "data" / "tui-host.db")
    info = SessionInfo("20261122-101500-abcde", "big.har", "import", created_ns=1, updated_ns=1)
    store.sessions.save(replace(info, live=True), is_whole=True)
    intake, place = Intake(store, info.id, Redactor()), Place(session=info.id)

    def frame(way: Direction, value: JSON) -> None:
        record = Record(wire="mcp", kind="frame", peer="sums", connection="sums#1", place=place, direction=way)
        intake.append(replace(record, data=json.dumps(value).encode()))
        intake.close()  # which more may follow

    async with running(tmp_path, config=OFF) as app:
        frame("out", ASK)
        app.main.show_session(app.host.sessions.foreign(info))
        await app.until_shown("reading big.har …: read only", "#1 tools/call")
        source = app.inspector_source
        frame("in", TELL)
        await app.until_shown("#1 result")
        observer = Observer(intake, wire="llm", peer="sums", is_decoded=True)
        observer.begin("", "openai:", (), json.dumps(CHAT).encode(), place).end(MISSING)
        intake.close()
        await app.until_shown("▾ turn 1 «hi»", "the answer is not in the file")
        assert source.live
        store.sessions.save(info, is_whole=True)
        await app.until_shown("from a file: read only   sums/m")
        assert (app.inspector_source, source.live) == (source, False)
    store.close()


CLINE = FORMS["cline"]


async def test_taps_that_run_are_one_story_that_is_followed_and_stays(tmp_path: Path) -> None:
    call = Call("", "math__add", {"a": 1, "b": 2})
    asked, told = [User("what is one and two?")], Results([(call, "3")])
    async with running(tmp_path, config=OFF) as app:
        model, math = KeptModelTap(tmp_path, "deepseek"), KeptServerTap(tmp_path, "math")
        math.start(["add"], client="Cline")
        await app.reach("f5", "Cline: tap", "live")
        list(model.answer(CLINE, model.ask(CLINE, asked), Answer("", [call])))
        await app.until_shown("Cline: what is", "2 taps")
        await app.press("enter")
        await app.until_shown("what is one and two?", 'asks math.add {"a": 1, "b": 2}', "example/deepseek-chat · cline")
        await app.until_shown("Cline, followed: read only", "Tapped, read only.")
        for key in ("enter", "ctrl+o"):  # nothing is sent from here
            app.write("and four?")
            await app.reach(key, "This is another host's session")
            app.app.clear_notifications()
        identity, _ = math.call("add", call.arguments)
        math.result(identity, "3")
        list(model.answer(CLINE, model.ask(CLINE, [*asked, Answer("", [call]), told]), Answer("It is three.")))
        await app.until_shown('#1 tools/call  add {"b":2,"a":1} · inferred', "turn 1 · step 2", "It is three.")
        await app.until_shown('math.add {"a": 1, "b": 2}  3', "follows new rows")
        assert model.kept.recording.close()
        assert math.kept.recording.close()
        await app.until_shown("Cline, tapped: read only")
        await app.until(lambda: app.inspector_source.is_settled and not app.inspector_source.live)
        ladder = app.inspector_source.ladder
        lanes = [(row.lane, row.turn, row.step) for row in ladder.rows if row.turn]
        assert lanes == [("llm", 1, 1)] * 2 + [("mcp", 1, 1)] * 2 + [("llm", 1, 2)] * 2
        frame = next(row for row in ladder.rows if row.method == "tools/call")
        assert {ladder.rows[number].kind for number in ladder.relatives(frame.number)} >= {"request", "response"}
        for tap in app.store.sessions.list():
            delete_session(app.store, tap.id)
        await app.until_shown("These records were deleted", "No requests or frames", "0 LLM")


async def test_whose_each_turn_is_stands_above_it_as_soon_as_another_host_asks(tmp_path: Path) -> None:
    form = FORMS["openai"]
    async with running(tmp_path, config=OFF) as app:
        model = KeptModelTap(tmp_path, "deepseek")
        list(model.answer(form, model.ask(form, [User("hi")], "opencode/1.18"), Answer("Hello.")))
        await app.reach("f5", "opencode: hi")
        await app.reach("enter", "Hello.", "▾ turn 1 «hi»")
        list(model.answer(form, model.ask(form, [User("you too")], "OpenAI/Python 2"), Answer("Yes.")))
        await app.until_shown("turn 1 «hi» · opencode", "turn 2 «you too» · the OpenAI SDK")
        await app.until_shown("opencode asks:", "the OpenAI SDK for Python asks:", "Yes.")
        assert model.kept.recording.close()
        chat = [line[:40].strip(" ·▌") for line in app.text.splitlines()]
        first = chat.index("opencode asks:")
        assert chat[first + 1 : first + 4] == ["", "hi", ""]
        live = list(app.session.conversation)
        again = source_of(app.host, app.session)
        await app.until(lambda: again.look() or again.is_settled)
        assert list(app.session.conversation) == live


async def test_keys_part_and_join_a_frame_and_a_call_and_a_tap_and_its_story(tmp_path: Path) -> None:
    keep_story(tmp_path)
    async with running(tmp_path, config=OFF) as app:
        await app.reach("f5", "Sessions   1", "  tap llm example", "  tap stdio math", "ctrl+l join, part")
        await app.reach("ctrl+l", told="There is no story of a tap above this one")
        await app.reach("down down ctrl+l", "Sessions   2", "Cline: tap stdio math")
        assert [len(story.taps) for story in Stories(app.store).listed() if isinstance(story, TapStory)] == [1, 1]
        await app.reach("home pageup down ctrl+l", "Sessions   1", "  tap llm example", "  tap stdio math")
        await app.reach("down enter", "Cline, tapped: read only")
        assert {row.capture for row in app.inspector_source.ladder.rows} == {app.session.id}
        await app.reach("f5", "Cline: what is one and two?")
        await app.press("home", "enter")
        await app.until(lambda: any(row.method == "tools/call" for row in app.inspector_source.ladder.rows))

        async def choose(state: str) -> None:
            await app.until(lambda: app.inspector_source.is_settled and not app.inspector_source.is_stale)
            call = next(row.number for row in app.inspector_source.ladder.rows if row.method == "tools/call")
            await app.until(lambda: app.inspector.ladder.select(call))  # the list may be drawn later than it is read
            app.app.set_focus(app.inspector.ladder)
            await app.reach("J", "Join by hand", f'math__add {{"a": 1, "b": 2}} - math #1 add, +0.0 s{state}')
            await app.press("enter")

        await choose(" (joined, value)")
        await app.until_shown("its frame is not known")
        await app.until(lambda: app.inspector_source.is_settled and not app.inspector_source.is_stale)
        await app.until(lambda: (row := app.inspector.ladder.selected) is not None and row.method == "tools/call")
        await choose("")
        await app.until_shown("approved by its host, not here · joined")
