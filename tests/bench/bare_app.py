"""The baseline of what the app costs by being one: the smallest chat-shaped Textual app. Run as a script."""

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Footer, Input
from typing_extensions import override


class BareApp(App[None]):
    @override
    def compose(self) -> ComposeResult:
        yield VerticalScroll(can_focus=False)
        yield Input(placeholder="Ask anything")
        yield Footer()


if __name__ == "__main__":
    BareApp().run()
