"""Header, status line and key bar of the main screen."""

from __future__ import annotations

import time
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from tui_host.capture.short_units import money, short_size
from tui_host.capture.visible import line, tool_name
from tui_host.tui.keys import IN_BAR, key_of, key_rows, keys_of
from tui_host.tui.text_width import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.timer import Timer

    from tui_host.chat.policy import StepLimit
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus, State

HINT_SECONDS = 2.0
MOST_NAMED = 2  # servers that are named while they are waited for: more would hide the key that ends the wait
MOST_QUEUED = 3  # lines of messages that wait
IDLE = "idle"
WIDE = 100  # cells from which the context's figures are named
NEARLY_FULL = 0.85  # of a model's context
SHORTEST_TITLE = 12  # cells below which a title says nothing
NAMED = 20  # cells for whose a session is where its model would have no room beside that
DIM = "$foreground-muted"  # inside a content an automatic colour such as `$text-muted` would not know its background
ALERT = "bold $text-warning"
MARKS: dict[State, tuple[str, str]] = {
    "ready": ("●", "$text-success"),
    "connecting": ("◐", "$text-warning"),
    "lost": ("◐", "$text-warning"),
    "failed": ("✗", "$text-error"),
    "stopped": ("○", DIM),
    "disabled": ("○", DIM),
}
"""The mark of a server's state, and its colour."""


class StatusLine(Static):
    """A line that repaints only changed words."""

    DEFAULT_CSS = """
    StatusLine { height: 1; width: 1fr; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    _words = Content("")
    _hinting: Timer | None = None

    def say(self, words: Content) -> None:
        if words != self._words:
            self._words = words
            self.set_class(bool(words), "-told")
            if self._hinting is None:
                self.update(words)

    def hint(self, words: str = "") -> None:
        """Show other words for two seconds, in as many lines as now; without any, the line's own again."""
        if self._hinting is not None:
            self._hinting.stop()
        self._hinting = self.set_timer(HINT_SECONDS, self.hint) if words else None
        self.update(Content.styled(words + "\n" * (self.size.height - 1), ALERT) if words else self._words)


def header_state(host: Host, session: Session | None) -> tuple[object, ...]:
    """Return everything the header depends on, cheap to compare."""
    pool, recorder = host.pool, host.recorder
    chosen = host.sessions if session is None else session
    of_session = () if session is None else (session.id, session.model, session.asked, session.title, session.turn)
    return (
        of_session,
        chosen.protocol,
        chosen.profile if chosen.profile in host.settings.profiles else "",
        0 if session is None else len(session.conversation),
        None if pool is None else pool.revision,
        None if recorder is None else (recorder.unkept, recorder.fault),
        _others_waiting(host, session),
    )


def _others_waiting(host: Host, session: Session | None) -> str:
    """Say how many other sessions wait for the person, and since when; empty if none does."""
    others = [other for other in host.sessions.values() if other is not session and other.activity.waits == "you"]
    if not others:
        return ""
    since = clock_words(min(others, key=lambda other: other.activity.since))
    return f"{len(others)} other session{'s' * (len(others) > 1)} waiting for you ({key_of('sessions')}) since {since}"


def clock_words(session: Session) -> str:
    """Return the time of the day from which on a session waits: `14:02`."""
    return f"{datetime.fromtimestamp(time.time() - session.clock() + session.activity.since).astimezone():%H:%M}"


def header(
    host: Host, session: Session | None, width: int, alert: str = "", foreign: str = "", branch: str = ""
) -> Content:
    """Return program, model, protocol, profile, servers, turn and title; less important words give way.

    A session that was not held here (`foreign`) has whose it is in place of our servers.
    """
    alerts, figures = [alert] if alert else [], list[str]()
    if session is not None and session.turn:
        from tui_host.capture.short_units import short_time
        from tui_host.chat.conversation import NoteItem, SummaryItem

        figures.append(f"turn {session.turn}{f' · {branch}' if branch else ''}")
        # Notes come between turns too: of another model, of a server.
        last = next((item for item in reversed(session.conversation) if not isinstance(item, NoteItem)), None)
        if isinstance(last, SummaryItem):
            figures.append(short_time(last.seconds * 1000))
    if waiting := _others_waiting(host, session):
        alerts.append(waiting)
    recorder = host.recorder
    if recorder is not None and recorder.unkept:
        alerts.append(f"not kept: {recorder.unkept} ({line(recorder.fault, 60)})")
    start = right = Content("")
    room = 0
    for start, count in _starts(host, session, foreign):
        ends = [Content.styled(words, ALERT) for words in alerts]
        right = Content(" · ").join([*ends, *map(Content, figures[:count])])
        room = width - start.cell_length - right.cell_length
        if room >= 0:
            break
    title = "" if session is None else line(host.mask.marks(session.title), 60)
    if title and room >= SHORTEST_TITLE + 6:
        shown = clip(title, room - 6)
        gap = " " * (room - 3 - cell_len(shown))
        return Content.assemble(start, gap, right, "   ", Content.styled(shown, "italic"))
    return Content.assemble(start, " " * max(room, 0), right)


