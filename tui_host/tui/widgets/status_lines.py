"""Header, waiting line and footer of the main screen."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from tui_host.capture.visible import line, tool_name
from tui_host.tui.host_mask import mask_of
from tui_host.tui.keys import ACTIONS, IN_BAR, keys_of
from tui_host.tui.text_width import clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.policy import StepLimit
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.host.open_sessions import OpenSessions
    from tui_host.servers.catalog import ServerStatus, State

HINT_SECONDS = 2.0
MOST_NAMED = 2
"""Servers that are named while they are waited for: more would hide the key that ends the wait."""
SHORTEST_TITLE = 12
"""Cells below which a title says nothing."""
NAMED = 20
"""Cells for whose a session is where its model would have no room beside that."""
DIM = "$foreground-muted"
"""Dim text inside a content: an automatic colour such as `$text-muted` would not know its background there."""
STATE_STYLES: dict[State, str] = {
    "ready": "$text-success",
    "connecting": "$text-warning",
    "lost": "$text-warning",
    "failed": "$text-error",
    "stopped": DIM,
    "disabled": DIM,
}
_AWAY = ("failed", "lost")


class StatusLine(Static):
    """A line that repaints only changed words."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__("", markup=False, id=id)
        self._words: Content | None = None

    def say(self, words: Content) -> None:
        if self._words is None or words != self._words:
            self._words = words
            self.update(words)


class StatusLines:
    """Header, waiting line and footer, each rebuilt only after changes."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._in_header: tuple[object, ...] = ()
        self._hint, self._hint_end = "", 0.0
        self.login = ""  # the login that a server waits for
        self.failures: tuple[str, ...] = ()  # each failed server with its reason
        self.header, self.waiting, self.keys = (StatusLine(id=name) for name in ("header", "waiting", "keys"))

    def hint(self, words: str) -> None:
        """Show words in place of the footer for two seconds."""
        self._hint, self._hint_end = words, time.monotonic() + HINT_SECONDS

    def look(
        self,
        session: Session | None,
        width: int,
        *,
        foreign: str,
        shows_chat: bool,
        below: int,
        asked: str,
        here: tuple[type, ...],
        here_first: bool,
    ) -> None:
        """Show the news of the session on the screen.

        The header calls for what is asked where the chat is not shown. The keys of the classes that have the focus (`here`,
        the innermost first) come before all others where there is little room and `here_first` says so.
        """
        waits = 0 if session is None else len(session.open_questions())
        asked = asked or (f"{waits} call{'s' * (waits > 1)} to decide" if waits else "")
        if not asked and session is not None and session.activity.waits == "you":
            asked = "Continue, or stop?"
        alert = f"{asked} (f2)" if asked and not shows_chat else ""
        state = (*header_state(self._host, session), width, alert, foreign)
        if state != self._in_header:
            self._in_header = state
            self.failures = () if foreign else failures(self._host)
            self.header.tooltip = Content("\n".join(self.failures)) if self.failures else None
            self.header.say(header(self._host, session, width, alert, foreign))
        if session is not None:
            words = f"{below:,} new line{'s' * (below > 1)} below (end)   " if below else ""
            words += f"{self.login}: ctrl+g shows it   " if self.login else ""
            self.waiting.say(Content(words).stylize("bold") + waiting(self._host, session))
        is_hinting = time.monotonic() < self._hint_end
        self.keys.say(
            Content.styled(self._hint, "bold $text-warning") if is_hinting else keys(width, here, here_first=here_first)
        )


def header(host: Host, session: Session | None, width: int, alert: str = "", foreign: str = "") -> Content:
    """Return program, model, protocol, profile, servers, turn and title; less important words give way.

    A session that was not held here (`foreign`) has whose it is in place of our servers.
    """
    alerts, figures = [alert] if alert else [], _figures(session)
    alerts += _alerts(host, session)
    start = right = Content("")
    room = 0
    for left, count in _lefts(host, session, foreign):
        right = Content.assemble(
            *(
                Content.styled(words, "bold $text-warning") + Content(" · " if figures[:count] else " ")
                for words in alerts
            ),
            Content(" · ".join(figures[:count])),
        )
        start = Content.assemble(*left)
        room = width - start.cell_length - right.cell_length
        if room >= 0:
            break
    title = "" if session is None else line(mask_of(host).marks(session.title), 60)
    if title and room >= SHORTEST_TITLE + 6:
        shown = clip(title, room - 6)
        return Content.assemble(
            start, " " * (room - 3 - cell_len(shown)), right, "   ", Content.styled(shown, "italic")
        )
    return Content.assemble(start, " " * max(room, 0), right)


def _lefts(host: Host, session: Session | None, foreign: str) -> Sequence[tuple[Sequence[Content], int]]:
    """Return candidates for the header's left side, with the number of figures at the right, longest first."""
    chosen = host.sessions if session is None else session
    name = Content.assemble(Content.styled("tui-host", "bold $foreground"), Content("  "))
    if foreign:
        names = [] if session is None or not session.asked else [session.asked, session.protocol]
        of, comma, how = foreign.rpartition(", ")  # `the OpenAI SDK for…, followed: read only`
        whose, brief = (
            Content(f"{foreign}   "),
            Content(f"{clip(of, NAMED)}{comma}{how}   " if comma else f"{foreign}   "),
        )
        both, few = (whose, _names(names, 60)), (brief, _names(names, 16))
        return [((name, *both), 2), (both, 2), (both, 0), ((brief, _names(names[:1], 60)), 0), (few, 0), ((brief,), 0)]
    names = [str(chosen.model), chosen.protocol, _profile(host, chosen)]
    model, counted, marks = _names(names, 60), _counted(host), _counted(host, words=False)
    reasons = [80, 50, 30, 0] if failures(host) else [0]
    return [
        *(((name, model, _servers(host, longest)), 3) for longest in reasons),
        ((name, model, _servers(host, 0)), 2),
        ((name, model, counted), 2),
        *(((model, counted), figures) for figures in (2, 1, 0)),
        *(((model, marks), figures) for figures in (1, 0)),
        ((_names(names, 16),), 0),
    ]


