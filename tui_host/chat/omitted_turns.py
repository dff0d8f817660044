"""Leaves a conversation's oldest turns out of requests when the conversation no longer fits the model's context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.chat.conversation import title_of
from tui_host.chat.stored_messages import message_to_text
from tui_host.llm.messages import Text

if TYPE_CHECKING:
    from tui_host.chat.session import Session


@dataclass(slots=True, kw_only=True)
class OldTurn:
    """A turn that the next requests would leave out: its first line, and the size of its messages as stored."""

    turn: int
    title: str = ""
    size_bytes: int = 0


def oldest_turns(session: Session) -> Sequence[OldTurn]:
    """Return the fewest oldest turns with at least half of the bytes sent now, oldest first, but never the last turn.

    Empty if only a single turn is left. Load the session's messages before the call.
    """
    turns: dict[int, OldTurn] = {}
    for message in session.messages:
        if message.turn > session.omitted_turns:
            turn = turns.setdefault(message.turn, OldTurn(turn=message.turn))
            turn.size_bytes += len(message_to_text(message).encode("utf-8", "replace"))
            if message.role == "user" and not message.source and not turn.title:
                text = "".join(part.text for part in message.parts if isinstance(part, Text))
                turn.title = title_of(session.redact(text))
    half = sum(turn.size_bytes for turn in turns.values()) / 2
    chosen: list[OldTurn] = []
    for turn in list(turns.values())[:-1]:
        chosen.append(turn)
        half -= turn.size_bytes
        if half <= 0:
            break
    return chosen


def omit_turns(session: Session, turns: Sequence[OldTurn]) -> None:
    """Leave turns out of all further requests of the session, also after it is reopened. The chat keeps them and says so."""
    first, last = turns[0].turn, turns[-1].turn
    session.omitted_turns = last
    named = f"turn {last}" if first == last else f"turns {first} to {last}"
    session.note(f"{named} left out of what the model reads from here on, as you chose; the chat keeps them")
    session.save()
