"""Reads, decides and runs the calls of a step, and returns their results. A call runs as soon as it is approved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
import anyio.lowlevel

from tui_host.capture.record import current_place
from tui_host.chat import result_contents
from tui_host.chat import result_words as wording
from tui_host.chat.call_arguments import canonical, changed_numbers, read_arguments
from tui_host.chat.conversation import CallItem
from tui_host.chat.direct_call import decision_draft
from tui_host.chat.policy import CallRequest, Decision, Question, refused
from tui_host.chat.tool_hub import HUB, HostAnswer, InvokedCall
from tui_host.chat.turn_result import Outcome
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.tool_names import nearest
from tui_host.servers.tool_definitions import changes

if TYPE_CHECKING:
    from collections import Counter

    from anyio.abc import TaskGroup

    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.turn_services import Services
    from tui_host.llm.fold import FoldedCall
    from tui_host.servers.catalog import Progress, Tool, ToolOutput


CallAnswer: TypeAlias = tuple[str, str, bytes, str]
"""A call that was run: server, tool, arguments, and the text of its result."""
EQUAL_CALLS = 3
"""Number of equal calls with equal answers in a turn from which the user is warned."""
MOST_ASKED = 16
"""Largest number of calls shown to the user at once; further calls follow once these are decided."""


class Calls:
    """Reads, decides and runs all calls of a step.

    Attributes:
        outcomes: One outcome per call, in the order of the answer.

    Args:
        answers: Counts equal calls with equal answers in the turn.
        stop: Called to stop the turn.
    """

    def __init__(
        self,
        services: Services,
        session: Session,
        *,
        step: int,
        asked: NextRequest,
        answers: Counter[CallAnswer],
        stop: Callable[[], None],
    ) -> None:
        self._services = services
        self._session = session
        self._step = step
        self._table = asked.table
        self._hub = asked.hub
        self._known = asked.known
        self._protocol = asked.protocol
        self._adapted = asked.adapted
        self._answers = answers
        self._stop = stop
        self._tools: dict[tuple[str, str], Tool] = {(tool.server, tool.name): tool for tool in services.pool.tools()}
        self.outcomes: list[Outcome] = []

    def read(self, calls: Sequence[FoldedCall], *, cut: str) -> None:
        """Show each call in the chat and find its tool. A call that cannot be run gets an error as its result at once.

        Args:
            calls: The calls in the model's answer.
            cut: Why the answer was cut, to explain an incomplete call.
        """
        self.outcomes = [self._read(folded.call, cut="" if folded.complete else cut) for folded in calls]

    async def run(self) -> None:
        """Decide and run each call, in the order of the answer. `results` is correct after a cancellation too."""
        asked = [(outcome, outcome.request) for outcome in self.outcomes if outcome.request is not None]
        async with anyio.create_task_group() as group:
            self._session.wait_for("tools")
            asked = await self._undecided(asked, group)
            while asked:
                asked = await self._checked(asked)
                now, later = asked[:MOST_ASKED], asked[MOST_ASKED:]
                again = await self._ask(now, group, later=len(later))
                await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped, ask no more
                asked = await self._undecided([*again, *later], group)

    async def _checked(self, asked: Sequence[tuple[Outcome, CallRequest]]) -> list[tuple[Outcome, CallRequest]]:
        """Check the arguments against the tools' schemas before the user is asked; returns the calls with the errors."""
        for outcome, request in asked:
            await self._check(outcome, request)
        return [(outcome, replace(request, misfits=outcome.misfits)) for outcome, request in asked]

    async def _check(self, outcome: Outcome, request: CallRequest) -> None:
        if outcome.misfits is None:
            outcome.misfits = await self._services.misfits(request.tool.schema, outcome.asked)
            if outcome.misfits:
                self._show(outcome, misfits="\n".join(outcome.misfits))

    @property
    def invalid(self) -> list[str]:
        """Return the faults of all calls if no call could be run; otherwise empty."""
        decisions = [outcome.decision for outcome in self.outcomes]
        wrong = [made.words for made in decisions if made is not None and made.verdict == "invalid"]
        return wrong if len(wrong) == len(decisions) else []

    async def _undecided(
        self, asked: Sequence[tuple[Outcome, CallRequest]], group: TaskGroup
    ) -> list[tuple[Outcome, CallRequest]]:
        """Apply the rules again, since a permission may have been given meanwhile; returns the calls to ask the user about.

        Permissions for the session wait until tools whose server announced a change have been listed again.
        """
        pool, policy = self._services.pool, self._session.policy
        left: list[tuple[Outcome, CallRequest]] = []
        waiting: list[tuple[Outcome, CallRequest]] = []
        for outcome, request in asked:
            decision = policy.decide(request, is_current=pool.has_current_tools(request.tool.server))
            if decision is not None:
                group.start_soon(self._check, outcome, request)
                self._decided(outcome, decision, group)
            else:
                (left if policy.decide(request) is None else waiting).append((outcome, request))
        for outcome, request in waiting:
            is_current = await pool.listed_again(request.tool.server)
            newer = self._redefined(request) or request
            decision = policy.decide(newer, is_current=is_current)
            if decision is None:
                left.append((outcome, newer))
            else:
                self._decided(outcome, decision, group)
        return left

    def results(self, running: str, waiting: str, *, state: Literal["stopped", "failed"]) -> list[ToolResult]:
        """Return a result for each call, in the order of the answer, also for calls that were left open.

        Args:
            running: Text for the model about calls that were running.
            waiting: Text for the model about calls that were not sent.
            state: State to show for calls that were left open.
        """
        results: list[ToolResult] = []
        for outcome in self.outcomes:
            if outcome.result is None:
                self._left_open(outcome, running, waiting, state)
            if outcome.result is not None:
                results.append(_with_edit(outcome.result, outcome))
        return results

    def _read(self, call: ToolCall, *, cut: str) -> Outcome:
        """Find the tool and parse the arguments. A call that cannot be run gets its result here."""
        try:
            meant = self._hub.interpret(call) if self._hub is not None and not cut else None
        except TuiHostError as error:
            outcome = self._open(call, HUB, call.name, call.arguments)
            self._invalid(outcome, error)
            return outcome
        if isinstance(meant, HostAnswer):
            return self._answered(call, meant)
        written = InvokedCall(name=call.name, arguments=call.arguments) if meant is None else meant
        server, name = self._table.resolve(written.name) or ("", written.name)
        outcome = self._open(call, server, name, written.arguments)
        try:
            tool = self._runnable(written.name, is_direct=meant is None, cut=cut)
            value = read_arguments(written.arguments)
            offered = self._table.name(tool.server, tool.name)
            outcome.resolved_from = written.name if written.name != offered else ""
            if meant is None and offered in self._adapted:
                value = self._adapted[offered].original(value)
        except TuiHostError as error:
            self._invalid(outcome, error)
            return outcome
        outcome.asked = value
        outcome.changed_numbers = changed_numbers(call.arguments) or changed_numbers(written.arguments)
        tool = described(tool, value)
        changed = difference(self._session.policy.approved(tool), tool)
        outcome.request = CallRequest(
            call=call.id,
            tool=tool,
            arguments=canonical(value),
            changed=changed,
            changed_numbers=outcome.changed_numbers,
        )
        return outcome

    def _open(self, call: ToolCall, server: str, tool: str, arguments: str) -> Outcome:
        """Add an item for a call to the chat."""
        item = CallItem(
            turn=self._session.turn, step=self._step, call=call.id, server=server, tool=tool, asked=arguments
        )
        number = self._session.conversation.add(item)
        return Outcome(call=call, number=number, server=server, tool=tool, asked=arguments)

    def _answered(self, call: ToolCall, answer: HostAnswer) -> Outcome:
        """Show a call that the host answers itself: it needs no decision and no server."""
        outcome = self._open(call, HUB, call.name, call.arguments)
        outcome.by_host = True
        outcome.result = ToolResult(call=call, content=(Text(text=answer.text),))
        self._show(outcome, state="done", words="answered by the host", result=answer.text)
        return outcome

    def _runnable(self, name: str, *, is_direct: bool, cut: str) -> Tool:
        """Return the offered tool that a call names; raises an error worded for the tool protocol if it cannot be called."""
        if cut:
            raise TuiHostError(f"the arguments were cut {cut}")
        if self._hub is not None and is_direct:
            raise self._hub.refused(name, self._spoken)
        names = self._table.resolve(name)
        tool = self._tools.get(names) if names is not None else None
        if tool is not None:
            return tool
        other_tools = [tool for tool in self._known if tool.name != name]
        near = [self._spoken(candidate) for candidate in nearest(name, other_tools)]
        remedy = f"there is {', '.join(near)}" if near else ""
        raise TuiHostError(f"there is no tool {self._spoken(name)}", remedy=remedy)

    def _spoken(self, name: str) -> str:
        return self._protocol.spoken(name, self._known)

    def _invalid(self, outcome: Outcome, error: TuiHostError) -> None:
        outcome.decision = Decision(
            verdict="invalid", by="default", arguments=outcome.call.arguments.encode(errors="replace"), words=str(error)
        )
        outcome.result = wording.invalid_of(outcome.call, error)
        outcome.is_error = True
        self._record(outcome)
        self._show(outcome, state="invalid", decision="invalid", by="default", words=str(error))

    async def _ask(
        self, asked: Sequence[tuple[Outcome, CallRequest]], group: TaskGroup, *, later: int
    ) -> list[tuple[Outcome, CallRequest]]:
        """Show the questions to the user and act on each answer at once.

        Args:
            asked: The calls to ask about now.
            group: Runs approved calls.
            later: Number of calls that the user will be asked about afterwards.

        Returns:
            Calls to ask about again, because the tool's definition changed before the answer.
        """
        outcomes: dict[str, Outcome] = {}
        again: list[tuple[Outcome, CallRequest]] = []

        def answered(question: Question, decision: Decision) -> None:
            outcome = outcomes[question.request.call]
            approved = decision.verdict in {"approved", "edited"}
            newer = self._redefined(question.request) if approved else None
            if newer is None:
                self._decided(outcome, decision, group)
            else:
                outcome.request = newer
                again.append((outcome, newer))

        questions: list[Question] = []
        for outcome, request in asked:
            outcomes[request.call] = outcome
            questions.append(Question(request, answered=answered, clock=self._services.clock, later=later))
            self._show(outcome, state="waiting")
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
        """Return the call with the tool's new definition, None if the definition has not changed."""
        tools = self._services.pool.tools()
        now = next(
            (tool for tool in tools if (tool.server, tool.name) == (request.tool.server, request.tool.name)), None
        )
        if now is None or now.fingerprint == request.tool.fingerprint:
            return None
        return replace(request, tool=now, changed=difference(request.tool, now))

    def _decided(self, outcome: Outcome, decision: Decision, group: TaskGroup) -> None:
        """Store a decision and carry it out: run the call, or give it a result."""
        outcome.decision = decision
        approved = decision.verdict in {"approved", "edited"}
        outcome.sent = approved
        if approved and decision.by == "person" and outcome.request is not None:
            self._session.policy.remember(outcome.request.tool)
        self._record(outcome)
        if approved:
            written = outcome.resolved_from
            self._show(
                outcome,
                state="running",
                decision=decision.verdict,
                by=decision.by,
                words=f"{decision.words}; the model wrote {written}" if written else decision.words,
                sent=decision.arguments.decode(),
                waited=decision.waited,
            )
            group.start_soon(self._send, outcome, decision)
            return
        outcome.result = wording.rejection_of(outcome.call, decision)
        self._show(outcome, state="rejected", decision=decision.verdict, by=decision.by, words=decision.words)
        if decision.stop:
            self._stop()

    async def _send(self, outcome: Outcome, decision: Decision) -> None:
        """Send an approved call to its server."""
        await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped since, send nothing
        outcome.began = True
        place = self._session.place(step=self._step, call=outcome.call.id)
        began = time.perf_counter()
        token = current_place.set(place)

        def progressed(progress: Progress) -> None:
            of = f"/{progress.total:g}" if progress.total is not None else ""
            self._show(outcome, progress=f"{progress.progress:g}{of} {progress.message}".strip(), keep=False)

        output: ToolOutput | None = None
        try:
            output = await self._services.pool.call(
                outcome.server,
                outcome.tool,
                decision.arguments,
                place=place,
                fingerprint=decision.fingerprint,
                on_progress=progressed,
            )
        except ServerError as error:
            outcome.milliseconds = (time.perf_counter() - began) * 1000
            outcome.result = wording.error_of(outcome.call, f"Error: {error}")
            outcome.is_error, outcome.fault = True, str(error)
            if not error.sent:
                outcome.sent = False
                self._show(outcome, sent="")
        else:
            outcome.milliseconds = (time.perf_counter() - began) * 1000
            outcome.result = wording.result_of(outcome.call, output)
            outcome.output = output.raw
            outcome.is_error = output.is_error
            self._show_contents(outcome, output)
            if output.is_resent:
                self._show(outcome, words=f"{decision.words}; {wording.SENT_AGAIN}")
        finally:
            current_place.reset(token)
        result = text_of(outcome.result)
        answer = (outcome.server, outcome.tool, decision.arguments, result)
        self._answers[answer] += 1
        equal = self._answers[answer]
        self._show(
            outcome,
            state="failed" if outcome.is_error else "done",
            result=result,
            notice=wording.equal_calls_of(equal) if equal >= EQUAL_CALLS else "",
            milliseconds=outcome.milliseconds,
        )
        if output is not None:
            await self._check_output(outcome, output)

    def _show_contents(self, outcome: Outcome, output: ToolOutput) -> None:
        """Show what the result contains besides plain text; stored by the next change."""
        self._show(
            outcome,
            keep=False,
            contents=result_contents.content_lines(output),
            structured=result_contents.structured_text(output),
            page="" if outcome.request is None else outcome.request.tool.page,
        )

    async def _check_output(self, outcome: Outcome, output: ToolOutput) -> None:
        """Check the structured content against the tool's output schema, after the result is shown."""
        schema = None if outcome.request is None else outcome.request.tool.output_schema
        if not result_contents.needs_check(schema, output):
            return
        if output.has_structured:
            outcome.output_misfits = await self._services.misfits(schema, output.structured)
            words = [result_contents.UNCHECKED] if outcome.output_misfits is None else outcome.output_misfits
        else:
            words = outcome.output_misfits = [result_contents.NO_STRUCTURE]
        if words:
            self._show(outcome, output_misfits="\n".join(words))

    def _left_open(self, outcome: Outcome, running: str, waiting: str, state: Literal["stopped", "failed"]) -> None:
        """Close a call whose turn ended before the call had a result."""
        if outcome.began:
            outcome.is_error, outcome.fault = True, wording.CUT_RUNNING
            outcome.result = wording.error_of(outcome.call, running)
            self._show(outcome, state=state, words=wording.CUT_RUNNING)
            return
        outcome.sent = False
        outcome.result = wording.error_of(outcome.call, waiting)
        if outcome.decision is not None:
            outcome.fault = wording.CUT_BEFORE
            self._show(outcome, state=state, sent="", words=f"{outcome.decision.words}; {wording.CUT_BEFORE}")
        elif outcome.request is not None:
            outcome.fault = wording.NOT_DECIDED
            outcome.decision = refused(outcome.request, verdict="stopped", words=wording.NOT_DECIDED)
            self._record(outcome)
            self._show(outcome, state="stopped", decision="stopped", by="default", words=wording.NOT_DECIDED)

    def _show(self, outcome: Outcome, *, keep: bool = True, **changes: object) -> None:
        item = self._session.conversation[outcome.number]
        if isinstance(item, CallItem):
            changed = replace(item, **changes)
            self._session.conversation.put(outcome.number, changed, keep=keep)

    def _record(self, outcome: Outcome) -> None:
        """Record the decision together with the fingerprint of the tool's definition."""
        place = self._session.place(step=self._step, call=outcome.call.id)
        self._services.recorder.append(decision_draft(outcome, place))


def described(tool: Tool, arguments: JSON) -> Tool:
    """Return a resource reader with the title and description of the requested resource; returns a real tool unchanged."""
    uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
    match = next((resource for resource in tool.resources or () if resource.uri == uri), None)
    return tool if match is None else replace(tool, title=match.name, description=match.description)


def difference(before: Tool | None, now: Tool) -> str:
    """Describe in a few words how a tool's definition changed; empty if it did not change."""
    if before is None or before.fingerprint == now.fingerprint:
        return ""
    sentences = changes((before,), (now,))
    return sentences[0].removeprefix(f"{now.name} changed: ") if sentences else "where it runs"


def _with_edit(result: ToolResult, outcome: Outcome) -> ToolResult:
    decision = outcome.decision
    if not outcome.sent or decision is None or decision.verdict != "edited":
        return result
    return wording.edited_of(result, decision.arguments)


def text_of(result: ToolResult | None) -> str:
    """Return the texts of a result."""
    return "" if result is None else "\n".join(block.text for block in result.content if isinstance(block, Text))
