"""The approval: what each key decides, that nothing typed for something else decides, and what is seen of a call before it is decided."""

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages

from textual import events
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.widgets import TextArea

import tui_host
from tests.cases import some
from tests.kit.app import SMALL, Running
from tests.tui.still import TOOLS, nobody_waits
from tui_host.capture.visible import hidden
from tui_host.chat.call_arguments import canonical
from tui_host.chat.policy import CallRequest, Decision, Question
from tui_host.errors import JSON

KEY = "hunter2-hunter2"
HOSTILE = "\x1b[2J\x1b]52;c;eA==\x07\x9b2J\u202egnirts\u200b\u2066 [@click=app.quit]x[/] [/]"
LONG: Mapping[str, JSON] = {"note": "\n".join(f"line {number}" for number in range(400)), "list": list(range(200))}


def question(
    name: str = "multiply",
    arguments: Mapping[str, JSON] | None = None,
    *,
    description: str = "Multiply two numbers.",
    hints: Sequence[tuple[str, JSON]] = (("readOnlyHint", True),),
    changed: str = "",
    misfits: Sequence[str] = (),
    numbers: Sequence[tuple[str, str]] = (),
) -> Question:
    tool = replace(TOOLS[0], name=name, description=description, annotations=tuple(hints), fingerprint=name)
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


class Asking:
    def __init__(self, app: Running, questions: Sequence[Question]) -> None:
        self.app = app
        self.questions = questions

    async def armed(self) -> None:
        await self.app.pilot.pause()
        await self.app.until_asked()

    async def armed_or_writing(self) -> None:
        await self.app.until(
            lambda: isinstance(self.app.focused, TextArea) or (self.app.approval and self.app.approval.is_armed)
        )

    async def decide(self, *keys: str) -> None:
        for key in keys:
            await self.armed()
            await self.app.press(key)

    async def write(self, text: str) -> None:
        field = self.app.focused
        assert isinstance(field, TextArea)
        field.load_text(text)
        await self.app.pilot.pause()

    async def until_said(self, *said: str) -> None:
        await self.app.until(lambda: all(words in self.said for words in said))

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.app.text_in(some(self.app.approval)).split("\n")]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def said(self) -> str:
        return " ".join(f"{self.text}\n{self.app.text_in(self.app.main.query_one('#keys'))}".replace("│", " ").split())

    @property
    def verdicts(self) -> list[str]:
        return [asked.decision.verdict if asked.decision else "" for asked in self.questions]

    @property
    def words(self) -> list[str]:
        return [asked.decision.words.split(",")[0] if asked.decision else "" for asked in self.questions]

    @property
    def decided(self) -> Decision:
        return next(asked.decision for asked in self.questions if asked.decision)


@asynccontextmanager
async def asking(
    app: Running, *questions: Question, size: tuple[int, int] = (100, 36), redacted: Mapping[str, str] | None = None
) -> AsyncGenerator[Asking]:
    for name, value in (redacted or {}).items():
        app.host.redactor.add((name, value))
    await app.pilot.resize_terminal(*size)
    while app.main.arrangement != "chat":
        app.main.action_arrange()
    app.session.questions[:] = questions
    asked = Asking(app, questions)
    try:
        await asked.armed()
        yield asked
    finally:
        for left in app.session.questions:
            left.is_void = True
        await app.pilot.resize_terminal(*SMALL)


async def test_hints_are_a_claim_and_stand_where_there_is_room(app: Running) -> None:
    for hints, claims in (
        ((("readOnlyHint", True), ("openWorldHint", True)), "read-only, reaches outside"),
        ((("readOnlyHint", False), ("destructiveHint", True)), "may change things, may destroy data"),
        ((("readOnlyHint", "yes"),), ""),
    ):
        claim = f"server claims: {claims}" if claims else ""
        async with asking(app, question(hints=hints)) as ask:
            row = next(line for line in ask.lines if "math.multiply" in line)
            assert row.split("multiply")[1].strip("│ ") == claim
            await app.pilot.resize_terminal(50, 36)
            await app.until(lambda: len(ask.lines[0]) == 50)
            assert "server" not in next(line for line in ask.lines if "math.multiply" in line)
            await ask.until_said(claim)


