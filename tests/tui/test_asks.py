"""Questions of servers over the chat (forms, pages, sampling, logins), and what servers offer: forms of tools, contents, prompts, resources."""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual import events
from textual.widgets import TextArea

from tests.kit.app import MATH, NARROW, OFF, PATIENT, USUAL, WIDE, Running, running
from tests.servers.rich_server import RED, RICH, png
from tests.servers.running import sdk_configured
from tui_host.capture.link import read_link
from tui_host.chat.calls import call_directly
from tui_host.chat.conversation import CallItem, NoteItem, UserItem
from tui_host.errors import JSON
from tui_host.servers.catalog import ToolOutput, expand, variables
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login, SamplingAnswer, SamplingRequest
from tui_host.tui.questions.addresses import address_of
from tui_host.tui.questions.ask_panels import AskPanel, FormPanel
from tui_host.tui.questions.form import TextField
from tui_host.tui.questions.panel import AskButton
from tui_host.tui.screens.contents_screen import ContentsScreen, PictureView
from tui_host.tui.screens.field_screen import FillScreen, SaveScreen
from tui_host.tui.screens.prompt_screen import PromptScreen
from tui_host.tui.widgets.pages.page_lines import PageLines
from tui_host.tui.widgets.prompt.completion import Completion

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "minimum": 1, "default": 42}, "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "news": {"type": "boolean", "default": False}, "pets": {"type": "array", "items": {"enum": ["cat", "dog"]}}},
    "required": ["name"],
}  # fmt: skip
FORM = Elicitation(server="math", message="Who are you?", schema=SCHEMA)
PAGE = Elicitation(server="math", message="Pay here.", url="https://pay.example.com/7", id="e1")
PARAMS: dict[str, JSON] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
    "systemPrompt": "Be brief.",
    "maxTokens": 100,
    "temperature": 0.5,
    "modelPreferences": {"hints": [{"name": "opus"}]},
}
SAMPLING = SamplingRequest(server="math", params=PARAMS, model="demo/openai")
LOGIN = Login(server="docs", url="https://auth.example.com/authorize?x=1", redirect="http://127.0.0.1:7/callback")


@asynccontextmanager
async def asked(
    app: Running,
    *asks: Elicitation | Callable[[], Awaitable[object]],
    gives_up: anyio.CancelScope | None = None,
    key: str = "",
) -> AsyncGenerator[list[object]]:
    """Ask, wait until keys count, and collect the answers in their order; who asked first may give up."""
    answers: list[object] = []

    async def ask(question: Elicitation | Callable[[], Awaitable[object]]) -> None:
        with (gives_up if gives_up and question is asks[0] else None) or anyio.CancelScope():
            answers.append(await (app.app.asks.elicit(question) if isinstance(question, Elicitation) else question()))

    async with anyio.create_task_group() as group:
        for question in asks:
            group.start_soon(ask, question)
            await anyio.lowlevel.checkpoint()
        if key:
            await app.until_shown(key)  # a line, while the person may go on writing
            await app.type("draft")
            assert app.main.question is None
            await app.press(key)
        await until_armed(app)
        yield answers
    await app.until(lambda: app.main.question is None)


async def until_armed(app: Running) -> AskPanel:
    await app.until(lambda: isinstance(app.main.question, AskPanel) and app.main.question.is_armed)
    panel = app.main.question
    assert isinstance(panel, AskPanel)
    return panel


async def press_button(app: Running, label: str = "Send") -> None:
    for _ in range(12):
        if isinstance(app.focused, AskButton) and label in str(app.focused.render()):
            await app.press("enter")
            return
        await app.press("tab")
    raise AssertionError(f"no button {label}")


