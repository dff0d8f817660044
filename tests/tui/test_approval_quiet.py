"""The approval's quiet period: nothing that was typed, clicked or pasted for something else decides."""

from __future__ import annotations

import time

import anyio
import pytest
from textual import events
from textual.content import Content

from tests.cases import first_values
from tests.tui.asking import Asking, armed, armed_or_writing, at_once, decide, question, text, verdict
from tui_host.tui.widgets.approval import approval_words as words
from tui_host.tui.widgets.approval.approval_words import readiness
from tui_host.tui.widgets.approval.quiet_period import Quiet


async def test_what_was_typed_ahead_never_decides() -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await at_once(pilot, app, *"yes,whynot", "y", "y", "y")
        assert asked.open
        await decide(pilot, app, "y")
        assert verdict(asked) == "approved"


@pytest.mark.parametrize("burst", first_values(["ry", "AA", "ey", "yy", "Ay", "dy", "nY"], 2))
async def test_keys_that_came_in_one_write_decide_once_at_the_most(burst: str) -> None:
    first, second = question(), question("add")
    app = Asking(first, second, quiet=0.2)
    async with app.run_test(size=(100, 30)) as pilot:
        await armed(pilot, app)
        await at_once(pilot, app, *burst)
        await armed_or_writing(pilot, app)
        expected = {"y": "approved", "n": "rejected"}.get(burst[0], "")
        assert (verdict(first), verdict(second)) == (expected, "")


async def test_a_key_that_came_too_early_is_told_until_another_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []  # what is told is soon told no more

    def kept(*, ignored: str, is_ready: bool, more: str) -> Content:
        told.append((found := readiness(ignored=ignored, is_ready=is_ready, more=more)).plain)
        return found

    monkeypatch.setattr(words, "readiness", kept)
    first, second = question(), question("add")
    app = Asking(first, second, quiet=1.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        assert "too early" not in text(app)
        await at_once(pilot, app, "y", "y")
        assert (verdict(first), second.open) == ("approved", True)
        assert [each for each in told if each.startswith("y came too early and was ignored; wait")]
        with anyio.fail_after(20):
            while "y came too early and was ignored; press it again" not in text(app):
                await pilot.pause(0.02)
        other, early = events.Key("p", "p"), events.Key("escape", None)  # one right after the other
        app.post_message(other)
        await pilot.pause()
        assert "too early" not in text(app)
        app.post_message(early)
        await pilot.pause()
        assert "esc came too early and was ignored" in text(app)


async def test_each_question_has_a_quiet_period_of_its_own() -> None:
    first, second = question(), question("add")
    app = Asking(first, second, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
        await at_once(pilot, app, "y", "y", "y", "y")
        assert (verdict(first), verdict(second)) == ("approved", "")


@pytest.mark.parametrize(
    "event",
    first_values(
        [events.Key("l", "l"), events.Key("down", None), events.Paste("y"), events.Key("right_square_bracket", "]")]
    ),
    ids=["letter", "moving key", "paste", "terminal's reply"],
)
async def test_any_key_that_is_no_decision_restarts_the_quiet_period(event: events.Event) -> None:
    asked = question()
    app = Asking(asked, quiet=0.5)
    async with app.run_test(size=(100, 24)) as pilot:
        await armed(pilot, app)
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
        assert "tab goes back" in text(app)
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
