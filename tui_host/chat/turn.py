"""The turn loop, shared by all dialects and tool protocols, the app and the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel
from anyio import to_thread

from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import AppliedProfile, apply_profile, offers
from tui_host.chat.calls import Calls, SentCall
from tui_host.chat.conversation import SummaryItem, UserItem
from tui_host.chat.images import refused_images
from tui_host.chat.next_request import build_request, host_message, session_protocol
from tui_host.chat.policy import StepLimit
from tui_host.chat.session import message_parts
from tui_host.chat.step import Step
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import ModelError, TuiHostError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import CallMalformed
from tui_host.llm.messages import Message, Part, Text
from tui_host.llm.protocols.reader import called_in
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.llm.protocols.tool_protocol import ToolProtocol
from tui_host.llm.unread_calls import UnreadCall, unread_call

if TYPE_CHECKING:
    from tui_host.chat.next_request import Offer
    from tui_host.chat.session import Session
    from tui_host.chat.step import Services
    from tui_host.llm.fold import Fold
    from tui_host.llm.messages import ToolSpec
    from tui_host.settings.schema import Provider

MOST_CORRECTIONS = 3
"""Largest number of corrections in a row, for calls that cannot be read or name no existing tool. Then the turn ends."""
MOST_SAME = 3
"""Largest number of times in a row that the same calls with the same arguments are run."""
MOST_READ, MOST_NAMED = 20_000, 8
"""Characters of text behind a call in which further calls are sought, and how many of these are named."""
MOST_SOURCES = 10
"""Largest number of sources listed in the chat; the inspector shows all."""
RESOURCES_SECONDS = 2.0
"""Seconds that a turn waits for lists of resources, if the tool protocol's prompt mentions resources."""


@dataclass(slots=True)
class CallMistakes:
    """The model's mistakes during a turn."""

    malformed: int = 0  # answers in a row whose calls could not be read or run
    repeats: int = 0  # times in a row that the model asked for the same calls
    calls_behind: list[str] = field(default_factory=list[str])  # called in text that was cut after an answer's call
    unread: UnreadCall | None = None  # the call that the server left in the answer
    _last: tuple[tuple[str, str], ...] = ()

    def examine(self, fold: Fold, protocol: ToolProtocol, tools: Sequence[ToolSpec]) -> None:
        """Examine an answer for mistakes, with the tools whose names the model may know; adds to the fold's `malformed`."""
        cut = "".join(piece.text for piece in fold.cut_off) if fold.calls else ""
        behind = called_in(cut[:MOST_READ], protocol.grammar, tools) if isinstance(protocol, TextProtocol) else ()
        self.calls_behind = [protocol.spoken(name, tools) for name in islice(behind, MOST_NAMED)]
        unread, is_empty = None, not fold.text.strip()
        if not fold.calls and not fold.malformed and fold.stop in {"end", "tools"}:
            text = fold.thinking if is_empty else fold.text
            unread = unread_call(text, tools, besides=protocol.name, is_thinking=is_empty)
        if protocol.name == "native":
            self.unread = unread  # the text is the answer, which goes back unchanged: the user is told, not the model
            return
        reason = "the answer was empty" if is_empty else ""
        if unread is not None:
            reason = unread.reason
        # Calls, an early end, and an element for answers stand in the way of a correction.
        is_plain = fold.stop == "end" and not (fold.calls or fold.malformed or fold.unreadable)
        is_plain = is_plain and not any(isinstance(part, Text) and part.written for part in fold.message(turn=0).parts)
        if reason and is_plain:
            fold.add(CallMalformed(reason=reason, start=0, end=0))
        # Spaces between the arguments do not make it another call.
        asked = tuple((folded.call.name, "".join(folded.call.arguments.split())) for folded in fold.calls)
        self.repeats = self.repeats + 1 if asked and asked == self._last else int(bool(asked))
        self._last = asked