async def test_a_form_is_filled_in_and_sent_by_tab_and_enter(app: Running) -> None:
    """And what is wrong is told at its field, and not sent."""
    async with asked(app, FORM) as answers:
        assert "math asks you to fill in a form" in app.text
        await press_button(app)
        await app.until_shown("! a value is required")
        # Letters that decide elsewhere; what is typed ahead behind a tab lands in its field.
        await app.press_at_once(*"Yda", "tab", "tab", *"abc")
        await press_button(app)
        await app.until_shown("does not match")  # the pattern, checked in a process of its own
        assert not answers
        await app.press("shift+tab", "shift+tab", "up", "shift+tab", "ctrl+u", "tab", "tab", "down", "space")
        await press_button(app)
    content = {"name": "Yda", "age": 42, "news": True, "pets": ["dog"]}
    assert answers == [ElicitationAnswer(action="accept", content=content)]
    assert app.focused is app.prompt


async def test_a_key_declines_or_cancels_but_not_before_the_quiet_period(app: Running) -> None:
    for key, action in (("ctrl+d", "decline"), ("escape", "cancel")):
        async with asked(app, replace(FORM, message="\n\na\n\n \n\nb\nc\n")) as answers:
            panel = await until_armed(app)
            # A message of blank lines hides no field.
            words = panel.query("VerticalScroll > Static").first()
            assert words.size.height == 4
            assert [row[:1] for row in app.text_in(words).splitlines()[:4]] == ["│"] * 4  # no line is like one of ours
            panel.look_again()
            app.app.post_message(events.Paste("x, meant for the prompt"))
            await app.press_at_once("x", key)
            await app.until_shown("came too early")
            assert not answers
            await until_armed(app)
            assert "x" not in app.text_in(panel.query_one("TextField"))
            await app.press(key)
        assert [getattr(answer, "action", "") for answer in answers] == [action]


async def test_a_field_with_a_default_must_be_seen_and_one_for_a_secret_is_pointed_out(tmp_path: Path) -> None:
    properties: dict[str, JSON] = {f"n{number}": {"type": "integer", "default": number} for number in range(9)}
    secret: dict[str, JSON] = {"api_key": {"type": "string", "default": "x"}}
    form = replace(FORM, schema={"properties": {**properties, **secret}})
    async with running(tmp_path, config=OFF, size=NARROW) as app, asked(app, form) as got:
        panel = await until_armed(app)
        assert isinstance(panel, FormPanel)
        panel.query(AskButton).first().focus()
        await app.reach("shift+tab", "asks for a secret")
        await press_button(app)
        await app.until_shown("was not shown yet")
        assert not got
        while not got:  # each time the next field that was not shown comes into sight
            left = len(panel.unseen)
            await press_button(app)
            await app.until(lambda n=left: got or len(panel.unseen) < n)
    assert isinstance(got[0], ElicitationAnswer)


async def test_a_form_of_thousands_of_fields_is_one_field_and_one_without_has_its_button(app: Running) -> None:
    properties: dict[str, JSON] = {f"n{number}": {"type": "integer"} for number in range(3_000)}
    form = replace(FORM, schema={"properties": {**properties, "password": {"type": "string"}}})
    confirm = replace(FORM, message="Really delete?", schema={"type": "object", "properties": {}})
    async with asked(app, confirm) as answers:  # no field at all
        await press_button(app)
    assert answers == [ElicitationAnswer(action="accept", content={})]
    async with asked(app, form) as answers:
        await app.until_shown("3,001 fields, too many to show", "one JSON object", "asks for a secret")
        await app.type("[1]")
        await press_button(app)
        await app.until_shown("! a JSON object is required")
        assert not answers
        (await until_armed(app)).query_one(TextField).load_text('{"n7":1}')
        await press_button(app)
    assert answers == [ElicitationAnswer(action="accept", content={"n7": 1})]