def _names(names: Sequence[str], longest: int) -> Content:
    """Return model, protocol and profile, each cut to `longest` characters."""
    words = " · ".join(line(name, longest) for name in names if name)
    return Content(f"{words}   " if words else "")


def _profile(host: Host, chosen: OpenSessions | Session) -> str:
    return chosen.profile if chosen.profile in host.settings.profiles else ""


def header_state(host: Host, session: Session | None) -> tuple[object, ...]:
    """Return everything the header depends on, cheap to compare."""
    pool, recorder = host.pool, host.recorder
    chosen = host.sessions if session is None else session
    of_session = () if session is None else (session.id, session.model, session.asked, session.title, session.turn)
    return (
        of_session,
        chosen.protocol,
        _profile(host, chosen),
        0 if session is None else len(session.conversation),
        None if pool is None else pool.revision,
        None if recorder is None else (recorder.unkept, recorder.fault),
        _others_waiting(host, session),
    )


def _others_waiting(host: Host, session: Session | None) -> int:
    return sum(other is not session and other.activity.waits == "you" for other in host.sessions.values())


def failures(host: Host) -> tuple[str, ...]:
    """Return the name of each failed or lost server, with the reason."""
    statuses = host.pool.statuses() if host.pool is not None else ()
    return tuple(
        f"{line(status.name, 40)} {status.state}: {_reason(status)}" for status in statuses if status.state in _AWAY
    )


def _reason(status: ServerStatus) -> str:
    """Say why a server failed; one that exited wrote it to standard error: the last line about an error, or the last line."""
    written = [text.strip() for text in reversed(status.stderr) if status.exit_code is not None and text.strip()]
    last = line(next((text for text in written if "error" in text.lower()), "".join(written[:1])), 200)
    detail = status.detail.partition("; try ")[0] if status.state == "lost" else status.detail  # f3 counts the seconds
    return f"{line(detail, 300)}{f': {last}' if last and last not in detail else ''}"


def _servers(host: Host, longest: int = 0) -> Content:
    """Return the name and the state of each server; of a failed one up to `longest` cells of its reason."""
    parts: list[Content] = []
    for status in host.pool.statuses() if host.pool is not None else ():
        if status.state != "disabled":
            words = "" if status.state == "ready" else f" {status.state}"
            if longest and status.state in _AWAY:
                words = f": {clip(_reason(status), longest)}"
            mark = Content.styled(mark_of(status.state), STATE_STYLES[status.state])
            parts += [mark, Content(f" {line(status.name, 20)}{words}  ")]
    return Content.assemble(*parts)


def _counted(host: Host, *, words: bool = True) -> Content:
    """Return the number of servers in each state, for narrow screens."""
    states = [status.state for status in host.pool.statuses()] if host.pool is not None else []
    parts: list[Content] = []
    for state, style in STATE_STYLES.items():
        count = states.count(state)
        if count and state != "disabled":
            words_shown = f" {count} {state}  " if words else f" {count}  "
            parts += [Content.styled(mark_of(state), style), Content(words_shown)]
    return Content.assemble(*parts)


