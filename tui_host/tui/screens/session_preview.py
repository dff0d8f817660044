"""Preview of a stored session: dates, size, models, servers, and the first prompts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.short_units import short_size
from tui_host.capture.visible import line
from tui_host.chat.conversation import SAID, UserItem, item_from_text

if TYPE_CHECKING:
    from tui_host.answers.masks import Mask
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.capture.store.store import Store
    from tui_host.infer.stories import TapStory

_PROMPTS = 9
_NAME = 9
"""Width of a name and the space after it, in cells."""
_CELLS = 300


def moment(time_ns: int) -> str:
    """Return date and time; without the year in the present year."""
    then, now = time.localtime(time_ns / 1_000_000_000), time.localtime()
    return time.strftime("%m-%d %H:%M" if then.tm_year == now.tm_year else "%Y-%m-%d %H:%M", then)


def counted(number: int, what: str) -> str:
    """Format a number with its noun: `1 turn`, `2 turns`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def preview_lines(store: Store, info: SessionInfo, story: TapStory | None, mask: Mask) -> Sequence[str]:
    """Return the lines of a preview. Blocks on the disk.

    Args:
        store: The store of the session.
        info: The session; for a story or a tap, its summary in the form of a session.
        story: The story or the tap, for a session that taps recorded.
        mask: Hides secrets.
    """
    sessions = [tap.id for tap in story.taps] if story is not None else [info.id]
    traffic = [row for session in sessions for row in store.sessions.traffic(session)]
    dates = list(dict.fromkeys((moment(info.created_ns), moment(info.updated_ns))))
    turns = [] if story is not None else [counted(info.turns, "turn")]
    facts = [info.id, " to ".join(dates), *turns, f"{short_size(sum(row.size for row in traffic))} on the disk"]
    lines = [("session", " · ".join(facts))]
    models = () if info.is_direct else store.sessions.models(info.id) or [f"{info.model} {info.protocol}"]
    requests, frames = sum(row.requests for row in traffic), sum(row.frames for row in traffic)
    named = ", ".join(model.strip() for model in models)
    lines.append(("models", " · ".join(filter(None, (named, counted(requests, "request"))))))
    servers = ", ".join(dict.fromkeys(row.peer for row in traffic if row.frames)) or "none"
    lines.append(("servers", f"{servers} · {counted(frames, 'frame')}" if frames else servers))
    if story is not None and story.hosts:
        lines.append(("hosts", ", ".join(story.hosts)))
    asked = _taps(story) if story is not None else _prompts(store, info.id)
    begun = "taps" if story is not None else "asked"
    lines += [(begun if not number else "", words) for number, words in enumerate(asked)]
    return [line(mask(f"{name:<{_NAME}}{words}"), _CELLS) for name, words in lines]


def _taps(story: TapStory) -> Iterator[str]:
    for half in story.halves or (story,):
        yield f"{moment(half.created_ns)}  {half.label}"


def _prompts(store: Store, session: str) -> Iterator[str]:
    for number, text in enumerate(store.sessions.item_texts(session, beginning=SAID, most=_PROMPTS), 1):
        item = item_from_text(text)
        if isinstance(item, UserItem):
            yield f"{number} {item.text}"
