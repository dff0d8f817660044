"""Answers what a server asks of its client: questions to the person, answers of a model, roots.

Source: MCP 2025-11-25 and 2026-07-28, Client features.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

from tui_host.capture.json.narrowing import items, mapping, text_or_empty
from tui_host.capture.record import current_place
from tui_host.errors import JSON, TuiHostError
from tui_host.servers.server_questions import Elicitation, ElicitationAnswer, SamplingRequest, properties_of

if TYPE_CHECKING:
    from tui_host.servers.wire import Wire

_Answer = TypeVar("_Answer")

VISITS_KEPT = 100
REJECTED = -1  # Source: MCP 2025-11-25, Sampling, Error Handling
_DECLARED_BY: Mapping[str, str] = {
    "sampling/createMessage": "an answer of the model, which is off: sampling = true in its entry switches it on",
    "roots/list": 'folders, of which none are shared: roots = ["PATH"] in its entry shares one',
}


class RefusedError(RuntimeError):
    """The person, the host or the server refused what a call needs."""


@dataclass(slots=True, eq=False)
class CallClock:
    """Cancels a call's scope after a time of silence, which a sign of life ends, and at an end; neither counts while it is stopped."""

    _scope: anyio.CancelScope
    _silence: float
    end: float
    stops: int = 0
    _stopped_at: float = 0.0

    def alive(self) -> None:
        if not self.stops:
            self._scope.deadline = min(anyio.current_time() + self._silence, self.end)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Stop the clock; it goes on, from the silence's start, after the last of the blocks that stop it."""
        if not self.stops:
            self._stopped_at = anyio.current_time()
            self._scope.deadline = float("inf")
        self.stops += 1
        try:
            yield
        finally:
            self.stops -= 1
            if not self.stops:
                self.end += anyio.current_time() - self._stopped_at
                self.alive()