@dataclass(slots=True, eq=False)
class Turn:
    """Runs a turn: asks the model, runs its calls, and repeats until the model answers without a call."""

    services: Services
    session: Session
    result: TurnResult = field(default_factory=TurnResult, init=False)
    # Replaced by the session's tool protocol when the turn begins.
    _protocol: ToolProtocol = field(default_factory=ToolProtocol, init=False)
    _offer: Offer | None = field(default=None, init=False)  # of the last step, used again until the tools change
    _mistakes: CallMistakes = field(default_factory=CallMistakes, init=False)
    _repeats: Counter[SentCall] = field(default_factory=Counter[SentCall], init=False)
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope, init=False)
    # Both stand only as long as their answer or results are not in the history: what an early end must still keep.
    _step: Step | None = field(default=None, init=False)
    _calls: Calls | None = field(default=None, init=False)
    _has_warned_of_window: bool = field(default=False, init=False)
    _began: float = field(default=0.0, init=False)
    _money_before: float = field(default=0.0, init=False)  # what the session had cost

    def stop(self) -> None:
        """End the turn now. Everything so far is kept; undecided calls are not sent."""
        for question in self.session.questions:
            question.is_void = True
        self._scope.cancel()

    async def run(self) -> TurnResult:
        """Run the turn begun by `Session.begin_turn` to its end. Raises only on an unexpected error; call `broke` then."""
        self._began, self.result.turn = self.services.clock(), self.session.turn
        self._money_before = self.session.spent.money or 0.0
        try:
            with self._scope:
                await self._loop()
            if self._scope.cancelled_caught:
                self.result.stop = "stopped"
                self._keep(wording.STOPPED_RUNNING, wording.STOPPED, state="stopped")
                session = self.session
                # Vendors want user and assistant in turn: after a result or a question the host speaks for the model.
                match session.messages.last.role:
                    case "assistant":
                        session.say(host_message(wording.ANSWER_STOPPED, turn=session.turn, role="user"))
                    case "tool":
                        session.say(host_message(wording.TURN_STOPPED, turn=session.turn))
                    case _:
                        session.say(host_message(wording.ANSWER_NOT_BEGUN, turn=session.turn))
                session.note("stopped by you")
        except TuiHostError as error:
            return self.broke(error)
        except Exception:  # an unexpected error: keep the history usable
            self._keep(wording.FAILED, wording.FAILED_BEFORE, state="cut")
            raise
        except BaseException:  # the program is exiting
            self._keep(wording.ENDED, wording.ENDED_BEFORE, state="cut")
            raise
        finally:
            self.session.wait_for("")
        return self._over()

    def broke(self, error: TuiHostError) -> TurnResult:
        """End the turn by an error."""
        self.result.stop, self.result.error = "error", error
        is_full = isinstance(error, ModelError) and error.is_full
        self.session.note(error.what, kind="error", where=error.where, remedy=error.remedy, again=True, is_full=is_full)
        return self._over()

    async def _loop(self) -> None:
        session, services = self.session, self.services
        provider, profile = await self._prepare()
        while await self._may_step():
            self._join_queued()
            # The tools of now: servers may have come, gone, or changed them since the last step.
            tools, wire = services.pool.tools(), dialect(provider.dialect)
            request = build_request(session, tools, wire, self._protocol, profile=profile, before=self._offer)
            self._offer = request.offer
            session.step += 1
            self.result.steps += 1
            self.result.answer = None
            step = self._step = Step(services, session, request, provider)
            await step.run()
            self.result.usage.append(step.fold.usage)
            session.spent.add(step.fold.usage, provider.prices.get(session.model.model))
            session.spent.window = None if step.window is None else step.window.tokens
            message = step.message()
            self.result.answer = None if message is None else self._protocol.answer(message)
            self._step = None
            self._mistakes.examine(step.fold, self._protocol, request.offer.known)
            self._say_answer(step)
            if not step.fold.calls and self._is_final(step):
                return
            if self._mistakes.repeats > MOST_SAME:
                what = f"the model made the same call with the same arguments {self._mistakes.repeats} times in a row"
                raise ModelError(what, session.model.provider, "choose another model, or ask in other words")
            invalid: list[str] = []  # the faults of all calls if none could be run
            if step.fold.calls:
                calls = self._calls = Calls(
                    services=services, session=session, request=request, repeats=self._repeats, stop=self.stop
                )
                cut = "at the token limit" if step.fold.stop == "length" else "before their end"
                calls.read(step.fold.calls, cut=cut)
                self._note_left_out(step.fold)
                await calls.run()
                self._close_calls(wording.STOPPED_RUNNING, wording.STOPPED, state="stopped")
                # If a decision stopped the turn, the turn ends here, before the next step.
                await anyio.lowlevel.checkpoint()
                decisions = [outcome.decision for outcome in calls.outcomes]
                invalid = [made.words for made in decisions if made is not None and made.verdict == "invalid"]
                invalid = invalid if len(invalid) == len(decisions) else []
            self._correct(step.fold, request.offer.specs, invalid)
        self.result.stop = "limit"
        taken = _steps(self.result.steps)
        session.say(host_message(f"[The turn ended here: it had reached its limit of {taken}.]", turn=session.turn))
        session.note(
            f"stopped after {taken}", remedy="say «go on» to continue, or raise limits.steps in the configuration"
        )

    def _join_queued(self) -> None:
        """Say what the user wrote for the next step. A paused answer is only continued if nothing stands behind it."""
        session = self.session
        joining = [message for message in session.queued if message.joins_step]
        if not joining or not self.result.steps or session.messages.last.role == "assistant":
            return
        parts: list[Part] = []
        for message in joining:
            session.conversation.add(UserItem(turn=session.turn, text=message.text))
            parts += [*([Text(text="\n\n")] if parts else []), *message_parts(message.text, message.attached)]
        session.say(Message(role="user", parts=tuple(parts), turn=session.turn))
        session.queued[:] = [message for message in session.queued if not message.joins_step]
        session.save()

    async def _prepare(self) -> tuple[Provider, AppliedProfile]:
        session, services = self.session, self.services
        profile = services.settings.profiles.get(session.profile)
        if profile is None and session.profile:
            what = f"the profile {session.profile} is no longer configured: continued without it"
            session.note(what, remedy="/model chooses another")
            session.profile = ""
            session.save()
        session.wait_for("model", str(session.model))
        provider = await services.provider(session.model)
        # Servers last, so that their statuses are current: those of which the profile offers no tool are not waited for.
        session.wait_for("servers")
        seconds, pool = services.settings.limits.connect_wait, services.pool
        before = services.clock()
        missing = await pool.settled(seconds, lambda server: offers(profile, server))
        self._began += services.clock() - before  # as in the records, a turn's time begins with its first request
        if missing:
            remedy = "once connected, press up and enter to ask again; limits.connect_wait sets the wait"
            session.note(f"continued without {', '.join(missing)}: still connecting", remedy=remedy)
        ready = [status.name for status in pool.statuses() if status.state == "ready"]
        for rule in session.policy.unmatched_rules(ready, pool.tools()):
            what = f"the rule {rule.action} {rule.server}.{rule.tool} in {rule.where} matches no tool of its server"
            session.note(what, remedy="compare it with the tools' names in /mcp")
        applied = apply_profile(
            profile,
            services.settings.environment,
            now=services.now(),
            servers=pool.statuses(),
            instructions=pool.instructions(),
        )
        self._protocol = await to_thread.run_sync(session_protocol, session, services.settings)
        await to_thread.run_sync(session.messages.load)  # reading thousands of messages would block the screen
        if self._protocol.reads_resources:
            await pool.listed(RESOURCES_SECONDS)
        return provider, applied

    async def _may_step(self) -> bool:
        """Return whether the turn takes another step. At each multiple of the limit the user decides."""
        steps, more = self.result.steps, self.services.settings.limits.steps
        if not steps or steps % more:
            return True
        session = self.session
        limit = session.step_limit = StepLimit(steps=steps, more=more)
        session.wait_for("you", f"{steps} steps")
        try:
            await self.services.approver.decide_limit(limit)
        finally:
            session.step_limit = None
        if not limit.goes_on:
            return False
        session.wait_for("model", str(session.model))
        session.note(f"continued after {_steps(steps)}, by you")
        return True

    # What an answer leads to.

    def _say_answer(self, step: Step) -> None:
        """Add the answer to the history, and tell the user what was odd about it.

        Of an answer that broke off, what came is kept without its calls, and its error raised.
        """
        session, fold = self.session, step.fold
        message = step.message(calls=not step.is_broken)
        if message is not None:
            session.say(replace(message, stop="cut") if step.is_broken else message)
        if step.is_broken:
            if message is not None:
                session.say(host_message(wording.ANSWER_CUT, turn=session.turn, role="user"))
            broke_off = ModelError("the answer broke off before its end", session.model.provider, "try again")
            error = step.error or broke_off
            refused = refused_images(step.request.history, error)
            if refused:  # it would stay in every later request, and end the conversation for good
                session.refused_images[str(session.model)] = session.turn
                session.save()
                error.remedy = f"try again: the next request leaves out {refused}"
            raise error
        if fold.unreadable:
            session.note(f"parts of the answer that could not be read: {fold.unreadable:,}; the inspector shows them")
        for run in fold.vendor_runs:
            session.note(f"{session.model.provider} {run.words}")
        if fold.sources:
            sources = [f"{source.title} {source.url}".strip() for source in fold.sources[:MOST_SOURCES]]
            more = len(fold.sources) - len(sources)
            session.note(f"sources: {'; '.join(sources)}{f'; and {more} more' if more else ''}")
        window, tokens = step.window, fold.usage.input_total
        if window is not None and window.is_filled(tokens) and not self._has_warned_of_window:
            self._has_warned_of_window = True
            what = f"the prompt filled {tokens:,} of {window.tokens:,} tokens: the server may have cut it silently"
            session.note(what, remedy=window.remedy, is_full=True)

    def _is_final(self, step: Step) -> bool:
        """Return whether an answer without a call ends the turn, and say how it ended."""
        session, fold, unread = self.session, step.fold, self._mistakes.unread
        self._note_left_out(fold)
        if fold.malformed:
            return False
        if unread is not None:
            raise ModelError(unread.what, session.model.provider, unread.remedy)
        if fold.stop == "paused":
            session.note(f"the provider paused ({fold.vendor_stop}); asked it to continue")
            return False
        if fold.stop == "length":
            self.result.stop = "length"
            is_full = "context" in fold.vendor_stop
            limit = "end of the model's context" if is_full else "token limit"
            session.note(f"the answer reached the {limit}", is_full=is_full)
        elif fold.stop == "refused":
            self.result.stop = "refused"
            session.note(f"the provider refused to answer ({fold.vendor_stop})")
        elif not fold.text.strip() and fold.unreadable:
            remedy = "look at the response in the inspector, and try again"
            raise ModelError("the response holds no readable answer", session.model.provider, remedy)
        elif not fold.text.strip():
            session.note("the answer is empty", again=True)
        return True

    def _note_left_out(self, fold: Fold) -> None:
        if fold.cut_off:
            count = sum(len(piece.text) for piece in fold.cut_off)
            behind = self._mistakes.calls_behind
            self.session.note(wording.cut_behind_call_of(count, behind), remedy="the model was told" if behind else "")
        if fold.has_calls_left_out:
            taken = len(fold.calls)
            what = f"the model asked for more than {taken} calls at once: the first {taken} are used, the rest left out"
            self.session.note(what)

    def _close_calls(self, running: str, waiting: str, *, state: Literal["stopped", "failed"]) -> None:
        """Add a result for every requested call to the history, also for calls that were left open."""
        if self._calls is None:
            return
        results = self._calls.results(running, waiting, state=state)
        self.result.outcomes.extend(outcome for outcome in self._calls.outcomes if not outcome.by_host)
        self._calls = None
        if results:
            self.session.say(Message(role="tool", parts=tuple(results), turn=self.session.turn))

    def _correct(self, fold: Fold, tools: Sequence[ToolSpec], invalid: Sequence[str]) -> None:
        """Report faulty calls to the model (results report `invalid` ones) and the user. Raises ModelError after too many in a row."""
        session, mistakes = self.session, self._mistakes
        if mistakes.calls_behind:
            session.say(host_message(wording.not_run_behind_of(mistakes.calls_behind), turn=session.turn, role="user"))
        if mistakes.repeats == MOST_SAME:
            session.say(host_message(wording.SAME_CALL.format(MOST_SAME), turn=session.turn, role="user"))
            what = f"the same call with the same arguments, {MOST_SAME} times in a row"
            session.note(what, remedy="the model was told")
        reasons = [malformed.reason for malformed in fold.malformed]
        wrong = [*reasons, *invalid]
        mistakes.malformed = mistakes.malformed + 1 if wrong else 0
        if mistakes.malformed > MOST_CORRECTIONS:
            what = f"the model's calls could not be read {mistakes.malformed} times in a row: {wrong[0]}"
            raise ModelError(what, session.model.provider, "choose another tool protocol, or another model")
        if reasons:
            session.say(host_message(self._protocol.correction(reasons, tools), turn=session.turn, role="user"))
            remedy = f"the model was told, correction {mistakes.malformed} of {MOST_CORRECTIONS}"
            session.note(f"a call could not be read: {'; '.join(reasons)}", remedy=remedy)

    # How a turn ends.

    def _keep(self, running: str, waiting: str, *, state: Literal["stopped", "cut"]) -> None:
        """Add everything so far to the history, with what to tell the model of running and of waiting calls; at any point of the turn."""
        step, self._step = self._step, None
        if step is not None:
            step.close(state)
            whole, message = step.message(), step.message(calls=False)
            self.result.answer = None if whole is None else self._protocol.answer(whole)
            if message is not None:
                self.session.say(replace(message, stop=state))
        self._close_calls(running, waiting, state="failed" if state == "cut" else "stopped")

    def _over(self) -> TurnResult:
        result, spent = self.result, self.session.spent
        self.session.conversation.add(
            SummaryItem(
                turn=self.session.turn,
                steps=result.steps,
                calls=len(result.outcomes),
                seconds=self.services.clock() - self._began,
                tokens_in=result.tokens("input_total"),
                tokens_out=result.tokens("output_total"),
                tokens_cached=result.tokens("input_cached"),
                tokens_thinking=result.tokens("reasoning"),
                cost=result.measured("cost"),
                money=None if spent.money is None else round(spent.money - self._money_before, 9),
                context=spent.context,
            )
        )
        self.session.save()
        return result


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
