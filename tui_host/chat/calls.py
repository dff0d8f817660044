"""Reads, decides and runs the calls of a step, each as soon as it is approved; and runs those that the user makes without a model."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio.lowlevel

from tui_host.capture.json.narrowing import mapping
from tui_host.chat import result_words as wording
from tui_host.chat.call_arguments import canonical, changed_numbers, read_arguments
from tui_host.chat.conversation import CallItem, CallState
from tui_host.chat.next_request import HUB, interpret
from tui_host.chat.policy import CallRequest, Decision, Question
from tui_host.chat.turn_result import Outcome
from tui_host.errors import JSON, ServerError, TuiHostError
from tui_host.llm.messages import Text, ToolCall, ToolResult
from tui_host.llm.tool_names import nearest
from tui_host.servers.catalog import READ
from tui_host.servers.catalog_changes import changed_parts

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from tui_host.capture.recorder import Recorder
    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.step import Services
    from tui_host.llm.fold import FoldedCall
    from tui_host.servers.catalog import CallProgress, Tool, ToolOutput
    from tui_host.servers.pool import Pool

EQUAL_CALLS = 3
"""Number of equal calls in a turn at which the user is warned."""
MOST_ASKED = 16
"""Largest number of calls shown to the user at once; further calls follow once these are decided."""

BY_YOU, NOBODY = "called by you", "refused: nobody was there to decide"
SentCall: TypeAlias = tuple[str, str, bytes]
_Undecided: TypeAlias = tuple[Outcome, CallRequest]


@dataclass(slots=True, kw_only=True)
class Calls:
    """All calls of a step, with an outcome for each, in the order of the answer.

    `repeats` counts the turn's equal calls; `stop` ends the turn.
    """

    services: Services
    session: Session
    request: NextRequest
    repeats: Counter[SentCall]
    stop: Callable[[], None]
    outcomes: list[Outcome] = field(default_factory=list[Outcome])

    def read(self, calls: Sequence[FoldedCall], *, cut: str) -> None:
        """Show each call in the chat and find its tool; `cut` says why the answer was cut. What cannot be run gets its result at once."""
        session = self.session
        for folded in calls:
            call = folded.call
            server, name = self.request.offer.table.resolve(call.name) or ("", call.name)
            item = CallItem(
                turn=session.turn, step=session.step, call=call.id, server=server, tool=name, asked=call.arguments
            )
            outcome = Outcome(call=call, item=item, server=server, tool=name, asked=call.arguments)
            self.outcomes.append(outcome)
            try:
                self._understand(outcome, cut="" if folded.complete else cut)
            except TuiHostError as error:
                outcome.result = wording.error_of(call, f"Error: {error}. Nothing was run.")
                outcome.is_error = True
                arguments = call.arguments.encode(errors="replace")  # a model's text may hold lone surrogates
                decision = Decision(verdict="invalid", by="default", arguments=arguments, words=str(error))
                self._record(outcome, decision, state="invalid")

    async def run(self) -> None:
        """Decide and run each call, in the order of the answer. `results` is correct after a cancellation too."""
        asked = [(outcome, outcome.request) for outcome in self.outcomes if outcome.request is not None]
        async with anyio.create_task_group() as group:
            self.session.wait_for("tools")
            asked = await self._apply_rules(asked, group)
            while asked:
                asked = [await self._with_misfits(outcome, request) for outcome, request in asked]
                now, later = asked[:MOST_ASKED], asked[MOST_ASKED:]
                again = await self._ask(now, group, later=len(later))
                await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped, ask no more
                asked = await self._apply_rules([*again, *later], group)

    def results(self, running: str, waiting: str, *, state: Literal["stopped", "failed"]) -> list[ToolResult]:
        """Return a result for each call, in order, also for those left open: `running` and `waiting` tell the model, `state` the user."""
        results: list[ToolResult] = []
        for outcome in self.outcomes:
            if outcome.result is None:
                text = running if outcome.began else waiting
                if outcome.began:
                    outcome.is_error, outcome.fault = True, wording.CUT_RUNNING
                    self._show(outcome, state=state, words=wording.CUT_RUNNING)
                elif outcome.decision is not None:
                    outcome.sent, outcome.fault = False, wording.CUT_BEFORE
                    words = f"{outcome.decision.words}; {wording.CUT_BEFORE}"
                    self._show(outcome, state=state, words=words, sent="")
                elif outcome.request is not None:
                    outcome.fault = wording.NOT_DECIDED
                    decision = outcome.request.decided("stopped", "default", wording.NOT_DECIDED)
                    self._record(outcome, decision, state="stopped")
                sent = outcome.decision if outcome.sent else None
                outcome.result = wording.told_of(wording.error_of(outcome.call, text), sent)
            results.append(outcome.result)
        return results

    # Reading.

    def _understand(self, outcome: Outcome, *, cut: str) -> None:
        """Find out which tool is called, with which arguments, and show the call. Raises TuiHostError for one that cannot be run."""
        if cut:
            raise TuiHostError(f"the arguments were cut {cut}")
        offer, meant = self.request.offer, outcome.call
        if offer.behind is not None:
            outcome.server, outcome.tool = HUB, meant.name
            answer = interpret(meant, offer.behind, self._spoken)
            if isinstance(answer, str):  # it needs no decision and no server
                outcome.by_host, outcome.result = True, ToolResult(call=meant, content=(Text(text=answer),))
                self._show(outcome, state="done", words="answered by the host", result=answer)
                return
            meant = answer
        outcome.server, outcome.tool = offer.table.resolve(meant.name) or ("", meant.name)
        outcome.item = replace(outcome.item, asked=meant.arguments)
        outcome.asked = meant.arguments
        # Looked up among the tools of now: a server may have changed them since the request.
        named, tools = (outcome.server, outcome.tool), self.services.pool.tools()
        tool = next((tool for tool in tools if (tool.server, tool.name) == named), None)
        if tool is None:
            others = [other for other in offer.known if other.name != meant.name]
            near = [self._spoken(candidate) for candidate in nearest(meant.name, others)]
            remedy = f"there is {', '.join(near)}" if near else ""
            raise TuiHostError(f"there is no tool {self._spoken(meant.name)}", remedy=remedy)
        value = read_arguments(meant.arguments)
        offered = offer.table.names[tool.server, tool.name]
        outcome.resolved_from = meant.name if meant.name != offered else ""
        if offered in self.request.adapted:
            value = self.request.adapted[offered].original(value)
        outcome.asked = value
        # The hub writes the inner arguments anew: only the whole call has the numbers as the model wrote them.
        outcome.changed_numbers = changed_numbers(outcome.call.arguments)
        # Of a resource reader, the person is shown what the requested resource is.
        uri = mapping(value).get("uri")
        resource = next((resource for resource in tool.resources or () if resource.uri == uri), None)
        if resource is not None:
            tool = replace(tool, title=resource.name, description=resource.description)
        policy = self.session.policy
        outcome.request = CallRequest(
            call=outcome.call.id,
            tool=tool,
            arguments=canonical(value),
            changed=difference(policy.approved.get((tool.server, tool.name)), tool) or policy.void(tool),
            changed_numbers=outcome.changed_numbers,
        )
        self._show(outcome)

    def _spoken(self, name: str) -> str:
        return self.request.protocol.spoken(name, self.request.offer.known)

    # What became of a call.

    def _show(self, outcome: Outcome, *, keep: bool = True, **changes: object) -> None:
        outcome.item = replace(outcome.item, server=outcome.server, tool=outcome.tool, **changes)
        if outcome.number is None:
            outcome.number = self.session.conversation.add(outcome.item)
        else:
            self.session.conversation.put(outcome.number, outcome.item, keep=keep)

    def _record(self, outcome: Outcome, decision: Decision, *, state: CallState) -> None:
        """Keep a decision, as a record too, and show it."""
        outcome.decision, outcome.sent = decision, decision.is_approval
        place = self.session.place(step=self.session.step, call=outcome.call.id)
        self.services.recorder.append(outcome.record(place))
        words, sent = decision.words, ""
        if outcome.sent:
            sent = decision.arguments.decode()
            words += f"; the model wrote {outcome.resolved_from}" if outcome.resolved_from else ""
        outcome.item = replace(outcome.item, decision=decision.verdict, by=decision.by, waited=decision.waited)
        self._show(outcome, state=state, sent=sent, words=words)

    # Deciding.

    async def _apply_rules(self, asked: Sequence[_Undecided], group: TaskGroup) -> list[_Undecided]:
        """Decide by rules, again each time, since a permission may have been given; returns the calls to ask about."""
        pool, policy = self.services.pool, self.session.policy
        left: list[_Undecided] = []
        for outcome, first in asked:
            request = first
            decision = policy.decide(request, is_current=pool.has_current_tools(request.tool.server))
            if decision is None and policy.decide(request) is not None:
                # A permission for the session counts once tools whose server announced a change are listed again.
                is_current = await pool.listed_again(request.tool.server)
                request = outcome.request = self._redefined(request) or request
                decision = policy.decide(request, is_current=is_current)
            if decision is None:
                left.append((outcome, request))
            else:
                group.start_soon(self._with_misfits, outcome, request)  # only shown: the call does not wait for it
                self._decided(outcome, decision, group)
        return left

    async def _with_misfits(self, outcome: Outcome, request: CallRequest) -> _Undecided:
        if outcome.misfits is None:
            outcome.misfits = await self.services.misfits(request.tool.schema, outcome.asked)
            if outcome.misfits:
                self._show(outcome, misfits="\n".join(outcome.misfits))
        return outcome, replace(request, misfits=outcome.misfits)

    async def _ask(self, asked: Sequence[_Undecided], group: TaskGroup, *, later: int) -> list[_Undecided]:
        """Show the questions to the user and act on each answer at once; returns calls whose definition changed under the question."""
        again: list[_Undecided] = []

        def answered(outcome: Outcome, question: Question, decision: Decision) -> None:
            newer = self._redefined(question.request) if decision.is_approval else None
            if newer is None:
                self._decided(outcome, decision, group)
            else:
                outcome.request = newer
                again.append((outcome, newer))

        questions: list[Question] = []
        for outcome, request in asked:
            on_answer = partial(answered, outcome)
            questions.append(Question(request, answered=on_answer, clock=self.services.clock, later=later))
            self._show(outcome, state="waiting", why=self.session.policy.why_asked(request.tool))
        self.session.questions = questions
        self.session.wait_for("you")
        try:
            await self.services.approver.decide(questions)
            for question in questions:  # an open one takes this answer; the others have theirs
                question.answer(question.request.decided("rejected", "default", NOBODY))
        finally:
            for question in questions:  # a key pressed late must not decide a call of a turn that has ended
                question.is_void = True
            self.session.questions = []
        self.session.wait_for("tools")
        return again

    def _redefined(self, request: CallRequest) -> CallRequest | None:
        """Return the request with the tool's definition of now, None if that has not changed."""
        before, tools = request.tool, self.services.pool.tools()
        now = next((tool for tool in tools if (tool.server, tool.name) == (before.server, before.name)), before)
        if now.fingerprint == before.fingerprint:
            return None
        return replace(request, tool=now, changed=difference(before, now))

    def _decided(self, outcome: Outcome, decision: Decision, group: TaskGroup) -> None:
        """Carry a decision out: run the call, or give it a result."""
        if not decision.is_approval:
            reason = f" The user's reason: {decision.reason}" if decision.reason else ""
            outcome.result = wording.error_of(outcome.call, f"{wording.REJECTED[decision.by]}{reason}")
            self._record(outcome, decision, state="rejected")
            if decision.stop:
                self.stop()
            return
        if decision.by == "person" and outcome.request is not None:
            tool = outcome.request.tool  # what the question before its next call compares with: seen by a person
            self.session.policy.approved[tool.server, tool.name] = tool
        self._record(outcome, decision, state="running")  # before it is sent: a killed program leaves the decision
        group.start_soon(self._send, outcome, decision)

    # Running.

    async def _send(self, outcome: Outcome, decision: Decision) -> None:
        await anyio.lowlevel.checkpoint_if_cancelled()  # if the turn was stopped since, send nothing
        outcome.began = True
        sent = (outcome.server, outcome.tool, decision.arguments)
        self.repeats[sent] += 1
        if self.repeats[sent] == EQUAL_CALLS and decision.by == "flag":  # no person sees each call before it runs
            what = f"{outcome.server}.{outcome.tool} runs for the third time in this turn with the same arguments"
            self.session.note(what, remedy="without the flag that allows it, each call is asked about")
        began = time.perf_counter()
        try:
            output = await self.services.pool.call(
                outcome.server,
                outcome.tool,
                decision.arguments,
                place=self.session.place(step=self.session.step, call=outcome.call.id),
                fingerprint=decision.fingerprint,
                # A server may report a hundred times a second: the frames are on the disk, the item waits for its end.
                on_progress=lambda report: self._show(outcome, keep=False, progress=wording.progress_words(report)),
            )
        except ServerError as error:
            result = wording.error_of(outcome.call, f"Error: {error}")
            outcome.fault, outcome.sent = str(error), error.sent
            if not error.sent:  # it never left: neither the chat nor the history may say that it ran
                outcome.item = replace(outcome.item, sent="")
            output = None
        else:
            outcome.output, result = output.raw, wording.result_of(outcome.call, output)
            outcome.item = replace(
                outcome.item,
                contents=wording.content_lines(output),
                structured=wording.structured_text(output),
                page=outcome.request.tool.page if outcome.request is not None else "",
                words=f"{decision.words}; {wording.SENT_AGAIN}" if output.is_resent else outcome.item.words,
            )
            with anyio.CancelScope(shield=True):  # whoever stops the turn now still gets the result
                await self.services.until_kept()
        outcome.milliseconds = (time.perf_counter() - began) * 1000
        outcome.is_error = result.is_error
        outcome.result = wording.told_of(result, outcome.decision if outcome.sent else None)
        state, text = "failed" if result.is_error else "done", wording.text_of(result)
        self._show(outcome, state=state, result=text, milliseconds=outcome.milliseconds)
        # The structured content is checked after the result is shown.
        schema = None if outcome.request is None else outcome.request.tool.output_schema
        if output is None or output.is_error or not isinstance(schema, Mapping | bool):
            return  # a failed call owes none. Source: MCP 2025-11-25, Tools, Output Schema.
        if output.has_structured:
            outcome.output_misfits = await self.services.misfits(schema, output.structured)
            words = [wording.UNCHECKED] if outcome.output_misfits is None else outcome.output_misfits
        else:
            words = outcome.output_misfits = [wording.NO_STRUCTURE]
        if words:
            self._show(outcome, output_misfits="\n".join(words))


