"""The screens over the main view, in the real app: servers, model, sessions, help; servers as real processes."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from textual.binding import BindingsMap
from textual.widget import Widget
from textual.widgets import Input

from tests.tui.app_running import MATH, SMALL, Running, fast, running
from tui_host.capture.ladder.row import Row
from tui_host.host.host import Host
from tui_host.settings.load import Overrides, load
from tui_host.settings.save import STATE_FILE
from tui_host.settings.schema import ModelRef
from tui_host.tui.glyphs import ASCII, UNICODE
from tui_host.tui.key_tables import ACTIONS, PLACES
from tui_host.tui.screens.help_screen import (
    ABOUT_MARKS,
    DocumentScreen,
    HelpScreen,
    help_text,
    in_glyphs,
    shipped_documents,
)
from tui_host.tui.screens.model_screen import ModelScreen
from tui_host.tui.screens.page_screen import KeyLine, PageScreen
from tui_host.tui.screens.servers_screen import ServersScreen
from tui_host.tui.screens.sessions_screen import SessionsScreen
from tui_host.tui.widgets.approval.approval_panel import Approval
from tui_host.tui.widgets.choices import ChoiceList
from tui_host.tui.widgets.details.detail_view import PageLines, PageView
from tui_host.tui.widgets.document_view import DocumentView
from tui_host.tui.widgets.inspector.inspector_pane import Inspector
from tui_host.tui.widgets.ladder.ladder_view import LadderView
from tui_host.tui.widgets.lines.line_view import LineView

pytestmark = pytest.mark.timeout(180)

SECRET = "sk-nobody-may-see-this-4711"  # noqa: S105 - made up
LATE_SERVER = """\
import pathlib, runpy, sys
if not pathlib.Path(sys.argv[1]).exists():
    print("the database password is missing", file=sys.stderr)
    print("数据库连接失败", file=sys.stderr)
    sys.exit(3)
sys.argv = ["servers", "orders"]
runpy.run_module("tui_host.demo.servers", run_name="__main__")
"""


def config(folder: Path, model_url: str) -> str:
    """A model with a secret beside the demo's, and servers that are ready, late, missing, refused and off."""
    (folder / "late.py").write_text(LATE_SERVER, encoding="utf-8")
    arguments = json.dumps([str(folder / "late.py"), str(folder / "password")])
    return f"""{fast(model_url)}
[providers.mine]
base_url = "{model_url}"
api_key = "${{MINE_KEY}}"
models = ["alpha", "中文模型"]
[providers.bare]
base_url = "http://127.0.0.1:9/v1"
{MATH}
[servers.late]
command = {json.dumps(sys.executable)}
args = {arguments}
[servers.missing]
command = "there-is-no-such-command"
[servers.refused]
url = "http://127.0.0.1:9/mcp"
[servers.off]
command = "never-started"
enabled = false
"""


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, model_url: str) -> AsyncIterator[Running]:
    folder = tmp_path_factory.mktemp("screens")
    environment = {"MINE_KEY": SECRET}
    async with running(folder, config=config(folder, model_url), size=SMALL, environment=environment) as app:
        with anyio.fail_after(100):  # two programs start, and this one imports the SDK meanwhile
            while states(app) != ["ready", "failed", "failed", "failed", "disabled"]:
                await anyio.sleep(0.05)
        yield app


@pytest.fixture
async def app(shared: Running) -> AsyncIterator[Running]:
    await shared.renew()
    yield shared
    await shared.pilot.resize_terminal(*SMALL)


def states(app: Running) -> list[str]:
    return [status.state for status in app.host.pool.statuses()] if app.host.pool is not None else []


def shown(app: Running) -> PageScreen:
    screen = app.app.screen
    assert isinstance(screen, PageScreen)
    return screen


async def opened(app: Running, key: str) -> PageScreen:
    """Open a screen and wait until it is laid out."""
    await app.press(key)
    await app.until(lambda: isinstance(app.app.screen, PageScreen) and app.app.screen.query(KeyLine))
    await app.pilot.pause()
    return shown(app)


