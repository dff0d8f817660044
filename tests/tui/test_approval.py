"""The approval: what each key decides, that nothing typed for something else decides, and what is seen of a question before it is decided."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from rich.cells import cell_len
from textual import events
from textual.app import App, ComposeResult
from textual.binding import BindingsMap
from textual.containers import Container, Vertical
from textual.dom import DOMNode
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea
from typing_extensions import override

import tui_host.tui
from tests.cases import first_values
from tests.tui.still import still
from tests.tui.waiting import until
from tui_host.answers.masks import Mask
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.visible import hidden
from tui_host.chat.call_arguments import canonical
from tui_host.chat.policy import CallRequest, Decision, Question
from tui_host.errors import JSON
from tui_host.servers.catalog import Tool
from tui_host.tui.widgets.approval.approval_lines import Field
from tui_host.tui.widgets.approval.approval_panel import Approval, Quiet
from tui_host.tui.widgets.approval.approval_words import call_row, description_of, hints_of
from tui_host.tui.widgets.approval.argument_edit import editable, misfits, read_edit
from tui_host.tui.widgets.approval.argument_lines import broken
from tui_host.tui.widgets.inspector.inspector_pane import Inspector

SCHEMA: Mapping[str, JSON] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}, "unit": {"enum": ["m", "km"]}},
    "required": ["a", "b"],
}
KEY = "hunter2-hunter2"
SECRETS = Redactor([("KEY", KEY)])
HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07\x9b2J\u202egnirts\u200b\u2066 [@click=app.quit]x[/] [/]"
LONG: Mapping[str, JSON] = {"note": "\n".join(f"line {number}" for number in range(400)), "list": list(range(200))}


def nobody_waits(question: Question, decision: Decision) -> None:
    """No turn is at work."""


def question(
    name: str = "multiply",
    arguments: Mapping[str, JSON] | None = None,
    *,
    description: str = "Multiply two numbers.",
    changed: str = "",
    misfits: Sequence[str] = (),
    numbers: Sequence[tuple[str, str]] = (),
) -> Question:
    hints = (("readOnlyHint", True),)
    tool = Tool(
        server="math",
        name=name,
        description=description,
        schema=SCHEMA,
        annotations=hints,
        fingerprint=f"print of {name}",
    )
    given = {"a": 6, "b": 5} if arguments is None else arguments
    request = CallRequest(
        call=f"{name}-{id(given)}",
        tool=tool,
        arguments=canonical(given),
        changed=changed,
        misfits=misfits,
        changed_numbers=numbers,
    )
    return Question(request, answered=nobody_waits)


class Asking(App[None]):
    """A screen like the main one: chat at the left, something else to read at the right."""

    CSS = """
    #chat { width: 2fr; layers: below above; } #talk { layer: below; }
    Approval { layer: above; dock: bottom; } #row { layout: horizontal; } #other { width: 1fr; }
    """
    pilot: Pilot[None]

    def __init__(self, *questions: Question, quiet: float) -> None:
        super().__init__()
        self.questions = questions
        self.granted: list[Question] = []
        self.approval = Approval(
            questions,
            on_grant=self.granted.append,
            mask=Mask(lambda: SECRETS),
            quiet_seconds=quiet,
        )

    @override
    def compose(self) -> ComposeResult:
        with Container(id="row"):
            with Container(id="chat"), Vertical(id="talk"):
                yield Static("chat")
                yield Input(id="prompt")
            yield TextArea("to read", read_only=True, id="other")

    def on_mount(self) -> None:
        self.query_one("#prompt").focus()
        self.query_one("#talk").disabled = True
        self.query_one("#chat").mount(self.approval)

    @override
    async def on_event(self, event: events.Event) -> None:
        kinds = events.Key | events.Paste | events.MouseDown | events.MouseUp | events.Click
        if isinstance(event, kinds) and any(found.swallow(event) for found in self.query(Approval)):
            return
        await super().on_event(event)

    # Doing.

    async def armed(self) -> None:
        await self.pilot.pause()
        await until(self.pilot, lambda: self.approval.is_armed)

    async def armed_or_writing(self) -> None:
        fields = self.query(Field)
        await until(self.pilot, lambda: self.approval.is_armed or any(field.has_focus for field in fields))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def decide(self, *keys: str) -> None:
        for key in keys:
            await self.armed()
            await self.press(key)

    async def at_once(self, *keys: str) -> None:
        """Keys that a hand typed without a pause, however long the machine takes for them."""
        typed = [events.Key(key, key if len(key) == 1 else None) for key in keys]
        for event in typed:
            self.post_message(event)
        for _ in typed:
            await self.pilot.pause()

    async def until_said(self, said: str) -> None:
        await until(self.pilot, lambda: said in self.said)

    # Knowing.

    @property
    def lines(self) -> list[str]:
        region = self.approval.region
        update = self.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return [strip.crop(region.x, region.right).text.rstrip() for strip in update[region.y : region.bottom]]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def said(self) -> str:
        """Its words, without lines."""
        return " ".join(self.text.replace("│", " ").split())

    @property
    def field(self) -> Field:
        return self.query_one("#approval-edit", Field)

    @property
    def verdicts(self) -> list[str]:
        return [asked.decision.verdict if asked.decision else "" for asked in self.questions]

    @property
    def decided(self) -> Decision:
        decision = self.questions[0].decision
        assert decision is not None
        return decision

    @property
    def words(self) -> list[str]:
        return [asked.decision.words.split(",")[0] if asked.decision else "" for asked in self.questions]


class Alone(Asking):
    CSS = Asking.CSS + "#chat { width: 1fr; } #other { display: none; }"


@asynccontextmanager
async def asking(
    *questions: Question,
    size: tuple[int, int] = (100, 30),
    quiet: float = 0.05,
    kind: type[Asking] = Asking,
) -> AsyncGenerator[Asking]:
    app = kind(*questions, quiet=quiet)
    async with app.run_test(size=size) as app.pilot:
        await app.armed()
        yield app


async def test_it_looks_as_designed() -> None:
    async with asking(question(), question("add"), size=(110, 24)) as app:
        lines = [line.strip("│╭╮ ").rstrip() for line in app.lines]
        assert lines[0].startswith("─ Approve 2 calls?  1 of 2")
        assert lines[1].startswith("> math.multiply")
        assert lines[1].endswith("server claims: read-only")
        assert lines[2].strip().startswith("math.add")
        assert lines[3] == "Multiply two numbers."
        assert [line for line in lines if line.startswith(('"a"', '"b"'))] == ['"a": 6,', '"b": 5']
        for words in (
            *("all shown", "y once", "Y all that remain", "A this tool, this session", "e edit", "n no"),
            *("r no, because…", "esc esc stop the turn"),
        ):
            assert words in app.text
        await app.until_said("ready")


@pytest.mark.parametrize(("key", "decided"), [("y", "approved"), ("a", "approved"), ("n", "rejected")])
async def test_one_key_decides_the_call_that_is_shown_and_no_other(key: str, decided: str) -> None:
    async with asking(question(), question("add")) as app:
        await app.decide(key)
        assert (app.verdicts, app.decided.stop) == ([decided, ""], False)
        assert key == "n" or app.decided.arguments == b'{"a":6,"b":5}'
        await app.armed()
        assert "> math.add" in app.text


async def test_escape_asks_once_and_decides_only_after_a_new_quiet_period() -> None:
    async with asking(question(), question("add"), quiet=0.5) as app:
        await app.at_once("escape", "escape", "escape")
        assert app.verdicts == ["", ""]
        await app.until_said("escape again: reject and stop the turn")
        await app.decide("escape")
        assert (app.verdicts, app.decided.stop) == (["rejected", ""], True)


@pytest.mark.parametrize("key", ["r", "e", "d", "A"])
async def test_escape_goes_back_one_level(key: str) -> None:
    async with asking(question()) as app:
        before = app.lines[:-1]
        await app.decide(key)
        await app.armed_or_writing()
        assert app.lines[:-1] != before
        await app.press("escape")
        await app.armed()
        assert app.lines[:-1] == before
        await app.decide("escape")
        assert app.verdicts == [""]
        await app.decide("n")  # any other decision counts as ever
        assert not app.decided.stop


async def test_the_calls_stay_where_they_are_and_the_mark_moves() -> None:
    async with asking(*(question(f"tool{number}") for number in range(8)), size=(100, 18), quiet=0.0) as app:

        def listed() -> list[str]:
            rows = [line.strip("│ ").split() for line in app.lines if "math.tool" in line]
            return ["".join(row[:2]) if row[0] == ">" else row[0] for row in rows]

        def calls(first: int, current: int) -> list[str]:
            return [f"{'>' * (n == current)}math.tool{n}" for n in range(first, first + 5)]

        assert listed() == calls(0, 0)
        for current in (1, 2):
            await app.press("right")
            assert listed() == calls(0, current)
        await app.press("left", "left", "left")
        assert listed() == calls(3, 7)
        assert {len(line) for line in app.lines} == {len(app.lines[0])}
        await app.press("right")
        assert listed() == calls(0, 0)


async def test_how_many_more_calls_come_after_those_that_are_asked_is_told() -> None:
    questions = [question(f"tool{number}") for number in range(3)]
    for asked in questions:
        asked.later = 24
    async with asking(*questions, size=(110, 24)) as app:
        assert "Approve 3 calls?  1 of 3, then 24 more" in app.text
        assert "Y all of these" in app.text


@pytest.mark.parametrize("key", ["y", "end"])
async def test_what_was_jumped_over_is_counted_and_the_end_counts_as_seen(key: str) -> None:
    async with asking(question(arguments=LONG), quiet=0.5) as app:
        more = re.search(r"(\d+) more lines: pagedown, end", app.text)
        await app.at_once(key, "y")
        assert app.verdicts == [""]
        await app.armed()
        jumped = re.search(r"(\d+) lines jumped over", app.text)
        assert more is not None
        assert jumped is not None
        seen = int(more[1]) - int(jumped[1]) - sum(line.startswith("│ │") for line in app.lines)
        assert seen in {0, key == "y"}  # the words below the end take a line that may have been painted before
        assert ("This is the end. Press y again to approve." in app.text) == (key == "y")
        await app.decide("y")
        assert app.decided.arguments == canonical(LONG)


async def test_what_was_read_page_by_page_was_not_jumped_over() -> None:
    async with asking(question(arguments={"note": "\n".join(map(str, range(60)))})) as app:
        assert "more lines" in app.text
        while "more lines" in app.text:
            await app.press("pagedown")
            await app.armed()
        assert "all shown" in app.text
        await app.decide("y")
        assert app.verdicts == ["approved"]


def test_the_keys_that_approve_are_bound_in_the_approval_alone() -> None:
    for module in walk_packages(tui_host.tui.__path__, "tui_host.tui."):
        import_module(module.name)
    kinds: list[type[DOMNode]] = [DOMNode]
    for kind in kinds:
        kinds += kind.__subclasses__()
    bound = {kind: BindingsMap(kind.__dict__.get("BINDINGS", [])).key_to_bindings for kind in kinds}
    assert {kind for kind, keys in bound.items() if keys.keys() & set("yaYAe")} == {Approval}


async def test_the_time_of_a_decision_begins_when_its_call_appears() -> None:
    now = [0.0]
    requests = (question(name).request for name in ("first", "second"))
    calls = [Question(request, answered=nobody_waits, clock=lambda: now[0]) for request in requests]
    async with asking(*calls) as app:
        for seconds in (5.0, 2.0):
            await app.armed()
            now[0] += seconds
            await app.decide("y")
        assert [asked.decision and asked.decision.waited for asked in calls] == [5.0, 2.0]


async def test_calls_that_stand_whole_in_the_list_are_approved_at_once() -> None:
    async with asking(question(), question("add"), question("divide"), size=(80, 24)) as app:
        await app.decide("Y")
        assert app.words == ["approved with all remaining calls"] * 3


@pytest.mark.parametrize(
    "other",
    [
        question("long", LONG),
        question("secret", {"a": KEY}),
        question("hidden", {"a": "\u202e"}),
        question("changed", changed="other words"),
        question("unfit", misfits=["a: '1' is not of type 'number'"]),
    ],
    ids=lambda asked: asked.request.tool.name,
)
async def test_a_call_to_be_read_first_is_shown_before_all_are_approved(other: Question) -> None:
    async with asking(question(), other, question("add")) as app:
        await app.decide("Y")
        assert app.verdicts == ["", "", ""]
        await app.armed()
        assert f"> math.{other.request.tool.name}" in app.text
        await app.until_said("This call was not shown whole yet. Read it, then press Y again.")
        await app.decide(*("YY" if other.request.tool.name == "long" else "Y"))
        assert app.words == ["approved with all remaining calls"] * 3


async def test_a_session_rule_takes_a_second_a_after_it_was_told() -> None:
    async with asking(question(), question("add"), quiet=0.5) as app:
        await app.at_once("A", "A", "A")
        assert app.verdicts == ["", ""]
        await app.armed()
        assert "Press A again to run every call of math.multiply, as defined now" in app.said
        await app.press("A")
        assert (app.granted, app.words) == ([app.questions[0]], ["approved for the session", ""])


async def test_another_decision_in_between_forgets_the_first_a() -> None:
    async with asking(question(), question("add")) as app:
        await app.decide("A", "n", "A")
        assert (app.verdicts, app.granted) == (["rejected", ""], [])


@pytest.mark.parametrize("burst", ["yy", "nY", "Ay"])
async def test_keys_that_came_in_one_write_decide_once_at_the_most(burst: str) -> None:
    async with asking(question(), question("add"), quiet=0.2) as app:
        await app.at_once(*burst)
        await app.armed_or_writing()
        assert app.verdicts == [{"y": "approved", "n": "rejected"}.get(burst[0], ""), ""]


async def test_a_key_that_came_too_early_is_told_until_another_one_counts() -> None:
    async with asking(question(), question("add"), quiet=1.5) as app:
        assert "too early" not in app.text
        await app.at_once("y", "y")
        assert app.verdicts == ["approved", ""]
        await app.until_said("y came too early and was ignored; press it again")
        other, early = events.Key("p", "p"), events.Key("escape", None)  # one right after the other
        for event, is_told in ((other, False), (early, True)):
            app.post_message(event)
            await app.pilot.pause()
            assert ("esc came too early and was ignored" in app.text) is is_told
            assert ("too early" in app.text) is is_told


@pytest.mark.parametrize(
    "event",
    [events.Key("l", "l"), events.Key("down", None), events.Paste("y"), None],
    ids=["letter", "moving key", "paste", "click"],
)
async def test_any_key_or_click_that_is_no_decision_restarts_the_quiet_period(event: events.Event | None) -> None:
    async with asking(question(), quiet=0.5) as app:
        key = events.Key("y", "y")
        if event is None:
            await app.pilot.click("#other")
            app.approval.focus()
        else:
            event.time = key.time = time.monotonic()
            await app.on_event(event)
        app.post_message(key)
        await app.pilot.pause()
        assert app.verdicts == [""]
        await app.decide("y")
        assert app.verdicts == ["approved"]


def test_a_key_is_judged_by_the_time_it_was_pressed() -> None:
    quiet = Quiet(0.5)
    key = events.Key("y", "y")
    for moment, is_swallowed in (
        (10.0, True),  # nothing was painted yet
        (10.4, True),
        (10.8, True),  # the one before restarted it
        (11.4, False),
    ):
        key.time = moment
        assert quiet.swallow(key, here=True) is is_swallowed
        if moment == 10.0:
            quiet.painted(moment)


@pytest.mark.parametrize("size", first_values([(36, 9), (60, 20), (80, 24), (40, 12)]))
async def test_on_low_screens_arguments_and_keys_stay(size: tuple[int, int]) -> None:
    asked = question(description="words " * 200, arguments={"path": "/"})
    async with asking(asked, kind=Alone, size=size) as app:
        assert "math.multiply" in app.text
        assert '"path"' in app.text or "more lines" in app.text
        assert "y once" in app.text
        assert app.approval.region.height <= size[1]


async def test_where_the_arguments_cannot_be_seen_nothing_can_be_approved() -> None:
    async with asking(question(), kind=Alone) as app:
        chat = app.query_one("#chat")
        for width, height in ((60, 4), (24, 20), (30, 4)):
            await app.pilot.resize_terminal(width, height)
            await until(app.pilot, lambda: chat.size == (width, height))  # noqa: B023 - awaited
            await app.until_said("Too small to approve.")
            await until(app.pilot, lambda: "enlarge or press n" in app.text)
            await app.decide("y", "a", "Y", "A", "A")
            assert app.verdicts == [""]
        await app.decide("n")
        assert app.verdicts == ["rejected"]


async def test_a_string_with_line_breaks_is_shown_as_its_lines_behind_a_rule() -> None:
    code = 'def f():\n\treturn "C:\\new"\n"b": 6\n' + "word " * 30
    async with asking(question(arguments={"a": {"text": code}, "b": 5}), kind=Alone, size=(60, 30)) as app:
        lines = [line[4:-4].rstrip() for line in app.lines if line.startswith("│ │")]
        assert lines[2:6] == [
            '    "text": a string of 4 lines:',
            "      │ def f():",
            '      │ ␉   return "C:\\new"',
            '      │ "b": 6',
        ]
        assert [line[:8] for line in lines[6:10]] == ["      │ ", *["      · "] * 3]
        assert {word for line in lines[6:10] for word in line[8:].split()} == {"word"}
        await app.press("p")
        assert "\\\\new" in app.text


@pytest.mark.parametrize("width", [26, 27, 28, 29, 30, 31])
def test_lines_are_broken_between_words_and_never_inside_an_escape(width: int) -> None:
    parts = ["plain words", '\\"', "\\u001b", "⟨202e⟩", "averyveryverylongwordthatfitsnoline"]
    parts += ["中文也在这里一直写到末尾", "e\u0301"]
    content = " ".join(parts * 20) + "".join(parts * 20)
    lines = list(broken(content, width))
    assert "".join(lines) == content
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    for line in lines:
        assert not re.search(r"(?<!\\)\\(u[0-9a-f]{0,3})?$|⟨[0-9a-f]*$", line), line
    assert all(line.endswith(" ") for line in broken("some words of a sentence " * 9, width))


async def test_z_gives_the_approval_the_width_of_the_screen(tmp_path: Path) -> None:
    async with still(tmp_path, size=(120, 30)) as app:
        app.a_question()
        await app.until_shown("Approve 2 calls?", "ready", "z wider")
        approval, inspector = app.app.screen.query_one(Approval), app.app.screen.query_one(Inspector)
        widths: list[int] = []
        for _ in range(3):
            widths.append(approval.region.width)
            await app.press("z")
        assert widths[0] == widths[2] < widths[1] == 120
        await app.press("f2")
        assert inspector.region.width == 120


async def test_what_the_model_wrote_wrongly_is_marked() -> None:
    unfit = ["a: '6' is not of type 'number'", *"123"]
    async with asking(question(misfits=unfit, numbers=[("1.0000000000000000001", "1.0")])) as app:
        await app.until_said("! the number 1.0000000000000000001 is sent as 1.0")
        await app.until_said("! does not fit the tool's schema: a: '6' is not of type 'number'; 1; 2; and 1 more")
        await app.decide("e")
        app.field.load_text('{"a": 7, "b": 5}')
        await app.press("enter")
        await app.until_said("edited: this will be sent")
        assert "schema" not in app.text


async def test_every_hidden_character_is_seen_and_nothing_acts() -> None:
    asked = question(HOSTILE, {"command": HOSTILE, HOSTILE: 1}, description=HOSTILE, changed=HOSTILE)
    async with asking(asked, size=(120, 40)) as app:
        for line in app.lines:
            assert not hidden(line), line
            assert line[0] in "╭│╰", line
        assert "⟨202e⟩" in app.text
        assert "hidden characters, written as codes" in app.text
        for key in "pdd":
            await app.press(key)
            assert not hidden("".join(app.lines))
        await app.decide("y")
        assert json.loads(app.decided.arguments)["command"] == HOSTILE


async def test_the_description_can_be_read_whole_and_nothing_is_approved_from_there() -> None:
    async with asking(question(description="\n".join(f"sentence {number}" for number in range(300)))) as app:
        await app.press("d", "end")
        assert "sentence 299" in app.text
        await app.decide("y")
        assert app.verdicts == [""]
        await app.decide("y")
        assert app.verdicts == ["approved"]


async def test_a_question_answered_elsewhere_makes_room_and_new_ones_join() -> None:
    first, second, third = question(), question("add"), question("divide")
    async with asking(first, second) as app:
        first.approve()
        app.approval.take([first, second, third])
        await app.armed()
        assert "Approve 2 calls?" in app.text
        assert "> math.add" in app.text


@pytest.mark.parametrize(
    ("annotations", "words_said"),
    [
        ((("readOnlyHint", True), ("openWorldHint", True)), "read-only, reaches outside"),
        ((("readOnlyHint", False), ("destructiveHint", True)), "may change things, may destroy data"),
        ((("readOnlyHint", "yes"),), ""),
    ],
    ids=["outside", "destroys", "nonsense"],
)
def test_hints_are_a_claim_and_stand_where_there_is_room(
    annotations: tuple[tuple[str, JSON], ...], words_said: str
) -> None:
    tool = Tool(server="math", name="multiply", description="Multiplies.", schema=SCHEMA, annotations=annotations)
    request = CallRequest(call="c", tool=tool, arguments=b"{}")
    claim = f"server claims: {words_said}" if words_said else ""
    assert hints_of(tool) == claim
    assert call_row(tool, 80, is_current=True).split("multiply")[1].strip() == claim
    assert call_row(tool, 16, is_current=True) == "> math.multiply"
    assert description_of(request, hints_of(tool)).splitlines()[:-1] == ([claim] if claim else [])


async def test_a_secret_in_arguments_or_description_is_marked_and_what_is_approved_holds_it() -> None:
    asked = question(arguments={"a": KEY}, description=f"Send {KEY}.")
    async with asking(asked, question("add", {"b": KEY}), size=(100, 40)) as app:
        assert KEY not in app.text
        for words in ('"a": "••• KEY (15)"', "the arguments contain a secret of yours", "Send ••• KEY (15)."):
            assert words in app.text
        await app.decide("y")
        assert KEY in app.decided.arguments.decode()


async def test_a_secret_is_not_halved_where_a_description_is_cut() -> None:
    async with asking(question(description=f"{'x' * 8 * 60}{KEY} end"), size=(100, 40)) as app:
        assert "hunter" not in "".join(app.lines)


async def test_an_edit_is_shown_as_it_will_be_sent_and_asked_again() -> None:
    async with asking(question(), size=(100, 34)) as app:
        await app.decide("e")
        assert app.field.has_focus
        assert app.field.cursor_location == (1, len('  "a": '))
        await app.press("y", "enter")
        assert "not JSON" in app.said
        app.field.load_text('{"a": "six"}')
        await app.press("enter")
        assert "b is missing" in app.text
        assert "a must be number" in app.text
        assert app.verdicts == [""]
        app.field.load_text('{"a": 7,\n "b": 5}')
        await app.until_said("press enter to check again")
        await app.press("enter")
        assert app.verdicts == [""]
        assert "edited: this will be sent" in app.text
        assert '"a": 7' in app.text
        await app.decide("y")
        assert (app.decided.verdict, app.decided.arguments) == ("edited", b'{"a":7,"b":5}')


async def test_a_reason_is_told_and_letters_in_it_decide_nothing() -> None:
    async with asking(question(), question("add")) as app:
        await app.decide("r")
        await app.press(*"nay", "enter")
        assert app.verdicts == ["rejected", ""]
        assert (app.decided.reason, app.decided.stop) == ("nay", False)
        await app.armed()
        assert app.approval.has_focus


@pytest.mark.parametrize(
    ("value", "complaints"),
    [
        ({"a": 1, "b": 2}, []),
        ({"a": True, "unit": "km"}, ["b is missing", "a must be number"]),
        ({"a": 1, "b": 2, "unit": "mile"}, ['unit must be one of ["m", "km"]']),
        ({"a": 1, "b": 2, "x": 2}, ["the tool has no argument x"]),
    ],
)
def test_what_does_not_fit_the_schema_is_named(value: Mapping[str, JSON], complaints: list[str]) -> None:
    assert misfits(value, {**SCHEMA, "additionalProperties": False}) == complaints


async def test_an_edit_shows_marks_and_what_is_sent_has_the_values_where_they_were_left() -> None:
    fake = "⟨secret:KEY⟩"
    async with asking(question(arguments={"a": KEY, "b": fake}), size=(100, 40)) as app:
        assert '"a": "••• KEY (15)"' in app.text
        assert f'"b": "{fake}"' in app.text
        await app.decide("e")
        assert KEY not in app.field.text
        assert '"a": "⟨secret:KEY#2⟩"' in app.field.text
        await app.until_said("⟨secret:KEY#2⟩: stands for a secret of yours; its value is sent in place of the mark")
        app.field.load_text('{"a": 1, "b": ⟨secret:KEY#2⟩}')
        await app.press("enter")
        await app.until_said("not JSON")
        assert "hunter2" not in app.text
        app.field.load_text(f'{{"a": 7, "b": 5, "note": "Bearer ⟨secret:KEY#2⟩", "fake": "{fake}"}}')
        await app.press("enter")
        await app.until_said('"note": "Bearer ••• KEY (15)"')
        await app.until_said("its real value would be sent")
        assert "hunter2" not in app.text
        await app.decide("y")
        sent: JSON = {"a": 7, "b": 5, "note": f"Bearer {KEY}", "fake": fake}
        assert app.decided.arguments == canonical(sent)


@pytest.mark.parametrize("secret", ['quo"te\\zero\u200bwidth-wörter', "12345678"])
def test_marks_left_in_place_give_back_the_same_arguments(secret: str) -> None:
    number = int(secret) if secret.isdigit() else 1
    arguments = canonical({"a": secret, "b": number, "c": f"x{secret}y", "⟨secret:S⟩": HOSTILE})
    shown = editable(arguments, Mask(lambda: Redactor([("S", secret)])))
    assert secret not in shown.text
    assert not hidden(shown.text)
    assert shown.values
    assert read_edit(shown.text, None, shown.values) == arguments
