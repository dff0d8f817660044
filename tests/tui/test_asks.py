"""Questions of servers over the chat: forms, pages, sampling, logins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual.widgets import Static

from tests.kit.app import NARROW, OFF, PATIENT, Running, running
from tests.servers.running import ASKING_SERVER, sdk_configured
from tui_host.chat.calls import call_directly
from tui_host.chat.conversation import NoteItem
from tui_host.errors import JSON
from tui_host.servers.catalog import ToolOutput
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, Login, SamplingAnswer, SamplingRequest
from tui_host.tui.web_addresses import address_of
from tui_host.tui.widgets.asks.ask_panel import AskButton, AskPanel
from tui_host.tui.widgets.asks.elicitation_panels import FormPanel
from tui_host.tui.widgets.forms.form_fields import TextField

SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "minimum": 1, "default": 42},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "news": {"type": "boolean", "default": False},
        "pets": {"type": "array", "items": {"enum": ["cat", "dog"]}},
    },
    "required": ["name"],
}
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


def asking() -> str:
    """A server that asks what its tools say."""
    return PATIENT + sdk_configured("ask", program=ASKING_SERVER)


@asynccontextmanager
async def asked(app: Running, *asks: Callable[[], Awaitable[object]]) -> AsyncGenerator[list[object]]:
    """Ask, wait until keys count, and collect the answers in their order."""
    answers: list[object] = []

    async def ask(question: Callable[[], Awaitable[object]]) -> None:
        answers.append(await question())

    async with anyio.create_task_group() as group:
        for question in asks:
            group.start_soon(ask, question)
            await anyio.lowlevel.checkpoint()
        await until_armed(app)
        yield answers
        with anyio.fail_after(90):
            while len(answers) < len(asks):
                await anyio.sleep(0.02)
    await app.until(lambda: app.main.question is None)


async def until_armed(app: Running) -> AskPanel:
    await app.until(lambda: isinstance(app.main.question, AskPanel) and app.main.question.is_armed)
    panel = app.main.question
    assert isinstance(panel, AskPanel)
    return panel


async def press_button(app: Running, label: str = "Send") -> None:
    """Go to a button by `tab`, and press it by `enter`."""
    for _ in range(12):
        if isinstance(app.focused, AskButton) and label in str(app.focused.render()):
            await app.press("enter")
            return
        await app.press("tab")
    raise AssertionError(f"no button {label}")


async def test_a_form_is_filled_in_and_sent_by_tab_and_enter(app: Running) -> None:
    async with asked(app, lambda: app.app.asks.elicit(FORM)) as answers:
        assert "math asks you to fill in a form" in app.text
        await app.type("Yda")  # letters that decide elsewhere
        await app.press("enter", "tab", "tab", "up", "tab", "down", "space")
        await press_button(app)
    content = {"name": "Yda", "age": 42, "news": True, "pets": ["dog"]}
    assert answers == [ElicitationAnswer(action="accept", content=content)]
    assert app.focused is app.prompt


async def test_a_wrong_value_is_told_at_its_field_and_nothing_is_sent(app: Running) -> None:
    async with asked(app, lambda: app.app.asks.elicit(FORM)) as answers:
        await press_button(app)
        await app.until_shown("! a value is needed")
        await app.type("Ada")
        await app.press("tab", "tab")
        await app.type("abc")
        await press_button(app)
        await app.until_shown("does not match")  # the pattern, checked in a process of its own
        assert not answers
        await app.press("escape")
    assert answers == [ElicitationAnswer(action="cancel")]


@pytest.mark.parametrize(("key", "action"), [("ctrl+d", "decline"), ("escape", "cancel")])
async def test_a_key_declines_or_cancels_but_not_before_the_quiet_period(app: Running, key: str, action: str) -> None:
    async with asked(app, lambda: app.app.asks.elicit(FORM)) as answers:
        panel = await until_armed(app)
        assert panel.read("\n\na\n\n \n\nb\nc\n") == "a\n\nb\nc"  # a message of blank lines hides no field
        panel.look_again()
        await app.press_at_once("x", key)
        await app.until_shown("came too early")
        assert not answers
        await until_armed(app)
        assert "x" not in app.text_in(panel.query_one("TextField"))
        await app.press(key)
    assert [answer.action for answer in answers if isinstance(answer, ElicitationAnswer)] == [action]


async def test_a_field_with_a_default_must_be_seen_and_one_for_a_secret_is_pointed_out(
    tmp_path: Path,
) -> None:
    properties: dict[str, JSON] = {f"n{number}": {"type": "integer", "default": number} for number in range(9)}
    secret: dict[str, JSON] = {"api_key": {"type": "string", "default": "x"}}
    form = replace(FORM, schema={"properties": {**properties, **secret}})
    async with (
        running(tmp_path, config=OFF, size=NARROW) as app,
        asked(app, lambda: app.app.asks.elicit(form)) as got,
    ):
        panel = await until_armed(app)
        assert isinstance(panel, FormPanel)
        panel.query(AskButton).first().focus()
        await app.press("enter")
        await app.until_shown("was not shown yet")
        assert not got
        assert "asks for a secret" in str(panel.query_one(".row-secret", Static).render())
        while not got:  # each time the next field that was not shown comes into sight
            seen = len(panel._seen)  # pyright: ignore[reportPrivateUsage]
            await press_button(app)
            await app.until(lambda n=seen: got or len(panel._seen) > n)  # pyright: ignore[reportPrivateUsage]
    assert isinstance(got[0], ElicitationAnswer)


async def test_a_form_of_thousands_of_fields_is_one_field_that_can_be_cancelled_at_once(app: Running) -> None:
    properties: dict[str, JSON] = {f"n{number}": {"type": "integer"} for number in range(3_000)}
    form = replace(FORM, schema={"properties": {**properties, "password": {"type": "string"}}})
    async with asked(app, lambda: app.app.asks.elicit(form)) as answers:
        await app.until_shown("3,001 fields, too many to show", "one JSON object", "asks for a secret")
        await app.press("escape")
    assert answers == [ElicitationAnswer(action="cancel")]
    async with asked(app, lambda: app.app.asks.elicit(form)) as answers:
        await app.type("[1]")
        await press_button(app)
        await app.until_shown("! a JSON object is needed")
        assert not answers
        (await until_armed(app)).query_one(TextField).load_text('{"n7":1}')
        await press_button(app)
    assert answers == [ElicitationAnswer(action="accept", content={"n7": 1})]


async def test_a_page_is_shown_with_its_host_and_opened_only_by_a_key(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    async with running(tmp_path, config=OFF, environment={"BROWSER": f"{browser} %s"}) as app:
        async with asked(app, lambda: app.app.asks.elicit(PAGE)) as answers:
            await app.until_shown("pay.example.com", PAGE.url)
            assert not opened.exists()
            await app.press("o")
            await app.until_shown("was opened in the browser")
            assert opened.read_text(encoding="utf-8").strip() == PAGE.url
            assert not answers
            await press_button(app, "Done")
        assert answers == [ElicitationAnswer(action="accept")]


async def test_a_cancelled_question_closes_and_the_next_one_is_shown(app: Running) -> None:
    scope = anyio.CancelScope()

    async def withdrawn() -> None:
        with scope:
            await app.app.asks.elicit(PAGE)

    async with asked(app, withdrawn, lambda: app.app.asks.elicit(FORM)) as answers:
        await app.until_shown("pay.example.com")
        scope.cancel()
        await app.until_shown("Who are you?")
        await until_armed(app)
        await app.press("ctrl+d")
    assert ElicitationAnswer(action="decline") in answers


async def test_a_form_that_its_server_gave_up_says_so_and_keeps_the_keys_meant_for_it(app: Running) -> None:
    scope = anyio.CancelScope()

    async def given_up() -> None:
        with scope:
            await app.app.asks.elicit(FORM)

    async with asked(app, given_up):
        await app.type("Ada")
        scope.cancel()
        await app.until_shown("math waits no more", "Its server gave this question up", "Who are you?")
        await app.type(" Lovelace")
        await press_button(app)
        await app.until_shown("nothing can be", "Ada Lovelace")
        assert app.prompt.text == ""
        await app.press("escape")
    await app.until(lambda: app.focused is app.prompt)
    assert app.prompt.text == ""


async def test_a_form_without_fields_is_accepted_by_its_button(app: Running) -> None:
    confirm = replace(FORM, message="Really delete?", schema={"type": "object", "properties": {}})
    async with asked(app, lambda: app.app.asks.elicit(confirm)) as answers:
        await press_button(app)
    assert answers == [ElicitationAnswer(action="accept", content={})]


async def test_keys_typed_ahead_behind_tab_land_in_the_field_they_were_typed_for(app: Running) -> None:
    properties: dict[str, JSON] = {"name": {"type": "string"}, "mail": {"type": "string"}}
    form = replace(FORM, schema={"type": "object", "properties": properties})
    async with asked(app, lambda: app.app.asks.elicit(form)) as answers:
        await app.press_at_once(*"Ada", "tab", *"mail")
        await app.until_shown("mail")
        await press_button(app)
    assert answers == [ElicitationAnswer(action="accept", content={"name": "Ada", "mail": "mail"})]


async def test_a_call_of_a_real_server_asks_and_all_its_questions_can_be_declined(tmp_path: Path) -> None:
    async with running(tmp_path, config=asking()) as app:
        await app.until_ready()
        pool, recorder = app.host.pool, app.host.recorder
        assert pool is not None
        assert recorder is not None
        book = next(tool for tool in pool.tools() if tool.name == "book")
        outputs: list[ToolOutput] = []

        async def call() -> None:
            session = app.host.sessions.new()
            outputs.append(await call_directly(pool, recorder, session, book, b'{"train":"IC 1"}'))

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
        items = [item for session in app.host.sessions.values() for item in session.conversation.items]
        notes = [item.what for item in items if isinstance(item, NoteItem)]
        assert any("all questions of the server ask are declined" in words for words in notes)


async def test_a_question_waits_for_an_approval_and_an_approval_for_a_question(app: Running) -> None:
    await app.send("what is (6 × 5 + 7) / 2? use the tools")
    await app.until_asked()
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
    app.host.stop_turn(app.session)
    await app.until_idle()


async def test_a_question_of_another_session_is_told_in_the_header(app: Running) -> None:
    await app.send("what is (6 × 5 + 7) / 2? use the tools")
    await app.until_asked()
    other, item = app.session, next(app.session.conversation.last_turn())[1]
    call = getattr(item, "call", "")
    await app.press("ctrl+n")
    other.open_questions()[0].approve()
    with anyio.fail_after(90):
        async with anyio.create_task_group() as group:
            group.start_soon(app.app.asks.elicit, replace(FORM, call=call))
            await app.until_shown("1 other session waiting for you (f5)")
            group.cancel_scope.cancel()
    app.host.stop_turn(other)


async def test_a_sampling_request_and_its_answer_are_edited_before_they_go(app: Running) -> None:
    async with asked(app, lambda: app.app.asks.review_request(SAMPLING)) as requests:
        await app.until_shown("demo/openai", "opus", '"text": "hello"', "Be brief.")
        await app.press("tab")
        await app.type("!")
        await press_button(app)
        await app.until_shown("are not JSON")
        (await until_armed(app)).query_one(TextField).load_text('{"messages": [], "maxTokens": 7}')
        await press_button(app)
    assert requests == [replace(SAMPLING, params={"messages": [], "maxTokens": 7})]
    result: dict[str, JSON] = {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}
    async with asked(
        app,
        lambda: app.app.asks.review_answer(SAMPLING, SamplingAnswer(result=result)),
    ) as reviewed:
        await app.press("tab")
        await app.type("!")
        await press_button(app)
    assert reviewed == [SamplingAnswer(result={**result, "content": {"type": "text", "text": "Hi!"}})]
    async with asked(app, lambda: app.app.asks.review_request(SAMPLING)) as refused:
        await app.press("ctrl+d")
    assert refused == [None]


async def test_a_login_takes_only_an_address_of_its_redirect(app: Running) -> None:
    async with asked(app, lambda: app.app.asks.log_in(LOGIN)) as answers:
        await app.until_shown("docs asks you to log in", "auth.example.com")
        await press_button(app, "Use address")
        await app.until_shown("must begin with")
        await app.type("http://127.0.0.1:7/callback?code=1")
        await press_button(app, "Use address")
    assert answers == ["http://127.0.0.1:7/callback?code=1"]


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