async def choose_server(app: Running, name: str) -> None:
    await app.press("home")
    await app.until(lambda: current(app) == "math")
    while current(app) != name:
        before = current(app)
        await app.press("down")
        await app.until(lambda before=before: current(app) != before)
    await app.until(lambda: shown(app).query_one(PageLines).page.source[0] == name)


def current(app: Running) -> str:
    screen = shown(app)
    assert isinstance(screen, ServersScreen)
    return screen.current.name if screen.current is not None else ""


def put(path: Path, text: str) -> None:
    """Write a file, or take it away."""
    if text:
        path.write_text(text, encoding="utf-8")
    else:
        path.unlink()


async def open_lines(app: Running, label: str) -> None:
    """Open the entry of the details whose line begins so."""
    view = shown(app).query_one(PageLines)
    view.focus()
    number = next(n for n in range(view.line_count()) if label in view.draw(n).text)
    view.move_cursor(number)
    await app.press("enter")


# Servers.


async def test_a_ready_server_tells_all_that_it_said_of_itself(app: Running) -> None:
    await opened(app, "f3")
    await app.until_shown("Servers   1 ready   3 failed   1 disabled", "> ● math", "✗ late", "○ off")
    await app.until_shown(
        "protocol      2026-07-28 (stateless), stdio", "capabilities  tools", "tools (4)", " tok", "stderr"
    )
    await open_lines(app, "multiply")
    await app.until_shown("Multiply two numbers", '"required"', "input schema", "the server claims: ")
    await open_lines(app, "tools (4)")  # closes it
    await open_lines(app, "frames")
    await app.until_shown("--> tools/list #2", "<-- result #2  4 tools", "--> server/discover #1")
    await open_lines(app, "--> tools/list")
    await app.until_shown('"method": "tools/list"')


async def test_a_failed_server_tells_why_and_comes_back_by_a_key(app: Running, tmp_path: Path) -> None:
    await opened(app, "f3")
    await choose_server(app, "missing")
    await app.until_shown("failed: there-is-no-such-command was not found", "r reconnects")
    await choose_server(app, "refused")
    await app.until_shown("failed: connection refused", "0 in")
    await choose_server(app, "off")
    await app.until_shown("disabled", "r connects")
    await choose_server(app, "late")
    await app.until_shown("failed: exited (3)", "the database password is missing", "数据库连接失败")
    status = next(status for status in app.host.pool.statuses() if status.name == "late") if app.host.pool else None
    assert status is not None
    password = Path(status.command.split()[-1].strip("'\""))
    put(password, "now it is there")
    await app.press("r")
    await app.until(lambda: states(app)[1] == "ready")
    await app.until_shown("Servers   2 ready   2 failed", "get_order", "list_orders")
    await app.press("s")
    await app.until_shown("1 stopped", "r connects")
    put(password, "")
    await app.press("r")
    await app.until(lambda: states(app)[1] == "failed")
    await app.until_shown("the database password is missing")


# Model and tool protocol.


async def test_a_chosen_model_stands_in_the_header_and_the_next_request_and_its_key_nowhere(app: Running) -> None:
    await opened(app, "f4")
    await app.until_shown(
        "now fast/openai · native", "● fast/openai", "○ mine/alpha", "bare/", "Tool protocol", "● native"
    )
    await app.type("alpha")
    await app.until_shown("> ○ mine/alpha", "config.toml sets model; another choice lasts until the program ends.")
    await app.press("enter")
    await app.until_shown("mine/alpha · native")
    await app.send("hello")
    await app.until_idle()
    assert json.loads(app.bodies("llm", "out")[-1])["model"] == "alpha"
    state = (app.host.settings.config_dir / STATE_FILE).read_text(encoding="utf-8")
    assert 'model = "mine/alpha"' in state
    app.session.model = ModelRef(provider="fast", model="openai")  # as a session of earlier has its own
    await app.press("ctrl+n")
    assert (app.session.turn, str(app.session.model)) == (0, "mine/alpha")
    app.app.show_session(next(session for session in app.host.sessions.values() if session.turn))

    def requests() -> list[Row]:
        return [row for row in app.inspector_source.ladder.rows if row.kind == "request" and row.peer == "mine"]

    await app.until(requests)  # a session's records are read again a little at a look, and drawn a little later
    await app.until_shown("POST chat/completions")
    request = requests()[-1]
    app.inspector.ladder.focus()
    app.inspector.ladder.select(request.number)
    await app.press("enter", "3")
    await app.until_shown("[Headers]", f"••• MINE_KEY ({len(SECRET)})")
    for tab in ("1", "2", "4"):
        await app.press(tab)
        await app.pilot.pause()
        assert SECRET not in app.text
    assert SECRET not in app.inspector.current_source()[1]


