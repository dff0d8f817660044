"""Completes the answer that a process was receiving when it was killed, from the bytes on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.content_codings import PlainBody
from tui_host.capture.record import value_of
from tui_host.chat import result_words as wording
from tui_host.chat.conversation import AnswerItem, CallItem, NoteItem
from tui_host.llm.dialects.table import dialect_at
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Message, Text
from tui_host.llm.protocols.table import protocol

if TYPE_CHECKING:
    from tui_host.capture.store.store import Store
    from tui_host.chat.session import Session
    from tui_host.llm.events import ModelEvent


def finish_cut_answer(store: Store, session: Session) -> None:
    """Complete the last answer in the chat and in the history if its process ended while receiving it.

    The model's text goes back to the model with the next request. Unfinished thinking and calls are only shown.
    """
    conversation = session.conversation
    number, item = next(
        (
            (number, item)
            for number, item in conversation.last_turn()
            if isinstance(item, AnswerItem) and item.state == "streaming"
        ),
        (0, None),
    )
    if item is None:
        return
    events = list(_read(store, session.id, item))
    if not events:  # its records were deleted
        return
    fold = _fold(_in_protocol(events, session.protocol), session, item)
    written = _fold(events, session, item).text
    unfinished = written[len(fold.text) :].strip() if written.startswith(fold.text) else ""
    conversation.put(number, replace(item, text=fold.text, thinking=fold.thinking, state="cut"))
    for folded in fold.calls:
        conversation.add(
            CallItem(
                turn=item.turn,
                step=item.step,
                call=folded.call.id,
                server="",
                tool=folded.call.name,
                asked=folded.call.arguments,
                state="stopped",
                words="not run: the program ended while the model wrote this call",
            )
        )
    if unfinished:
        what = f"the model was writing a call when the program ended: {unfinished}"
        conversation.add(NoteItem(turn=item.turn, kind="note", what=what))
    if fold.text.strip():
        answer = Message(role="assistant", parts=(Text(text=fold.text),), stop="cut", turn=item.turn)
        note = Message(role="user", parts=(Text(text=wording.ANSWER_ENDED),), turn=item.turn, source="host")
        session.say(answer)
        session.say(note)


def _read(store: Store, session: str, item: AnswerItem) -> Iterator[ModelEvent]:
    """Yield the events in the response bytes received for an answer, in the last exchange of its step."""
    drafts = [
        record
        for record, _ in store.session_records(session)
        if record.wire == "llm"
        and (record.place.turn, record.place.step) == (item.turn, item.step)
        and not record.place.call  # an answer for a server
    ]
    heads = {draft.kind: draft.head for draft in drafts if draft.head is not None}
    request, response = heads.get("request"), heads.get("response")
    spoken = dialect_at(request.url or "") if request is not None else None
    if spoken is None or response is None:
        return
    decoder, body = spoken.decoder(value_of(response.headers, "content-type")), PlainBody()
    for draft in drafts:
        if draft.kind == "chunk" and draft.exchange == drafts[-1].exchange:
            yield from decoder.feed(body.feed(draft.data, draft.encoding) or b"")


def _in_protocol(events: Iterable[ModelEvent], protocol_name: str) -> Iterator[ModelEvent]:
    """Pass events through a tool protocol's reader, and drop text that the reader still holds back as a possible call."""
    reader = protocol(protocol_name).reader(())
    for event in events:
        yield from reader.feed(event)


def _fold(events: Iterable[ModelEvent], session: Session, item: AnswerItem) -> Fold:
    fold = Fold(
        provider=session.model.provider,
        model=session.model.model,
        call_id=lambda place: f"{item.turn}.{item.step}.{place + 1}",
    )
    for event in events:
        fold.add(event)
    return fold