async def call_directly(
    pool: Pool,
    recorder: Recorder,
    session: Session,
    tool: Tool,
    arguments: bytes,
    *,
    on_progress: Callable[[CallProgress], None] = lambda _: None,
) -> ToolOutput:
    """Call a tool, or read a resource, in a turn of its own; `arguments` are the canonical bytes to send. It needs no approval."""
    text, server, name = arguments.decode(), tool.server, tool.name
    value: JSON = json.loads(text)
    uri = mapping(value).get("uri") if name == READ else None
    session.begin_turn(f"read {server} {uri}" if uri else f"call {server}.{name} {text}")
    call = ToolCall(id=f"direct_{session.turn}", wire_id="", name=f"{server}.{name}", arguments=text)
    decision = Decision(
        verdict="approved", by="person", arguments=arguments, fingerprint=tool.fingerprint, words=BY_YOU
    )
    item = CallItem(turn=session.turn, step=1, call=call.id, server=server, tool=name, asked=text, sent=text)
    item = replace(item, state="running", decision=decision.verdict, by=decision.by, words=BY_YOU)
    number = session.conversation.add(item)
    outcome = Outcome(call=call, item=item, server=server, tool=name, asked=value, decision=decision, sent=True)
    place = session.place(step=1, call=call.id)
    recorder.append(outcome.record(place))
    began = time.perf_counter()
    # What stands if this is cancelled while the server works.
    item = replace(item, state="failed", result="stopped; the tool may have run")
    try:
        output = await pool.call(
            server, name, arguments, place=place, fingerprint=tool.fingerprint, on_progress=on_progress
        )
        state, result = "failed" if output.is_error else "done", "\n".join(block.text for block in output.content)
        item = replace(item, state=state, result=result)
    except ServerError as error:
        item = replace(item, result=str(error))
        raise
    finally:
        session.conversation.put(number, replace(item, milliseconds=(time.perf_counter() - began) * 1000))
        session.save()
    return output


def difference(before: Tool | None, now: Tool) -> str:
    """Describe in a few words how a tool's definition changed; empty if it did not change."""
    if before is None or before.fingerprint == now.fingerprint:
        return ""
    return ", ".join(changed_parts(before, now)) or "where it runs"
