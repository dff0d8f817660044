"""One step: one model exchange, streamed into the conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_host.capture.link import Link, Span
from tui_host.capture.record import Draft
from tui_host.capture.visible import line
from tui_host.chat import wording
from tui_host.chat.conversation import AnswerItem, AnswerState
from tui_host.errors import ModelError
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Ask, Message, Text, Thinking, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.services import Services
    from tui_host.chat.session import Session
    from tui_host.llm.names import NameTable
    from tui_host.llm.protocols.protocol import Reader
    from tui_host.settings.schema import Provider


@dataclass(slots=True, kw_only=True)
class Answered:
    """What one exchange gave.

    Attributes:
        fold: All that was read out of the response.
        exchange: The exchange's id in the capture, empty if nothing was sent.
        error: Why it failed or broke off, None if it did not.
    """

    fold: Fold
    exchange: str = ""
    error: ModelError | None = None

    @property
    def broken(self) -> bool:
        """Whether it failed or ended before its end."""
        return self.error is not None or self.fold.stop in {None, "cut", "failed"}


class Step:
    """Sends one request and folds its answer.

    Attributes:
        number: The step's number in its turn.
        answered: What came so far; truthful at any moment, also after a cancellation.
    """

    def __init__(self, services: Services, session: Session, number: int, table: NameTable) -> None:
        self.number = number
        self._services = services
        self._session = session
        self._table = table
        self._item: int | None = None
        self._began = services.clock()
        turn = session.turn
        fold = Fold(
            provider=session.model.provider,
            model=session.model.model,
            call_id=lambda place: f"{turn}.{number}.{place + 1}",
        )
        self.answered = Answered(fold=fold)

    async def run(self, provider: Provider, ask: Ask, *, told: Sequence[ToolResult], reader: Reader) -> Answered:
        """Stream the answer into the conversation; what goes wrong stands in `answered.error`.

        Args:
            provider: Whom to ask.
            ask: What to ask.
            told: The results that this request tells for the first time.
            reader: Reads the calls as the tool protocol has them.
        """
        session, answered = self._session, self.answered
        place = session.place(step=self.number)
        session.wait_for("model", f"{provider.name}/{ask.model}")
        try:
            async with self._services.client.stream(provider, ask, place=place, reader=reader) as stream:
                async for event in stream:
                    if not answered.exchange:
                        answered.exchange = stream.exchange or ""
                        session.wait_for("answer")
                    answered.fold.add(event)
                    self._grow()
        except ModelError as error:
            answered.error = error
            answered.exchange = answered.exchange or error.exchange or ""
        self._close("cut" if answered.broken else "done")
        if answered.exchange:
            self._link_told(told)
            self._link_asked()
        return answered

    def _made(self, state: AnswerState) -> AnswerItem:
        fold = self.answered.fold
        return AnswerItem(
            turn=self._session.turn,
            step=self.number,
            text=fold.text,
            thinking=fold.thinking,
            state=state,
            seconds=self._services.clock() - self._began,
        )

    def _grow(self) -> None:
        """Let what came so far be shown."""
        if self._item is not None:
            self._session.conversation.grow(self._item, lambda: self._made("streaming"))
        elif self.answered.fold.text or self.answered.fold.thinking:
            self._item = self._session.conversation.add(self._made("streaming"))

    def _close(self, state: AnswerState) -> None:
        if self._item is not None:
            self._session.conversation.put(self._item, self._made(state))

    def stopped(self) -> None:
        """The person stopped it: what came stays."""
        self._close("stopped")

    def message(self, *, calls: bool = True) -> Message | None:
        """The assistant's message as it goes into the history; None if it said nothing.

        Args:
            calls: False leaves the calls out: an answer that was cut asks for none.
        """
        message = self.answered.fold.message(turn=self._session.turn)
        if not calls:
            parts = tuple(part for part in message.parts if not isinstance(part, ToolCall))
            message = replace(message, parts=parts)
        said = any(not isinstance(part, Thinking) for part in message.parts)
        return message if said else None

    def _link_asked(self) -> None:
        """Record where in this response each call was asked for."""
        for folded in self.answered.fold.calls:
            server, tool = self._table.find(folded.call.name) or ("", folded.call.name)
            for start, end in folded.spans:
                span = Span(exchange=self.answered.exchange, start=start, end=end)
                words = line(folded.call.arguments, 200)
                self._record(
                    Link(relation="asked", call=folded.call.id, span=span, server=server, tool=tool, words=words)
                )

    def _link_told(self, told: Sequence[ToolResult]) -> None:
        """Record which results this request tells."""
        for result in told:
            span = Span(exchange=self.answered.exchange, side="request", layer="wire")
            server, tool = self._table.find(result.call.name) or ("", result.call.name)
            first = next((block.text for block in result.content if isinstance(block, Text)), "")
            words = line(first, 200)
            self._record(Link(relation="told", call=result.call.id, span=span, server=server, tool=tool, words=words))

    def _record(self, link: Link) -> None:
        place = self._session.place(step=self.number, call=link.call)
        self._services.recorder.append(Draft(wire="host", kind="link", place=place, data=link.to_bytes()))


def cut_note(session: Session, *, stopped: bool) -> Message:
    """Tells the model that its last answer was cut, and by whom."""
    text = wording.ANSWER_STOPPED if stopped else wording.ANSWER_CUT
    return Message(role="user", parts=(Text(text=text),), turn=session.turn, source="host")
