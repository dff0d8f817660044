"""Reads, decides and runs the calls of a step, and returns their results. A call runs as soon as it is approved."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
import anyio.lowlevel

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.record import current_place
from tui_host.chat import result_contents
from tui_host.chat import result_words as wording
from tui_host.chat.call_arguments import canonical, changed_numbers, read_arguments
from tui_host.chat.conversation import CallState
from tui_host.chat.offered_tools import HUB, InvokedCall
from tui_host.chat.policy import CallRequest, Decision, Question, refused
from tui_host.chat.turn_result import Outcome
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.tool_names import nearest
from tui_host.servers.catalog_changes import changed_parts

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from tui_host.capture.record import Place
    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.step import Services
    from tui_host.llm.fold import FoldedCall
    from tui_host.servers.catalog import Progress, Tool, ToolOutput

EQUAL_CALLS = 3
"""Number of equal calls in a turn from which the user is warned."""
MOST_ASKED = 16
"""Largest number of calls shown to the user at once; further calls follow once these are decided."""

_Undecided: TypeAlias = tuple[Outcome, CallRequest]
_SentCall: TypeAlias = tuple[str, str, bytes]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Counts the equal calls of a turn (server, tool, arguments), and those of them with equal answers."""

    sent: Counter[_SentCall] = field(default_factory=Counter[_SentCall])
    answered: Counter[tuple[_SentCall, str]] = field(default_factory=Counter[tuple[_SentCall, str]])