async def test_a_page_is_shown_with_its_host_and_opened_only_by_a_key(tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    async with running(tmp_path, config=OFF, environment={"BROWSER": f"{browser} %s"}) as app:
        async with asked(app, PAGE) as answers:
            await app.until_shown("pay.example.com", PAGE.url)
            assert not opened.exists()
            await app.reach("o", "was opened in the browser")
            assert opened.read_text(encoding="utf-8").strip() == PAGE.url
            assert not answers
            await press_button(app, "Done")
        assert answers == [ElicitationAnswer(action="accept")]


async def test_a_page_that_was_given_up_closes_and_a_form_keeps_the_keys_meant_for_it(app: Running) -> None:
    scope = anyio.CancelScope()
    async with asked(app, PAGE, FORM, gives_up=scope) as answers:
        await app.until_shown("pay.example.com")
        scope.cancel()
        await app.until_shown("Who are you?")
        await until_armed(app)
        await app.press("ctrl+d")
    assert answers == [ElicitationAnswer(action="decline")]
    scope = anyio.CancelScope()
    async with asked(app, FORM, gives_up=scope):
        await app.type("Ada")
        scope.cancel()
        await app.until_shown("math waits no more", "Its server took this question back", "Who are you?")
        await app.type(" Lovelace")
        await press_button(app)
        await app.until_shown("nothing can be", "Ada Lovelace")
        assert app.prompt.text == ""
        await app.press("escape")
    await app.until(lambda: app.focused is app.prompt)
    assert app.prompt.text == ""


async def test_a_call_of_a_real_server_asks_and_all_its_questions_can_be_declined(tmp_path: Path) -> None:
    async with running(tmp_path, config=PATIENT + sdk_configured("ask")) as app:
        await app.until_ready()
        pool, recorder = app.host.pool, app.host.recorder
        assert pool is not None
        assert recorder is not None
        book = next(tool for tool in pool.tools() if tool.name == "book")
        outputs: list[ToolOutput] = []

        async def call() -> None:
            outputs.append(await call_directly(pool, recorder, app.host.sessions.new(), book, b'{"train":"IC 1"}'))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await until_armed(app)
            await app.until_shown("ask asks you to fill in a form", "Which seats?")
            await app.type("2")
            await press_button(app)
        assert outputs[0].content[0].text == "IC 1: 2 plants True"
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call)
            await app.until_shown("1 of 3")
            await until_armed(app)
            await press_button(app, "Decline all")
            await app.until_shown("Press it again to decline this")
            assert len(outputs) == 1
            await until_armed(app)
            await press_button(app, "Decline all")
        assert all(output.is_error for output in outputs[1:])
        await call()  # asks nobody
        assert len(outputs) == 5
        items = [str(item) for session in app.host.sessions.values() for item in session.conversation]
        assert any("all questions of the server ask are declined" in item for item in items)


async def test_a_question_waits_for_an_approval_and_one_of_another_session_is_told(app: Running) -> None:
    await app.send("what is (6 × 5 + 7) / 2? use the tools", app.asks)
    async with anyio.create_task_group() as group:
        group.start_soon(app.app.asks.elicit, FORM)
        await app.pilot.pause(0.3)
        assert app.approval is not None
        await app.decide("y")
        await until_armed(app)
        await app.until(lambda: bool(app.session.open_questions()))
        assert app.approval is None
        await app.press("escape")
    await app.until_asked()
    other, item = app.session, app.items(CallItem)[-1]
    await app.press("ctrl+n")
    other.open_questions()[0].approve()
    async with anyio.create_task_group() as group:
        group.start_soon(app.app.asks.elicit, replace(FORM, call=item.call))
        await app.until_shown("1 other session waiting for you (f5)")
        group.cancel_scope.cancel()
    words = "math asked you to fill in a form, and took the question back"
    assert any(words in str(item) for item in other.conversation)
    app.host.turns.stop(other)