def _starts(host: Host, session: Session | None, foreign: str) -> Iterator[tuple[Content, int]]:
    """Yield what may stand left, the longest first, each with the number of figures that stand right of it."""
    name = Content.assemble(("tui-host", "bold $foreground"), "  ")
    if foreign:  # `the OpenAI SDK for…, followed: read only`
        names = [] if session is None or not session.asked else [session.asked, session.protocol]
        of, comma, how = foreign.rpartition(", ")
        yield Content.assemble(name, f"{foreign}   ", _names(names, 60)), 2
        yield Content.assemble(f"{foreign}   ", _names(names, 60)), 0
        yield Content.assemble(f"{clip(of, NAMED)}{comma}{how}   ", _names(names[:1], 60)), 0
        yield Content(f"{clip(of, NAMED)}{comma}{how}   "), 0
        return
    chosen = host.sessions if session is None else session
    profile = chosen.profile if chosen.profile in host.settings.profiles else ""
    model = _names([str(chosen.model), chosen.protocol, profile], 60)
    pool = host.pool
    statuses = [] if pool is None else [status for status in pool.statuses() if status.state != "disabled"]
    for longest in (80, 30, 0):  # cells of the reason why a server failed
        start = [name, model]
        for status in statuses:
            words = "" if status.state == "ready" else f" {status.state}"
            if longest and status.state in {"failed", "lost"}:
                words = f": {clip(_reason(status), longest)}"
            start += [Content.styled(*MARKS[status.state]), Content(f" {line(status.name, 20)}{words}  ")]
        yield Content.assemble(*start), 3
    states = [status.state for status in statuses]
    for words in (" {} {}  ", " {}  "):
        there = ((mark, words.format(states.count(state), state)) for state, mark in MARKS.items() if state in states)
        counts = (Content.assemble(mark, count) for mark, count in there)
        yield Content.assemble(model, *counts), 1
    yield _names([str(chosen.model), chosen.protocol], 16), 0


def _names(names: Sequence[str], longest: int) -> Content:
    words = " · ".join(line(name, longest) for name in names if name)
    return Content(f"{words}   " if words else "")


def failures(host: Host) -> tuple[str, ...]:
    """Return the name of each failed or lost server, with the reason."""
    statuses = () if host.pool is None else host.pool.statuses()
    away = (status for status in statuses if status.state in {"failed", "lost"})
    return tuple(f"{line(status.name, 40)} {status.state}: {_reason(status)}" for status in away)


def _reason(status: ServerStatus) -> str:
    """Say why a server failed; one that exited wrote it to standard error: the last line about an error, or the last line."""
    written = [text.strip() for text in reversed(status.stderr) if status.exit_code is not None and text.strip()]
    last = line(next((text for text in written if "error" in text.lower()), "".join(written[:1])), 200)
    detail = status.detail.partition("; try ")[0] if status.state == "lost" else status.detail  # f3 counts the seconds
    return f"{line(detail, 300)}{f': {last}' if last and last not in detail else ''}"


def status(host: Host, session: Session, width: int, news: str = "") -> Content:
    """Say what the session does, and right of it, which stays, the context used, tokens and money: `12k of 128k · 34k→2.1k tok`."""
    spent, figures = session.spent, list[Content]()
    if spent.context is not None:
        window, label = host.window(session), "context " if width > WIDE else ""
        words = f"{label or 'context '}{_count(spent.context)}"
        if window is not None:
            words = f"{label}{_count(spent.context)} of {_count(window)}"
        is_nearly_full = window is not None and spent.context > NEARLY_FULL * window
        figures.append(Content.styled(words, ALERT if is_nearly_full else ""))
        figures.append(Content(f"{_count(spent.tokens_in)}→{_count(spent.tokens_out)} tok"))
    if spent.money is not None:
        figures.append(Content(money(spent.money)))
    right = Content(" · ").join(figures)
    doing = Content.styled(news, "bold") + waiting(host, session)
    return doing.truncate(max(width - right.cell_length - 2, 1), ellipsis=True, pad=True) + "  " + right


def _count(tokens: int) -> str:
    return short_size(tokens).removesuffix(" B")


