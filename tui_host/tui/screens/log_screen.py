"""The screen with a server's log: its lines, the level that is asked for, and the folders that the server may know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from typing_extensions import override

from tui_host.answers.sheet import SheetLine, Style
from tui_host.capture.visible import line
from tui_host.chat.schema_form import FormField, FormOption
from tui_host.errors import TuiHostError
from tui_host.settings.schema import LOG_LEVELS
from tui_host.tui.host_mask import mask_of
from tui_host.tui.screens.page_screen import PageScreen
from tui_host.tui.widgets.asks.ask_panel import AskBody, AskButton
from tui_host.tui.widgets.details.detail_view import PageLines
from tui_host.tui.widgets.forms.form_fields import Finished
from tui_host.tui.widgets.forms.form_view import FormView
from tui_host.tui.widgets.pages.tree_page import TreePage

if TYPE_CHECKING:
    from tui_host.host.host import Host
    from tui_host.servers.catalog import LogLine, ServerStatus

_UNASKED = "unasked"
_STYLES: Mapping[str, Style] = {"debug": "note", "info": "", "notice": "", "warning": "secret"}
_DEPRECATED = "Logging and roots are deprecated since 2026-07-28, and still in force. What is set here holds until the program ends."


class LogScreen(PageScreen):
    """A server's log, the level to ask for, and roots.

    Args:
        host: The host.
        server: The server's name.
    """

    HEADING = "Log and roots"
    PLACE = "Log and roots"
    AUTO_FOCUS = "PageLines"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "edit", show=False),
        Binding("escape", "back", show=False),
    ]
    DEFAULT_CSS = """
    LogScreen {
        & > #log-note { height: auto; padding: 0 1; color: $text-muted; }
        & > #log-form { height: auto; max-height: 60%; display: none; padding: 0 1; }
        & > #log-buttons { height: 1; display: none; padding: 0 1; }
        &.-editing > #log-form, &.-editing > #log-buttons { display: block; }
        &.-editing > #log-buttons { layout: horizontal; }
    }
    """

    def __init__(self, host: Host, server: str) -> None:
        super().__init__()
        self._host = host
        self._server = server
        spec = None if host.pool is None else host.pool.spec_of(server)
        options = (
            FormOption(value=_UNASKED, label="leave it to the server"),
            *(FormOption(value=level, label=level) for level in LOG_LEVELS),
        )
        level = FormField(
            name="level",
            kind="choice",
            schema={},
            label="Least severe level to ask for",
            options=options,
            default=(spec.log_level if spec is not None else "") or _UNASKED,
        )
        roots = FormField(
            name="roots",
            kind="text",
            schema={},
            label="Folders that the server may know (roots), one a line; ctrl+j begins a line",
            default="\n".join(spec.roots if spec is not None else ()),
        )
        self._form = FormView([level, roots])
        self._shown: tuple[LogLine, ...] | None = None
        self._flipped: set[str] = set()

    @override
    def body(self) -> Sequence[Widget]:
        return [
            Static(Content(_DEPRECATED), id="log-note", markup=False),
            AskBody(self._form, id="log-form"),
            Horizontal(AskButton("Use", self._use), id="log-buttons"),
            Container(PageLines(glyphs=self.glyphs), classes="page-body"),
        ]

    def on_mount(self) -> None:
        """Show the lines."""
        self.look()

    @property
    def _status(self) -> ServerStatus | None:
        return None if self._host.pool is None else self._host.pool.status_of(self._server)

    def look(self) -> None:
        """Show new lines, the newest first."""
        status, view = self._status, self.query_one(PageLines)
        if status is None or view.view_width <= 0 or status.log is self._shown:
            view.advance()
            return
        self._shown = status.log
        counts = ", ".join(f"{count:,} {level}" for level, count in status.log_counts)
        self.say(f"Log of {line(self._server, 40)}   {counts or 'no message yet'}")
        mask = mask_of(self._host, self.glyphs)
        entries = [
            SheetLine(
                key=f"{entry.mono_ns} {number}",
                label=mask(f"{entry.level:<9} {f'{entry.logger}: ' if entry.logger else ''}{entry.text}"),
                style=_STYLES.get(entry.level, "failed"),
                is_wrapped=True,
            )
            for number, entry in enumerate(reversed(status.log))
        ]
        empty = "The server has sent no log message. c chooses the level to ask for."
        view.show(TreePage("log", entries, flipped=self._flipped, empty=empty), hold=True)

    def action_edit(self) -> None:
        """Open the form for the level and the roots."""
        self.add_class("-editing")
        self._form.rows[0].input.focus()

    def action_back(self) -> None:
        """Close the form, or the screen."""
        if self.has_class("-editing"):
            self.remove_class("-editing")
            self.query_one(PageLines).focus()
        else:
            self.action_leave()

    def on_finished(self, event: Finished) -> None:
        """After the last field: go to the button."""
        event.stop()
        self.query(AskButton).first().focus()

    def on_ask_button_pressed(self, event: AskButton.Pressed) -> None:
        """Do what the button says."""
        event.stop()
        event.action()

    def _use(self) -> None:
        """Check the folders, then tell the server."""
        texts = self._form.texts
        roots = [str(Path(text.strip()).expanduser()) for text in texts["roots"].splitlines() if text.strip()]
        wrong = next((root for root in roots if not Path(root).is_absolute() or not Path(root).is_dir()), None)
        if wrong is not None:
            self._form.rows[1].complain(f"{wrong} is no folder with a full path")
        else:
            self.action_back()
            level = "" if texts["level"] in {"", _UNASKED} else texts["level"]
            self.start(self._tell(level, roots))

    async def _tell(self, level: str, roots: Sequence[str]) -> None:
        pool = self._host.pool
        if pool is None:
            return
        try:
            spec = pool.spec_of(self._server)
            if level != spec.log_level:
                await pool.set_log_level(self._server, level)
            if tuple(roots) != spec.roots:
                await pool.set_roots(self._server, roots)
        except TuiHostError as error:
            self.notify(line(str(error), 300), severity="warning", markup=False)
        else:
            self.notify(f"{line(self._server, 40)} was told.", markup=False, timeout=3)