async def test_a_sampling_request_and_its_answer_are_edited_before_they_go(app: Running) -> None:
    """And a login takes only an address of its redirect."""
    async with asked(app, lambda: app.app.asks.review(SAMPLING, SAMPLING)) as requests:
        await app.until_shown("demo/openai", "opus", '"text": "hello"', "Be brief.")
        await app.press("tab")
        await app.type("!")
        await press_button(app)
        await app.until_shown("are not JSON")
        (await until_armed(app)).query_one(TextField).load_text('{"messages": [], "maxTokens": 7}')
        await press_button(app)
    assert requests == [replace(SAMPLING, params={"messages": [], "maxTokens": 7})]
    result: dict[str, JSON] = {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}
    async with asked(app, lambda: app.app.asks.review(SAMPLING, SamplingAnswer(result=result))) as reviewed:
        await app.until_shown('"text": "Hi"', "Send to math")
        field = (await until_armed(app)).query_one(TextField)
        field.load_text(field.text.replace("Hi", "Hi!"))
        await press_button(app)
    assert reviewed == [SamplingAnswer(result={**result, "content": {"type": "text", "text": "Hi!"}})]
    async with asked(app, lambda: app.app.asks.review(SAMPLING, SAMPLING)) as refused:
        await app.press("ctrl+d")
    assert refused == [None]
    async with asked(app, lambda: app.app.asks.log_in(LOGIN), key="ctrl+g") as answers:
        await app.until_shown("docs asks you to log in", "auth.example.com")
        await press_button(app, "Use address")
        await app.until_shown("must begin with")
        await app.type("http://127.0.0.1:7/callback?code=1")
        await press_button(app, "Use address")
    assert answers == ["http://127.0.0.1:7/callback?code=1"]
    assert app.prompt.text == "draft"


@pytest.mark.parametrize(
    ("text", "host", "words", "may_open"),
    [
        ("https://a.example/b", "a.example", "", True),
        ("http://127.0.0.1:8/x", "127.0.0.1:8", "", True),
        ("http://a.example", "a.example", "not encrypted", True),
        ("javascript:alert(1)", "", "scheme is javascript", False),
        ("file:///etc/passwd", "", "scheme is file", False),
        ("https://bank.example@evil.example/", "evil.example", "before the @", True),
        ("https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "Punycode", True),
        ("https://аррӏе.com/", "аррӏе.com", "xn--80ak6aa92e.com", True),
        ("https://a.example/\u202etxt", "a.example", "hidden", False),
        ("https://[::1", "", "no address", False),
    ],
)
def test_what_is_odd_about_an_address_is_pointed_out(text: str, host: str, words: str, may_open: bool) -> None:  # noqa: FBT001 - a parameter of the test
    address = address_of(text)
    assert (address.host, address.may_open) == (host, may_open)
    assert words in " ".join(address.notes)
    assert bool(words) is bool(address.notes)


async def form_of(app: Running, label: str) -> None:
    view = app.app.screen.query_one(PageLines)
    view.focus()
    await app.until(lambda: any(label in view.draw(number).text for number in range(view.line_count())))
    view.move_cursor(next(number for number in range(view.line_count()) if label in view.draw(number).text))
    await app.reach("t", lambda: isinstance(app.app.screen, FillScreen) and app.focused is not None)


def sent(app: Running) -> list[JSON]:
    frames = [json.loads(data) for data in app.bodies("mcp", "out")]
    return [frame["params"].get("arguments") for frame in frames if frame.get("method") == "tools/call"]


async def test_servers_are_asked_by_hand_and_their_questions_are_answered_there(tmp_path: Path) -> None:
    async with running(tmp_path, config=MATH + sdk_configured("ask"), size=WIDE) as app:
        await app.until_ready()
        await app.reach("f3", lambda: re.search(r"tools \(4\).*~\d", app.text))
        tokens = re.findall(r"tools \(4\).*~(\d+)", app.text)[0]
        await form_of(app, "multiply")
        await app.reach("s i x enter enter", "! a number is required")
        assert sent(app) == []
        await app.reach("ctrl+u 6 enter 7 enter", "multiply: answered after", '{"a":6,"b":7}', "42")
        await form_of(app, "multiply: answered")  # with what was sent then
        await app.reach("enter enter", lambda: sent(app) == [{"a": 6, "b": 7}] * 2)
        session = next(session for session in app.host.sessions.values() if session.turn)
        await app.until(lambda: not session.busy)
        calls = [item for item in session.conversation if isinstance(item, CallItem)]
        assert [(call.tool, call.by, call.words) for call in calls] == [("multiply", "person", "called by you")] * 2
        await form_of(app, "▸ multiply  M")
        await press_button(app, "As JSON")
        await app.until(lambda: app.app.screen.query(TextArea).first().text == '{\n  "a": 6,\n  "b": 7\n}')
        await app.press("ctrl+end", *["backspace"] * 30)
        await app.type('{"a": "six"}')  # what no form would send
        await press_button(app, "Call")
        await app.until_shown('{"a":"six"}', lambda: sent(app)[2:] == [{"a": "six"}])
        await app.reach("escape", lambda: app.app.screen is app.main)
        await app.ask("hello")
        await app.send("/bill")  # says the same of what was sent
        await app.until(lambda: re.search(rf"math \(4\).*~{tokens}\b", app.text))
        await app.press("f3", "down")
        await form_of(app, "book")
        await app.type("IC 1")
        await app.reach("enter", "ask asks you to fill in a form", "Which seats?")
        panel = app.app.screen.query_one(FormPanel)
        await app.until(lambda: panel.is_armed)
        await app.type("3")
        await press_button(app)
        await app.until_shown("IC 1: 3 plants True", "answered after")
        view = app.app.screen.query_one(PageLines)
        for listed, item, shown in (
            ("resources (", "note://one", "text/plain note://one"),
            ("prompts (", "▸ greet ", "greet: answered after"),
        ):
            view.focus()
            view.move_cursor(next(at for at in range(view.line_count()) if listed in view.draw(at).text))
            await app.press("enter")
            await form_of(app, item)
            await press_button(app, "")
            await app.until_shown(shown)
        await app.until_shown("hello")


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("demo://text/{id}", {"id": "a b/c"}, "demo://text/a%20b%2Fc"),
        ("file:///{+path}", {"path": "a/b c"}, "file:///a/b%20c"),
        ("x://s{?q,page*}", {"q": "é", "page": "2"}, "x://s?q=%C3%A9&page=2"),
        ("x://s{?q}{#top}", {"q": ""}, "x://s"),
        ("x://{a,b}{/c:3}", {"a": "1", "b": "2", "c": "3"}, "x://1,2/3"),
    ],
)
def test_a_template_is_filled_in(template: str, values: dict[str, str], uri: str) -> None:
    assert expand(template, values) == uri
    assert set(values) <= set(variables(template))


