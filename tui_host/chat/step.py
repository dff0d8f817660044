"""Runs a step: sends a request, streams the answer into the chat, and retries while the provider refuses temporarily."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from tui_host.chat import result_words as wording
from tui_host.chat.conversation import AnswerItem, AnswerState, NoteItem
from tui_host.chat.exchange_links import Links
from tui_host.chat.retry import Retries
from tui_host.errors import ModelError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Text, Thinking, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tui_host.chat.exchange_links import LinkedSpan
    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.turn_services import Services
    from tui_host.llm.answer_stream import Stream
    from tui_host.llm.dialects.dialect import Window
    from tui_host.llm.messages import ToolResult
    from tui_host.llm.model_request import Outgoing
    from tui_host.llm.protocols.tool_protocol import Prepared, Reader
    from tui_host.settings.schema import Provider


@dataclass(slots=True, kw_only=True)
class Answered:
    """The outcome of a model exchange.

    Attributes:
        fold: The answer, assembled from the events of the response.
        exchange: The exchange's id in the capture, empty if nothing was sent.
        window: The size of the context window, if the server may cut the prompt without saying so; otherwise None.
        error: Why the exchange failed or broke off, None if it succeeded.
    """

    fold: Fold
    exchange: str = ""
    window: Window | None = None
    error: ModelError | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the exchange failed or stopped early."""
        return self.error is not None or self.fold.stop in {None, "cut", "failed"}


