"""Runs a step: sends a request, streams the answer into the chat, and retries while the provider refuses temporarily."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import anyio

from tui_host.capture.link import offered_link
from tui_host.capture.record import Record
from tui_host.chat.active_profile import local_time
from tui_host.chat.conversation import AnswerItem, AnswerState
from tui_host.chat.exchange_links import Links
from tui_host.chat.next_request import new_results
from tui_host.errors import ModelError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.fold import Fold
from tui_host.llm.messages import Message, Thinking, ToolCall
from tui_host.servers.server_questions import unchecked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from tui_host.capture.link import Link
    from tui_host.capture.recorder import Recorder
    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.policy import Approver
    from tui_host.chat.session import Session
    from tui_host.errors import JSON
    from tui_host.llm.model_client import ModelClient, Stream
    from tui_host.llm.outgoing import Outgoing, Window
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ModelRef, Provider, Settings

MOST_RETRY_SECONDS = 120.0
"""Longest total wait. A request is not retried if the provider asks for a longer wait."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 8.0


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of the host that a turn uses. `provider` starts the demo model if needed, `misfits` is None if unknown."""

    settings: Settings
    recorder: Recorder
    pool: Pool
    client: ModelClient
    provider: Callable[[ModelRef], Awaitable[Provider]]
    approver: Approver
    clock: Callable[[], float]
    now: Callable[[], datetime] = local_time
    misfits: Callable[[JSON, JSON], Awaitable[Sequence[str] | None]] = unchecked

    async def until_kept(self) -> None:
        """Wait until what came is on the disk, or cannot be: what is shown must outlive a killed program."""
        last = self.recorder.reached
        while self.recorder.last < last:
            await anyio.sleep(0.005)  # the writer commits about fifty times a second


@dataclass(slots=True, kw_only=True)
class Retries:
    """Counts the automatic retries of a request and computes the waits, varied so that clients do not retry all at once."""

    limit: int = 3
    count: int = 0
    waited: float = 0.0
    jitter: Callable[[], float] = random.random

    def next_wait(self, error: ModelError) -> float | None:
        """Return the seconds to wait before sending the request again, None to give up."""
        if not error.passes or self.count >= self.limit:
            return None
        seconds = error.retry_after
        if not seconds:  # some gateways send 0, and would be asked again without a pause
            pause = min(FIRST_PAUSE_SECONDS * 2**self.count, LONGEST_PAUSE_SECONDS)
            seconds = pause * (1 - 0.25 * self.jitter())
        if self.waited + seconds > MOST_RETRY_SECONDS:
            return None
        self.count += 1
        self.waited += seconds
        return seconds


class Step:
    """An exchange with the model. Its fold, window and error are correct at any moment, also after a cancellation."""

    def __init__(self, services: Services, session: Session, request: NextRequest, provider: Provider) -> None:
        self._services = services
        self._session = session
        self._provider = provider
        self._number = session.step
        self.request = request
        self.fold: Fold
        self.window: Window | None = None
        self.error: ModelError | None = None
        self._place = session.place(step=session.step)
        self._links = Links(place=self._place, request=request, redactor=services.recorder.redactor)
        self._exchange_id = ""  # empty until the request is on its way
        self._item: int | None = None
        self._began = services.clock()

    @property
    def is_broken(self) -> bool:
        return self.error is not None or self.fold.stop in {None, "cut", "failed"}

    async def run(self) -> None:
        """Stream the answer into the conversation; an error is stored in `error`."""
        retries = Retries(limit=self._services.settings.limits.retries)
        model, name = self._session.model, f"{self._session.turn}.{self._number}"
        while True:
            # Anew at each try: the last one has recorded the failure of an answer that never began.
            self.fold = Fold(provider=model.provider, model=model.model, call_id=lambda index: f"{name}.{index + 1}")
            self.error = await self._exchange()
            if self.error is None or self.fold.has_begun:
                break
            seconds = retries.next_wait(self.error)
            if seconds is None:
                break
            remedy = f"trying again in {seconds:.1f} s, {retries.count} of {retries.limit}"
            self._session.note(self.error.what, where=self.error.where, remedy=remedy)
            self._session.wait_for("retry", self.error.what, seconds=seconds)
            await anyio.sleep(seconds)
        self.close("cut" if self.is_broken else "done")

    async def _exchange(self) -> ModelError | None:
        from tui_host.llm.model_client import Stream

        request, ask = self.request, self.request.ask
        reader = request.protocol.reader(request.offer.known)
        told = new_results(request.history)
        spans: list[Link] = []
        find_spans, wire = self._links.find_spans, dialect(self._provider.dialect)

        def began(exchange: str, outgoing: Outgoing) -> None:
            self.window = outgoing.window
            if self._number == 1 and not self._exchange_id:  # a turn's first exchange
                for name, why in outgoing.unsent.items():
                    self._session.note(f"the option {name} is not sent: {why}", remedy="/model sets it")
            self._exchange_id = exchange
            # The connections whose tools are offered for the first time in the session.
            servers = {server for server, _ in request.offer.table.known.values()}
            statuses = [status for status in self._services.pool.statuses() if status.name in servers]
            new = [status.connection for status in statuses if status.connection not in {"", *self._session.offered}]
            self._session.offered.update(new)
            place, data = self._place, offered_link(exchange)
            self._record(Record(wire="host", kind="link", place=place, connection=each, data=data) for each in new)
            self._record(self._links.of_request(exchange, spans))

        stream = Stream(
            client=self._services.client,
            provider=self._provider,
            ask=ask,
            place=self._place,
            reader=reader,
            prepare=lambda outgoing: spans.extend(find_spans(outgoing, wire, told)),
            began=began,
        )
        self._wait_for(stream, "model", f"{self._provider.name}/{ask.model}")
        try:
            async with stream:
                await self._read(stream)
        except ModelError as error:
            return error
        return None

    def _record(self, drafts: Iterable[Record]) -> None:
        for draft in drafts:
            self._services.recorder.append(draft)

    def _wait_for(self, stream: Stream, waits: Literal["model", "answer"], detail: str = "") -> None:
        limit = f"providers.{self._provider.name}.timeout ends it at {self._provider.timeout:g} s"
        self._session.wait_for(waits, detail, heard=lambda: stream.heard, limit=limit)

    async def _read(self, stream: Stream) -> None:
        """Assemble the answer from events as they arrive. Calls are linked even if the answer is cut."""
        fold, is_first = self.fold, True
        try:
            async for events in stream.batches:
                if is_first:
                    is_first = False
                    self._wait_for(stream, "answer")
                try:
                    await self._services.until_kept()
                finally:  # a stopped answer has what was recorded of it
                    for event in events:
                        fold.add(event)
                if self._item is not None:
                    self._session.conversation.grow(self._item, lambda: self._answer_item("streaming"))
                elif fold.text or fold.thinking:
                    self._item = self._session.conversation.add(self._answer_item("streaming"))
        finally:
            if self._exchange_id:
                self._record(self._links.of_answer(self._exchange_id, fold, stream.shifts))

    def _answer_item(self, state: AnswerState) -> AnswerItem:
        return AnswerItem(
            turn=self._session.turn,
            step=self._number,
            text=self.fold.text,
            thinking=self.fold.thinking,
            state=state,
            seconds=self._services.clock() - self._began,
            options="\n".join(" ".join(option.split()) for option in self.fold.options),
        )

    def close(self, state: AnswerState) -> None:
        if self._item is not None:
            self._session.conversation.put(self._item, self._answer_item(state))

    def message(self, *, calls: bool = True) -> Message | None:
        """Return the assistant's message for the history, None if empty; without the calls of an answer that was cut."""
        message = self.fold.message(turn=self._session.turn)
        if not calls:
            parts = tuple(part for part in message.parts if not isinstance(part, ToolCall))
            message = replace(message, parts=parts)
        has_content = any(not isinstance(part, Thinking) for part in message.parts)
        # The provider continues a paused answer only from the whole message.
        return message if has_content or message.stop == "paused" else None