def waiting(host: Host, session: Session) -> Content:
    """Say what the turn waits for, and how long; between turns whether one can begin."""
    activity = session.activity
    if not activity.waits:
        return Content("" if session.is_foreign else IDLE)
    if (limit := session.step_limit) is not None:
        return Content.assemble(
            (f"{limit.steps} step{'s' * (limit.steps != 1)} so far:  ", ALERT),
            ("  ".join(f"{key} {words}" for key, words in limit_answers(limit).items()), "bold"),
        )
    from tui_host.chat.conversation import AnswerItem, CallItem
    from tui_host.llm.outline import estimate_tokens

    now = session.clock()
    seconds = max(0.0, (activity.until or now) - now) if activity.waits == "retry" else now - activity.since
    count = len(session.open_questions())
    statuses = () if host.pool is None else host.pool.statuses()
    names = [line(status.name, 20) for status in statuses if status.state == "connecting"]
    few = " and ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} servers"  # the header names them all
    there = "the program to start" if host.pool is None else f"{few or 'servers'} to connect"
    running: list[str] = []  # the calls at the end of the conversation, the last one first
    for item in reversed(session.conversation):
        if not isinstance(item, CallItem):
            break
        if item.state == "running":
            progress = f" {line(host.mask.marks(item.progress), 40)}" if item.progress else ""
            running.append(f"{line(tool_name(item.server, item.tool), 40)}{progress}")
    words = {
        "servers": f"waiting for {there}",
        "demo model": f"waiting for {line(str(session.model), 60)} to start",
        "model": f"waiting for {line(activity.detail, 60) or 'the model'}",
        "retry": "retrying in",  # why, the note above says
        "answer": "receiving the answer",
        "you": f"waiting for you: {activity.detail or f'{count} call' + 's' * (count != 1) + ' to decide'}",
        "tools": f"waiting for {', '.join(reversed(running)) or 'tools'}",
    }[activity.waits]
    words, limit = f"{words} {seconds:.0f} s", ""
    is_counted = activity.waits == "answer" and seconds >= 1 and len(session.conversation)
    last = session.conversation[-1] if is_counted else None
    if isinstance(last, AnswerItem) and last.state == "streaming":  # an estimate: providers count at the end
        pace = estimate_tokens((last.thinking + last.text).encode("utf-8", "replace")) / seconds
        words += f", ~{round(pace, -1 if pace >= 100 else None):.0f} tok/s"
    if silence := activity.silence(now):
        words, limit = silence, f"   {activity.limit}"  # last, since a narrow chat cuts it
    return Content.assemble(f"{words}   ", ("escape", "bold"), f" stops{limit}")


def queue(host: Host, session: Session, width: int) -> Content:
    """Show each message that waits in a line, oldest first: at most three lines, those between in one."""
    words = [f"{'queued' if session.busy else 'waits for enter'} · " for _ in session.queued]
    for number, message in enumerate(session.queued):
        if session.busy and message.joins_step:
            words[number] = "with the next step · "
        words[number] = clip(words[number] + line(host.mask(message.text), 300), max(width - 2, 1))
    if len(words) > MOST_QUEUED:
        words[1:-1] = [f"and {len(words) - 2} more"]
    return Content.styled("\n".join(words), DIM) if words else Content("")


def limit_answers(limit: StepLimit) -> dict[str, str]:
    """Return the answers to a turn's limit of steps, by their keys: to go on, and to stop."""
    return {"1": f"continue {limit.more} more", "2": "stop"}


@lru_cache(8)
def asked_keys(width: int, height: int, own: tuple[tuple[str, str], ...]) -> Content:
    """Return a question's keys in the lines that they need, up to a fifth of the height; others stand where there is room."""
    lines = min(len(key_rows(own, width)), max(1, height // 5))
    return Content("\n").join(key_rows([*own, *IN_BAR], width)[:lines])


@lru_cache(8)
def keys(width: int, here: tuple[type, ...], *, here_first: bool) -> Content:
    """Return the keys of the classes that have the focus, the innermost first, then those that work everywhere, quitting last.

    Where there is little room, the keys that work everywhere give way first if `here_first`, else the others.
    """
    writes = issubclass(here[0], Input | TextArea)
    own = [(key.shown, key.brief) for key in keys_of(*here) if key.brief and (key.works_in_field or not writes)]
    words = [*own, *IN_BAR]
    *parts, last = (Content.assemble("  ", (shown, "bold $foreground"), f" {brief}") for shown, brief in words)
    while parts and sum(part.cell_length for part in (*parts, last)) > width + 2:
        parts.pop(-1 if here_first or len(parts) <= len(IN_BAR) - 1 else len(parts) - len(IN_BAR))
    room = width + 2 - sum(part.cell_length for part in (*parts, last))
    return Content.assemble(*parts, " " * max(room, 0), last)[2:]