async def test_one_key_decides_the_call_that_is_shown_and_no_other(app: Running) -> None:
    now = [0.0]
    asked = [
        Question(question(name).request, answered=nobody_waits, clock=lambda: now[0]) for name in "fgh"
    ]  # its time begins when it appears
    async with asking(app, *asked) as ask:
        for key, seconds, verdicts in (
            ("y", 5.0, ["approved", "", ""]),
            ("a", 2.0, ["approved", "approved", ""]),
            ("n", 1.0, ["approved", "approved", "rejected"]),
        ):
            await ask.armed()
            now[0] += seconds
            await app.press(key)
            assert ask.verdicts == verdicts
        assert [each.decision and each.decision.waited for each in asked] == [5.0, 2.0, 1.0]
        assert (ask.decided.arguments, ask.decided.stop) == (b'{"a":6,"b":5}', False)
    async with asking(app, question(), question("add")) as ask:
        await ask.decide("A", "n", "A")  # another decision in between forgets the first
        assert (ask.verdicts, app.session.policy.grants) == (["rejected", ""], [])
        await app.press_at_once("A", "A")
        assert ask.verdicts == ["rejected", ""]
        await ask.until_said("Press A again to run every call of math.add, as defined now")
        await ask.decide("A")
        assert [grant.tool for grant in app.session.policy.grants] == ["add"]
        assert ask.words[1] == "approved for the session"
    await app.until_idle()
    assert app.focused is app.prompt


async def test_escape_asks_once_and_goes_back_one_level_and_a_reason_is_told(app: Running) -> None:
    async with asking(app, question(), question("add")) as ask:
        await app.press_at_once("escape", "escape", "escape")
        assert ask.verdicts == ["", ""]
        await ask.until_said("escape again: reject and stop the turn")
        await ask.decide("escape")  # after a new quiet period
        assert (ask.verdicts, ask.decided.stop) == (["rejected", ""], True)
    async with asking(app, question()) as ask:
        before = ask.lines[:-1]
        for key in "redA":
            await ask.decide(key)
            await ask.armed_or_writing()
            assert ask.lines[:-1] != before
            await app.press("escape")
            await ask.armed()
            await app.until(lambda: ask.lines[:-1] == before)
        await ask.decide("escape")
        assert ask.verdicts == [""]
        await ask.decide("n")  # any other decision counts as ever
        assert not ask.decided.stop
    async with asking(app, question(), question("add")) as ask:
        await ask.decide("r")
        words = " enter reject with this reason   escape back   f1 help"
        await app.reach("n a y", lambda: app.lines[-1].startswith(words))  # in the key bar
        await app.press("enter")  # letters in a reason decide nothing
        assert ask.verdicts == ["rejected", ""]
        assert (ask.decided.reason, ask.decided.stop) == ("nay", False)
        await ask.armed()
        assert app.focused is app.approval


async def test_the_calls_stay_where_they_are_and_the_mark_moves(app: Running) -> None:
    questions = [question(f"tool{number}") for number in range(8)]
    for asked in questions:
        asked.later = 24
    async with asking(app, *questions) as ask:
        await ask.until_said("Approve 8 calls? 1 of 8, then 24 more", "Y all of these")

        def listed() -> list[str]:
            rows = [line.strip("│ ").split() for line in ask.lines if "math.tool" in line]
            return ["".join(row[:2]) if row[0] == ">" else row[0] for row in rows]

        first = listed()
        assert first[:2] == [">math.tool0", "math.tool1"]
        await app.press("right")
        assert [name.strip(">") for name in listed()] == [name.strip(">") for name in first]
        assert listed()[1] == ">math.tool1"
        await app.press("left", "left")
        assert listed()[-1] == ">math.tool7"
        assert {len(line) for line in ask.lines} == {len(ask.lines[0])}
        await app.press("right")
        assert listed() == first
        ask.questions[0].approve()  # elsewhere
        app.session.questions.append(question("divide"))
        await ask.until_said("Approve 8 calls? 1 of 8", "> math.tool1")


async def test_what_was_jumped_over_is_counted_and_the_end_counts_as_seen(app: Running) -> None:
    for key in ("y", "end"):
        async with asking(app, question(arguments=LONG)) as ask:
            more = re.search(r"(\d+) more lines: pagedown, end", ask.text)
            await app.press_at_once(key, "y")
            assert ask.verdicts == [""]
            told = ["This is the end. Press y again to approve."] * (key == "y")
            await ask.until_said("jumped over", *told)
            jumped = re.search(r"(\d+) lines jumped over", ask.text)
            assert more is not None
            assert 0 < int(some(jumped)[1]) < int(more[1])
            assert told or "This is the end" not in ask.said
            await ask.decide("y")
            assert ask.decided.arguments == canonical(LONG)
    async with asking(app, question(arguments={"note": "\n".join(map(str, range(60)))})) as ask:
        while "more lines" in ask.text:  # page by page
            await app.press("pagedown")
            await ask.armed()
        await ask.until_said("all shown")
        await ask.decide("y")
        assert ask.verdicts == ["approved"]


