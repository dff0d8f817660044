"""What is told for a moment: it hides neither what is written nor what is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from tests.cases import first_values
from tests.tui.app_running import BOUND_SECONDS, Running
from tests.tui.still import still
from tui_host.tui.widgets.prompt.prompt_field import Prompt

LONG = "math.multiply runs unasked in this session from now on. /revoke takes it back."


@pytest.mark.parametrize("size", first_values([(60, 20), (140, 45)]))
async def test_a_toast_hides_neither_the_prompt_nor_the_approval(tmp_path: Path, size: tuple[int, int]) -> None:
    async with still(tmp_path, size=size) as app:
        main = app.app.main
        assert main is not None
        app.app.notify(LONG, markup=False, timeout=BOUND_SECONDS)  # on a slow machine the approval takes longer than it
        await app.until_shown("takes it back.")
        assert not main.query_one(Toast).region.overlaps(main.query_one(Prompt).region)
        app.a_question()
        await app.until_shown("Approve 2 calls?", "takes it back.")
        assert main.approval is not None
        assert not main.query_one(Toast).region.overlaps(main.approval.region)


async def test_what_the_host_has_to_tell_later_is_told_too_and_once(app: Running) -> None:
    await app.until(lambda: app.host.pool is not None)
    app.host.notices.append("3 old sessions were deleted: 3 by [store] keep = 90d")
    await app.until_shown("3 old sessions were deleted", "[store] keep = 90d")
    app.host.notices.append("something else")
    await app.until_shown("something else")
    assert app.text.count("3 old sessions were deleted") <= 1  # on a slow machine it is gone by now
