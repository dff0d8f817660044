"""Answers what a server asks of its client: questions to the person, answers of a model, roots.

Source: MCP 2025-11-25 and 2026-07-28, Client features.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio
import mcp_types
from mcp_types import CreateMessageResult, CreateMessageResultWithTools, ElicitResult, ErrorData, JSONRPCRequest

from tui_host.capture.json.narrowing import as_json, items, mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.server_questions import Answering, Elicitation, ElicitationAnswer, SamplingRequest

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

    from tui_host.capture.record import Place
    from tui_host.servers.server_status import StatusPublisher
    from tui_host.settings.schema import ServerSpec

_Answer = TypeVar("_Answer")
Response: TypeAlias = ElicitResult | CreateMessageResult | CreateMessageResultWithTools | mcp_types.ListRootsResult

REJECTED = -1
"""Code of a refused sampling request. Source: MCP 2025-11-25, Sampling, Error Handling."""


_DECLARED_BY: Mapping[str, str] = {
    "sampling/createMessage": "an answer of the model, which is off: sampling = true in its entry switches it on",
    "roots/list": 'folders, of which none are shared: roots = ["PATH"] in its entry shares one',
}
"""What a server asks for by a request that only an entry of its configuration permits, and the key that does."""


class RefusedError(RuntimeError):
    """The person, the host or the server refused what a call needs."""


class CallClock:
    """The time limits of a running call. A sign of life puts off the first; neither counts the time for which it is stopped.

    Args:
        scope: Cancelled at a limit.
        silence: Longest time between two signs of life, in seconds.
        longest: Longest time in all.

    Attributes:
        stopped_seconds: How long the clock was stopped so far.
    """

    def __init__(self, scope: anyio.CancelScope, *, silence: float, longest: float) -> None:
        self._scope = scope
        self._silence = silence
        self._end = anyio.current_time() + longest
        self._stops = 0
        self._stopped = 0.0
        self.stopped_seconds = 0.0
        self.alive()

    @property
    def is_over(self) -> bool:
        """Whether the longest time in all has passed."""
        return not self._stops and anyio.current_time() >= self._end

    def alive(self) -> None:
        """Note a sign of life."""
        if not self._stops:
            self._scope.deadline = min(anyio.current_time() + self._silence, self._end)

    def stop(self) -> None:
        """Stop the clock until as many calls of `go_on` have followed as there were of this method."""
        if not self._stops:
            self._stopped = anyio.current_time()
            self._scope.deadline = float("inf")
        self._stops += 1

    def go_on(self) -> None:
        """Let the clock run again, from the silence's start."""
        self._stops -= 1
        if not self._stops:
            stopped = anyio.current_time() - self._stopped
            self.stopped_seconds += stopped
            self._end += stopped
            self.alive()


