"""What is asked of others by the ladder's keys: a filter, the details the other way, the whole screen."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui_host.tui.widgets.lines.line_pieces import PieceView
from tui_host.tui.widgets.lines.line_selection import SelectingView


class LadderKeys(PieceView, SelectingView):
    """A view of pieces that can be selected from, with the keys that are told to whoever is around it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter"),
        Binding("vertical_line", "split", "Split"),
        Binding("z", "zoom", "Full screen"),
    ]

    class FilterAsked(Message, namespace="ladder_view"):
        """The person wants to filter."""

    class SplitAsked(Message, namespace="ladder_view"):
        """The person wants the details the other way."""

    class ZoomAsked(Message, namespace="ladder_view"):
        """The person wants the whole screen for it."""

    def current_source(self) -> tuple[str, str]:
        """What is selected; without that, who is around us knows what is copied."""
        return self.selected_source() or ("", "")

    def action_filter(self) -> None:
        """Ask for a filter."""
        self.post_message(self.FilterAsked())

    def action_split(self) -> None:
        """Ask for the details the other way."""
        self.post_message(self.SplitAsked())

    def action_zoom(self) -> None:
        """Ask for the whole screen."""
        self.post_message(self.ZoomAsked())