CONFIG = f"""{PATIENT}{RICH.table("rich")}
[[rules]]
server = "rich"
tool = "*"
action = "allow"
"""


async def test_contents_are_named_in_the_chat_shown_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "everything-2.png"
    there.write_bytes(b"mine")
    named = ("image: image/png", "audio: audio/wav", "«hologram»", "does not fit the output schema", "page: ui://")
    async with running(tmp_path, config=CONFIG) as app:
        await app.until_ready()
        await app.ask("call rich.everything {}")
        app.transcript.focus()
        await app.reach("home down enter", *named)
        before = app.transcript.current_source()
    async with running(tmp_path, config=CONFIG, size=USUAL) as app:
        await app.until(lambda: app.host.store is not None)
        app.main.show_session(app.host.sessions.open("last"))
        await app.until_shown("I follow rules")
        app.transcript.focus()
        await app.until(lambda: app.focused is app.transcript and app.transcript.line_count())
        await app.reach("home down enter", *named)
        assert "".join(app.transcript.current_source()).split() == "".join(before).split()
        await app.until(lambda: app.inspector_source.is_settled)
        app.transcript.focus()
        await app.press("v")
        await app.until(lambda: isinstance(app.app.screen, ContentsScreen) and app.app.screen.has_class("-picture"))
        screen = app.app.screen
        await app.until(lambda: app.text_in(screen.query_one(PictureView)).startswith("▀▀▀▀ "))
        await app.reach("o", "Only a saved file is opened")
        await app.reach("s", lambda: isinstance(app.app.screen, SaveScreen))
        await app.reach("enter", "Press enter again to replace it")
        assert there.read_bytes() == b"mine"
        await app.reach("enter", lambda: app.app.screen is screen)
        assert there.read_bytes() == png(4, 4)
        assert RED not in app.text
        assert not any(b"ui://" in frame and b"resources/read" in frame for frame in app.bodies("mcp", "out"))
        await app.reach("end", "MCP Apps")
        await app.reach("enter", "<!doctype html><b>a page</b>")  # a page is fetched only by a key, and shown as text