class Step:
    """Sends a request and assembles the answer.

    Attributes:
        number: The step's number in the turn.
        answered: The outcome so far; correct at any moment, also after a cancellation.
    """

    def __init__(self, services: Services, session: Session, number: int, asked: NextRequest) -> None:
        self.number = number
        self._services = services
        self._session = session
        self._links = Links(
            recorder=services.recorder, place=session.place(step=number), table=asked.table, adapted=asked.adapted
        )
        offering = {server for server, _ in asked.table.known.values()}
        self._connections = [status.connection for status in services.pool.statuses() if status.name in offering]
        self._item: int | None = None
        self._began = services.clock()
        self._has_told = False  # whether the user was told of options that are not sent
        self.answered = Answered(fold=self._new_fold())

    def _new_fold(self) -> Fold:
        model, turn, number = self._session.model, self._session.turn, self.number
        return Fold(provider=model.provider, model=model.model, call_id=lambda place: f"{turn}.{number}.{place + 1}")

    async def run(
        self,
        provider: Provider,
        ask: Ask,
        *,
        prepared: Prepared,
        told: Sequence[ToolResult],
        reader: Callable[[], Reader],
    ) -> Answered:
        """Stream the answer into the conversation; an error is stored in `answered.error`.

        Args:
            provider: The provider to ask.
            ask: The request.
            prepared: The messages in the tool protocol's form.
            told: The results that the request reports for the first time: the last results in it.
            reader: Returns a new reader of the tool protocol's calls for each answer.
        """
        answered, retries = self.answered, Retries(limit=self._services.settings.limits.retries)
        while True:
            answered.error = None
            await self._exchange(provider, ask, prepared, told, reader())
            if answered.error is None or answered.fold.has_begun:
                break
            seconds = retries.next_wait(answered.error)
            if seconds is None:
                break
            await self._pause(answered.error, seconds, retries)
            answered.fold = self._new_fold()  # the old fold recorded the failure of an answer that never began
        self.close("cut" if answered.is_broken else "done")
        return answered

    async def _pause(self, error: ModelError, seconds: float, retries: Retries) -> None:
        """Show a note and wait before a retry. Each attempt is a separate exchange."""
        session = self._session
        remedy = f"trying again in {seconds:.1f} s, {retries.count} of {retries.limit}"
        session.conversation.add(
            NoteItem(turn=session.turn, kind="note", what=error.what, where=error.where, remedy=remedy)
        )
        session.wait_for("retry", error.what, seconds=seconds)
        await anyio.sleep(seconds)

    async def _exchange(
        self, provider: Provider, ask: Ask, prepared: Prepared, told: Sequence[ToolResult], reader: Reader
    ) -> None:
        session, answered = self._session, self.answered
        place = session.place(step=self.number)
        session.wait_for("model", f"{provider.name}/{ask.model}")
        try:
            async with self._services.client.stream(provider, ask, place=place, reader=reader) as stream:
                spans: list[LinkedSpan] = []

                def prepare(outgoing: Outgoing) -> None:
                    spans.extend(self._links.find_spans(outgoing, dialect(provider.dialect), prepared, told))

                def began(exchange: str) -> None:
                    answered.exchange = exchange
                    self._links.record_offer(exchange, self._newly_offered())
                    if stream.outgoing is not None:
                        answered.window = stream.outgoing.window
                        self._tell_unsent(stream.outgoing.unsent)
                    self._links.record_request(exchange, spans)

                stream.prepare, stream.began = prepare, began
                await self._read(stream)
        except ModelError as error:
            answered.error = error

    def _tell_unsent(self, unsent: Mapping[str, str]) -> None:
        """Tell the user, once per turn, about each option that the dialect does not send as set."""
        session = self._session
        for name, why in unsent.items() if self.number == 1 and not self._has_told else ():
            session.conversation.add(
                NoteItem(
                    turn=session.turn, kind="note", what=f"the option {name} is not sent: {why}", remedy="f4 sets it"
                )
            )
        self._has_told = True

    def _newly_offered(self) -> list[str]:
        """Return the connections whose tools are offered for the first time in the session."""
        offered = self._session.offered
        new = [connection for connection in self._connections if connection and connection not in offered]
        offered.update(new)
        return new

    async def _read(self, stream: Stream) -> None:
        """Assemble the answer from events as they arrive. Calls are linked even if the answer is cut."""
        fold = self.answered.fold
        is_first = True
        try:
            async for events in stream.batches():
                if is_first:
                    is_first = False
                    self._session.wait_for("answer")
                for event in events:
                    fold.add(event)
                self._grow()
        finally:
            if self.answered.exchange:
                self._links.record_calls(self.answered.exchange, fold.calls, stream.shifts)
                self._links.record_cut(self.answered.exchange, fold.cut_off, stream.shifts)
                self._links.record_vendor_runs(self.answered.exchange, fold.vendor_runs, stream.shifts)

    def _made(self, state: AnswerState) -> AnswerItem:
        fold = self.answered.fold
        return AnswerItem(
            turn=self._session.turn,
            step=self.number,
            text=fold.text,
            thinking=fold.thinking,
            state=state,
            seconds=self._services.clock() - self._began,
            options="\n".join(" ".join(option.split()) for option in fold.question.options) if fold.question else "",
        )

    def _grow(self) -> None:
        """Show the answer received so far."""
        if self._item is not None:
            self._session.conversation.grow(self._item, lambda: self._made("streaming"))
        elif self.answered.fold.text or self.answered.fold.thinking:
            self._item = self._session.conversation.add(self._made("streaming"))

    def close(self, state: AnswerState) -> None:
        """Close the answer's chat item; the text received so far stays."""
        if self._item is not None:
            self._session.conversation.put(self._item, self._made(state))

    def message(self, *, calls: bool = True) -> Message | None:
        """Return the assistant's message for the history, None if empty.

        Args:
            calls: False leaves out the calls of an answer that was cut.
        """
        message = self.answered.fold.message(turn=self._session.turn)
        if not calls:
            parts = tuple(part for part in message.parts if not isinstance(part, ToolCall))
            message = replace(message, parts=parts)
        has_content = any(not isinstance(part, Thinking) for part in message.parts)
        return (
            message if has_content or message.stop == "paused" else None
        )  # the provider continues a paused answer only from the whole message


def cut_note(session: Session, *, stopped: bool) -> Message:
    """Return a message that tells the model that its last answer was cut, and by whom."""
    text = wording.ANSWER_STOPPED if stopped else wording.ANSWER_CUT
    return Message(role="user", parts=(Text(text=text),), turn=session.turn, source="host")
