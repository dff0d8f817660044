"""The lines above, below and between: the header, what is waited for, and the keys."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui_host.capture.visible import line
from tui_host.chat.conversation import SummaryItem
from tui_host.tui.keys import ACTIONS

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import State
    from tui_host.tui.glyphs import Glyphs

STATE_STYLES: dict[State, str] = {
    "ready": "$text-success",
    "connecting": "$text-warning",
    "failed": "$text-error",
    "stopped": "$text-muted",
    "disabled": "$text-muted",
}


class Line(Static):
    """One line that repaints only when its words change."""

    DEFAULT_CSS = """
    Line { height: 1; width: 1fr; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__("", markup=False, id=id)
        self._said: Content | None = None

    def say(self, words: Content) -> None:
        """Show these words."""
        if self._said is None or words != self._said:
            self._said = words
            self.update(words)


def header(host: Host, session: Session, glyphs: Glyphs, width: int) -> Content:
    """Program, model, protocol, each server's state, and the turn; the last parts give way where it is narrow."""
    model = f"{session.model.provider}/{session.model.model} · {session.protocol}"
    parts = [Content.styled("tui-host", "bold $foreground"), Content(f"  {line(model, 60)}   ")]
    for status in host.pool.statuses() if host.pool is not None else ():
        if status.state == "disabled":
            continue
        mark = {"ready": glyphs.state[0], "connecting": glyphs.state[2], "failed": glyphs.failed}.get(
            status.state, glyphs.state[1]
        )
        words = "" if status.state == "ready" else f" {status.state}"
        parts += [Content.styled(mark, STATE_STYLES[status.state]), Content(f" {line(status.name, 20)}{words}  ")]
    left = Content.assemble(*parts)
    right = Content(_figures(host, session))
    room = width - left.cell_length - right.cell_length
    return Content.assemble(left, Content(" " * room), right) if room > 0 else left


def _figures(host: Host, session: Session) -> str:
    waiting = [other for other in host.sessions.values() if other is not session and other.open_questions()]
    words = [f"{len(waiting)} other session{'s' * (len(waiting) > 1)} waiting for you (f5)"] if waiting else []
    recorder = host.recorder
    if recorder is not None and recorder.unkept:
        words.append(f"not kept: {recorder.unkept} ({recorder.fault})")
    if session.turn:
        words.append(f"turn {session.turn}")
        last = session.conversation[-1] if len(session.conversation) else None
        if isinstance(last, SummaryItem) and last.tokens_in is not None:
            words.append(f"{last.tokens_in:,}→{last.tokens_out or 0:,} tok")
    return " · ".join(words)


def waiting(session: Session, count: int) -> Content:
    """What the turn waits for, and since when; nothing while none is at work."""
    activity = session.activity
    if not activity.waits:
        return Content("")
    seconds = time.monotonic() - activity.since
    words = {
        "servers": "waiting for servers that are connecting",
        "demo model": "starting the demo model",
        "model": f"waiting for {line(activity.detail, 60) or 'the model'}",
        "answer": "the answer is coming",
        "you": f"waiting for you: {count} call{'s' * (count != 1)} to decide",
        "tools": "waiting for tools",
    }[activity.waits]
    return Content.assemble(Content(f"{words} {seconds:.0f} s   "), Content.styled("escape", "bold"), Content(" stops"))


def keys(width: int) -> Content:
    """The footer: every key of the table that has a label, as many as there is room for; quitting last."""
    shown = [action for action in ACTIONS if action.label]
    parts = [Content.assemble(Content.styled(a.shown, "bold $foreground"), Content(f" {a.label}")) for a in shown]
    while len(parts) > 2 and sum(part.cell_length + 2 for part in parts) > width:
        parts.pop(-2)
    room = width - sum(part.cell_length + 2 for part in parts[:-1]) - parts[-1].cell_length
    return Content.assemble(
        *(Content.assemble(part, Content("  ")) for part in parts[:-1]), Content(" " * max(room, 0)), parts[-1]
    )
