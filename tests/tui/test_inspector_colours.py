"""The inspector where there are few colours, none, or no signs beyond ASCII."""

from __future__ import annotations

import pytest
from rich.color import Color, ColorSystem

from tests.tui.inspecting import Inspecting, a_session, marks
from tests.tui.inspector_wires import Wires, request_body
from tests.tui.waiting import until


async def test_relatives_have_no_hue_in_256_colours_where_a_red_one_would_be_a_failure() -> None:
    app = Inspecting(a_session())
    async with app.run_test(size=(100, 34)) as pilot:
        await until(pilot, lambda: "*" in marks(app))
        for theme in ("textual-dark", "textual-light"):
            app.theme = theme
            await pilot.pause()
            row = app.inspector.ladder.region.y + marks(app).index("*")
            painted = app.screen._compositor.render_strips(app.size)[row]  # pyright: ignore[reportPrivateUsage] - as above
            beside = app.inspector.ladder.rich_style.bgcolor
            style = next(segment.style for segment in painted if segment.text.startswith("*"))
            assert style is not None
            assert style.bgcolor is not None
            red, green, blue = _in_256_colours(style.bgcolor)
            assert red == green == blue
            assert beside is not None
            assert (red, green, blue) != _in_256_colours(beside)


def _in_256_colours(colour: Color) -> tuple[int, int, int]:
    """What stands for a colour where there are no more."""
    return colour.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()


async def test_ascii_is_ascii() -> None:
    wires = Wires()
    wires.request(request_body([{"role": "user", "content": "hi"}]), 1.0, exchange="x")
    app = Inspecting(wires, ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1 message" in app.text and "[Parts]" in app.text)
        ladder = app.inspector.ladder.region
        assert "\n".join(line[: ladder.right - 1] for line in app.lines[: ladder.bottom]).isascii()


async def test_without_colour_the_selected_row_and_failures_can_still_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    wires = a_session()
    response = wires.response(wires.ladder.rows[-1], 4.0, b"data: {")
    wires.end(response, 4.2, "cut by peer")
    app = Inspecting(wires)
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "✗ cut" in app.text)
        assert ">" in marks(app)
        assert "*" in marks(app)
