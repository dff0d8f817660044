"""The approval: what it shows, which keys decide and when, and what can never be approved."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence

import anyio
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea
from typing_extensions import override

from tui_host.capture.redact import Redactor
from tui_host.capture.visible import hidden
from tui_host.chat.arguments import canonical
from tui_host.chat.policy import CallRequest, Decision, Question
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.catalog import Tool
from tui_host.tui.glyphs import ASCII, UNICODE, Glyphs
from tui_host.tui.masks import Mask
from tui_host.tui.widgets.approval.edit import editable, misfits, read_edit
from tui_host.tui.widgets.approval.field import Field
from tui_host.tui.widgets.approval.panel import Approval
from tui_host.tui.widgets.approval.quiet import Quiet
from tui_host.tui.widgets.approval.words import call_row, description_of, hints_of

SCHEMA: JSON = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "unit": {"enum": ["m", "km"]}},
    "required": ["a", "b"],
}
KEY = "hunter2-hunter2"
SECRETS = Redactor([("KEY", KEY)])
HINTS = (("readOnlyHint", True),)


def answered(question: Question, decision: Decision) -> None:
    """Nobody waits in these tests."""


def question(
    name: str = "multiply",
    arguments: Mapping[str, JSON] | None = None,
    *,
    server: str = "math",
    description: str = "Multiply two numbers.",
    changed: str = "",
) -> Question:
    tool = Tool(
        server=server,
        name=name,
        description=description,
        schema=SCHEMA,
        annotations=HINTS,
        fingerprint=f"print of {name}",
    )
    given = {"a": 6, "b": 5} if arguments is None else arguments
    request = CallRequest(call=f"{name}-{id(given)}", tool=tool, arguments=canonical(given), changed=changed)
    return Question(request, answered=answered)


class Asking(App[None]):
    """A screen like the main one: chat at the left, something else to read at the right."""

    CSS = """
    #chat { width: 2fr; layers: below above; } #talk { layer: below; }
    Approval { layer: above; dock: bottom; } #row { layout: horizontal; } #other { width: 1fr; }
    """

    def __init__(self, *questions: Question, quiet: float = 0.05, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.questions = questions
        self.granted: list[Question] = []
        self.done = 0
        self._quiet = quiet
        self._glyphs = glyphs

    @override
    def compose(self) -> ComposeResult:
        with Container(id="row"):
            with Container(id="chat"), Vertical(id="talk"):
                yield Static("chat")
                yield Input(id="prompt")
            yield TextArea("to read", read_only=True, id="other")

    def on_mount(self) -> None:
        self.query_one("#prompt").focus()
        self.ask()

    def ask(self) -> None:
        self.query_one("#talk").disabled = True
        self.query_one("#chat").mount(
            Approval(
                self.questions,
                on_grant=self.granted.append,
                mask=Mask(lambda: SECRETS),
                glyphs=self._glyphs,
                quiet_seconds=self._quiet,
            )
        )

    @property
    def approval(self) -> Approval:
        return self.query_one(Approval)

    @override
    async def on_event(self, event: events.Event) -> None:
        kinds = events.Key | events.Paste | events.MouseDown | events.MouseUp | events.Click
        if isinstance(event, kinds) and any(found.swallow(event) for found in self.query(Approval)):
            return
        await super().on_event(event)

    def on_approval_done(self) -> None:
        self.done += 1


class Alone(Asking):
    """The chat alone, as on a narrow screen."""

    CSS = Asking.CSS + "#chat { width: 1fr; } #other { display: none; }"


async def armed(pilot: Pilot[None], app: Asking) -> None:
    await pilot.pause()
    with anyio.fail_after(20):
        while not app.approval.is_armed:
            await anyio.sleep(0.02)
    await pilot.pause()


async def at_once(pilot: Pilot[None], app: Asking, *keys: str) -> None:
    """Keys that a hand typed without a pause, however long the machine takes for them."""
    typed = [events.Key(key, key if len(key) == 1 else None) for key in keys]
    for event in typed:
        app.post_message(event)
    for _ in typed:
        await pilot.pause()


async def armed_or_writing(pilot: Pilot[None], app: Asking) -> None:
    """Wait until keys decide again, or a field takes them."""
    with anyio.fail_after(20):
        while not (app.approval.is_armed or any(field.has_focus for field in app.query(Field))):
            await anyio.sleep(0.02)
    await pilot.pause()


async def decide(pilot: Pilot[None], app: Asking, *keys: str) -> None:
    """Press keys, each once it would decide."""
    for key in keys:
        await armed(pilot, app)
        await pilot.press(key)
        await pilot.pause()


def text(app: Asking) -> str:
    """The approval as it stands on the screen."""
    region = app.approval.region
    update = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    rows = [strip.crop(region.x, region.right).text.rstrip() for strip in update[region.y : region.bottom]]
    return "\n".join(rows)


async def until_said(pilot: Pilot[None], app: Asking, said: str) -> None:
    """Wait until this stands in the approval, however its lines are broken."""
    with anyio.fail_after(20):
        while said not in " ".join(text(app).replace("│", " ").split()):
            await pilot.pause(0.02)


def words(asked: Question) -> str:
    return "" if asked.decision is None else asked.decision.words.split(",")[0]


def verdict(asked: Question) -> str:
    return "" if asked.decision is None else asked.decision.verdict


async def test_it_looks_as_designed() -> None:
    app = Asking(question(), question("add"))
    async with app.run_test(size=(110, 24)) as pilot:
        await armed(pilot, app)
        lines = [line.strip("│╭╮ ").rstrip() for line in text(app).splitlines()]
        assert lines[0].startswith("─ Approve 2 calls?  1 of 2")
        assert lines[1].startswith("> math.multiply")
        assert lines[1].endswith("server says: reads")
        assert lines[2].strip().startswith("math.add")
        assert lines[3] == "Multiply two numbers."
        assert [line for line in lines if line.startswith(('"a"', '"b"'))] == ['"a": 6,', '"b": 5']
        assert "all shown" in text(app)
        for key in ("y once", "Y all that remain", "A this tool, this session", "e edit", "n no", "r no, because…"):
            assert key in text(app)
        assert "esc no, and stop the turn" in text(app)
        assert "ready" in text(app)


@pytest.mark.parametrize("key", ["y", "a"])
async def test_y_and_a_approve_once_exactly_what_was_shown(key: str) -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, key)
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.arguments) == ("approved", b'{"a":6,"b":5}')
        assert app.done == 1


async def test_the_calls_stay_where_they_are_and_the_mark_moves() -> None:
    names = [f"tool{number}" for number in range(8)]
    app = Asking(*(question(name) for name in names), quiet=0.0)

    def listed() -> list[str]:
        rows = [line.strip("│ ") for line in text(app).splitlines()]
        return [
            row.split()[0] + row.split()[1] if row[0] == ">" else row.split()[0] for row in rows if "math.tool" in row
        ]

    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]
        for marked in ("math.tool1", "math.tool2"):
            await pilot.press("right")
            await pilot.pause()
            assert [row.strip(">") for row in listed()] == [f"math.tool{n}" for n in range(5)]
            assert f">{marked}" in listed()
        await pilot.press("left", "left", "left")
        await pilot.pause()
        assert listed() == [*(f"math.tool{n}" for n in range(3, 7)), ">math.tool7"]
        assert all(len(line) == len(text(app).splitlines()[0]) for line in text(app).splitlines())
        await pilot.press("right")
        await pilot.pause()
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]


async def test_how_many_more_calls_come_after_those_that_are_asked_is_told() -> None:
    questions = [question(f"tool{number}") for number in range(3)]
    for asked in questions:
        asked.later = 24
    app = Asking(*questions)
    async with app.run_test(size=(110, 24)) as pilot:
        await armed(pilot, app)
        assert "Approve 3 calls?  1 of 3, then 24 more" in text(app)
        assert "Y all of these" in text(app)


async def test_n_rejects_and_goes_on_to_the_next() -> None:
    first, second = question(), question("add")
    app = Asking(first, second)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, "n")
        assert (verdict(first), verdict(second)) == ("rejected", "")
        await armed(pilot, app)
        assert "> math.add" in text(app)
        await pilot.press("y")
        await pilot.pause()
        assert verdict(second) == "approved"


async def test_escape_rejects_and_stops() -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, "escape")
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.stop) == ("rejected", True)


@pytest.mark.parametrize("key", ["enter", "space", "x", "Z", "ctrl+j"])
async def test_no_other_key_decides(key: str) -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await decide(pilot, app, key)
        assert asked.open


async def test_what_was_typed_ahead_never_decides() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await at_once(pilot, app, *"yes,whynot", "y", "y", "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert verdict(asked) == "approved"


@pytest.mark.parametrize("burst", ["ry", "ey", "yy", "Ay", "AA", "dy", "nY"])
async def test_keys_that_came_in_one_write_decide_once_at_the_most(burst: str) -> None:
    first, second = question(), question("add")
    app = Asking(first, second, quiet=0.2)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        await at_once(pilot, app, *burst)
        await armed_or_writing(pilot, app)
        expected = {"y": "approved", "n": "rejected"}.get(burst[0], "")
        assert (verdict(first), verdict(second)) == (expected, "")


async def test_a_key_that_came_too_early_is_told_until_another_one_counts() -> None:
    first, second = question(), question("add")
    app = Asking(first, second, quiet=0.3)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert "too early" not in text(app)
        await at_once(pilot, app, "y", "y")
        assert (verdict(first), second.open) == ("approved", True)
        assert "too early: y was ignored, wait" in text(app)
        with anyio.fail_after(5):
            while "ready, too early: y was ignored" not in text(app):
                await pilot.pause(0.02)
        await at_once(pilot, app, "p")
        assert "too early" not in text(app)
        await at_once(pilot, app, "escape")
        assert "too early: esc was ignored" in text(app)


async def test_each_question_has_a_quiet_period_of_its_own() -> None:
    first, second = question(), question("add")
    app = Asking(first, second, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        await at_once(pilot, app, "y", "y", "y", "y")
        assert (verdict(first), verdict(second)) == ("approved", "")


@pytest.mark.parametrize(
    "event",
    [events.Key("l", "l"), events.Key("down", None), events.Paste("y"), events.Key("right_square_bracket", "]")],
    ids=["letter", "moving key", "paste", "terminal's reply"],
)
async def test_any_key_that_is_no_decision_restarts_the_quiet_period(event: events.Event) -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        event.time = time.monotonic()
        key = events.Key("y", "y")
        await app.on_event(event)
        app.post_message(key)
        await pilot.pause()
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


async def test_a_click_restarts_the_quiet_period_too() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        key = events.Key("y", "y")
        await pilot.click("#other")
        app.approval.focus()
        app.post_message(key)
        await pilot.pause()
        assert asked.open


async def test_tab_looks_around_where_keys_decide_nothing_and_coming_back_starts_anew() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        await pilot.press("tab")
        assert app.focused is not None
        assert app.focused.id == "other"
        await pilot.press("y", "A", "n", "r", "e")
        await pilot.pause()
        assert asked.open
        assert "tab comes back" in text(app)
        await at_once(pilot, app, "tab", "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


def test_a_key_is_judged_by_the_time_it_was_pressed() -> None:
    quiet = Quiet(0.5)
    key = events.Key("y", "y")
    key.time = 10.0
    assert quiet.swallow(key, here=True)  # nothing was painted yet
    quiet.painted(10.0)
    key.time = 10.4
    assert quiet.swallow(key, here=True)
    key.time = 10.8
    assert quiet.swallow(key, here=True)  # the one before restarted it
    key.time = 11.4
    assert not quiet.swallow(key, here=True)


LONG: Mapping[str, JSON] = {"note": "\n".join(f"line {number}" for number in range(400)), "list": list(range(200))}


async def test_arguments_whose_end_was_not_seen_are_first_shown_to_their_end() -> None:
    asked = question(arguments=LONG)
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert "more lines: pagedown, end" in text(app)
        await at_once(pilot, app, "y", "y")
        assert asked.open
        assert "all shown" in text(app)
        assert "were not seen" in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert asked.decision.arguments == canonical(LONG)


async def test_paging_to_the_end_counts_as_seen() -> None:
    asked = question(arguments=LONG)
    app = Asking(asked)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        await pilot.press("pagedown", "end")
        await decide(pilot, app, "y")
        assert not asked.open


async def test_all_that_remain_are_approved_only_once_each_was_seen() -> None:
    short, long, last = question(), question("long", LONG), question("add")
    app = Asking(short, long, last)
    async with app.run_test(size=(100, 30)) as pilot:
        await decide(pilot, app, "Y")
        assert [verdict(asked) for asked in app.questions] == ["", "", ""]
        await armed(pilot, app)
        assert "> math.long" in text(app)
        await decide(pilot, app, "Y", "Y")  # to its end; then to the third, which was not shown yet
        assert [verdict(asked) for asked in app.questions] == ["", "", ""]
        await armed(pilot, app)
        assert "> math.add" in text(app)
        await decide(pilot, app, "Y")
        assert [words(asked) for asked in app.questions] == ["approved with all that remained"] * 3


async def test_a_session_rule_takes_a_second_a_after_it_was_told() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 26)) as pilot:
        await decide(pilot, app, "A")
        await pilot.press("A", "A")
        assert asked.open
        await armed(pilot, app)
        assert "A again: every call of math.multiply, as it is defined now" in " ".join(
            text(app).replace("│", " ").split()
        )
        await pilot.press("A")
        await pilot.pause()
        assert app.granted == [asked]
        assert words(asked) == "approved for the session"


async def test_another_decision_in_between_forgets_the_first_a() -> None:
    first, second = question(), question("add")
    app = Asking(first, second)
    async with app.run_test(size=(100, 26)) as pilot:
        await decide(pilot, app, "A", "n", "A")
        assert second.open
        assert app.granted == []


async def test_an_edit_is_shown_as_it_will_be_sent_and_asked_again() -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 34)) as pilot:
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert field.has_focus
        await pilot.press("y", "enter")  # now it is no JSON
        await pilot.pause()
        assert "not JSON" in " ".join(text(app).split())
        field.load_text('{"a": "six"}')
        await pilot.press("enter")
        await pilot.pause()
        assert "b is missing" in text(app)
        assert "a must be number" in text(app)
        assert asked.open
        field.load_text('{"a": 7,\n "b": 5}')
        await pilot.press("enter")
        await pilot.pause()
        assert asked.open
        assert "edited: this is what will be sent" in text(app)
        assert '"a": 7' in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert (asked.decision.verdict, asked.decision.arguments) == ("edited", b'{"a":7,"b":5}')


async def test_a_complaint_goes_once_what_it_was_made_about_is_changed() -> None:
    app = Asking(question())
    async with app.run_test(size=(100, 34)) as pilot:
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        field.load_text('{"a": 1}')
        await pilot.press("enter")
        await pilot.pause()
        await until_said(pilot, app, "b is missing")
        before = field.region
        await pilot.press("left")
        assert "b is missing" in text(app)
        await pilot.press("2")
        await until_said(pilot, app, "enter checks it again")
        assert "b is missing" not in text(app)
        assert field.region == before
        await pilot.press("enter")
        await until_said(pilot, app, "not JSON")
        assert "enter checks it again" not in text(app)


async def test_a_reason_is_told_and_letters_in_it_decide_nothing() -> None:
    first, second = question(), question("add")
    app = Asking(first, second)
    async with app.run_test(size=(100, 30)) as pilot:
        await decide(pilot, app, "r")
        await pilot.press(*"nay", "enter")
        await pilot.pause()
        assert first.decision is not None
        assert (first.decision.verdict, first.decision.reason, first.decision.stop) == ("rejected", "nay", False)
        assert second.open
        await armed(pilot, app)
        assert app.approval.has_focus


async def test_escape_in_a_field_closes_the_field_alone() -> None:
    asked = question()
    app = Asking(asked)
    async with app.run_test(size=(100, 30)) as pilot:
        for key in ("r", "e"):
            await decide(pilot, app, key)
            await pilot.press("n", "escape")
            await pilot.pause()
            assert asked.open
            assert app.approval.has_focus
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert asked.decision.arguments == b'{"a":6,"b":5}'


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (40, 12), (36, 9)])
async def test_on_low_screens_arguments_and_keys_stay(size: tuple[int, int]) -> None:
    app = Alone(question(description="words " * 200, arguments={"path": "/"}))
    async with app.run_test(size=size) as pilot:
        await armed(pilot, app)
        assert "math.multiply" in text(app)
        assert '"path"' in text(app) or "more lines" in text(app)
        assert "y once" in text(app)
        assert app.approval.region.height <= size[1]


@pytest.mark.parametrize("size", [(24, 20), (60, 4), (1, 1)])
async def test_where_the_arguments_cannot_be_seen_nothing_can_be_approved(size: tuple[int, int]) -> None:
    asked = question()
    app = Alone(asked)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        await decide(pilot, app, "y", "a", "Y", "A", "A")
        assert asked.open
        await decide(pilot, app, "n")
        assert verdict(asked) == "rejected"


async def test_too_small_is_said() -> None:
    app = Alone(question())
    async with app.run_test(size=(26, 14)) as pilot:
        await armed(pilot, app)
        assert "Too small" in text(app)


HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07\x9b2J\u202egnirts\u200b\u2066 [@click=app.quit]x[/] [/]"


async def test_every_hidden_character_is_seen_and_nothing_acts() -> None:
    asked = question(HOSTILE, {"command": HOSTILE, HOSTILE: 1}, description=HOSTILE, changed=HOSTILE)
    app = Asking(asked)
    async with app.run_test(size=(120, 40)) as pilot:
        await armed(pilot, app)
        for line in text(app).splitlines():
            assert not hidden(line), line
            assert line[0] in "╭│╰", line
        assert "⟨202e⟩" in text(app)
        assert "hidden characters, shown as codes" in text(app)
        await pilot.press("p")
        await pilot.pause()
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        await pilot.pause()
        assert not hidden(text(app).replace("\n", ""))
        await pilot.press("d")
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert json.loads(asked.decision.arguments)["command"] == HOSTILE


async def test_a_name_that_looks_like_another_is_escaped() -> None:
    app = Asking(question("multіply"))
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert "math.'mult\\u0456ply'" in text(app)


async def test_the_description_can_be_read_whole_and_nothing_is_approved_from_there() -> None:
    asked = question(description="\n".join(f"sentence {number}" for number in range(300)))
    app = Asking(asked)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        await pilot.press("d", "end")
        await pilot.pause()
        assert "sentence 299" in text(app)
        await decide(pilot, app, "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


async def test_a_question_answered_elsewhere_makes_room_and_new_ones_join() -> None:
    first, second, third = question(), question("add"), question("divide")
    app = Asking(first, second)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        first.approve()
        app.approval.take([first, second, third])
        await armed(pilot, app)
        assert "Approve 2 calls?" in text(app)
        assert "> math.add" in text(app)


async def test_ascii_marks_where_the_terminal_wants_them() -> None:
    app = Asking(question(arguments=LONG), glyphs=ASCII)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert text(app).isascii()


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        ({"a": 1, "b": 2}, []),
        ({"a": 1}, ["b is missing"]),
        ({"a": True, "b": 2}, ["a must be number"]),
        ({"a": 1, "b": 2, "unit": "mile"}, ['unit must be one of ["m", "km"]']),
    ],
)
def test_what_does_not_fit_the_schema_is_named(value: Mapping[str, JSON], complaints: list[str]) -> None:
    assert misfits(value, SCHEMA) == complaints


def test_an_argument_that_the_tool_does_not_take_is_named_so() -> None:
    closed: JSON = {"properties": {"a": {"type": "number"}}, "additionalProperties": False}
    assert misfits({"a": 1, "x": 2}, closed) == ["the tool takes no argument x"]


def test_a_complaint_says_its_place_once() -> None:
    with pytest.raises(TuiHostError) as caught:
        read_edit('{"a": "six', SCHEMA)
    assert "Unterminated string starting at line 1, column 7" in str(caught.value)


def test_an_editor_shows_hidden_characters_as_escapes_of_the_same_value() -> None:
    arguments = canonical({"a": HOSTILE, "b": "中文 é"})
    shown = editable(arguments, Mask()).text
    assert not hidden(shown)
    assert canonical(json.loads(shown)) == arguments
    assert "中文 é" in shown


@pytest.mark.parametrize(
    ("annotations", "words_said"),
    [
        ((("readOnlyHint", True), ("destructiveHint", False), ("idempotentHint", True)), "reads"),
        ((("readOnlyHint", True), ("openWorldHint", True)), "reads, reaches outside"),
        ((("readOnlyHint", False), ("destructiveHint", True)), "changes things, may destroy"),
        ((("destructiveHint", False), ("idempotentHint", True)), "only adds, may be repeated"),
        ((("readOnlyHint", "yes"),), ""),
    ],
    ids=["reads", "outside", "destroys", "adds", "nonsense"],
)
def test_hints_are_a_claim_and_stand_where_there_is_room(
    annotations: Sequence[tuple[str, JSON]], words_said: str
) -> None:
    tool = Tool(
        server="math", name="multiply", description="Multiplies.", schema=SCHEMA, annotations=tuple(annotations)
    )
    request = CallRequest(call="c", tool=tool, arguments=b"{}")
    claim = f"server says: {words_said}" if words_said else ""
    assert hints_of(tool) == claim
    assert call_row(tool, 80, "…", is_current=True).split("multiply")[1].strip() == claim
    assert call_row(tool, 16, "…", is_current=True) == "> math.multiply"
    assert description_of(request, hints_of(tool)).splitlines()[:-1] == ([claim] if claim else [])


async def test_a_secret_in_arguments_or_description_is_marked_and_what_is_approved_holds_it() -> None:
    asked = question(arguments={"a": KEY}, description=f"Send {KEY}.")
    other = question("add", {"b": KEY})
    app = Asking(asked, other)
    async with app.run_test(size=(100, 40)) as pilot:
        await armed(pilot, app)
        assert KEY not in text(app)
        assert '"a": "••• KEY (15)"' in text(app)
        assert "a secret of yours is in it" in text(app)
        assert "Send ••• KEY (15)." in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert KEY in asked.decision.arguments.decode()


async def test_an_edit_shows_marks_and_what_is_sent_has_the_values_where_they_were_left() -> None:
    fake = "⟨secret:KEY⟩"
    asked = question(arguments={"a": KEY, "b": fake})
    app = Asking(asked)
    async with app.run_test(size=(100, 40)) as pilot:
        await armed(pilot, app)
        assert '"a": "••• KEY (15)"' in text(app)
        assert f'"b": "{fake}"' in text(app)
        await decide(pilot, app, "e")
        field = app.query_one("#approval-edit", Field)
        assert KEY not in field.text
        assert '"a": "⟨secret:KEY#2⟩"' in field.text
        await until_said(pilot, app, "⟨secret:KEY#2⟩: a secret of yours; its value is sent wherever the mark stands")
        field.load_text('{"a": 1, "b": ⟨secret:KEY#2⟩}')
        await pilot.press("enter")
        await until_said(pilot, app, "not JSON")
        assert "hunter2" not in text(app)
        field.load_text(f'{{"a": 7, "b": 5, "note": "Bearer ⟨secret:KEY#2⟩", "fake": "{fake}"}}')
        await pilot.press("enter")
        await until_said(pilot, app, '"note": "Bearer ••• KEY (15)"')
        await until_said(pilot, app, "the value itself would be sent")
        assert "hunter2" not in text(app)
        await decide(pilot, app, "y")
        assert asked.decision is not None
        sent: JSON = {"a": 7, "b": 5, "note": f"Bearer {KEY}", "fake": fake}
        assert asked.decision.arguments == canonical(sent)


async def test_a_secret_is_not_halved_where_a_description_is_cut() -> None:
    app = Asking(question(description=f"{'x' * 8 * 60}{KEY} end"))
    async with app.run_test(size=(100, 40)) as pilot:
        await armed(pilot, app)
        assert "hunter" not in text(app).replace("\n", "")


@pytest.mark.parametrize("secret", ['quo"te\\back-slash', "zero\u200bwidth-key", "12345678", "schlüssel-wörter"])
def test_marks_left_in_place_give_back_the_same_arguments(secret: str) -> None:
    mask = Mask(lambda: Redactor([("S", secret)]))
    arguments = canonical(
        {"a": secret, "b": int(secret) if secret.isdigit() else 1, "c": f"x{secret}y", "⟨secret:S⟩": HOSTILE}
    )
    shown = editable(arguments, mask)
    assert secret not in shown.text
    assert shown.values
    assert read_edit(shown.text, None, shown.values) == arguments


async def test_an_endless_description_is_cut_beside_the_question_and_whole_behind_d() -> None:
    app = Asking(question(description="word " * 200_000 + "end"))
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        assert "…" in text(app)
        assert "all shown" in text(app)
        await pilot.press("d", "end")
        await pilot.pause()
        assert "word end" in text(app)