def test_the_keys_that_approve_are_bound_in_the_approval_alone() -> None:
    for module in walk_packages(tui_host.__path__, "tui_host."):
        if module.name.startswith("tui_host.tui"):
            import_module(module.name)
    kinds: list[type[DOMNode]] = [DOMNode]
    for kind in kinds:
        kinds += kind.__subclasses__()
    bound = {kind: BindingsMap(kind.__dict__.get("BINDINGS", [])).key_to_bindings for kind in kinds}
    assert {kind.__name__ for kind, keys in bound.items() if keys.keys() & set("yaYAe")} == {"Approval"}


async def test_all_are_approved_at_once_only_if_they_stand_whole_in_the_list(app: Running) -> None:
    async with asking(app, question(), question("add"), question("divide"), size=(80, 24)) as ask:
        await ask.decide("Y")
        assert ask.verdicts == ["approved"] * 3
        assert all("remaining" in words for words in ask.words)
    for other in (
        question("long", LONG),
        question("secret", {"a": KEY}),
        question("hidden", {"a": "\u202e"}),
        question("changed", changed="other words"),
        question("unfit", misfits=["a: '1' is not of type 'number'"]),
    ):
        async with asking(app, question(), other, question("add"), redacted={"KEY": KEY}) as ask:
            await ask.decide("Y")
            assert ask.verdicts == ["", "", ""]
            await ask.until_said(
                f"> math.{other.request.tool.name}", "This call was not shown whole yet. Read it, then"
            )
            await ask.decide(*("YY" if other.request.tool.name == "long" else "Y"))
            assert ask.verdicts == ["approved"] * 3


async def test_keys_in_one_write_decide_once_and_those_that_came_too_early_are_told(app: Running) -> None:
    for burst, verdict in (("Ay", ""), ("nY", "rejected"), ("yy", "approved")):
        async with asking(app, question(), question("add")) as ask:
            assert "too early" not in ask.text
            await app.press_at_once(*burst)
            assert ask.verdicts == [verdict, ""]
            await ask.until_said(f"{burst[1]} came too early and was ignored; press it again")
            await app.press_at_once("p")
            await app.until(lambda: "too early" not in ask.text)


async def test_a_key_that_decides_nothing_says_which_do_and_takes_a_first_escape_back(app: Running) -> None:
    async with asking(app, question()) as ask:
        # The rest of a terminal's late answer, behind an escape that was its beginning.
        for rest in ("[?62;22c", "]11;rgb:1e1e/1e1e/1e1e\\", "P>|kitty(0.26.5)"):
            await ask.decide("escape")
            await ask.until_said("escape again: reject and stop the turn")
            await app.press_at_once(*rest)
            await ask.until_said("y or n decides")
            assert "escape again" not in ask.text
        await ask.armed()
        await app.press_at_once("space", "enter")
        assert ask.verdicts == [""]
    async with asking(app, question()) as ask:
        for event in (events.Key("l", "l"), events.Key("down", None), events.Paste("y"), None):
            await ask.armed()
            key = events.Key("y", "y")
            if event is None:
                await app.pilot.click("#header")
                app.main.set_focus(app.approval)
            else:
                event.time = key.time = time.monotonic()
                await app.app.on_event(event)
            app.app.post_message(key)
            await app.pilot.pause()
            assert ask.verdicts == [""]
        await ask.decide("y")
        assert ask.verdicts == ["approved"]


async def test_on_low_screens_arguments_and_keys_stay_and_what_cannot_be_seen_cannot_be_approved(app: Running) -> None:
    async with asking(app, question(description="words " * 200, arguments={"path": "/"}), size=(40, 12)) as ask:
        await ask.until_said("math.multiply", "y/a once")
        await app.until(lambda: '"path"' in ask.text or "more lines" in ask.text)
        assert len(ask.lines) <= 10
        for size in ((60, 6), (24, 20), (30, 6)):
            await app.pilot.resize_terminal(*size)
            await ask.until_said("Too small; n rejects.")
            await ask.decide("y", "a", "Y", "A", "A")
            assert ask.verdicts == [""]
        await ask.decide("n")
        assert ask.verdicts == ["rejected"]


async def test_a_string_with_line_breaks_is_shown_as_its_lines_behind_a_rule(app: Running) -> None:
    code = 'def f():\n\treturn "C:\\new"\n"b": 6\n' + "word " * 30
    async with asking(app, question(arguments={"a": {"text": code}, "b": 5}), size=(60, 36)) as ask:
        lines = [line.strip("│ ").removesuffix("│").rstrip() for line in ask.lines]
        start = lines.index('"text": a string of 4 lines:')
        assert lines[start + 1 : start + 4] == ["def f():", '␉   return "C:\\new"', '"b": 6']
        assert {word for line in lines[start + 4 : start + 8] for word in line.strip("· ").split()} == {"word"}
        assert ask.text.count("│ def f():") == 1
        await app.press("p")
        assert "\\\\new" in ask.text


