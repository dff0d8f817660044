"""Pages of the inspector's details as the lines that are drawn."""

from __future__ import annotations

from collections.abc import Generator

from tests.tui.inspector_wires import Wires
from tui_host.answers.steps import Steps, made
from tui_host.capture.ladder.row import Row
from tui_host.tui.widgets.pages.detail_page import Page

LONG = 10.0


def drawn(page: Page | Steps[Page], width: int = 80) -> list[str]:
    page = made(page) if isinstance(page, Generator) else page
    page.fit(width)
    page.advance(LONG)
    return ["".join(text for text, _ in page.draw(number)) for number in range(len(page))]


def row_of(wires: Wires, kind: str, place: int = 0) -> Row:
    return [row for row in wires.ladder.rows if row.kind == kind][place]


def frame(wires: Wires, data: bytes) -> Row:
    return wires.frame(data, 1.0, direction="in")


# Text.