class Calls:
    """All calls of a step, with an outcome for each, in the order of the answer. `repeats` is the turn's, `stop` ends the turn."""

    def __init__(
        self, services: Services, session: Session, request: NextRequest, *, repeats: Repeats, stop: Callable[[], None]
    ) -> None:
        self._services = services
        self._session = session
        self._step = session.step
        self._offer = request.offer
        self._adapted = request.adapted
        self._protocol = request.protocol
        self._repeats = repeats
        self._stop = stop
        self._tools = {(tool.server, tool.name): tool for tool in services.pool.tools()}
        self.outcomes: list[Outcome] = []

    def read(self, calls: Sequence[FoldedCall], *, cut: str) -> None:
        """Show each call in the chat and find its tool; `cut` says why the answer was cut. What cannot be run gets its result at once."""
        self.outcomes = [self._read(folded.call, cut="" if folded.complete else cut) for folded in calls]

    async def run(self) -> None:
        """Decide and run each call, in the order of the answer. `results` is correct after a cancellation too."""
        asked = [(outcome, outcome.request) for outcome in self.outcomes if outcome.request is not None]
        async with anyio.create_task_group() as group:
            self._session.wait_for("tools")
            asked = await self._apply_rules(asked, group)
            while asked:
                asked = [await self._with_misfits(outcome, request) for outcome, request in asked]
                now, later = asked[:MOST_ASKED], asked[MOST_ASKED:]
                again = await self._ask(now, group, later=len(later))
                await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped, ask no more
                asked = await self._apply_rules([*again, *later], group)

    @property
    def invalid(self) -> list[str]:
        """The faults of all calls if no call could be run; otherwise empty."""
        decisions = [outcome.decision for outcome in self.outcomes]
        wrong = [made.words for made in decisions if made is not None and made.verdict == "invalid"]
        return wrong if len(wrong) == len(decisions) else []

    def results(self, running: str, waiting: str, *, state: Literal["stopped", "failed"]) -> list[ToolResult]:
        """Return a result for each call, in order, also for those left open: `running` and `waiting` tell the model, `state` the user."""
        results: list[ToolResult] = []
        for outcome in self.outcomes:
            if outcome.result is None:
                outcome.result = self._close(outcome, running if outcome.began else waiting, state)
            decision = outcome.decision
            if outcome.sent and decision is not None and decision.verdict == "edited":
                results.append(wording.edited_of(outcome.result, decision.arguments))
            else:
                results.append(outcome.result)
        return results

    def _read(self, call: ToolCall, *, cut: str) -> Outcome:
        """Find the tool and parse the arguments. A call that cannot be run gets its result here."""
        hub, table = self._offer.hub, self._offer.table
        try:
            meant = hub.interpret(call) if hub is not None and not cut else None
        except TuiHostError as error:
            return self._invalid(self._open(call, HUB, call.name, call.arguments), error)
        if isinstance(meant, str):  # it needs no decision and no server
            outcome = self._open(call, HUB, call.name, call.arguments)
            outcome.by_host, outcome.state, outcome.words = True, "done", "answered by the host"
            outcome.result = ToolResult(call=call, content=(Text(text=meant),))
            return self._show(outcome)
        written = meant or InvokedCall(name=call.name, arguments=call.arguments)
        server, name = table.resolve(written.name) or ("", written.name)
        outcome = self._open(call, server, name, written.arguments)
        if cut:
            return self._invalid(outcome, TuiHostError(f"the arguments were cut {cut}"))
        if hub is not None and meant is None:
            return self._invalid(outcome, hub.refused(call.name, self._spoken))
        try:
            tool = self._tool(written.name)
            value = read_arguments(written.arguments)
        except TuiHostError as error:
            return self._invalid(outcome, error)
        offered = table.name(tool.server, tool.name)
        outcome.resolved_from = written.name if written.name != offered else ""
        if meant is None and offered in self._adapted:
            value = self._adapted[offered].original(value)
        outcome.asked = value
        outcome.changed_numbers = changed_numbers(call.arguments) or changed_numbers(written.arguments)
        tool = described(tool, value)
        outcome.request = CallRequest(
            call=call.id,
            tool=tool,
            arguments=canonical(value),
            changed=difference(self._session.policy.approved(tool), tool),
            changed_numbers=outcome.changed_numbers,
        )
        return outcome

    def _open(self, call: ToolCall, server: str, tool: str, arguments: str) -> Outcome:
        outcome = Outcome(call=call, server=server, tool=tool, written=arguments, asked=arguments)
        outcome.number = self._session.conversation.add(outcome.item(self._place(outcome)))
        return outcome

    def _place(self, outcome: Outcome) -> Place:
        return self._session.place(step=self._step, call=outcome.call.id)

    def _show(self, outcome: Outcome, *, keep: bool = True) -> Outcome:
        self._session.conversation.put(outcome.number, outcome.item(self._place(outcome)), keep=keep)
        return outcome

    def _tool(self, name: str) -> Tool:
        names = self._offer.table.resolve(name)
        if names is not None and names in self._tools:
            return self._tools[names]
        others = [tool for tool in self._offer.known if tool.name != name]
        near = [self._spoken(candidate) for candidate in nearest(name, others)]
        remedy = f"there is {', '.join(near)}" if near else ""
        raise TuiHostError(f"there is no tool {self._spoken(name)}", remedy=remedy)

    def _spoken(self, name: str) -> str:
        return self._protocol.spoken(name, self._offer.known)

    def _invalid(self, outcome: Outcome, error: TuiHostError) -> Outcome:
        arguments = outcome.call.arguments.encode(errors="replace")
        decision = Decision(verdict="invalid", by="default", arguments=arguments, words=str(error))
        outcome.result = wording.error_of(outcome.call, f"Error: {error}. Nothing was run.")
        outcome.is_error = True
        return self._record(outcome, decision, "invalid")

    def _record(self, outcome: Outcome, decision: Decision, state: CallState) -> Outcome:
        """Keep a decision, as a record too, and show it."""
        outcome.decision, outcome.state, outcome.words = decision, state, decision.words
        outcome.sent = decision.is_approval
        self._services.recorder.append(outcome.record(self._place(outcome)))
        if decision.is_approval and outcome.resolved_from:
            outcome.words += f"; the model wrote {outcome.resolved_from}"
        return self._show(outcome)

    async def _apply_rules(self, asked: Sequence[_Undecided], group: TaskGroup) -> list[_Undecided]:
        """Decide by rules, again each time, since a permission may have been given; returns the calls to ask about.

        Permissions for the session wait until tools whose server announced a change have been listed again.
        """
        pool, policy = self._services.pool, self._session.policy
        left: list[_Undecided] = []
        waiting: list[_Undecided] = []
        for outcome, request in asked:
            decision = policy.decide(request, is_current=pool.has_current_tools(request.tool.server))
            if decision is not None:
                group.start_soon(self._with_misfits, outcome, request)
                self._decided(outcome, decision, group)
            elif policy.decide(request) is None:
                left.append((outcome, request))
            else:
                waiting.append((outcome, request))
        for outcome, request in waiting:
            is_current = await pool.listed_again(request.tool.server)
            newer = self._redefined(request) or request
            decision = policy.decide(newer, is_current=is_current)
            if decision is None:
                left.append((outcome, newer))
            else:
                self._decided(outcome, decision, group)
        return left

    async def _with_misfits(self, outcome: Outcome, request: CallRequest) -> _Undecided:
        if outcome.misfits is None:
            outcome.misfits = await self._services.misfits(request.tool.schema, outcome.asked)
            if outcome.misfits:
                self._show(outcome)
        return outcome, replace(request, misfits=outcome.misfits)

    async def _ask(self, asked: Sequence[_Undecided], group: TaskGroup, *, later: int) -> list[_Undecided]:
        """Show the questions to the user and act on each answer at once; returns calls whose definition changed under the question."""
        outcomes = {request.call: outcome for outcome, request in asked}
        again: list[_Undecided] = []

        def answered(question: Question, decision: Decision) -> None:
            outcome = outcomes[question.request.call]
            newer = self._redefined(question.request) if decision.is_approval else None
            if newer is None:
                self._decided(outcome, decision, group)
            else:
                outcome.request = newer
                again.append((outcome, newer))

        questions: list[Question] = []
        for outcome, request in asked:
            questions.append(Question(request, answered=answered, clock=self._services.clock, later=later))
            outcome.state = "waiting"
            self._show(outcome)
        self._session.questions = questions
        self._session.wait_for("you")
        try:
            await self._services.approver.decide(questions)
            for question in questions:
                question.answer(refused(question.request))
        finally:
            for question in questions:
                question.void()
            self._session.questions = []
        self._session.wait_for("tools")
        return again

    def _redefined(self, request: CallRequest) -> CallRequest | None:
        for tool in self._services.pool.tools():
            if (tool.server, tool.name) == (request.tool.server, request.tool.name):
                if tool.fingerprint == request.tool.fingerprint:
                    return None
                return replace(request, tool=tool, changed=difference(request.tool, tool))
        return None

    def _decided(self, outcome: Outcome, decision: Decision, group: TaskGroup) -> None:
        """Carry a decision out: run the call, or give it a result."""
        if not decision.is_approval:
            outcome.result = wording.rejection_of(outcome.call, decision)
            self._record(outcome, decision, "rejected")
            if decision.stop:
                self._stop()
            return
        if decision.by == "person" and outcome.request is not None:
            self._session.policy.remember(outcome.request.tool)
        self._record(outcome, decision, "running")
        group.start_soon(self._send, outcome, decision)

    async def _send(self, outcome: Outcome, decision: Decision) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped since, send nothing
        outcome.began = True
        self._warn_of_repeat(outcome, decision)
        began = time.perf_counter()
        output: ToolOutput | None = None
        try:
            output = await self._call(outcome, decision)
        except ServerError as error:
            outcome.milliseconds = (time.perf_counter() - began) * 1000
            outcome.result = wording.error_of(outcome.call, f"Error: {error}")
            outcome.is_error, outcome.fault, outcome.sent = True, str(error), error.sent
        else:
            outcome.milliseconds = (time.perf_counter() - began) * 1000
            outcome.result = wording.result_of(outcome.call, output)
            outcome.output, outcome.is_error = output.raw, output.is_error
            outcome.contents = result_contents.content_lines(output)
            outcome.structured = result_contents.structured_text(output)
            if output.is_resent:
                outcome.words = f"{decision.words}; {wording.SENT_AGAIN}"
        outcome.state = "failed" if outcome.is_error else "done"
        answer = ((outcome.server, outcome.tool, decision.arguments), wording.text_of(outcome.result))
        self._repeats.answered[answer] += 1
        equal = self._repeats.answered[answer]
        if equal >= EQUAL_CALLS:
            outcome.notice = f"{equal} equal calls in this turn, each with this same answer"
        self._show(outcome)
        if output is not None:
            await self._check_output(outcome, output)

    async def _call(self, outcome: Outcome, decision: Decision) -> ToolOutput:
        def progressed(progress: Progress) -> None:
            of = f"/{progress.total:g}" if progress.total is not None else ""
            outcome.progress = f"{progress.progress:g}{of} {progress.message}".strip()
            self._show(outcome, keep=False)

        place = self._place(outcome)
        token = current_place.set(place)
        try:
            return await self._services.pool.call(
                outcome.server,
                outcome.tool,
                decision.arguments,
                place=place,
                fingerprint=decision.fingerprint,
                on_progress=progressed,
            )
        finally:
            current_place.reset(token)

    def _warn_of_repeat(self, outcome: Outcome, decision: Decision) -> None:
        """Say once that the same call runs again and again, where no person sees each call before it runs."""
        sent = (outcome.server, outcome.tool, decision.arguments)
        self._repeats.sent[sent] += 1
        if self._repeats.sent[sent] == EQUAL_CALLS and decision.by == "flag":
            what = f"{outcome.server}.{outcome.tool} runs for the third time in this turn with the same arguments"
            self._session.note(what, remedy="without the flag that allows it, each call is asked about")

    async def _check_output(self, outcome: Outcome, output: ToolOutput) -> None:
        """Check the structured content against the tool's output schema, after the result is shown.

        A failed call owes no structured content. Source: MCP 2025-11-25, Tools, Output Schema.
        """
        schema = None if outcome.request is None else outcome.request.tool.output_schema
        if not isinstance(schema, Mapping | bool) or output.is_error:
            return
        if output.has_structured:
            outcome.output_misfits = await self._services.misfits(schema, output.structured)
            words = [result_contents.UNCHECKED] if outcome.output_misfits is None else outcome.output_misfits
        else:
            words = outcome.output_misfits = [result_contents.NO_STRUCTURE]
        outcome.output_words = "\n".join(words)
        if words:
            self._show(outcome)

    def _close(self, outcome: Outcome, text: str, state: Literal["stopped", "failed"]) -> ToolResult:
        """Return the result of a call whose turn ended before the call had one; `text` tells the model."""
        outcome.state = state
        if outcome.began:
            outcome.is_error, outcome.fault, outcome.words = True, wording.CUT_RUNNING, wording.CUT_RUNNING
            self._show(outcome)
        elif outcome.decision is not None:
            outcome.sent, outcome.fault = False, wording.CUT_BEFORE
            outcome.words = f"{outcome.decision.words}; {wording.CUT_BEFORE}"
            self._show(outcome)
        elif outcome.request is not None:
            outcome.fault = wording.NOT_DECIDED
            decision = refused(outcome.request, verdict="stopped", words=wording.NOT_DECIDED)
            self._record(outcome, decision, "stopped")
        return wording.error_of(outcome.call, text)


def described(tool: Tool, arguments: JSON) -> Tool:
    """Return a resource reader with the title and description of the requested resource; returns a real tool unchanged."""
    uri = mapping(arguments).get("uri")
    match = next((resource for resource in tool.resources or () if resource.uri == uri), None)
    return tool if match is None else replace(tool, title=match.name, description=match.description)


def difference(before: Tool | None, now: Tool) -> str:
    """Describe in a few words how a tool's definition changed; empty if it did not change."""
    if before is None or before.fingerprint == now.fingerprint:
        return ""
    return ", ".join(changed_parts(before, now)) or "where it runs"
