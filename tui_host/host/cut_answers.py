"""Completes the answer that a process was receiving when it was killed, from the bytes on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_host.capture.content_codings import PlainBody
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


CUT_OFF = "(cut off here: the program was killed)"


def finish_cut_answer(store: Store, session: Session) -> None:
    """Complete the last answer in the chat and in the history if its process ended while receiving it.

    The model's text goes back to the model with the next request. Unfinished thinking and calls are only shown.
    """
    answers = ((number, item) for number, item in session.conversation.last_turn() if isinstance(item, AnswerItem))
    number, item = next(((number, item) for number, item in answers if item.state == "streaming"), (0, None))
    if item is None:
        return
    conversation, turn, events = session.conversation, item.turn, list(_read(store, session.id, item))
    reader = protocol(session.protocol).reader(())  # not finished: what it holds back may be a call
    fold = _fold((piece for event in events for piece in reader.feed(event)), session, item)
    text = fold.text if events else item.text  # its records may have been deleted
    is_whole = fold.stop == "end" and not fold.calls  # it was killed before that was saved
    shown = text if is_whole else "\n\n".join(filter(None, (text.rstrip(), CUT_OFF)))
    thinking = fold.thinking or item.thinking
    conversation.put(number, replace(item, text=shown, thinking=thinking, state="done" if is_whole else "cut"))
    for folded in fold.calls:
        conversation.add(
            CallItem(
                turn=turn,
                step=item.step,
                call=folded.call.id,
                server="",
                tool=folded.call.name,
                asked=folded.call.arguments,
                state="stopped",
                words="not run: the program ended while the model wrote this call",
            )
        )
    written = _fold(events, session, item).text
    unfinished = written[len(text) :].strip() if written.startswith(text) else ""
    if unfinished:
        what = f"the model was writing a call when the program ended: {unfinished}"
        conversation.add(NoteItem(turn=turn, kind="note", what=what))
    if text.strip():
        session.say(Message(role="assistant", parts=(Text(text=text),), stop="end" if is_whole else "cut", turn=turn))
    if text.strip() and not is_whole:
        session.say(Message(role="user", parts=(Text(text=wording.ANSWER_ENDED),), turn=turn, source="host"))


def _read(store: Store, session: str, item: AnswerItem) -> Iterator[ModelEvent]:
    """Yield the events in the response bytes received for an answer, in the last exchange of its step."""
    records = [
        record
        for record, _ in store.session_records(session)
        if record.wire == "llm"
        and (record.place.turn, record.place.step) == (item.turn, item.step)
        and not record.place.call  # an answer for a server
    ]
    heads = {record.kind: record.head for record in records if record.head is not None}
    request, response = heads.get("request"), heads.get("response")
    spoken = dialect_at(request.url or "") if request is not None else None
    if spoken is None or response is None:
        return
    decoder, body = spoken.decoder(response.value("content-type")), PlainBody()
    for record in records:
        if record.kind == "chunk" and record.exchange == records[-1].exchange:
            yield from decoder.feed(body.feed(record.data, record.encoding) or b"")


def _fold(events: Iterable[ModelEvent], session: Session, item: AnswerItem) -> Fold:
    fold = Fold(
        provider=session.model.provider,
        model=session.model.model,
        call_id=lambda place: f"{item.turn}.{item.step}.{place + 1}",
    )
    for event in events:
        fold.add(event)
    return fold
