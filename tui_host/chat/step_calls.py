"""Takes the calls of a step from reading and decision to their results, each as early as possible."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from tui_host.capture.conversation_context import current_place
from tui_host.capture.record import Draft
from tui_host.chat import result_words as wording
from tui_host.chat.call_arguments import canonical, read_arguments
from tui_host.chat.conversation import CallItem
from tui_host.chat.policy import CallRequest, Decision, Question, refused
from tui_host.chat.tool_hub import HUB, Answer, Inner
from tui_host.chat.turn_result import Outcome
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.tool_names import nearest
from tui_host.servers.tool_definitions import changes

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.turn_services import Services
    from tui_host.llm.fold import FoldedCall
    from tui_host.servers.catalog import Progress, Tool


MOST_ASKED = 16
"""Most calls put before the user at a time; further calls follow once these are decided."""


class Calls:
    """Takes all calls of a step to their results.

    Attributes:
        outcomes: One for each call, in the order asked.
    """

    def __init__(
        self, services: Services, session: Session, *, step: int, asked: NextRequest, stop: Callable[[], None]
    ) -> None:
        self._services = services
        self._session = session
        self._step = step
        self._table = asked.table
        self._hub = asked.hub
        self._known = asked.known
        self._speaks = asked.speaks
        self._stop = stop
        self._tools: dict[tuple[str, str], Tool] = {(tool.server, tool.name): tool for tool in services.pool.tools()}
        self.outcomes: list[Outcome] = []

    def read(self, calls: Sequence[FoldedCall], *, cut: str) -> None:
        """Show each call in the chat and find its tool; a call that cannot be run gets its result at once.

        Args:
            calls: The calls as read from the answer.
            cut: Where an incomplete call was cut.
        """
        self.outcomes = [self._read(folded.call, cut="" if folded.complete else cut) for folded in calls]

    async def run(self) -> None:
        """Take each call to its end, in the order asked. `results` is truthful after a cancellation too."""
        asked = [(outcome, outcome.request) for outcome in self.outcomes if outcome.request is not None]
        async with anyio.create_task_group() as group:
            self._session.wait_for("tools")
            asked = self._undecided(asked, group)
            while asked:
                now, later = asked[:MOST_ASKED], asked[MOST_ASKED:]
                again = await self._ask(now, group, later=len(later))
                await anyio.lowlevel.checkpoint_if_cancelled()  # stopped: no more is asked
                asked = self._undecided([*again, *later], group)

    @property
    def invalid(self) -> list[str]:
        """The faults of all calls, if none of the calls could be run; else empty."""
        decisions = [outcome.decision for outcome in self.outcomes]
        wrong = [made.words for made in decisions if made is not None and made.verdict == "invalid"]
        return wrong if len(wrong) == len(decisions) else []

    def _undecided(
        self, asked: Sequence[tuple[Outcome, CallRequest]], group: TaskGroup
    ) -> list[tuple[Outcome, CallRequest]]:
        """Apply the rules again, and return the calls to ask the user about: a permission may have been given meanwhile."""
        left: list[tuple[Outcome, CallRequest]] = []
        for outcome, request in asked:
            decision = self._session.policy.decide(request)
            if decision is None:
                left.append((outcome, request))
            else:
                self._decided(outcome, decision, group)
        return left

    def results(self, running: str, waiting: str) -> list[ToolResult]:
        """Return a result for each call, in the order asked, truthful about calls left open.

        Args:
            running: Text for calls that were running.
            waiting: Text for calls that were not sent.
        """
        results: list[ToolResult] = []
        for outcome in self.outcomes:
            if outcome.result is None:
                self._left_open(outcome, running, waiting)
            if outcome.result is not None:
                results.append(outcome.result)
        return results

    def _read(self, call: ToolCall, *, cut: str) -> Outcome:
        """Find the tool and read the arguments; a call that cannot be run gets its result here."""
        try:
            meant = self._hub.meant(call) if self._hub is not None and not cut else None
        except TuiHostError as error:
            outcome = self._open(call, HUB, call.name, call.arguments)
            self._invalid(outcome, error)
            return outcome
        if isinstance(meant, Answer):
            return self._answered(call, meant)
        written = Inner(name=call.name, arguments=call.arguments) if meant is None else meant
        server, name = self._table.find(written.name) or ("", written.name)
        outcome = self._open(call, server, name, written.arguments)
        try:
            tool = self._runnable(written.name, is_direct=meant is None, cut=cut)
            value = read_arguments(written.arguments)
        except TuiHostError as error:
            self._invalid(outcome, error)
            return outcome
        outcome.asked = value
        tool = described(tool, value)
        changed = difference(self._session.policy.approved(tool), tool)
        outcome.request = CallRequest(call=call.id, tool=tool, arguments=canonical(value), changed=changed)
        return outcome

    def _open(self, call: ToolCall, server: str, tool: str, arguments: str) -> Outcome:
        """Show a call in the chat."""
        item = CallItem(
            turn=self._session.turn, step=self._step, call=call.id, server=server, tool=tool, asked=arguments
        )
        number = self._session.conversation.add(item)
        return Outcome(call=call, number=number, server=server, tool=tool, asked=arguments)

    def _answered(self, call: ToolCall, answer: Answer) -> Outcome:
        """Show a call answered by the host itself: no decision is needed, and no server is asked."""
        outcome = self._open(call, HUB, call.name, call.arguments)
        outcome.by_host = True
        outcome.result = ToolResult(call=call, content=(Text(text=answer.text),))
        self._show(outcome, state="done", words="answered by the host", result=answer.text)
        return outcome

    def _runnable(self, name: str, *, is_direct: bool, cut: str) -> Tool:
        """Return the offered tool for a call, or raise a description of the fault in the tool protocol's terms."""
        if cut:
            raise TuiHostError(f"the arguments were cut {cut}")
        if self._hub is not None and is_direct:
            raise self._hub.refused(name, self._spoken)
        names = self._table.find(name)
        tool = self._tools.get(names) if names is not None else None
        if tool is not None:
            return tool
        other_tools = [tool for tool in self._known if tool.name != name]
        near = [self._spoken(candidate) for candidate in nearest(name, other_tools)]
        remedy = f"there is {', '.join(near)}" if near else ""
        raise TuiHostError(f"there is no tool {self._spoken(name)}", remedy=remedy)

    def _spoken(self, name: str) -> str:
        return self._speaks.spoken(name, self._known)

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
        """Put the questions before the user and act on each answer at once.

        Args:
            asked: The calls to ask about now.
            group: Runs approved calls.
            later: Number of calls to ask about afterwards.

        Returns:
            Calls to ask about again, because the tool's definition had changed before the answer.
        """
        outcomes: dict[str, Outcome] = {}
        again: list[tuple[Outcome, CallRequest]] = []

        def answered(question: Question, decision: Decision) -> None:
            outcome = outcomes[question.request.call]
            newer = self._redefined(question.request, decision)
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

    def _redefined(self, request: CallRequest, decision: Decision) -> CallRequest | None:
        """Return a new question if the approved definition is no longer current, else None."""
        tools = self._services.pool.tools()
        now = next(
            (tool for tool in tools if (tool.server, tool.name) == (request.tool.server, request.tool.name)), None
        )
        if decision.verdict not in {"approved", "edited"} or now is None or now.fingerprint == decision.fingerprint:
            return None
        return replace(request, tool=now, changed=difference(request.tool, now))

    def _decided(self, outcome: Outcome, decision: Decision, group: TaskGroup) -> None:
        """Store a decision and carry it out."""
        outcome.decision = decision
        approved = decision.verdict in {"approved", "edited"}
        outcome.sent = approved
        if approved and decision.by == "person" and outcome.request is not None:
            self._session.policy.remember(outcome.request.tool)
        self._record(outcome)
        if approved:
            self._show(
                outcome,
                state="running",
                decision=decision.verdict,
                by=decision.by,
                words=decision.words,
                sent=decision.arguments.decode(),
            )
            group.start_soon(self._send, outcome, decision)
            return
        outcome.result = wording.rejection_of(outcome.call, decision)
        self._show(outcome, state="rejected", decision=decision.verdict, by=decision.by, words=decision.words)
        if decision.stop:
            self._stop()

    async def _send(self, outcome: Outcome, decision: Decision) -> None:
        """Run an approved call on its server."""
        await anyio.lowlevel.checkpoint_if_cancelled()  # stopped since: nothing is sent
        outcome.began = True
        place = self._session.place(step=self._step, call=outcome.call.id)
        began = time.perf_counter()
        token = current_place.set(place)

        def progressed(progress: Progress) -> None:
            of = f"/{progress.total:g}" if progress.total is not None else ""
            self._show(outcome, progress=f"{progress.progress:g}{of} {progress.message}".strip(), keep=False)

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
        finally:
            current_place.reset(token)
        self._show(
            outcome,
            state="failed" if outcome.is_error else "done",
            result=text_of(outcome.result),
            milliseconds=outcome.milliseconds,
        )

    def _left_open(self, outcome: Outcome, running: str, waiting: str) -> None:
        """Close a call whose turn ended before its result."""
        if outcome.began:
            outcome.is_error, outcome.fault = True, wording.CUT_RUNNING
            outcome.result = wording.error_of(outcome.call, running)
            self._show(outcome, state="failed", words=wording.CUT_RUNNING)
            return
        outcome.sent = False
        outcome.result = wording.error_of(outcome.call, waiting)
        if outcome.decision is not None:
            outcome.fault = wording.CUT_BEFORE
            self._show(outcome, state="rejected", sent="", words=f"{outcome.decision.words}; {wording.CUT_BEFORE}")
        elif outcome.request is not None:
            outcome.fault = wording.NOT_DECIDED
            outcome.decision = refused(outcome.request, words=wording.NOT_DECIDED)
            self._record(outcome)
            self._show(outcome, state="rejected", decision="rejected", by="default", words=wording.NOT_DECIDED)

    def _show(self, outcome: Outcome, *, keep: bool = True, **changes: object) -> None:
        item = self._session.conversation[outcome.number]
        if isinstance(item, CallItem):
            changed = replace(item, **changes)
            self._session.conversation.put(outcome.number, changed, keep=keep)

    def _record(self, outcome: Outcome) -> None:
        """Record the decision with the fingerprint of the tool's definition."""
        value = outcome.to_json()
        if outcome.decision is not None:
            value["words"] = outcome.decision.words
            value["definition"] = outcome.decision.fingerprint
        self._services.recorder.append(
            Draft(
                wire="host",
                kind="decision",
                place=self._session.place(step=self._step, call=outcome.call.id),
                data=json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"),
            )
        )


def described(tool: Tool, arguments: JSON) -> Tool:
    """Return the resource reader with the requested resource's title and description; a real tool unchanged."""
    uri = arguments.get("uri") if isinstance(arguments, Mapping) else None
    match = next((resource for resource in tool.resources or () if resource.uri == uri), None)
    return tool if match is None else replace(tool, title=match.name, description=match.description)


def difference(before: Tool | None, now: Tool) -> str:
    """Describe in a few words how a tool's definition changed, empty if it did not."""
    if before is None or before.fingerprint == now.fingerprint:
        return ""
    sentences = changes((before,), (now,))
    return sentences[0].removeprefix(f"{now.name} changed: ") if sentences else "where it runs"


def text_of(result: ToolResult | None) -> str:
    """Return the texts of a result."""
    return "" if result is None else "\n".join(block.text for block in result.content if isinstance(block, Text))