async def test_every_hidden_character_is_seen_and_nothing_is_approved_from_a_description(app: Running) -> None:
    given: dict[str, JSON] = {"command": HOSTILE, HOSTILE: 1, "to": "ops@x ← text from docs.read, step 2"}
    async with asking(app, question(HOSTILE, given, description=HOSTILE, changed=HOSTILE), size=(120, 40)) as ask:
        assert "⟨2190⟩ text from" in ask.said  # a value cannot say where it comes from
        assert "←" not in ask.text
        for line in ask.lines:
            assert not hidden(line), line
            assert line[0] in "╭│╰", line
        assert "⟨202e⟩" in ask.text
        await ask.until_said("hidden characters, written as codes")
        for key in "pdd":
            await app.press(key)
            assert not hidden("".join(ask.lines))
        await ask.decide("y")
        assert json.loads(ask.decided.arguments)["command"] == HOSTILE
    async with asking(app, question(description="\n".join(f"sentence {n}" for n in range(300)))) as ask:
        await app.press("d", "end")
        await ask.until_said("sentence 299", "about the tool; d shows the arguments")
        assert "all shown" not in ask.text
        await ask.decide("y")  # which leads back to the arguments
        assert ask.verdicts == [""]
        await ask.decide("y")
        assert ask.verdicts == ["approved"]


async def test_a_secret_in_arguments_or_description_is_marked_and_what_is_approved_holds_it(app: Running) -> None:
    asked = question(arguments={"a": KEY}, description=f"Send {KEY}.")
    async with asking(app, asked, question("add", {"b": KEY}), redacted={"KEY": KEY}) as ask:
        assert KEY not in app.text
        for words in ('"a": "••• KEY (15)"', "the arguments contain a secret of yours", "Send ••• KEY (15)."):
            assert words in ask.said
        await ask.decide("e")
        await ask.until_said("they are not edited: r rejects with a reason")
        await ask.decide("y")
        assert KEY in ask.decided.arguments.decode()
    async with asking(app, question(description=f"{'x' * 8 * 60}{KEY} end")) as ask:
        assert "hunter" not in ask.text  # not halved where the description is cut


async def test_an_edit_is_shown_as_it_will_be_sent_and_asked_again(app: Running) -> None:
    async with asking(app, question()) as ask:
        await ask.decide("e")
        await ask.armed_or_writing()
        field = app.focused
        assert isinstance(field, TextArea)
        assert field.cursor_location == (1, len('  "a": '))
        await app.press("y", "enter")
        await ask.until_said("not JSON")
        await ask.write('{"a": "six"}')
        await app.reach("enter", lambda: re.search("b.{0,20}(is missing|required)", ask.said))
        assert "number" in ask.said
        assert ask.verdicts == [""]
        await ask.write('{"a": 7,\n "b": 5}')
        await app.press("enter")
        await ask.until_said("edited: this will be sent", '"a": 7')
        assert ask.verdicts == [""]
        await ask.decide("y")
        assert (ask.decided.verdict, ask.decided.arguments) == ("edited", b'{"a":7,"b":5}')
    unfit = ["a: '6' is not of type 'number'", *"123"]
    async with asking(app, question(misfits=unfit, numbers=[("1.0000000000000000001", "1.0")])) as ask:
        await ask.until_said("! the number 1.0000000000000000001 is sent as 1.0")
        await ask.until_said("! does not fit the tool's schema: a: '6' is not of type 'number'; 1; 2; and 1 more")
        await ask.decide("e")
        await ask.armed_or_writing()
        await ask.write('{"a": 7, "b": 5}')
        await app.press("enter")
        await ask.until_said("edited: this will be sent")
        assert "schema" not in ask.text


async def test_a_value_that_stands_in_an_earlier_result_says_so(app: Running) -> None:
    while app.main.arrangement != "chat":
        app.main.action_arrange()
    await app.send("what is (6 × 5 + 7) / 2? use the tools", app.asks)
    assert "←" not in app.text
    await app.decide("y")
    await app.until_shown('"a": 30, ← text from math.multiply (math #', "), step 1", "← verbatim only")
    await app.until_asked()
    assert not re.search('"b": 7.*←', app.text)
    await app.reach("p", '{"a":30,"b":7}')
    assert "←" not in app.text
    await app.reach("p", "← text from")
    await app.decide("y")
    await app.until_shown('"a": 37, ← text from math.add (math #', "), step 2")
    await app.answer("n")
