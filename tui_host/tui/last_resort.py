"""What becomes of a mistake of ours in the app: one line, a log without local variables, exit code 1. Never Textual's traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.errors import TuiHostError
from tui_host.tui import textual_private
from tui_host.tui.early_keys import EarlyKeys
from tui_host.tui.exits import HANGUP, is_terminal_gone

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tui_host.host.host import Host


class LastResort(EarlyKeys):
    """An app that ends in order, whatever happens.

    Args:
        host: Writes the log.

    Attributes:
        crash: What a mistake of ours left to say, None if there was none.
    """

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.crash: TuiHostError | None = None
        self._note: TuiHostError | None = None

    def before_end(self) -> None:
        """Keep what would be lost."""

    @override
    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End; what stands unsent in the prompt is kept first, and a terminal that reads nothing does not keep us."""
        try:
            self.before_end()
        except Exception as error:  # noqa: BLE001 - nothing may keep the program from its end
            self.noted(error)
        super().exit(result, return_code, message)
        self.workers.cancel_all()  # whatever they would still put on screens, these are being taken down
        textual_private.bound_the_end(self)

    def crashed(self, error: BaseException) -> None:
        """A mistake of ours, wherever it was made: write it down and end; the first one is told."""
        if self.crash is None:
            self.crash = self.host.mistake(error)
        self.exit(return_code=1)

    def noted(self, error: BaseException) -> None:
        """A mistake of ours that ends nothing but what it happened in; the first one is told."""
        told = self._note
        self._note = self.host.mistake(error)
        if told is None and self.is_running:
            self.notify(str(self._note), severity="error", markup=False)

    @override
    def panic(self, *renderables: RenderableType) -> None:
        """In place of Textual's traceback on the screen; its input thread ends with this too, mostly since the terminal has gone."""
        if is_terminal_gone():
            self.exit(return_code=HANGUP)
            return
        self._fatal_error()

    @override
    def _fatal_error(self) -> None:
        """In place of Textual's traceback with local variables: a log without them; exit code 1."""
        self.crashed(textual_private.first_exception(self) or RuntimeError("the terminal could not be read"))
        textual_private.end_messages(self)