@dataclass(slots=True, kw_only=True, eq=False)
class _Open:
    """A question that is shown or waits for its turn.

    Attributes:
        call: The host's id of the call during which the server asks; empty if unknown.
        id: The elicitation's id, empty if there is none.
        is_visited: The server says that the page was visited.
    """

    call: str
    id: str = ""
    is_visited: bool = False
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ServerRequests:
    """Answers the requests of one server, over one connection: one question to the person at a time.

    Never raises into the SDK, which would send an exception's text to the server.

    Args:
        spec: The configured server: says what is declared.
        publisher: Publishes notices, and the number of open questions.
        answering: Asks the person, or a model.
    """

    def __init__(self, spec: ServerSpec, publisher: StatusPublisher, answering: Answering) -> None:
        self._spec = spec
        self._publisher = publisher
        self._answering = answering
        self._turn = anyio.Lock()
        self._open: list[_Open] = []
        self._clocks: list[tuple[str, CallClock]] = []
        self._declines_all = False
        self.roots = spec.roots

    @property
    def has_roots(self) -> bool:
        """Whether roots are declared."""
        return bool(self._spec.roots)

    @property
    def has_sampling(self) -> bool:
        """Whether sampling is declared."""
        return self._spec.sampling and self._answering.sampler is not None

    # What the SDK calls.

    async def elicited(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """Answer `elicitation/create`."""
        del context
        answer = await self.answer("elicitation/create", _plain(params))
        return answer if isinstance(answer, ElicitResult | ErrorData) else _failed()

    async def sampled(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        """Answer `sampling/createMessage`."""
        del context
        answer = await self.answer("sampling/createMessage", _plain(params))
        fits = isinstance(answer, CreateMessageResult | CreateMessageResultWithTools | ErrorData)
        return answer if fits else _failed()

    async def listed_roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult | ErrorData:
        """Answer `roots/list`."""
        del context
        answer = await self.answer("roots/list", {})
        return answer if isinstance(answer, mcp_types.ListRootsResult | ErrorData) else _failed()

    def refusal(self, request: JSONRPCRequest) -> ErrorData | None:
        """Return the error for a request that was not declared, with a notice for the person; None for any other request."""
        return self._refusal(request.method, mapping(as_json(request.params)))

    # What a call needs.

    async def answer(self, method: str, params: Mapping[str, JSON]) -> Response | ErrorData:
        """Answer a request of the server in the place of the running task.

        Args:
            method: The request's method.
            params: The request's parameters as received.
        """
        refused = self._refusal(method, params)
        if refused is not None:
            return refused
        place = current_place.get()
        try:
            match method:
                case "elicitation/create":
                    return await self._elicit(_elicitation(self._spec.name, params, place))
                case "sampling/createMessage":
                    return await self._sample(params, place)
                case "roots/list":
                    return mcp_types.ListRootsResult.model_validate({"roots": list(map(_root, self.roots))})
                case _:
                    return ErrorData(code=mcp_types.METHOD_NOT_FOUND, message="Method not found")
        except TuiHostError as error:
            self._publisher.notice(f"its request {method} was not answered: {error}")
        except Exception as error:  # noqa: BLE001 - the SDK would send an exception's text to the server
            self._publisher.notice(f"its request {method} was not answered: a bug in tui-host ({type(error).__name__})")
        return _failed()

    async def answer_all(self, questions: Mapping[str, JSON]) -> dict[str, Response]:
        """Answer the questions in a result, one after the other.

        Args:
            questions: The requests by the server's keys, as received.

        Raises:
            RefusedError: An answer is an error, for which a result has no place.
        """
        answers: dict[str, Response] = {}
        for key, question in questions.items():
            asked = mapping(question)
            answer = await self.answer(text_or_empty(asked.get("method")), mapping(asked.get("params")))
            if isinstance(answer, ErrorData):
                raise RefusedError(f"the server asked for what it did not get: {answer.message}")
            answers[key] = answer
        return answers

    async def visit(self, error: JSON) -> bool:
        """Ask the person to visit the pages that a call's error -32042 names; returns whether to send the call again.

        Args:
            error: The error's data.
        """
        pages = [mapping(page) for page in items(mapping(error).get("elicitations"))]
        place = current_place.get()
        for page in pages:
            answer = await self._elicit(replace(_elicitation(self._spec.name, page, place), is_retry=True))
            if answer.action != "accept":
                return False
        return bool(pages)

    @contextmanager
    def during(self, call: str, clock: CallClock) -> Generator[None]:
        """Stop the clock of a call while the person answers a question in it; close the call's questions at its end."""
        entry = (call, clock)
        self._clocks.append(entry)
        try:
            yield
        finally:
            self._clocks.remove(entry)
            for question in self._open:
                if call and question.call == call:
                    question.scope.cancel()

    @contextmanager
    def stopped(self, call: str) -> Generator[None]:
        """Stop the clock of a call while the person is busy; all clocks if the call is unknown."""
        stopped = [clock for running, clock in self._clocks if not call or call == running]
        for clock in stopped:
            clock.stop()
        try:
            yield
        finally:
            for clock in stopped:
                clock.go_on()

    def visited(self, elicitation: str) -> None:
        """Close the question about a page that was visited, as the server says; an unknown id is ignored."""
        for question in self._open:
            if elicitation and question.id == elicitation:
                question.is_visited = True
                question.scope.cancel()

    def decline_all(self) -> None:
        """Decline every question that is open, waits, or will come over this connection."""
        if not self._declines_all:
            self._declines_all = True
            self._publisher.notice("its questions are declined until it is connected again, as you chose")
        for question in self._open:
            question.scope.cancel()

    async def _elicit(self, request: Elicitation) -> ElicitResult:
        question = _Open(call=request.call, id=request.id)
        answer = await self._asked(question, lambda: self._filled(request))
        if answer is None:
            action = "accept" if question.is_visited else "decline" if self._declines_all else "cancel"
            return ElicitResult(action=action)
        if answer.for_all:
            self.decline_all()
        if answer.action != "accept" or request.schema is None:
            return ElicitResult(action=answer.action)
        return ElicitResult.model_validate({"action": "accept", "content": dict(answer.content or {})})

    async def _filled(self, request: Elicitation) -> ElicitationAnswer:
        """Ask until the answer fits the schema; an answer that stays the same is dropped."""
        previous: ElicitationAnswer | None = None
        while True:
            answer = await self._answering.answerer().elicit(request)
            if answer.action != "accept" or request.schema is None:
                return answer
            misfits = await self._answering.misfits(request.schema, answer.content or {})
            if not misfits:
                return answer
            request = replace(request, mistake="; ".join(misfits))
            if answer == previous:
                self._publisher.notice(f"an answer to its form did not fit, and was not sent: {request.mistake}")
                return ElicitationAnswer(action="cancel")
            previous = answer

    async def _sample(self, params: Mapping[str, JSON], place: Place) -> Response | ErrorData:
        sampler = self._answering.sampler
        if sampler is None:
            return _failed()
        wrong = _wrong_results(params)
        if wrong:
            self._publisher.notice(f"its request for an answer of the model was refused: {wrong}")
            return ErrorData(code=mcp_types.INVALID_PARAMS, message=wrong)
        wanted = items(mapping(params.get("modelPreferences")).get("hints"))
        model = sampler.model_for(place.session, [text_or_empty(mapping(hint).get("name")) for hint in wanted])
        request = SamplingRequest(server=self._spec.name, params=params, model=model, call=place.call or "")

        async def sample() -> Mapping[str, JSON] | None:
            reviewed = await self._answering.answerer().review_request(request)
            if reviewed is None:
                return None
            answer = await self._answering.answerer().review_answer(reviewed, await sampler.sample(reviewed, place))
            return None if answer is None else answer.result

        result = await self._asked(_Open(call=request.call), sample)
        if result is None:
            return ErrorData(code=REJECTED, message="User rejected sampling request")
        kind = CreateMessageResultWithTools if isinstance(result.get("content"), list) else CreateMessageResult
        return kind.model_validate(dict(result), by_name=False)

    async def _asked(self, question: _Open, ask: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """Wait for the server's other questions, then ask; None if the question was closed before it was answered."""
        self._open.append(question)
        self._count()
        try:
            with self.stopped(question.call), question.scope:
                async with self._turn:
                    return None if self._declines_all else await ask()
        finally:
            self._open.remove(question)
            self._count()
        return None

    def _count(self) -> None:
        self._publisher.update(replace(self._publisher.status, questions=len(self._open)))

    def _refusal(self, method: str, params: Mapping[str, JSON]) -> ErrorData | None:
        if method == "elicitation/create" and params.get("mode", "form") not in {"form", "url"}:
            self._publisher.notice("it asked a question in a form that MCP does not have; the question was refused")
            return ErrorData(code=mcp_types.INVALID_PARAMS, message="this mode of elicitation was not declared")
        is_declared = self.has_sampling if method == "sampling/createMessage" else self.has_roots
        if method not in _DECLARED_BY or is_declared:
            return None
        self._publisher.notice(f"it asked for {_DECLARED_BY[method]}; the request was refused")
        return ErrorData(code=mcp_types.METHOD_NOT_FOUND, message=f"{method} was not declared")


def _plain(params: mcp_types.RequestParams) -> Mapping[str, JSON]:
    return mapping(as_json(params.model_dump(by_alias=True, mode="json", exclude_none=True)))


def _elicitation(server: str, params: Mapping[str, JSON], place: Place) -> Elicitation:
    is_page = params.get("mode") == "url" or "url" in params
    schema = params.get("requestedSchema")
    return Elicitation(
        server=server,
        message=text_or_empty(params.get("message")),
        schema=None if is_page else mapping(schema),
        url=text_or_empty(params.get("url")),
        id=text_or_empty(params.get("elicitationId")),
        call=place.call or "",
    )


def _wrong_results(params: Mapping[str, JSON]) -> str:
    """Say what is wrong with the results of tools among the messages of a sampling request; empty if nothing is.

    Source: MCP 2025-11-25, Sampling, Message Content Constraints.
    """
    used: set[str] = set()
    for message in map(mapping, items(params.get("messages"))):
        content = message.get("content")
        blocks = [mapping(block) for block in (items(content) if isinstance(content, list) else [content])]
        results = {text_or_empty(block.get("toolUseId")) for block in blocks if block.get("type") == "tool_result"}
        if results and any(block.get("type") != "tool_result" for block in blocks):
            return "results of tools are mixed with other content"
        if used != results:
            return "a use of a tool has no result right after it, or a result has no use"
        used = {text_or_empty(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
    return "the last use of a tool has no result" if used else ""


def _root(path: str) -> Mapping[str, JSON]:
    folder = Path(path).expanduser().absolute()
    return {"uri": folder.as_uri(), "name": folder.name or str(folder)}


def _failed() -> ErrorData:
    return ErrorData(code=mcp_types.INTERNAL_ERROR, message="the request could not be answered")
