"""The main view at the sizes that people have: what gives way, and that a question is never out of sight without a word."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.kit.app import NARROW, SMALL, USUAL, WIDE, Running


@pytest.fixture
async def resized(app: Running) -> AsyncIterator[Running]:
    yield app
    await resize(app, SMALL)


async def resize(app: Running, size: tuple[int, int]) -> None:
    await app.pilot.resize_terminal(*size)
    await app.until(lambda: app.main.size.width == size[0])
    await app.pilot.pause()


async def test_under_a_hundred_columns_chat_and_inspector_take_turns_and_a_question_is_told(resized: Running) -> None:
    app = resized
    await resize(app, USUAL)
    assert app.main.arrangement == "chat"
    await app.press("f2")
    assert app.main.arrangement == "inspector"
    assert app.prompt.region.width == 0
    await app.press("z")
    assert app.main.arrangement == "chat"
    app.host.send(app.session, 'call math.add {"a": 1, "b": 2}')
    await app.press("f2")
    await app.until_shown("1 call to decide (f2)")
    assert app.approval is not None
    await app.press_at_once("y")
    assert app.session.open_questions()
    await app.press("escape")  # back to what lies on top, wherever one was
    await app.until(lambda: app.main.arrangement == "chat")
    await app.until_asked()
    assert app.focused is app.approval
    await resize(app, NARROW)
    await app.until_shown("Approve 1 call?", '"b": 2', "all shown", "y once", "esc esc stop the turn")
    await app.decide("y")
    await app.until_idle()
    assert app.focused is app.prompt
    await app.until_shown("approved once · you")
    await resize(app, WIDE)
    await app.until(lambda: app.main.arrangement == "both")
    assert app.inspector.region.width > app.transcript.region.width


async def test_what_is_read_in_a_narrow_terminal_is_still_there_in_a_wide_one(resized: Running) -> None:
    app = resized
    await app.until(lambda: app.inspector.ladder.selected_number is not None)
    app.inspector.ladder.focus()
    assert app.main.arrangement == "both"
    await app.pilot.resize_terminal(80, 24)
    await app.until(lambda: app.main.arrangement == "inspector")
    await app.pilot.resize_terminal(*SMALL)
    await app.until(lambda: app.main.arrangement == "both")
    await app.press("f2")  # the inspector alone
    await app.pilot.resize_terminal(80, 24)
    await app.press("f2")
    await app.until(lambda: app.main.arrangement == "chat")
    await app.pilot.resize_terminal(*SMALL)
    await app.until(lambda: app.main.arrangement == "both")
