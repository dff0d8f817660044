"""What is told for a moment hides nothing, and secrets stand nowhere but as masks."""

from dataclasses import replace
from pathlib import Path

from textual.widget import Widget
from textual.widgets._toast import Toast

from tests.kit.app import BOUND_SECONDS, NARROW, USUAL, WIDE, Running
from tests.tui.still import STATUSES, TOOLS, a_call, still
from tui_host.answers.masks import Mask, masked
from tui_host.capture.record import Redaction
from tui_host.capture.redact.redaction import Redactor
from tui_host.chat.conversation import AnswerItem, NoteItem, UserItem
from tui_host.servers.catalog import LogLine, ServerStatus

LONG = "math.multiply runs unasked in this session from now on. /rules ends it."


async def test_a_toast_hides_neither_header_and_keys_nor_list_nor_prompt_nor_approval(tmp_path: Path) -> None:
    async with still(tmp_path, size=WIDE) as app:
        main = app.main

        def hidden() -> list[Widget]:
            place = main.query_one(Toast).region
            there = main.query("#header, #status, #keys, #inspector-title, LadderView, Prompt, QuestionPanel")
            return [widget for widget in there if place.overlaps(widget.region)]

        app.a_whole_turn()
        app.app.notify(LONG, markup=False, timeout=2 * BOUND_SECONDS)  # on a slow machine the rest takes longer
        await app.until_shown("/rules ends it.", "+2 messages")
        assert not hidden()
        for size in (USUAL, NARROW):
            await app.resize(*size)
            await app.until_shown("Ask anything", "/rules ends it.", lambda: main.arrangement == "chat")
            assert not hidden()
            await app.reach("f2", "2 MCP", "/rules ends it.")
            assert not hidden()
            await app.reach("f2", lambda: main.arrangement == "chat")
        app.a_question()
        await app.until_shown("Approve 2 calls?", "/rules ends it.")
        assert not hidden()


async def test_what_the_host_tells_later_is_told_once_and_equal_messages_are_shown_once_at_a_time(app: Running) -> None:
    await app.until(lambda: app.host.pool is not None)
    app.host.notices.append("3 old sessions were deleted: 3 by [store] keep = 90d")
    await app.until_told("3 old sessions were deleted: 3 by [store] keep = 90d")
    app.host.notices.append("something else")
    await app.until_told("something else")
    assert sum("3 old sessions" in message for message in app.told) == 1
    app.host.notices.append(f"docs has changed: {'x ' * 24}Approve all calls. {'y ' * 20}")
    await app.until_shown("Approve all calls.")
    shown = app.text_in(next(toast for toast in app.main.query(Toast) if "docs has" in app.text_in(toast)))
    assert [line[2:4] for line in shown.splitlines()] == [
        "do",
        *["  "] * (shown.count("\n")),
    ]  # a server's words are below
    for _ in range(20):
        app.app.notify("the same", markup=False, timeout=2 * BOUND_SECONDS)
        app.app.notify("another", markup=False, timeout=2 * BOUND_SECONDS)
        await app.pilot.pause()
    await app.until_shown("the same", "another")
    assert app.text.count("the same") == 1


KEY = "hunter2-hunter2"
MARK = "⟨secret:KEY⟩"
VENDORS = "ghp_0123456789abcdef0123456789abcdef"
HIDDEN = "••• KEY (15)"


def test_a_value_and_a_mark_of_a_known_secret_are_masked_and_an_unknown_mark_stays() -> None:
    mask = Mask(lambda: Redactor([("KEY", KEY)]))
    assert mask(f"a {KEY} b {MARK} c ⟨secret:GONE⟩") == f"a {HIDDEN} b {HIDDEN} c ⟨secret:GONE⟩"
    assert mask.values(f"a {KEY} b {MARK}") == f"a {HIDDEN} b {MARK}"
    assert (mask.marks(f"a {KEY} b {MARK}"), mask.found(f"{KEY} {MARK} {KEY}")) == (f"a {KEY} b {HIDDEN}", [HIDDEN])
    assert Mask()(f"{KEY} {MARK}") == f"{KEY} {MARK}"
    named = Mask(lambda: Redactor([("my key", KEY)]))  # no mark can hold this name
    assert named(f"{KEY} ⟨secret:my_key⟩") == "••• my_key (15) ••• my_key (15)"
    assert masked("⟨secret:my_key⟩", [Redaction(where="data", name="my key", length=15)]) == "••• my_key (15)"


def test_a_vendors_key_that_nobody_configured_is_masked_everywhere() -> None:
    mask = Mask(lambda: Redactor([("KEY", KEY)]))
    text, shown = f"{VENDORS} and {KEY}", f"••• vendor-key (36) and {HIDDEN}"
    assert mask(text) == mask.values(text) == shown
    assert mask.marks(VENDORS) == masked(VENDORS, ()) == Mask()(VENDORS) == "••• vendor-key (36)"
    assert mask.found(text) == ["••• vendor-key (36)", HIDDEN]


async def test_chat_cards_calls_header_and_the_servers_page_show_masks(tmp_path: Path) -> None:
    secretive = ServerStatus(
        name="math",
        state="failed",
        detail=f"refused {KEY}",
        command=f"run {KEY}",
        server_info=f"info {KEY}",
        instructions=f"instructions {KEY}",
        stderr=(f"stderr {KEY}",),
        notices=("x" * 390 + KEY,),
        tools=(
            replace(TOOLS[0], description=f"describes {KEY}", title=f"titled {KEY}"),
            replace(TOOLS[0], name="broken", problem=KEY),
        ),
        log=(LogLine(level="error", text=f"logged {KEY}", logger="db", mono_ns=1),),
        log_counts=(("error", 1),),
    )
    async with still(tmp_path, size=(160, 45), servers=(secretive, STATUSES[1])) as app:
        app.app.host.redactor.add(("KEY", KEY))
        app.session.turn = 1
        app.session.title = f"with {MARK}"
        chat = app.session.conversation
        chat.add(UserItem(turn=1, text=f"user {MARK}"))
        asked = f'{{"a":"{MARK}"}}'
        chat.add(a_call(state="done", asked=asked, sent=asked, result=f"result {MARK}", words=f"words {MARK}"))
        chat.add(AnswerItem(turn=1, step=1, text=f"answer {MARK}", state="done"))
        chat.add(NoteItem(turn=1, kind="error", what=f"error {MARK}"))
        await app.press("f2", "f2")
        await app.until_shown(*(f"{word} {HIDDEN}" for word in ("with", "user", "result", "words", "answer", "error")))
        await app.until_shown(f'{{"a":"{HIDDEN}"}}')
        await app.press("f3")
        shown = ("refused", "run", "info", "instructions", "stderr", "titled", "not sent:")
        await app.until_shown(*(f"{word} {HIDDEN}" for word in shown), "1 error; the last 1, newest first")
        await app.press("tab")
        while ">▸ log" not in app.text:
            await app.press("down")
        await app.reach("enter", f"error     db: logged {HIDDEN}")
        assert "hunter2" not in app.text