async def test_any_model_can_be_typed_whole_and_an_unknown_provider_is_told(app: Running) -> None:
    await opened(app, "f4")
    await app.type("bare")
    await app.until_shown("does not answer: is it running? check base_url; cannot connect")
    await app.press("enter")
    await app.until(lambda: shown(app).query_one(Input).value == "bare/")
    await app.type("gpt-9")
    await app.until_shown("bare/gpt-9", "as typed")
    await app.press("enter")
    await app.until_shown("bare/gpt-9 · native")
    await opened(app, "f4")
    await app.type("nobody/x")
    await app.until_shown("No model has this name.")
    await app.press("enter")
    await app.until_shown("type PROVIDER/MODEL, with a configured provider")
    assert str(app.session.model) == "bare/gpt-9"


# Sessions.


async def kept(folder: Path, text: str, *texts: str) -> dict[str, list[bytes]]:
    """Sessions of an earlier run, one for each text: what the first one sent to the model and to the servers."""
    (folder / "config.toml").write_text(text, encoding="utf-8")
    host = Host(load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), os.environ), allow_all=True)
    sent: dict[str, list[bytes]] = {}
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        await host.ready()
        for said in texts:
            session = host.sessions.new()
            host.send(session, said)
            with anyio.fail_after(30):
                while session.busy:
                    await anyio.sleep(0.02)
        store = host.store
        assert store is not None
        first = next(iter(host.sessions))
        for record, _ in store.session_records(first):
            if record.draft.direction == "out" and record.draft.kind in {"request", "frame"}:
                sent.setdefault(record.draft.wire, []).append(record.draft.data)
        host.stop()
    return sent


async def test_a_session_is_found_by_its_words_and_opens_with_the_same_bytes(tmp_path: Path, model_url: str) -> None:
    sent = await kept(tmp_path, fast(model_url) + MATH, "你好，请计算 6 × 5", "list tools")
    off = f'{fast(model_url)}[servers.math]\nbundled = "math"\nenabled = false\n'
    async with running(tmp_path, config=off, size=SMALL) as app:
        await opened(app, "f5")
        await app.until_shown("Sessions   2", time.strftime("> %m-%d "), "list tools", "你好，请计算", "1 turn")
        await app.type("6 × 5")
        await app.until_shown("Sessions   1 found")
        await app.type(" and words that nobody said")
        await app.until_shown("No title or message has all of these words")
        shown(app).query_one(Input).value = "计算"
        await app.until_shown("Sessions   1 found", time.strftime("> %m-%d "))
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.main)
        await app.until_shown("你好，请计算", "math.multiply", "30", "tools/call")
        source = app.inspector_source
        asked = [row for row in source.ladder.rows if row.kind == "request" and row.lane == "llm"]
        assert [source.body(row) for row in asked] == sent["llm"]
        called = [row for row in source.ladder.rows if row.method == "tools/call" and row.outward]
        assert [source.body(row) for row in called] == [data for data in sent["mcp"] if b'"tools/call"' in data]
        assert len(asked) == 2
        await app.send("and now?")
        await app.until_idle()
        before = json.loads(sent["llm"][-1])["messages"]
        assert json.loads(app.bodies("llm", "out")[-1])["messages"][: len(before)] == before


async def test_a_screen_that_was_left_while_it_waited_for_something_takes_no_other_away(tmp_path: Path) -> None:
    async with running(tmp_path) as app:
        for key in ("f5", "f4"):
            await opened(app, key)
            screen = shown(app)
            await app.press("escape")
            await app.until(lambda: app.app.screen is app.main)
            screen.action_leave()
            await app.press("f1")
            await app.until_shown("Help")
            screen.action_leave()
            await app.press("escape")
            await app.until(lambda: app.app.screen is app.main)


# Help, and what holds on every screen.


