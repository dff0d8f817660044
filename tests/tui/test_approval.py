"""The approval: what each key decides, in which order the calls are asked, and that nothing typed for something else decides."""

from __future__ import annotations

import re
import time
from importlib import import_module
from pkgutil import walk_packages

import anyio
import pytest
from textual import events
from textual.binding import BindingsMap
from textual.dom import DOMNode

import tui_host.tui
from tests.tui.asking import (
    KEY,
    LONG,
    Asking,
    answered,
    armed,
    armed_or_writing,
    at_once,
    decide,
    question,
    text,
    until_armed,
    until_said,
    verdict,
    words,
)
from tests.tui.waiting import at_work
from tui_host.chat.call_arguments import canonical
from tui_host.chat.policy import Question
from tui_host.tui.widgets.approval.approval_panel import Approval, Quiet


async def test_it_looks_as_designed() -> None:
    async with until_armed(Asking(question(), question("add")), (110, 24)) as (app, pilot):
        lines = [line.strip("│╭╮ ").rstrip() for line in text(app).splitlines()]
        assert lines[0].startswith("─ Approve 2 calls?  1 of 2")
        assert lines[1].startswith("> math.multiply")
        assert lines[1].endswith("server claims: read-only")
        assert lines[2].strip().startswith("math.add")
        assert lines[3] == "Multiply two numbers."
        assert [line for line in lines if line.startswith(('"a"', '"b"'))] == ['"a": 6,', '"b": 5']
        assert "all shown" in text(app)
        for key in ("y once", "Y all that remain", "A this tool, this session", "e edit", "n no", "r no, because…"):
            assert key in text(app)
        assert "esc esc stop the turn" in text(app)
        await until_said(pilot, app, "ready")


@pytest.mark.parametrize(("key", "decided"), [("y", "approved"), ("a", "approved"), ("n", "rejected")])
async def test_one_key_decides_the_call_that_is_shown_and_no_other(key: str, decided: str) -> None:
    first, second = question(), question("add")
    async with at_work(Asking(first, second), (100, 24)) as (app, pilot):
        await decide(pilot, app, key)
        assert first.decision is not None
        assert (first.decision.verdict, first.decision.stop, verdict(second)) == (decided, False, "")
        assert key == "n" or first.decision.arguments == b'{"a":6,"b":5}'
        await armed(pilot, app)
        assert "> math.add" in text(app)


async def test_escape_asks_once_and_decides_only_after_a_new_quiet_period() -> None:
    first, second = question(), question("add")
    async with until_armed(Asking(first, second, quiet=0.5)) as (app, pilot):
        await at_once(pilot, app, "escape", "escape", "escape")
        assert first.open
        await until_said(pilot, app, "escape again: reject and stop the turn")
        await decide(pilot, app, "escape")
        assert first.decision is not None
        assert (first.decision.verdict, first.decision.stop, verdict(second)) == ("rejected", True, "")


@pytest.mark.parametrize("key", ["r", "e", "d", "A"])
async def test_escape_goes_back_one_level(key: str) -> None:
    asked = question()
    async with at_work(Asking(asked), (100, 30)) as (app, pilot):
        await armed(pilot, app)
        before = text(app)
        await decide(pilot, app, key)
        await armed_or_writing(pilot, app)
        assert text(app).splitlines()[:-1] != before.splitlines()[:-1]
        await pilot.press("escape")
        await armed(pilot, app)
        assert text(app).splitlines()[:-1] == before.splitlines()[:-1]
        await decide(pilot, app, "escape")
        assert asked.open
        await decide(pilot, app, "n")  # any other decision counts as ever
        assert asked.decision is not None
        assert not asked.decision.stop


async def test_the_calls_stay_where_they_are_and_the_mark_moves() -> None:
    names = [f"tool{number}" for number in range(8)]
    app = Asking(*(question(name) for name in names), quiet=0.0)

    def listed() -> list[str]:
        rows = [line.strip("│ ") for line in text(app).splitlines()]
        return [
            row.split()[0] + row.split()[1] if row[0] == ">" else row.split()[0] for row in rows if "math.tool" in row
        ]

    async with app.run_test(size=(100, 18)) as pilot:
        await armed(pilot, app)
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]
        for marked in ("math.tool1", "math.tool2"):
            await pilot.press("right")
            assert [row.strip(">") for row in listed()] == [f"math.tool{n}" for n in range(5)]
            assert f">{marked}" in listed()
        await pilot.press("left", "left", "left")
        assert listed() == [*(f"math.tool{n}" for n in range(3, 7)), ">math.tool7"]
        assert all(len(line) == len(text(app).splitlines()[0]) for line in text(app).splitlines())
        await pilot.press("right")
        assert listed() == [">math.tool0", *(f"math.tool{n}" for n in range(1, 5))]


async def test_how_many_more_calls_come_after_those_that_are_asked_is_told() -> None:
    questions = [question(f"tool{number}") for number in range(3)]
    for asked in questions:
        asked.later = 24
    async with until_armed(Asking(*questions), (110, 24)) as (app, _):
        assert "Approve 3 calls?  1 of 3, then 24 more" in text(app)
        assert "Y all of these" in text(app)