async def at(app: Running, words: str) -> None:
    """Write a word after `@`, its last letter by key, and wait for suggestions."""
    app.write(words[:-1])
    app.prompt.move_cursor(app.prompt.document.end)
    await app.press("slash" if words[-1] == "/" else words[-1])
    await app.until(lambda: any(list_.current for list_ in app.main.query(Completion)))


async def sends(app: Running) -> None:
    turn = app.session.turn
    await app.reach("enter", lambda: app.session.turn > turn)
    await app.until_idle()


async def fill_in_a_prompt(app: Running) -> None:
    app.write("/rich:pl")
    await app.until_shown("Plans a trip to a city.")
    await app.reach("enter", lambda: isinstance(app.app.screen, FillScreen))
    await app.type("be", lambda: any(b'"be"' in frame for frame in app.bodies("mcp", "out")))  # "b" was asked for too
    await app.until_shown("Berlin", "Bern")
    await app.reach("down down enter enter", lambda: isinstance(app.app.screen, PromptScreen))
    await app.until_shown("Plan a trip to Bern.", "assistant, from /rich:plan", "image/png")
    assert not app.session.turn
    await sends(app)
    assert [message["role"] for message in app.messages][-3:] == ["user", "assistant", "user"]
    assert "image_url" in json.dumps(app.messages[-3])
    items = [(item.origin, item.role) for item in app.items(UserItem)]
    assert items == [("/rich:plan", role) for role in ("", "", "assistant", "")]
    await app.until_shown("from the prompt /rich:plan")


async def test_a_resource_is_attached_a_template_linked_and_a_prompt_filled_in(tmp_path: Path) -> None:
    """And the parts of a request are linked with the prompt and the resource that gave them."""
    async with running(tmp_path, config=CONFIG) as app:
        await app.until_ready()
        await app.until(app.main.offers.prompts)
        await app.send("/rich:hello", "hello from the server", "enter sends them")
        await sends(app)
        await app.until(lambda: app.main.offers.suggestions("rich:"))
        await at(app, "see @rich:note://o")
        await app.reach("tab", "14 B to demo/openai: read it now")
        await app.reach("down down tab", "[note://one of rich: text, 14 B]", "data of rich to demo/openai")
        await sends(app)
        recorder, body = app.host.recorder, app.bodies("llm", "out")[-1]
        assert recorder is not None
        links = [read_link(record.data) for record in recorder.since(0, limit=10**6) if record.kind == "link"]
        given = [(it.words, body[it.span.start : it.span.end]) for it in links if it and it.relation == "given"]
        assert [words for words, _ in given] == [*["the prompt /rich:hello"] * 2, "the resource note://one of rich"]
        assert given[1][1] == b"hello from the server"
        assert b"the first note" in given[2][1]
        assert '<resource server=\\"rich\\" uri=\\"note://one\\">\\nthe first note' in json.dumps(app.messages[-1])
        await app.send("call rich.touch {}", "rich says that note://one changed")
        assert [note.server for note in app.items(NoteItem)] == ["rich"]
        await app.until_idle()
        read = sum(b"resources/read" in frame for frame in app.bodies("mcp", "out"))
        await at(app, "@rich:by/")
        await app.reach("tab", lambda: isinstance(app.app.screen, FillScreen), "ada", "alan")
        await app.reach("down enter", "to demo/openai: only its address")
        await app.reach("down tab", "[note://by/ada of rich: address only]")
        await sends(app)
        told = "A resource of the server rich: note://by/ada. Its content is not included."
        assert told in json.dumps(app.messages[-1])
        assert sum(b"resources/read" in frame for frame in app.bodies("mcp", "out")) == read
        await app.press("ctrl+n")
        await fill_in_a_prompt(app)