async def test_help_begins_where_one_was_and_lists_every_key_of_every_place(app: Running) -> None:
    await opened(app, "f3")
    await opened(app, "f1")
    await app.until_shown("Servers (where you were)", "connect, or reconnect")
    view = shown(app).query_one(DocumentView)
    await app.until(lambda: view.line_count() > sum(map(len, PLACES.values())))
    text = "\n".join(view.draw(number).text for number in range(view.line_count()))
    for place, keys in PLACES.items():
        assert place in text
        assert all(key.shown in text for key in keys)
    assert all(f" {action.shown} " in text for action in ACTIONS if action.shown)
    await app.press("f1")
    await app.until(lambda: isinstance(app.app.screen, ServersScreen))
    await app.press("escape")
    await app.until(lambda: app.app.screen is app.main)
    await app.press("question_mark")
    await app.until_shown("Prompt (where you were)")


async def test_help_lists_the_documents_and_opens_each_by_its_number(app: Running) -> None:
    names = shipped_documents()
    assert {"architecture", "promises"} <= set(names)
    await opened(app, "f1")
    await app.until_shown("Documents", *(f"{number} {name}" for number, name in enumerate(names, 1)))
    for number, name in enumerate(names, 1):
        await app.press(str(number))
        screen = shown(app)
        assert isinstance(screen, DocumentScreen)
        view = screen.query_one(DocumentView)
        await app.until(lambda view=view: view.current_source()[1].startswith("# ") and view.line_count() > 10)
        await app.until_shown(name)
        await app.press("z", "end", "escape")
    await app.press("f1")
    await app.until(lambda: app.app.screen is app.main)


def test_help_tells_what_the_marks_at_a_row_s_end_mean_as_this_terminal_draws_them() -> None:
    marks = dict(ABOUT_MARKS)
    assert "a secret was removed" in marks[UNICODE.hidden]
    assert f"| {UNICODE.more} |" in help_text("")
    assert in_glyphs(UNICODE.more + UNICODE.hidden, ASCII) == ASCII.more + ASCII.hidden


def keys_of(part: type[Widget]) -> set[str]:
    """The keys that do something on a part of the screen, save Textual's own; `enter` where there is a line to open."""
    bound = {
        key
        for kind in part.__mro__
        if issubclass(kind, LineView | PageScreen | Approval | Inspector)
        for key in BindingsMap(kind.__dict__.get("BINDINGS", [])).key_to_bindings
    }
    opens = issubclass(part, LineView) and part.HAS_CURSOR
    return bound | ({"enter"} if opens else set())


@pytest.mark.parametrize(
    ("place", "parts", "beside"),
    [
        ("Inspector, list", (LadderView, Inspector), ""),
        ("Inspector, details", (PageView, Inspector), ""),
        ("Servers", (ServersScreen, ChoiceList, PageLines), "tab shift+tab"),
        ("Model", (ModelScreen,), "enter"),
        ("Sessions", (SessionsScreen,), "enter"),
        ("Approval", (Approval,), "tab"),
        ("Help", (HelpScreen, DocumentView), ""),
        ("Document", (DocumentScreen, DocumentView), ""),
    ],
)
def test_help_lists_exactly_the_keys_that_are_bound(place: str, parts: tuple[type[Widget], ...], beside: str) -> None:
    listed = {name for key in PLACES[place] for name in key.names.split(",") if name}
    bound = set[str]().union(*(keys_of(part) for part in parts))
    leaves = {"escape"} if issubclass(parts[0], PageScreen) else set[str]()
    assert listed | leaves == bound | set(beside.split())


async def test_with_ascii_asked_for_no_screen_draws_anything_else(tmp_path: Path) -> None:
    text = '[ui]\nascii = true\n[servers.off]\ncommand = "never-started"\nenabled = false\n'
    async with running(tmp_path, config=text, size=(100, 30)) as app:
        for key, words in (("f1", "Help"), ("f3", "o off"), ("f4", "* demo/openai"), ("f5", "No sessions yet.")):
            await opened(app, key)
            await app.until_shown(words)
            assert re.sub("[\u4e00-\u9fff]", "", app.text).isascii()
        await app.press("f2")
        await app.until_shown("Nothing sent yet.")
        assert "│" not in app.text
