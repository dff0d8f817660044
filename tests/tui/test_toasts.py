"""What is told for a moment: it hides neither what is written nor what is asked."""

from __future__ import annotations

from pathlib import Path

from textual.widgets._toast import Toast

from tests.kit.app import BOUND_SECONDS, Running
from tests.tui.still import still
from tui_host.tui.widgets.prompt.prompt_field import Prompt

LONG = "math.multiply runs unasked in this session from now on. /rules takes it back."


async def test_a_toast_hides_neither_the_prompt_nor_the_approval(tmp_path: Path) -> None:
    async with still(tmp_path, size=(60, 20)) as app:
        main = app.app.main
        assert main is not None
        app.app.notify(LONG, markup=False, timeout=BOUND_SECONDS)  # on a slow machine the approval takes longer than it
        await app.until_shown("takes it back.")
        assert not main.query_one(Toast).region.overlaps(main.query_one(Prompt).region)
        assert not main.query_one(Toast).region.overlaps(main.query_one("#header").region)
        app.a_question()
        await app.until_shown("Approve 2 calls?", "takes it back.")
        assert main.question is not None
        assert not main.query_one(Toast).region.overlaps(main.question.region)


async def test_what_the_host_has_to_tell_later_is_told_too_and_once(app: Running) -> None:
    await app.until(lambda: app.host.pool is not None)
    app.host.notices.append("3 old sessions were deleted: 3 by [store] keep = 90d")
    await app.until_told("3 old sessions were deleted: 3 by [store] keep = 90d")
    app.host.notices.append("something else")
    await app.until_told("something else")
    assert sum("3 old sessions" in message for message in app.told) == 1


async def test_equal_messages_are_shown_once_at_a_time_and_leave_no_frame(app: Running) -> None:
    for _ in range(20):
        app.app.notify("the same", markup=False, timeout=2 * BOUND_SECONDS)
        app.app.notify("another", markup=False, timeout=2 * BOUND_SECONDS)
        await app.pilot.pause()
    await app.until_shown("the same", "another")
    assert app.text.count("the same") == 1
