"""The keys that people rely on, each in the real app, and what they do to what was written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from tests.kit.app import Running
from tui_host.answers.bodies import body_of
from tui_host.capture.ladder.row import Row
from tui_host.capture.record import Record
from tui_host.chat.conversation import AnswerItem, NoteItem, UserItem
from tui_host.settings.save import STATE_FILE
from tui_host.settings.schema import ModelRef
from tui_host.tui.keys import ACTIONS
from tui_host.tui.screens.help_screen import DOCUMENTS, HelpScreen
from tui_host.tui.screens.model_screen import ModelScreen
from tui_host.tui.screens.request_screen import RequestScreen
from tui_host.tui.screens.servers_screen import ServersScreen
from tui_host.tui.screens.sessions_screen import SessionsScreen
from tui_host.tui.widgets.details.detail_panel import Detail, SearchInput


def said(app: Running) -> list[str]:
    return [item.text for item in app.items(UserItem)]


def rows_of_turn(app: Running) -> list[Row]:
    return [row for row in app.inspector_source.ladder.rows if row.turn]


async def choose(app: Running, row: Row) -> None:
    ladder = app.inspector.ladder
    await app.until(lambda: ladder.select(row.number) or ladder.selected_number == row.number)
    ladder.focus()


async def test_each_key_opens_its_screen_and_the_same_key_or_escape_closes_it(app: Running) -> None:
    # What is typed right after the key goes to the screen's field or nowhere, and never to the prompt.
    for key, screen, typed in (
        ("f1", HelpScreen, ""),
        ("f3", ServersScreen, "zwq"),
        ("f4", ModelScreen, "zwq x"),
        ("f5", SessionsScreen, "zwq x\n"),
        ("ctrl+o", RequestScreen, ""),
    ):
        await app.press_at_once(key, *({" ": "space", "\n": "enter"}.get(letter, letter) for letter in typed))
        if key in {"f4", "f5"}:
            await app.until(lambda: [each.value for each in app.app.screen.query(Input)] == ["zwq x"])
        assert isinstance(app.app.screen, screen)
        await app.press(key if key != "f5" else "escape")
        assert app.app.screen is app.main
        assert (app.focused, app.prompt.text, said(app)) == (app.prompt, "", [])
    await app.press("?")
    assert isinstance(app.app.screen, HelpScreen)
    await app.press("escape")
    assert app.prompt.text == ""
    await app.press("a", "?", "escape")
    assert (app.prompt.text, app.app.screen) == ("a?", app.main)
    await app.reach(
        "ctrl+p",
        "Search for commands",
        "f1      Every key and where it works",
        "d       Show what changed in a request",
    )
    await app.type("promises", "read: promises", "what always holds")
    await app.reach("escape", lambda: app.app.screen is app.main)
    await app.press("ctrl+p")
    await app.type("request", "Show the coming request")  # which many lines say; one is called so
    await app.reach("enter", lambda: isinstance(app.app.screen, RequestScreen))
    await app.press("escape")


async def test_the_wait_before_a_request_is_sent_again_counts_down(app: Running) -> None:
    session, moments = app.session, [1000.0]
    session.clock = lambda: moments[-1]
    try:
        session.wait_for("retry", "429: slow down", seconds=100)
        for passed, left in ((0.0, 100), (1.0, 99), (49.0, 50), (60.0, 0)):
            moments.append(moments[-1] + passed)
            await app.until_shown(f"retrying in {left} s   escape stops")
        heard = moments[-1]
        session.wait_for("answer", heard=lambda: heard, limit="providers.mine.timeout ends it at 60 s")
        moments.append(heard + 9)
        await app.until_shown("receiving the answer 9 s   escape stops")
        moments.append(heard + 57)
        await app.until_shown("no byte for 57 s   escape stops   p")
    finally:
        session.wait_for("")


async def test_f2_and_the_bar_change_what_is_shown_and_tab_goes_round(app: Running) -> None:
    def seen() -> object:
        return app.main.arrangement, app.prompt.region.width > 0, app.inspector.region.width > 0

    for wanted in (("inspector", False, True), ("chat", True, False), ("both", True, True)):
        await app.reach("f2", lambda wanted=wanted: seen() == wanted)
    assert app.focused is app.prompt
    stops: list[object] = []
    for _ in range(4):
        await app.press("tab")
        stops.append(app.focused)
    selected, _ = app.inspector.details
    assert stops == [app.transcript, app.inspector.ladder, selected.view, app.prompt]
    await app.until_shown("enter send  f1 help", "ctrl+q quit")
    await app.press("shift+tab", "shift+tab")
    assert app.focused is app.inspector.ladder
    await app.until_shown("enter details  / filter  n N next  c chain  d changes  x export  ? signs")
    was = app.inspector.classes
    await app.press("|", "|")
    assert app.inspector.classes == was
    for arrangement in ("inspector", "both"):
        await app.press("z")
        assert app.main.arrangement == arrangement


async def test_what_is_typed_behind_a_slash_is_in_the_field_and_the_bar_has_the_fields_keys(app: Running) -> None:
    for start, words in ((app.inspector.ladder, "Tokyo"), (app.transcript, "no/k")):  # the second replaces the first
        start.focus()
        await app.press_at_once("slash", *words)
        await app.until_shown(f"/ {words}" if "/" not in words else words)
        await app.until(lambda: app.lines[-1].startswith(" enter keep  escape clears  tab completes  f1 help"))
        await app.press("enter")
    await app.until_shown("esc clears")
    app.prompt.focus()
    await app.until_shown("/ again")  # and no key that means something else in the prompt
    start.focus()
    await app.press("escape")
    app.inspector.details[0].view.focus()
    await app.press_at_once("slash", *"a/b")
    await app.until(lambda: app.lines[-1].startswith(" enter search  escape back  f1 help"))
    assert [field.value for field in app.inspector.query(SearchInput)] == ["a/b"]
    await app.press("escape")


async def test_a_key_that_does_nothing_here_says_why_in_the_bar_or_where_it_does(app: Running) -> None:
    app.app.theme = "textual-light"
    await app.press("x")
    assert 'theme = "textual-light"' in (app.host.settings.config_dir / STATE_FILE).read_text(encoding="utf-8")
    await app.reach("tab x", "x works in: Inspector   escape: back")
    await app.reach("escape y ctrl+s", "ctrl+s works in: Sessions")
    assert app.prompt.text == "xy"
    await app.press("f2", "u", "escape")
    assert app.focused is app.prompt
    await app.ask("hello")
    app.transcript.focus()
    for key, words in (("v", "No result in this chat holds more"), ("enter", "A message of yours, a tool call")):
        await app.press(key)
        await app.until(lambda words=words: words in app.lines[-1])
    await app.until(lambda: len(rows_of_turn(app)) > 0)
    await choose(app, rows_of_turn(app)[0])
    await app.press("enter")
    app.inspector.details[0].choose("Raw")
    await app.reach("b", lambda: "has a size to sort by" in app.lines[-1])
    app.inspector.details[0].choose("Headers")
    await app.reach("r", lambda: "no value on this line" in app.lines[-1])


async def test_the_coming_request_is_shown_as_it_then_goes_out(app: Running) -> None:
    def coming() -> Record:
        screen = app.app.screen
        assert isinstance(screen, RequestScreen)
        assert screen.source is not None
        return next(screen.source.pages_of(screen.source.row))[0]

    app.write("你好 good day\nby hand")
    await app.reach("ctrl+o", "Nothing is sent from here", "POST http://127.0.0.1", "chat/completions")
    shown = coming()
    await app.reach("3", "Content-Length", "User-Agent")
    await app.reach("2", "good day")
    await app.reach("escape enter", lambda: rows_of_turn(app))
    await app.until_idle()
    row = next(row for row in rows_of_turn(app) if row.kind == "request")
    sent = next(app.inspector_source.pages_of(row))[0]
    assert (sent.data, sent.head) == (shown.data, shown.head)
    # The one after it is compared with the one before, and an empty prompt has one too.
    await app.reach("ctrl+o", "The prompt is empty", "the request before: ")
    await app.reach("d", "changes of the coming request since LLM 1, the request before")
    # `w` leaves out a tool, then its server.
    await app.reach("1", "tools (", "messages (")

    def offered() -> int:
        return coming().data.count(b'"parameters"')

    count, view = offered(), app.app.screen.query_one(Detail).view
    lines = ("".join(text for text, _ in view.page.pieces(number)) for number in range(len(view.page)))
    view.move_cursor(next(number for number, line in enumerate(lines) if "tools (" in line))
    await app.reach("enter down w", "The coming request without math.", "Nothing is switched off")
    await app.until(lambda: offered() == count - 1)
    await app.reach("w", "The coming request without math ", lambda: offered() < count - 1)
    await app.press("escape")


async def test_every_action_is_a_command_and_a_wrong_one_stays_to_be_corrected(app: Running) -> None:
    await app.type("/", "/help")
    await app.type("mc", "> /mcp")
    await app.press("tab", "enter")
    assert isinstance(app.app.screen, ServersScreen)
    await app.press("escape")
    await app.send("/servers", "servers of the session, as they were then")  # the page, as `/tools` is
    assert (app.inspector.details[0].tab, app.focused) == ("Servers", app.inspector.details[0].view)
    app.prompt.focus()
    await app.type("/inspektor")
    await app.reach("enter", told="There is no command /inspektor")
    assert app.prompt.text == "/inspektor"
    assert not app.session.turn
    names = [command.title.split(" ")[0] for command in app.app.get_system_commands(app.app.screen)]
    documents = ["read:"] * len(DOCUMENTS)
    panes = "fork contents values filter next chain changes export signs mark note join zoom split"
    actions = [action.name for action in ACTIONS if action.name != "palette"]
    assert " ".join(names) == " ".join([*actions, panes, *documents])


async def test_another_session_is_one_key_away_while_one_waits_and_a_turn_at_work_gets_nothing(app: Running) -> None:
    first = app.session
    await app.send('call math.add {"a": 1, "b": 2}', app.asks)
    await app.press("ctrl+n")
    assert app.session is not first
    assert app.approval is None
    assert not app.main.query_one("#talk").disabled
    await app.until_shown("1 other session waiting for you (f5)")
    await app.ask("help")
    assert first.open_questions()
    app.main.show_session(first)
    await app.answer("y")
    await app.until_shown("approved once, by you")
    await app.send("error hang", "waiting for fast/openai", "escape stops")
    await app.send("and this is for later", "queued · and this is for later")
    await app.press("ctrl+r")
    await app.press("escape")
    await app.until_idle()
    await app.until_shown("waits for enter · and this is for later")
    await app.press("escape", "enter")
    await app.until_idle()
    assert (said(app)[-1], app.prompt.text) == ("and this is for later", "")


async def test_what_is_queued_is_taken_back_dropped_sent_with_the_next_step_and_kept_by_session(app: Running) -> None:
    first = app.session
    await app.send("error hang")
    for words, key in (("one", "enter"), ("two", "enter"), ("three", "alt+enter"), ("four", "ctrl+enter")):
        app.write(words)
        await app.press(key)
    await app.until_shown(
        "queued · one", "and 2 more", "with the next step · four", "up takes it back · delete drops it"
    )
    await app.reach("up", "with the next step · three")
    assert (app.prompt.text, first.draft) == ("four", "four")
    await app.reach("delete ctrl+u delete", lambda: "three" not in app.text)
    await app.type("/step")
    await app.reach("enter", "with the next step · two")
    await app.press("ctrl+n")
    assert "next step" not in app.text
    app.main.show_session(first)
    await app.until_shown("queued · one", "with the next step · two")
    await app.reach("escape", "waits for enter · one", "waits for enter · two", "enter sends it")
    await app.reach("enter", lambda: not first.queued)
    await app.until_idle()
    assert said(app) == ["error hang", "one", "two"]


async def test_a_providers_error_is_a_card_in_its_own_words_and_one_key_tries_again(app: Running) -> None:
    await app.reach("ctrl+r", told="there is nothing to ask again")
    await app.ask("error 400 once")
    await app.until_shown("400", "press ctrl+r to try again")
    (card,) = app.items(NoteItem)
    await app.until(lambda: len(rows_of_turn(app)) == 2)
    _, response = rows_of_turn(app)
    assert json.loads(body_of(app.inspector_source, response).wire)["error"]["message"] in card.what
    await app.reach("ctrl+r", "This time there is no error")
    await app.until_idle()
    app.session.model = ModelRef(provider="closed", model="any")
    await app.ask("is anybody there?")
    await app.until_shown("press ctrl+r to try again")
    app.session.model = ModelRef(provider="keyless", model="any")
    await app.reach("ctrl+r", "NOBODY_SET_THIS")


async def test_ctrl_c_copies_the_selection_else_what_one_is_at_and_says_what(app: Running) -> None:
    app.app.copy_to_clipboard("from before")
    await app.press("ctrl+c")
    assert app.app.clipboard == "from before"  # there is nothing yet
    await app.until_told("There is nothing to copy here. ctrl+q quits.")
    await app.ask("help")
    await app.press("ctrl+c")
    assert app.app.clipboard.startswith("I am the demo model")
    await app.until_told("characters sent to the")
    await app.type("some words")
    app.prompt.select_all()
    await app.press("ctrl+c")
    assert app.app.clipboard == "some words"
    app.inspector.ladder.focus()
    await app.until(lambda: len(rows_of_turn(app)) == 2)  # others may follow: models are asked for meanwhile
    request, response = rows_of_turn(app)
    await choose(app, response)
    await app.press("ctrl+c")
    assert app.app.clipboard.startswith("data: ")
    await choose(app, request)
    await app.press("ctrl+c")
    assert json.loads(app.app.clipboard)["messages"][0]["content"] == "help"
    await app.press("tab", "2", "ctrl+c")
    assert '"messages"' in app.app.clipboard
    app.prompt.text = ""
    app.prompt.focus()
    app.session.conversation.add(AnswerItem(turn=1, step=2, text="word " * 16_000, state="done"))
    await app.reach("ctrl+c", "Some terminals take no more than 74 kB", "message.txt")
    await app.press("escape")


async def test_the_first_click_after_a_while_without_input_gives_the_focus_and_no_more(app: Running) -> None:
    await app.ask("help")
    await app.until(lambda: len(rows_of_turn(app)) == 2)
    ladder = app.inspector.ladder
    await choose(app, rows_of_turn(app)[1])
    app.prompt.focus()
    await app.pilot.pause()
    place, number = ladder.content_region, ladder.cursor
    app.main.pressed_at -= 60  # a minute without input
    for _ in range(2):
        assert ladder.cursor == number
        for kind in (events.MouseDown, events.MouseUp):
            app.app.post_message(kind(None, place.x + 2, place.y, 0, 0, 1, False, False, False, place.x + 2, place.y))
        await app.pilot.pause()
        assert app.focused is ladder
    await app.until(lambda: ladder.cursor != number)


async def test_code_is_copied_by_name_and_the_chat_scrolls_from_the_prompt(app: Running) -> None:
    await app.ask("show markdown")
    await app.until_shown("The end.")
    await app.type("/code")
    await app.reach("enter", told="code 1 of 2 (python): 181 characters sent to the terminal's clipboard")
    assert app.app.clipboard.startswith("def answer")
    app.session.note("\n".join(f"line {number}" for number in range(100)))
    await app.until_shown("line 99")
    await app.reach("pageup pageup", lambda: "line 99" not in app.text and app.focused is app.prompt)
    await app.reach("pagedown pagedown", "line 99")


async def test_an_editor_writes_the_prompt_which_stays_if_it_fails(
    app: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "edit.sh"
    script.write_text('cat "$1" >> "$0.seen"; printf " and more\\n\\n" >> "$1"; exit $(cat "$0.code")\n')
    code = tmp_path / "edit.sh.code"
    environment = dict(app.host.settings.environment)
    monkeypatch.setattr(app.host, "settings", replace(app.host.settings, environment=environment))
    app.write("a draft")
    for value, number, words in (
        ("", "0", "neither VISUAL nor EDITOR is set"),
        ("sh '", "0", "EDITOR: it cannot be read"),
        ("/nowhere/vim", "0", "EDITOR: /nowhere/vim cannot be started"),
        (f"sh {script}", "3", "sh ended with 3"),
    ):
        code.write_text(number)
        environment |= {"VISUAL": " ", "EDITOR": value}
        await app.reach("ctrl+g", told=words)
        assert app.prompt.text == "a draft"
    code.write_text("0")
    await app.reach("ctrl+g", lambda: app.prompt.text == "a draft and more")
    await app.press("ctrl+z")
    assert app.prompt.text == "a draft"
    assert (tmp_path / "edit.sh.seen").read_text() == "a draft" * 2
