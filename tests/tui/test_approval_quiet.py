"""The approval's quiet period: nothing that was typed, clicked or pasted for something else decides."""

from __future__ import annotations

import time

import anyio
import pytest
from textual import events

from tests.tui.asking import Asking, armed_or_writing, at_once, decide, question, text, until_armed, verdict
from tui_host.tui.widgets.approval.approval_panel import Quiet


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
    "event",
    [events.Key("l", "l"), events.Key("down", None), events.Paste("y")],
    ids=["letter", "moving key", "paste"],
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
