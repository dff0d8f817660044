"""The screens over the main view, in the real app: servers, model with keys and options, sessions, help; servers as real processes."""

import json
import os
import re
import sys
import time
import tomllib
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import keyring
import pytest
from keyring.backend import KeyringBackend
from textual.content import Content
from textual.widgets import Input

from tests.kit.app import MATH, OFF, SMALL, Running, fast, running
from tests.settings import keyrings
from tui_host.answers.bodies import body_of
from tui_host.capture.short_units import local_minute
from tui_host.capture.store.store import Store
from tui_host.chat.conversation import NoteItem
from tui_host.settings import paths
from tui_host.settings.save import STATE_FILE
from tui_host.tui.keys import ACTIONS, key_of
from tui_host.tui.screens.help_screen import DOCUMENTS, DocumentScreen, DocumentView, places
from tui_host.tui.screens.page_screen import HELD_SECONDS, PageScreen
from tui_host.tui.screens.servers_screen import ServersScreen
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.status_lines import StatusLine

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
[providers.deepseek]
base_url = "https://nowhere.invalid/v1"
[profiles.calculator]
system = "Use the tools."
protocol = "json"
"""


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory, model_url: str) -> AsyncIterator[Running]:
    folder = tmp_path_factory.mktemp("screens")
    environment = {"MINE_KEY": SECRET}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui_host.servers.server.RETRY_SECONDS", (600.0,) * 10)  # a lost server stays so
        async with running(folder, config=config(folder, model_url), size=SMALL, environment=environment) as app:
            await app.until(lambda: states(app) == ["ready", "failed", "failed", "lost", "disabled"])
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


async def opened(app: Running, key: str, *words: str) -> None:
    await app.press(key)
    await app.until(lambda: isinstance(app.app.screen, PageScreen) and app.app.screen.query("#page-keys"))
    await app.pilot.pause()
    await app.until_shown(*words)


async def choose_server(app: Running, name: str) -> None:
    screen = shown(app)
    assert isinstance(screen, ServersScreen)
    screen.list_again(name)
    await app.until(lambda: screen.view.page.source[0].startswith(name))


async def test_a_failed_server_tells_why_everywhere_and_comes_back_by_a_key(app: Running) -> None:
    await app.until_shown(
        "✗ late failed: exited 3",
        "✗ missing failed:",
        "✗ refused lost: connection refused",
        "f3 shows messages and standard error",
        "1 server is switched off: f3",
    )
    header = app.main.query_one("#header", StatusLine)
    assert isinstance(header.tooltip, Content)
    assert "late failed: exited 3" in header.tooltip.plain
    await app.pilot.resize_terminal(200, 36)
    await app.until_shown("✗ late: exited 3: 数据库连接失败  ✗ missing: there-is-no-such-command")
    assert os.environ["PATH"] not in "".join(app.text.split())
    await app.pilot.resize_terminal(*SMALL)
    await opened(app, "f3", "Servers   1 ready   2 failed   1 lost   1 disabled", "> ● math", "✗ late", "○ off")
    await choose_server(app, "missing")
    await app.until_shown("failed: there-is-no-such-command was not found", "r reconnects")
    assert os.environ["PATH"] not in "".join(app.text.split())
    await choose_server(app, "refused")
    await app.until_shown("lost: connection refused", "of 10", "r tries at once", "0 in")
    await choose_server(app, "off")
    await app.until_shown("disabled", "r connects")
    await choose_server(app, "late")
    await app.until_shown("failed: exited 3", "the database password is missing", "数据库连接失败")
    password = anyio.Path(app.host.settings.config_dir / "password")
    await password.write_text("now it is there")
    await app.reach("r", lambda: states(app)[1] == "ready", "Servers   2 ready   1 failed", "get_order", "list_orders")
    await password.unlink()
    await app.reach("r", lambda: states(app)[1] == "lost", "the database password is missing")  # it was ready once


async def test_a_tool_is_switched_off_and_on_and_what_the_next_request_offers_is_said_at_once(app: Running) -> None:
    app.session.turn = 1  # as in a chat that has begun
    await opened(app, "f3")
    # Its lists are filtered while words are typed.
    await app.press("slash")
    await app.type("sub", "tools (1 of 4)", "subtract")
    assert "multiply" not in app.text
    await app.reach("enter escape", "> ● math", "next request: 4 tools, ~", "bytes tokens", "tools (4)", "multiply")
    view = shown(app).query_one(PageLines)
    lines = (view.draw(number).text for number in range(view.line_count()))
    figures = next(text for text in lines if "tools (4)" in text).split()[-2:]
    await app.reach("escape ctrl+o", "[Parts]", "tools (4)")
    await app.reach("d l", "bill of the coming request", "math (4)")
    assert f"math (4) {' '.join(figures)} " in " ".join(app.text.split())
    await app.press("escape", "f3")
    view = shown(app).query_one(PageLines)
    view.focus()
    view.move_cursor(next(n for n in range(view.line_count()) if "multiply" in view.draw(n).text))
    await app.reach("enter", "Multiply two numbers", '"properties"', "input schema", "the server claims: ")
    await app.reach("o", "multiply  off", "next request: 3 tools, ~", told="math.multiply is off until tui-host ends")
    for word in ("on", "off", "on"):
        app.told.clear()
        await app.reach("O", told=f"math.multiply is {word} from now on")
        state = (app.host.settings.config_dir / STATE_FILE).read_text(encoding="utf-8")
        assert ('"math.multiply" = false' in state) == (word == "off")
        assert app.host.pool is not None
        assert ("multiply" in {tool.name for tool in app.host.pool.tools()}) == (word == "on")
    words = [f"math.multiply is switched {state} from here on" for state in ("off", "on", "off", "on")]
    assert [note.what for note in app.items(NoteItem)] == words


async def test_a_server_is_switched_off_for_good_unless_the_configuration_says_otherwise(app: Running) -> None:
    await opened(app, "f3")
    await choose_server(app, "off")
    await app.reach("O", told="servers.off.enabled is set there")
    assert states(app)[4] == "disabled"  # nothing was done
    await choose_server(app, "math")
    await app.reach("O", told="math is off from now on")
    await app.until(lambda: states(app)[0] == "stopped")
    assert "math = false" in (app.host.settings.config_dir / STATE_FILE).read_text(encoding="utf-8")
    await app.reach("O", told="math is on from now on")
    await app.until(lambda: states(app)[0] == "ready")


async def test_a_model_listed_or_typed_whole_stands_in_the_header_and_the_next_request(app: Running) -> None:
    await opened(app, "f4", "now fast/openai · native", "● fast/openai", "○ mine/alpha", "Tool protocol", "● native")
    await app.reach("ctrl+l", "ctrl+l works in: Sessions   escape: back")  # means nothing here
    await app.type(
        "alpha", "> Model          ○ mine/alpha", "config.toml sets model; another choice lasts until the program ends."
    )
    await app.reach("enter", "mine/alpha · native")
    await app.ask("hello")
    assert (json.loads(app.bodies("llm", "out")[-1])["model"], read_state(app)["model"]) == ("alpha", "mine/alpha")
    # Only what differs from the last request is said, once; the header keeps the sums of the turn.
    await app.pilot.resize_terminal(200, 24)
    words = "the model is mine/{} from here on; it was mine/alpha"
    for name in ("alpha-2", "alpha-3", "alpha", "alpha-2", "alpha"):
        await on_model_screen(app, f"mine/{name}")
        # A whole listed name wins over one in use that begins so.
        await app.until_shown(f"○ mine/{name} ", f" mine/{name}: ")
        await app.reach("enter", f"mine/{name} · native", lambda: "turn 1 · " in app.lines[0])
        assert [note.what for note in app.items(NoteItem)[1:]] == ["" if name == "alpha" else words.format(name)]
        await app.until(lambda name=name: (words.format(name) in app.text) == (name != "alpha"))
    await app.pilot.resize_terminal(*SMALL)
    await app.press("ctrl+n")
    assert (app.session.turn, str(app.session.model)) == (0, "mine/alpha")
    await on_model_screen(app, "bare", "does not answer: is it running? check base_url; cannot connect")
    await app.reach("enter", lambda: shown(app).query_one(Input).value == "bare/")
    await app.type("gpt-9", "bare/gpt-9", "as typed")
    await app.reach("enter", "bare/gpt-9 · native")
    await on_model_screen(app, "nobody/x", "No model has this name.")
    await app.press("enter")
    assert str(app.session.model) == "bare/gpt-9"


KEY = "sk-nobody-may-see-this-4712"


@contextmanager
def having(backend: KeyringBackend) -> Generator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield
    finally:
        keyring.set_keyring(before)


async def on_model_screen(app: Running, text: str, *words: str) -> None:
    await opened(app, "f4")
    await app.type(text, *words)


async def test_a_missing_key_is_asked_for_unseen_kept_in_the_keyring_and_forgotten(
    app: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "keys.json"
    monkeypatch.setenv(keyrings.FILE, str(kept))
    await on_model_screen(app, "mistral/", "Mistral: MISTRAL_API_KEY is not set")
    await app.reach("enter", "This system has no keyring", "Set the environment variable MISTRAL_API_KEY, then start")
    with having(keyrings.Locked()):
        app.app.screen.query_one(Input).value = "deepseek/d"
        await app.until_shown("> Model          ○ deepseek/deepseek-chat")
        await app.reach("enter", "Key of DeepSeek", "under tui-host and deepseek; into no file")
        await app.reach("enter", "the field is empty")
        await app.type(KEY, "•" * len(KEY))
        await app.reach("enter", "the system's keyring is locked (KeyringLocked")
        assert KEY not in app.text
    with having(keyrings.Kept()):
        await app.reach("enter", "deepseek/deepseek-chat · native")
        assert json.loads(kept.read_text()) == {"tui-host deepseek": KEY}
        assert app.host.redactor.text(f"it is {KEY}") == "it is ⟨secret:deepseek.api_key⟩"
        folder = app.host.settings.config_dir
        assert not [each for each in folder.rglob("*") if each.is_file() and KEY.encode() in each.read_bytes()]
        await on_model_screen(app, "delete", "> ", "delete the key of deepseek", "in the system's keyring")
        await app.reach("enter", told="the key of deepseek was deleted")
        assert json.loads(kept.read_text()) == {}
        app.app.screen.query_one(Input).value = "deepseek/"
        words = "DeepSeek: DEEPSEEK_API_KEY is not set; press enter to type the key"
        await app.until_shown(f"> Model          ● deepseek/deepseek-chat  {words}")


async def test_options_and_profiles_are_set_shown_sent_and_unset(app: Running) -> None:
    await on_model_screen(app, "temp", "Options", "temperature", "not sent: the provider's own default")
    await app.reach("enter", "temperature for fast/openai, this session")
    await app.type("warm")
    await app.reach("enter", "not a number")
    app.app.screen.query_one(Input).value = "0.25"
    await app.reach("enter", "for this session", "0.25")
    await app.press("escape")
    await app.ask("hello")
    assert json.loads(app.bodies("llm", "out")[-1])["temperature"] == 0.25
    await on_model_screen(app, "temp")
    await app.reach("enter", "temperature for fast/openai, this session")
    app.app.screen.query_one(Input).value = ""
    await app.reach("enter", "not sent: the provider's own default")
    assert app.session.options.temperature is app.host.sessions.new().options.temperature is None
    await app.press("escape")
    await app.send("/profile", "no profile", "calculator", "json", "Use the tools.")
    await app.reach("enter", "fast/openai · json · calculator", "· the profile is calculator from here on")
    assert (app.session.profile, app.session.protocol) == ("calculator", "json")
    assert (app.host.sessions.profile, read_state(app).get("profile")) == ("calculator", "calculator")
    await app.send("/profile", "no profile")
    await app.reach("down enter", lambda: app.session.profile == "")
    assert "profile" not in read_state(app)


def read_state(app: Running) -> dict[str, object]:
    return tomllib.loads((app.host.settings.config_dir / STATE_FILE).read_text())


async def test_models_protocols_and_options_are_one_list_that_tab_goes_through_by_groups(tmp_path: Path) -> None:
    async with running(tmp_path, config=OFF, size=(140, 45)) as app:
        await on_model_screen(
            app, "", "> Model          ● demo/openai ", "demo/openai (in use): built in", "● native", "○ temperature"
        )
        assert all(f"○ hub+{name} " in app.text for name in ("cline", "cherry", "json", "function", "react", "hermes"))
        assert "…" not in app.text
        await app.type(
            "hub+re", "> Tool protocol  ○ hub+react", "hub+react: three tools in place of all; asked for as in react"
        )
        await app.press("left")
        assert app.app.screen.query_one(Input).cursor_position == len("hub+re") - 1
        await app.reach("enter", "demo/openai · hub+react")
        await app.pilot.resize_terminal(80, 24)
        await on_model_screen(app, "")
        for group, shown_first in (
            ("tool protocol", "> Tool protocol  ○ native"),
            ("options", "> Options        ○ temperature"),
        ):
            app.app.screen.query_one(Input).value = group
            await app.until_shown(shown_first)
            assert "○ demo/" not in app.text


async def kept(folder: Path, config: str) -> tuple[list[bytes], list[bytes]]:
    """Two sessions of an earlier run: the requests and the calls of the first."""
    async with running(folder, config=config, size=SMALL) as app:
        await app.until_ready()
        await app.send("你好，请计算 6 × 5")
        await app.answer("y")
        asked, called = app.bodies("llm", "out"), app.bodies("mcp", "out")
        await app.press("ctrl+n")
        await app.ask("list tools")
        return asked, [data for data in called if b'"tools/call"' in data]


async def delete(app: Running, *told: str, times: int = 1) -> None:
    pressed_at = time.monotonic()
    await app.until(lambda: time.monotonic() - pressed_at > HELD_SECONDS)
    await app.press_at_once(*["delete"] * times)
    await app.until_shown(*told)


async def test_a_session_is_found_opened_with_the_same_bytes_and_removed(tmp_path: Path, model_url: str) -> None:
    asked, called = await kept(tmp_path, fast(model_url) + MATH)
    async with running(tmp_path, config=fast(model_url) + OFF, size=SMALL) as app:
        await app.until(lambda: app.host.store is not None)
        store = app.store
        await opened(app, "f5")
        newest, oldest = (f"> {local_minute(info.updated_ns)[:10]} " for info in store.sessions.list())
        await app.until_shown("Sessions   2", newest, "list tools", "你好，请计算", "1 turn")
        await app.until_shown("servers  none", "asked    1 list tools")
        for words, *found in (
            ("6 × 5 and words that nobody said", "No title, message or body has all of these words"),
            ('method:tools/call "result"', "Sessions   1 found", "你好，请计算", "1 row: math"),
            ("status:2", "status: is a number such as 429"),
            ("计算", "Sessions   1 found", oldest),
        ):
            shown(app).query_one(Input).value = words
            shown(app).query_one(Input).cursor_position = len(words)
            await app.until_shown(*found)
        first = store.sessions.list()[1].id
        await app.until_shown(f"session  {first} · ", "fast/openai native · 2 requests", "servers  math · 2 frames")
        for key in ("backspace", "escape"):
            await delete(app, "delete again: remove «你好，请计算 6 × 5» for good.", times=3)  # a key that is held down
            await app.press(key)
            await app.until(lambda: "delete again" not in app.text)
        await app.reach(
            "enter", lambda: app.app.screen is app.main, "你好，请计算", "math.multiply", "30", "tools/call"
        )
        source = app.inspector_source
        await app.until(lambda: source.is_settled)
        rows = list(source.ladder.rows)
        assert [body_of(source, row).wire for row in rows if row.kind == "request" and row.lane == "llm"] == asked
        assert [body_of(source, row).wire for row in rows if row.method == "tools/call" and row.outward] == called
        await app.ask("and now?")
        before = json.loads(asked[-1])["messages"]
        assert app.messages[: len(before)] == before

        await opened(app, "f5", "on screen")
        await delete(app)
        await app.until_told("This session is on the screen.")
        await app.reach("escape ctrl+n", lambda: first not in app.host.sessions)
        await opened(app, "f5", "2 turns")
        await delete(app, "delete again")
        await delete(app, "Sessions   1", "> ", "list tools")
        assert [info.title for info in store.sessions.list()] == ["list tools"]
        assert store.sessions.traffic(first) == []
        other = Store.open(store.path)
        await app.until(lambda: other.sessions.claim(store.sessions.list()[0].id))
        await app.until_shown("open elsewhere")
        await delete(app)
        await app.until_told("Another process is writing this session.")
        other.close()


CONTRACT = (
    *("enter", "ctrl+j", "escape", "tab", "f1", "?", "f2", "f3", "f4", "f5", "ctrl+n", "ctrl+o", "ctrl+p", "ctrl+q"),
    *("ctrl+c", "y a", "Y", " A ", " e ", " n ", " r ", "esc esc", "up down, k j", "[ ctrl+pageup ]", "g G"),
    *("n N", " / ", "1 to 9", " o ", " c ", " d ", " b ", " w ", " z ", " m ", " M ", " p ", " J ", " x ", " | "),
    *("ctrl+s", "ctrl+l", "delete, twice"),
)
"""The keys that people rely on, as the help prints them."""


async def test_help_begins_where_one_was_lists_every_key_and_opens_each_document_by_its_number(app: Running) -> None:
    await opened(app, "f3")
    await opened(
        app, "f1", "Where you were", "connect, or reconnect", *(f"{n} {it}" for n, it in enumerate(DOCUMENTS, 1))
    )
    assert sorted(DOCUMENTS) == sorted(path.stem for path in paths.DOCUMENTS.glob("*.md"))
    view = shown(app).query_one(DocumentView)
    wanted = {*places(), *CONTRACT, *(key.shown for keys in places().values() for key in keys)}
    wanted |= {f" {key} " for action in ACTIONS if (key := key_of(action.key or action.name))}

    def missing() -> set[str]:
        text = "\n".join(view.draw(number).text for number in range(view.line_count()))
        return {words for words in wanted if words not in text}

    await app.until(lambda: not missing())
    await app.press("1")
    screen = shown(app)
    assert isinstance(screen, DocumentScreen)
    document = screen.query_one(DocumentView)
    await app.until(lambda: document.current_source()[1].startswith("# ") and document.line_count() > 10)
    await app.reach("z end escape f1", lambda: isinstance(app.app.screen, ServersScreen))
    await app.reach("escape question_mark", "Where you were", "bring back earlier messages")
    await app.pilot.resize_terminal(60, 20)
    await app.until_shown("beside the chat stands")  # in a narrower window its lines are broken anew


async def test_with_ascii_asked_for_no_screen_draws_anything_else(tmp_path: Path) -> None:
    text = '[ui]\nascii = true\n[servers.off]\ncommand = "never-started"\nenabled = false\n'
    async with running(tmp_path, config=text, size=(100, 30)) as app:
        for key, words in (("f1", "Help"), ("f3", "o off"), ("f4", "* demo/openai"), ("f5", "No sessions yet.")):
            await opened(app, key, words)
            assert re.sub("[\u4e00-\u9fff]", "", app.text).isascii()
        await app.reach("f2", "Nothing sent yet.")
        assert "│" not in app.text
