"""Searches sessions by words in titles and messages. Scans all texts, so that short words, as in Chinese, are found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.capture.ladder.filter_language import read_filter
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.store.stored_sessions import Sessions
from tui_host.errors import JSON

AROUND = 40
"""Number of characters to show on either side of a match."""

_NOT_SAID = frozenset(
    (
        *("id", "wire_id", "role", "part", "stop", "source", "media_type", "data", "echo", "provider", "model"),
        *("item", "state", "call", "decision", "by", "words", "kind", "progress"),
    )
)
"""Fields of messages and chat items that are not part of what was said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A session that contains all words.

    Attributes:
        excerpt: Foreign text around the first word, one line; empty where the title alone has it.
        turn: The turn of the excerpt.
        rows: The number of matching rows, for a filter with conditions on rows.
        in_records: Whether only records match, neither title nor messages.
    """

    session: SessionInfo
    excerpt: str = ""
    turn: int = 0
    rows: int = 0
    in_records: bool = False


def search(sessions: Sessions, words: str) -> Iterator[Found]:
    """Yield sessions with every word and quoted text in title or messages, in any case; the last changed first. Blocks.

    A filter with conditions on rows matches no chat: `RecordSearch` searches rows.
    """
    wanted = [text.casefold() for text in read_filter(words).whole_texts]
    if not wanted:
        return
    for session in sessions.list():
        match = _in_session(sessions, session, wanted)
        if match is not None:
            yield match


def _in_session(sessions: Sessions, session: SessionInfo, wanted: Sequence[str]) -> Found | None:
    missing = {word for word in wanted if word not in session.title.casefold()}
    if not missing:
        return Found(session=session)
    excerpt, turn = "", 0
    # what came from a file was told to no model of ours: its chat has what was said
    for text in sessions.messages(session.id) or sessions.item_texts(session.id):
        if not _may_contain(text, missing):
            continue
        value = _read(text)
        text_said = " ".join(_strings(value))
        folded = text_said.casefold()
        here = [word for word in wanted if word in folded]
        if here and not excerpt:
            excerpt, turn = excerpt_of(text_said, here[0]), _turn(value)
        missing.difference_update(here)
        if not missing:
            return Found(session=session, excerpt=excerpt, turn=turn)
    return None


def _may_contain(text: str, words: set[str]) -> bool:
    """Whether the JSON may contain the words, so that parsing pays."""
    folded = text.casefold()
    return "\\" in folded or any(word in folded for word in words)


def _read(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _strings(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if name not in _NOT_SAID:
                yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _turn(value: JSON) -> int:
    turn = value.get("turn") if isinstance(value, Mapping) else None
    return turn if isinstance(turn, int) else 0


def excerpt_of(said: str, word: str) -> str:
    """Return the text around a word in lower case, as one line."""
    at = max(0, said.casefold().find(word.casefold()))
    start, end = max(0, at - AROUND), at + len(word) + AROUND
    words = " ".join(said[start:end].split())
    return f"{'…' if start else ''}{words}{'…' if end < len(said) else ''}"
