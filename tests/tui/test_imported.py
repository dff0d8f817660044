"""What came from a file, in the app: chat and wires with the calls joined, nothing of this process among them, nothing sent from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.capture.drafts import WAIT
from tests.kit.app import MATH, OFF, WIDE, Running, running
from tests.opening.captured import ASK, CHAT, TELL
from tui_host.capture.record import Direction, Draft, Place, Record
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.session_summary import SessionInfo, foreign_session
from tui_host.capture.store.imported_records import Intake, put_into_turns
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import UserItem, item_to_text
from tui_host.errors import JSON
from tui_host.host.host import Host
from tui_host.opening.importing import import_files
from tui_host.settings.load import Overrides, load
from tui_host.tui.app import TuiHost
from tui_host.tui.incoming_files import Incoming
from tui_host.tui.run_app import around
from tui_host.tui.sources.live import EMPTY_KEPT

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


class BeingRead:
    """A file whose records are written one by one, as another process would."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder / "data" / "tui-host.db")
        self.info = replace(foreign_session("20261122-101500-abcde", "big.har"), created_ns=1, updated_ns=1)
        self.store.sessions.put_back(replace(self.info, live=True))
        self.intake = Intake(self.store, self.info.id, Redactor(), 1)

    def write(self, seq: int, way: Direction, value: JSON) -> None:
        place = Place(session=self.info.id)
        draft = Draft(wire="mcp", kind="frame", peer="sums", connection="sums#1", place=place)
        draft = replace(draft, direction=way, data=json.dumps(value).encode())
        self.intake.add(Record(capture=self.info.id, seq=seq, time_ns=seq, mono_ns=seq, draft=draft))
        self.intake.flush()


async def the_import(app: Running) -> tuple[Store, SessionInfo]:
    """The store of an app, and the one session in it that was brought in."""
    await app.until(lambda: app.host.store is not None)
    store = app.host.store
    assert store is not None
    (info,) = [each for each in store.sessions.list() if each.source == "import"]
    return store, info


async def test_an_import_is_listed_shown_and_left_as_it_is(tmp_path: Path) -> None:
    brought(
        tmp_path, f"{json.dumps(CHAT)}\ndata: {json.dumps(END)}\n", f">>> {json.dumps(ASK)}\n<<< {json.dumps(TELL)}\n"
    )
    async with running(tmp_path, config=MATH) as app:
        await app.press("f5")
        await app.until_shown("one.log", "two.log", "import")
        await app.type("one")
        await app.until(lambda: "two.log" not in app.text)
        await app.press("enter")
        await app.until_shown(
            "request  63", "answer", "hello", "from a file: read only   one/m", "From a file, read only."
        )
        await app.send("and?")
        await app.until_shown("This was captured elsewhere")
        assert not app.session.turn - 1
        await app.until(lambda: app.app.host.pool is not None and app.app.host.pool.tools())
        assert {row.lane for row in app.inspector_source.ladder.rows} == {"llm"}  # no row of the servers that run here
        await app.press("f5")
        await app.until_shown("two.log")
        await app.type("two")
        await app.until(lambda: "one.log" not in app.text)
        await app.press("enter")
        await app.until_shown("This capture has no chat", "#1 tools/call")


async def test_rows_arrive_while_a_file_is_read_and_stay_where_they_are_when_it_has_been(tmp_path: Path) -> None:
    """Another process writes them; here, by hand, what it would."""
    file = BeingRead(tmp_path)
    store, info = file.store, file.info
    async with running(tmp_path, config=OFF) as app:
        file.write(1, "out", ASK)
        app.app.show_session(app.host.sessions.foreign(info))
        await app.until_shown("reading big.har …: read only", "#1 tools/call")
        source = app.inspector_source
        file.write(2, "in", TELL)
        await app.until_shown("#1 result")
        assert source.live
        store.sessions.save_item(info.id, 0, item_to_text(UserItem(turn=1, text="how much is it?")))
        of_turn = Place(session=info.id, turn=1, step=1)
        put_into_turns(store, info.id, {1: of_turn, 2: of_turn})
        file.intake.close()
        store.sessions.put_back(replace(info, model="some/model", protocol="native"))
        await app.until_shown("how much is it?", "from a file: read only   some/model")
        assert app.inspector_source is source
        assert not source.live
        await app.until_shown("▾ turn 1 · step 1", "#1 tools/call", "#1 result")
    store.close()


async def test_what_cannot_be_read_for_a_while_is_shown_when_it_can_be_again(tmp_path: Path) -> None:
    file = BeingRead(tmp_path)
    store, info = file.store, file.info

    def rename(name: str, new: str) -> None:
        store.run(lambda connection: connection.execute(f"ALTER TABLE {name} RENAME TO {new}").fetchall())
        store.run(lambda _: None, WAIT)

    async with running(tmp_path, config=OFF) as app:
        file.write(1, "out", ASK)
        app.app.show_session(app.host.sessions.foreign(replace(info, live=True)))
        await app.until_shown("reading big.har …: read only", "#1 tools/call")
        rename("records", "away")
        for _ in range(3):  # each is a change of the database that is looked at
            rename("away", "away_again")
            rename("away_again", "away")
            await app.pilot.pause()
        rename("away", "records")
        file.write(2, "in", TELL)
        await app.until_shown("#1 result")
        store.sessions.put_back(info)
        await app.until_shown("from a file: read only")
    store.close()


def turns_of_exchanges(app: TuiHost) -> set[int]:
    source = None if app.main is None else app.main.source
    return set() if source is None else {row.turn for row in source.ladder.rows if row.lane == "llm"}


async def test_what_is_read_from_a_file_says_so_from_the_first_frame_to_the_last(tmp_path: Path) -> None:
    """Nothing of a session of one's own stands there meanwhile: no question to send, no wire that waits for one, no chat that is none."""
    file = tmp_path / "some.log"
    file.write_text(f"{json.dumps(CHAT)}\ndata: {json.dumps(END)}\n", encoding="utf-8")
    seen: list[str] = []

    settings = load(Overrides(config=None, data_dir=tmp_path / "data"), {"HOME": str(tmp_path)})
    incoming = Incoming([file], tmp_path / "its.db", settings)
    app = TuiHost(Host(settings, database=incoming.database))
    async with around(app), incoming.shown_in(app), app.run_test(size=WIDE, notifications=True) as pilot:
        here = Running(app, pilot)

        def is_read() -> bool:
            seen.append(here.text)
            return all(words in here.text for words in ("request  63", "hello"))

        await here.until(is_read)
        await here.until(lambda: turns_of_exchanges(app) == {1})
    assert "reading some.log" in seen[0]
    assert "reading some.log" in seen[0].replace("reading some.log", "", 1)  # chat and list
    for text in seen:
        assert "From a file, read only." in text
        assert not [
            words
            for words in ("Ask anything", "Nothing sent yet", "This capture has no chat", EMPTY_KEPT, "Press a number")
            if words in text
        ]
