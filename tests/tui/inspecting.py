"""The inspector alone in an app, with a session to look into."""

from __future__ import annotations

from textual.app import App, ComposeResult
from typing_extensions import override

from tests.tui.inspector_wires import Wires, a_turn, connected
from tui_host.tui.widgets.inspector.inspector_pane import Inspector


class Inspecting(App[None]):
    """An app that looks at the screen's rate, as the real one does."""

    def __init__(self, wires: Wires) -> None:
        super().__init__()
        self.wires = wires
        self.inspector = Inspector()
        self.escapes = 0

    @override
    def compose(self) -> ComposeResult:
        yield self.inspector

    def on_mount(self) -> None:
        self.inspector.show(self.wires)
        self.inspector.ladder.focus()
        self.set_interval(1 / 60, self.inspector.sync)

    def key_escape(self) -> None:
        self.escapes += 1

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        strips = self.screen._compositor.render_strips(self.size)  # pyright: ignore[reportPrivateUsage] - no public way
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def a_session() -> Wires:
    wires = Wires()
    connected(wires)
    a_turn(wires)
    return wires


def marks(app: Inspecting) -> str:
    """The first cells of the ladder's lines."""
    ladder = app.inspector.ladder.region
    return "".join(line[ladder.x] for line in app.lines[ladder.y : ladder.bottom])