def mark_of(state: State) -> str:
    """The mark of a server's state."""
    return {"ready": "●", "connecting": "◐", "lost": "◐", "failed": "✗"}.get(state, "○")


def _alerts(host: Host, session: Session | None) -> list[str]:
    waiting = _others_waiting(host, session)
    words = [f"{waiting} other session{'s' * (waiting > 1)} waiting for you (f5)"] if waiting else []
    recorder = host.recorder
    if recorder is not None and recorder.unkept:
        words.append(f"not kept: {recorder.unkept} ({line(recorder.fault, 60)})")
    return words


def _figures(session: Session | None) -> list[str]:
    if session is None or not session.turn:
        return []
    from tui_host.chat.conversation import SummaryItem
    from tui_host.tui.widgets.transcript.items import duration

    words = [f"turn {session.turn}"]
    last = session.conversation[-1] if len(session.conversation) else None
    if isinstance(last, SummaryItem):
        if last.tokens_in is not None:
            words.append(f"{last.tokens_in:,}→{last.tokens_out or 0:,} tok")
        words.append(duration(last.seconds))
    return words


def waiting(host: Host, session: Session) -> Content:
    """Say what the turn waits for, and how long; empty between turns."""
    activity = session.activity
    if not activity.waits:
        return Content("")
    if (limit := session.step_limit) is not None:
        return Content.assemble(
            (f"{limit.steps} step{'s' * (limit.steps != 1)} so far:  ", "bold $text-warning"),
            ("  ".join(f"{key} {words}" for key, words in limit_answers(limit).items()), "bold"),
        )
    now = session.clock()
    seconds = max(0.0, (activity.until or now) - now) if activity.waits == "retry" else now - activity.since
    count = len(session.open_questions())
    words = {
        "servers": f"waiting for {_connecting(host)}",
        "demo model": f"waiting for {line(str(session.model), 60)} to start",
        "model": f"waiting for {line(activity.detail, 60) or 'the model'}",
        "retry": "retrying in",  # why, the note above says
        "answer": "receiving the answer",
        "you": f"waiting for you: {activity.detail or f'{count} call' + 's' * (count != 1) + ' to decide'}",
        "tools": f"waiting for {_running(host, session)}",
    }[activity.waits]
    if silence := activity.silence(now):
        words, limit = silence, f"   {activity.limit}"  # last, since a narrow chat cuts it
    else:
        words, limit = f"{words} {seconds:.0f} s", ""
    return Content.assemble(Content(f"{words}   "), Content.styled("escape", "bold"), Content(f" stops{limit}"))


def limit_answers(limit: StepLimit) -> dict[str, str]:
    """Return the answers to a turn's limit of steps, by their keys: to go on, and to stop."""
    return {"1": f"continue {limit.more} more", "2": "stop"}


def _connecting(host: Host) -> str:
    if host.pool is None:
        return "the program to start"
    names = [line(status.name, 20) for status in host.pool.statuses() if status.state == "connecting"]
    few = " and ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} servers"  # the header names them all
    return f"{few or 'servers'} to connect"


def _running(host: Host, session: Session) -> str:
    from tui_host.chat.conversation import CallItem

    names: list[str] = []
    mask = mask_of(host)
    for item in reversed(session.conversation.items):
        if not isinstance(item, CallItem):
            break
        if item.state == "running":
            progress = f" {line(mask.marks(item.progress), 40)}" if item.progress else ""
            names.append(f"{line(tool_name(item.server, item.tool), 40)}{progress}")
    return ", ".join(reversed(names)) or "tools"


@lru_cache(8)
def keys(width: int, here: tuple[type, ...], *, here_first: bool) -> Content:
    """Return the key bar: the keys of the classes that have the focus, then those that work everywhere, quitting last."""
    actions = {action.name: action for action in ACTIONS}
    own = [(key.shown, key.brief) for key in keys_of(*here) if key.brief]
    everywhere = [(actions[name].shown, name) for name in IN_BAR]
    *parts, last = [
        Content.assemble("  ", Content.styled(shown, "bold $foreground"), Content(f" {brief}"))
        for shown, brief in (*own, *everywhere)
    ]
    while parts and sum(part.cell_length for part in (*parts, last)) > width + 2:
        parts.pop(-1 if here_first or len(parts) <= len(everywhere) - 1 else len(parts) - len(everywhere))
    room = width + 2 - sum(part.cell_length for part in (*parts, last))
    return Content.assemble(*parts, Content(" " * max(room, 0)), last)[2:]