@dataclass(slots=True, kw_only=True, eq=False)
class _Open:
    """A question that is shown or waits for its turn."""

    call: str
    id: str = ""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ServerRequests:
    """Answers the requests of one server, over one connection: one question to the person at a time."""

    def __init__(self, wire: Wire) -> None:
        spec, answering = wire.spec, wire.shared.answering
        self._wire = wire
        self._spec = spec
        self._answering = answering
        self._turn = anyio.Lock()
        self._open: list[_Open] = []
        self._clocks: list[tuple[str, CallClock]] = []
        self._declines_all = False
        self._visited: deque[str] = deque(maxlen=VISITS_KEPT)
        self._folders = [Path(path).expanduser().absolute() for path in spec.roots]
        self.has_roots = bool(spec.roots)
        self.has_sampling = spec.sampling and answering.sampler is not None

    async def answer(self, method: str, params: Mapping[str, JSON]) -> Mapping[str, JSON]:
        """Answer a request of the server in the place of the running task; returns the answer's `result` or `error`."""
        try:
            if method in _DECLARED_BY and not (self.has_roots if method == "roots/list" else self.has_sampling):
                self._wire.notice(f"it asked for {_DECLARED_BY[method]}; the request was refused")
                return {"error": {"code": METHOD_NOT_FOUND, "message": f"{method} was not declared"}}
            if method == "elicitation/create" and (wrong := _unfillable(params)):
                self._wire.notice(f"its question was refused: {wrong}")
                return {"error": {"code": INVALID_PARAMS, "message": wrong}}
            match method:
                case "elicitation/create":
                    return {"result": await self._elicit(params)}
                case "sampling/createMessage":
                    return {"result": await self._sample(params)}
                case "roots/list":
                    roots: JSON = [{"uri": folder.as_uri(), "name": folder.name} for folder in self._folders]
                    return {"result": {"roots": roots}}
                case _:
                    return {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.error.message}}
        except TuiHostError as error:
            self._wire.notice(f"its request {method} was not answered: {error}")
        except Exception as error:  # noqa: BLE001 - a server must learn nothing of what is wrong here
            self._wire.notice(f"its request {method} was not answered: a bug in tui-host ({type(error).__name__})")
        return {"error": {"code": INTERNAL_ERROR, "message": "the request could not be answered"}}

    async def answer_all(self, questions: Mapping[str, JSON]) -> dict[str, JSON]:
        """Answer the questions in a result, by the server's keys; raises RefusedError where one has an error, for which there is no place."""
        answers: dict[str, JSON] = {}
        for key, question in questions.items():
            asked = mapping(question)
            answer = await self.answer(text_or_empty(asked.get("method")), mapping(asked.get("params")))
            if "error" in answer:
                reason = text_or_empty(mapping(answer["error"]).get("message"))
                raise RefusedError(f"the server asked for what it did not get: {reason}")
            answers[key] = answer["result"]
        return answers

    async def visit(self, error: JSON) -> bool:
        """Ask the person to visit the pages that the data of a call's error -32042 name; returns whether to send the call again."""
        pages = [mapping(page) for page in items(mapping(error).get("elicitations"))]
        for page in pages:
            answer = await self._elicit(page, is_retry=True)
            if answer["action"] != "accept":
                return False
        return bool(pages)

    @contextmanager
    def during(self, call: str, clock: CallClock) -> Generator[None]:
        """Stop the clock of a call while the person answers a question in it; close the call's questions at its end."""
        self._clocks.append((call, clock))
        try:
            yield
        finally:
            self._clocks.remove((call, clock))
            self._close(lambda question: bool(call) and question.call == call)

    @contextmanager
    def stopped(self, call: str) -> Generator[None]:
        """Stop the clock of a call while the person is busy; all clocks if the call is unknown."""
        with ExitStack() as stack:
            for running, clock in self._clocks:
                if call in {"", running}:
                    stack.enter_context(clock.stopped())
            yield

    def visited(self, elicitation: str) -> None:
        """Close the question about a page that was visited, as the server says."""
        if elicitation:
            self._visited.append(elicitation)  # also before the question is shown: it runs in a task of its own
            self._close(lambda question: question.id == elicitation)

    def decline_all(self) -> None:
        self._declines_all = True
        self._wire.notice("its questions are declined until it is connected again, as you chose")
        self._close(lambda _: True)

    def _close(self, is_meant: Callable[[_Open], bool]) -> None:
        for question in self._open:
            if is_meant(question):
                question.scope.cancel()

    async def _elicit(self, params: Mapping[str, JSON], *, is_retry: bool = False) -> Mapping[str, JSON]:
        is_page = params.get("mode") == "url" or "url" in params
        request = Elicitation(
            server=self._spec.name,
            message=text_or_empty(params.get("message")),
            schema=None if is_page else mapping(params.get("requestedSchema")),
            url=text_or_empty(params.get("url")),
            id=text_or_empty(params.get("elicitationId")),
            call=current_place.get().call or "",
            is_retry=is_retry,
        )
        answer = await self._asked(_Open(call=request.call, id=request.id), lambda: self._filled(request))
        if answer is None:
            if request.id in self._visited:
                return {"action": "accept"}
            return {"action": "decline" if self._declines_all else "cancel"}
        if answer.action != "accept" or request.schema is None:
            return {"action": answer.action}
        return {"action": "accept", "content": dict(answer.content or {})}

    async def _filled(self, request: Elicitation) -> ElicitationAnswer:
        """Ask, and once more where the answer does not fit the schema: a panel checks before it answers, flags can only say why."""
        for _ in range(2):
            answer = await self._answering.answerer().elicit(request)
            if answer.action != "accept" or request.schema is None:
                return answer
            misfits = await self._answering.misfits(request.schema, answer.content or {})
            if not misfits:
                return answer
            request = replace(request, mistake="; ".join(misfits))
        self._wire.notice(f"an answer to its form did not fit, and was not sent: {request.mistake}")
        return ElicitationAnswer(action="cancel")

    async def _sample(self, params: Mapping[str, JSON]) -> Mapping[str, JSON]:
        sampler, place = self._answering.sampler, current_place.get()
        assert sampler is not None  # noqa: S101 - else it is not declared
        wanted = items(mapping(params.get("modelPreferences")).get("hints"))
        model = sampler.model_for(place.session, [text_or_empty(mapping(hint).get("name")) for hint in wanted])
        request = SamplingRequest(server=self._spec.name, params=params, model=model, call=place.call or "")

        async def sample() -> Mapping[str, JSON] | None:
            reviewed = await self._answering.answerer().review(request, request)
            if reviewed is None:
                return None
            answer = await self._answering.answerer().review(reviewed, await sampler.sample(reviewed, place))
            return None if answer is None else answer.result

        result = await self._asked(_Open(call=request.call), sample)
        if result is None:
            raise MCPError(REJECTED, "User rejected sampling request")
        return result

    async def _asked(self, question: _Open, ask: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """Wait for the server's other questions, then ask; None if the question was closed before it was answered."""
        self._open.append(question)
        self._wire.update(questions=len(self._open))
        try:
            with self.stopped(question.call), question.scope:
                async with self._turn:
                    is_over = self._declines_all or question.id in self._visited
                    return None if is_over else await ask()
        finally:
            self._open.remove(question)
            self._wire.update(questions=len(self._open))
        return None


def _unfillable(params: Mapping[str, JSON]) -> str:
    """Say why a question cannot be answered as MCP wants it, before the person fills it in; empty if it can."""
    if params.get("mode", "form") not in {"form", "url"}:
        return "this mode of elicitation was not declared"
    nested: list[str] = []
    for name, schema in properties_of(params.get("requestedSchema")).items():
        kind = schema.get("type")
        is_flat = "properties" not in schema and kind in {None, "string", "number", "integer", "boolean"}
        if kind == "array":  # of texts alone
            is_flat = mapping(schema.get("items")).get("type", "string") == "string"
        if not is_flat:
            nested.append(name)
    if not nested:
        return ""
    return f"a form has fields of texts, numbers, truths and choices alone, which {', '.join(nested)[:200]} is not"