@pytest.mark.parametrize("key", ["y", "end"])
async def test_what_was_jumped_over_is_counted_and_the_end_counts_as_seen(key: str) -> None:
    asked = question(arguments=LONG)
    async with until_armed(Asking(asked, quiet=0.5), (100, 30)) as (app, pilot):
        more = re.search(r"(\d+) more lines: pagedown, end", text(app))
        await at_once(pilot, app, key, "y")
        assert asked.open
        await armed(pilot, app)
        jumped = re.search(r"(\d+) lines jumped over", text(app))
        assert more is not None
        assert jumped is not None
        seen = int(more[1]) - int(jumped[1]) - sum(line.startswith("│ │") for line in text(app).splitlines())
        assert seen in {0, key == "y"}  # the words below the end take a line that may have been painted before
        assert ("This is the end. Press y again to approve." in text(app)) == (key == "y")
        await decide(pilot, app, "y")
        assert asked.decision is not None
        assert asked.decision.arguments == canonical(LONG)


async def test_what_was_read_page_by_page_was_not_jumped_over() -> None:
    asked = question(arguments={"note": "\n".join(map(str, range(60)))})
    async with until_armed(Asking(asked), (100, 24)) as (app, pilot):
        while "more lines" in text(app):
            await pilot.press("pagedown")
            await armed(pilot, app)
        assert "all shown" in text(app)
        await decide(pilot, app, "y")
        assert verdict(asked) == "approved"


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
    calls = [Question(question(name).request, answered=answered, clock=lambda: now[0]) for name in ("first", "second")]
    async with until_armed(Asking(*calls)) as (app, pilot):
        for seconds in (5.0, 2.0):
            await armed(pilot, app)
            now[0] += seconds
            await decide(pilot, app, "y")
        assert [asked.decision and asked.decision.waited for asked in calls] == [5.0, 2.0]


async def test_calls_that_stand_whole_in_the_list_are_approved_at_once() -> None:
    calls = [question(), question("add"), question("divide")]
    async with at_work(Asking(*calls), (80, 24)) as (app, pilot):
        await decide(pilot, app, "Y")
        assert [words(asked) for asked in app.questions] == ["approved with all remaining calls"] * 3


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
    async with at_work(Asking(question(), other, question("add")), (100, 30)) as (app, pilot):
        await decide(pilot, app, "Y")
        assert [verdict(asked) for asked in app.questions] == ["", "", ""]
        await armed(pilot, app)
        assert f"> math.{other.request.tool.name}" in text(app)
        await until_said(pilot, app, "This call was not shown whole yet. Read it, then press Y again.")
        await decide(pilot, app, *("YY" if other.request.tool.name == "long" else "Y"))
        assert [words(asked) for asked in app.questions] == ["approved with all remaining calls"] * 3


async def test_a_session_rule_takes_a_second_a_after_it_was_told() -> None:
    asked = question()
    async with until_armed(Asking(asked, quiet=0.5), (100, 26)) as (app, pilot):
        await at_once(pilot, app, "A", "A", "A")
        assert asked.open
        await armed(pilot, app)
        assert "Press A again to run every call of math.multiply, as defined now" in " ".join(
            text(app).replace("│", " ").split()
        )
        await pilot.press("A")
        assert app.granted == [asked]
        assert words(asked) == "approved for the session"


async def test_another_decision_in_between_forgets_the_first_a() -> None:
    first, second = question(), question("add")
    async with at_work(Asking(first, second), (100, 26)) as (app, pilot):
        await decide(pilot, app, "A", "n", "A")
        assert second.open
        assert app.granted == []


# The quiet period.


@pytest.mark.parametrize("burst", ["yy", "nY", "Ay"])
async def test_keys_that_came_in_one_write_decide_once_at_the_most(burst: str) -> None:
    first, second = question(), question("add")
    async with until_armed(Asking(first, second, quiet=0.2), (100, 30)) as (app, pilot):
        await at_once(pilot, app, *burst)
        await armed_or_writing(pilot, app)
        expected = {"y": "approved", "n": "rejected"}.get(burst[0], "")
        assert (verdict(first), verdict(second)) == (expected, "")


async def test_a_key_that_came_too_early_is_told_until_another_one_counts() -> None:
    first, second = question(), question("add")
    async with until_armed(Asking(first, second, quiet=1.5)) as (app, pilot):
        assert "too early" not in text(app)
        await at_once(pilot, app, "y", "y")
        assert (verdict(first), second.open) == ("approved", True)
        with anyio.fail_after(90):
            while "y came too early and was ignored; press it again" not in text(app):
                await pilot.pause(0.02)
        other, early = events.Key("p", "p"), events.Key("escape", None)  # one right after the other
        app.post_message(other)
        await pilot.pause()
        assert "too early" not in text(app)
        app.post_message(early)
        await pilot.pause()
        assert "esc came too early and was ignored" in text(app)


@pytest.mark.parametrize(
    "event", [events.Key("l", "l"), events.Key("down", None), events.Paste("y")], ids=["letter", "moving key", "paste"]
)
async def test_any_key_that_is_no_decision_restarts_the_quiet_period(event: events.Event) -> None:
    asked = question()
    async with until_armed(Asking(asked, quiet=0.5)) as (app, pilot):
        event.time = time.monotonic()
        key = events.Key("y", "y")
        key.time = event.time
        await app.on_event(event)
        app.post_message(key)
        await pilot.pause()
        assert asked.open
        await decide(pilot, app, "y")
        assert not asked.open


async def test_a_click_restarts_the_quiet_period_too() -> None:
    asked = question()
    async with until_armed(Asking(asked, quiet=0.5)) as (app, pilot):
        key = events.Key("y", "y")
        await pilot.click("#other")
        app.approval.focus()
        app.post_message(key)
        await pilot.pause()
        assert asked.open


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
