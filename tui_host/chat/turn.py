"""The turn loop, shared by all dialects and tool protocols, the app and the command line."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel
from anyio import to_thread

from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import apply_profile, offers, profile_of
from tui_host.chat.conversation import NoteItem, SummaryItem
from tui_host.chat.history_repair import host_message, new_results
from tui_host.chat.next_request import build_request, session_protocol
from tui_host.chat.policy import StepLimit
from tui_host.chat.step import Step, cut_note
from tui_host.chat.step_calls import CallAnswer, Calls
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import ModelError, TuiHostError
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import CallMalformed
from tui_host.llm.messages import Message, Text
from tui_host.llm.protocols.native import Native
from tui_host.llm.protocols.reader import called_in
from tui_host.llm.protocols.text_protocol import TextProtocol
from tui_host.llm.protocols.unread_calls import UnreadCall, unread_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.next_request import NextRequest
    from tui_host.chat.session import Session
    from tui_host.chat.step import Answered
    from tui_host.chat.turn_services import Services
    from tui_host.llm.fold import Fold
    from tui_host.llm.messages import ToolSpec
    from tui_host.llm.protocols.tool_protocol import ToolProtocol
    from tui_host.settings.schema import Profile, Provider


MOST_CORRECTIONS = 3
"""Largest number of corrections in a row, for calls that cannot be read or name no existing tool. Then the turn ends."""
MOST_SAME = 3
"""Largest number of times in a row that the same calls with the same arguments are run."""


class CallMistakes:
    """Counts the model's mistakes during a turn."""

    def __init__(self) -> None:
        self.malformed = 0  # answers in a row whose calls could not be read or run
        self.repeats = 0  # times in a row that the model asked for the same calls
        self.calls_behind: list[str] = []  # tools called in text that was cut after an answer's call
        self.unread: UnreadCall | None = None  # the call that the server left in the answer
        self._last: tuple[tuple[str, str], ...] = ()

    def examine(self, fold: Fold, protocol: ToolProtocol, tools: Sequence[ToolSpec]) -> None:
        """Examine an answer for mistakes; adds further faults to the answer's `malformed`."""
        cut = "".join(piece.text for piece in fold.cut_off) if fold.calls else ""
        behind = called_in(cut[:20_000], protocol.grammar, tools) if isinstance(protocol, TextProtocol) else ()
        self.calls_behind = [protocol.spoken(name, tools) for name in islice(behind, 8)]
        self.unread = None
        if (
            protocol.name == "native"
        ):  # the text is the answer, which goes back unchanged: the user is told, not the model
            self.unread = _unread(fold, tools, protocol.name)
        else:
            reason = _reason(fold, protocol, tools)
            if reason:
                fold.add(CallMalformed(reason=reason, start=0, end=0))
            asked = tuple((folded.call.name, "".join(folded.call.arguments.split())) for folded in fold.calls)
            self.repeats = self.repeats + 1 if asked and asked == self._last else int(bool(asked))
            self._last = asked

    def count_unusable(self, wrong: Sequence[str]) -> int:
        """Count answers in a row without a runnable call; `wrong` lists the faults of the current answer."""
        self.malformed = self.malformed + 1 if wrong else 0
        return self.malformed


def _reason(fold: Fold, protocol: ToolProtocol, tools: Sequence[ToolSpec]) -> str:
    if fold.calls or fold.malformed or fold.unreadable or fold.stop != "end":
        return ""
    parts = fold.message(turn=0).parts
    if any(
        isinstance(part, Text) and part.written for part in parts
    ):  # the text is inside the tool protocol's element for answers
        return ""
    unread = _unread(fold, tools, protocol.name)
    if unread is not None:
        return unread.reason
    return "" if fold.text.strip() else "the answer was empty"


def _unread(fold: Fold, tools: Sequence[ToolSpec], protocol: str) -> UnreadCall | None:
    """Return the call that nobody read in an answer, or in the thinking if there is no answer."""
    if fold.calls or fold.malformed or fold.stop not in {"end", "tools"}:
        return None
    if fold.text.strip():
        return unread_call(fold.text, tools, besides=protocol)
    return unread_call(fold.thinking, tools, is_thinking=True)


MOST_SOURCES = 10
"""Largest number of sources listed in the chat; the inspector shows all."""
RESOURCES_SECONDS = 2.0
"""Seconds that a turn waits for lists of resources, if the tool protocol's prompt mentions resources."""


class Turn:
    """Runs a turn: asks the model, runs its calls, and repeats until the model answers without a call.

    Attributes:
        result: The state so far; complete once `run` has returned.
    """

    def __init__(self, services: Services, session: Session) -> None:
        self._services = services
        self._session = session
        self._protocol: ToolProtocol = Native()  # replaced by the session's tool protocol when the turn begins
        self._mistakes = CallMistakes()
        self._scope = anyio.CancelScope()
        self._step: Step | None = None  # the current step, as long as its answer is not in the history
        self._calls: Calls | None = None  # the current calls, as long as their results are not in the history
        self._answers: Counter[CallAnswer] = Counter()
        self._is_filled = False  # whether the user was warned of a full context window
        self._began = services.clock()
        self.result = TurnResult(turn=session.turn)

    def stop(self) -> None:
        """End the turn now. Everything so far is kept; undecided calls are not sent."""
        for question in self._session.questions:
            question.void()
        self._scope.cancel()

    async def run(self) -> TurnResult:
        """Run the turn begun by `Session.begin_turn` to its end. Raises only on an unexpected error; call `broke` then."""
        self._began = self._services.clock()
        session = self._session
        try:
            with self._scope:
                await self._loop()
            if self._scope.cancelled_caught:
                self._stopped()
        except TuiHostError as error:
            self._fail(error)
        except Exception:  # an unexpected error: keep the history usable
            self._keep(wording.FAILED, wording.FAILED_BEFORE, state="cut")
            raise
        except BaseException:  # the program is exiting
            self._keep(wording.ENDED, wording.ENDED_BEFORE, state="cut")
            raise
        finally:
            session.wait_for("")
        return self._over()

    def broke(self, error: TuiHostError) -> TurnResult:
        """Record an unexpected error raised by `run` as the end of the turn."""
        self._fail(error)
        return self._over()

    def _over(self) -> TurnResult:
        self._summarise(self._began)
        self._session.save()
        return self.result

    async def _loop(self) -> None:
        session, services = self._session, self._services
        profile = self._profile()
        provider = await self._provider()
        await self._wait_for_servers(profile)  # last, so that the servers' statuses are current
        follows = apply_profile(
            profile,
            services.settings.environment,
            now=services.now(),
            servers=services.pool.statuses(),
            instructions=services.pool.instructions(),
        )
        self._protocol = await to_thread.run_sync(session_protocol, session, services.settings)
        if not session.messages.is_loaded:  # reading thousands of messages would block the screen
            await to_thread.run_sync(session.messages.load)
        if self._protocol.reads_resources:
            await services.pool.listed(RESOURCES_SECONDS)
        while await self._may_step():
            wire = dialect(provider.dialect)
            asked = build_request(session, services.pool.tools(), wire, self._protocol, profile=follows)
            session.step += 1
            self.result.steps += 1
            self.result.answer = None
            step = self._step = Step(services, session, session.step, asked)
            answered = await step.run(
                provider,
                asked.ask,
                prepared=asked.prepared,
                told=new_results(asked.history),
                reader=partial(self._protocol.reader, asked.known),
            )
            self.result.usage.append(answered.fold.usage)
            self.result.answer = self._answer(step)
            self._step = None
            self._mistakes.examine(answered.fold, self._protocol, asked.known)
            if self._ended(step) or self._repeats():
                return
            invalid = await self._run_calls(step, asked) if answered.fold.calls else []
            if not self._corrected(answered.fold, asked.tools, invalid):
                return
        steps = self.result.steps
        self.result.stop = "limit"
        session.say(host_message(wording.limit_of(steps), turn=session.turn))
        self._note(
            f"stopped after {steps} step{'s' * (steps != 1)}",
            remedy="say «go on» to continue, or raise limits.steps in the configuration",
        )

    async def _may_step(self) -> bool:
        """Return whether the turn takes another step. At each multiple of the limit the user decides."""
        steps, more = self.result.steps, self._services.settings.limits.steps
        if not steps or steps % more:
            return True
        session = self._session
        limit = session.step_limit = StepLimit(steps=steps, more=more)
        session.wait_for("you", f"{steps} steps")
        try:
            await self._services.approver.decide_limit(limit)
        finally:
            session.step_limit = None
        if limit.goes_on:
            session.wait_for("model", str(session.model))
            self._note(f"continued after {steps} step{'s' * (steps != 1)}, by you")
        return bool(limit.goes_on)

    def _repeats(self) -> bool:
        """End the turn if the model repeats a call even after a warning; returns whether the turn has ended."""
        is_stuck = self._mistakes.repeats > MOST_SAME
        if is_stuck:
            what = f"the model made the same call with the same arguments {self._mistakes.repeats} times in a row"
            self._fail(ModelError(what, self._session.model.provider, "choose another model, or ask in other words"))
        return is_stuck

    def _corrected(self, fold: Fold, tools: Sequence[ToolSpec], invalid: Sequence[str]) -> bool:
        """Report faulty calls to the model (results report `invalid` ones) and the user; returns whether the turn goes on."""
        if self._mistakes.calls_behind:
            self._tell(wording.not_run_behind_of(self._mistakes.calls_behind))
        if self._mistakes.repeats == MOST_SAME:
            self._tell(wording.same_call_of(MOST_SAME))
            self._note(
                f"the same call with the same arguments, {MOST_SAME} times in a row", remedy="the model was told"
            )
        reasons = [malformed.reason for malformed in fold.malformed]
        count = self._mistakes.count_unusable([*reasons, *invalid])
        if count > MOST_CORRECTIONS:
            what = f"the model's calls could not be read {count} times in a row: {[*reasons, *invalid][0]}"
            remedy = "choose another tool protocol, or another model"
            self._fail(ModelError(what, self._session.model.provider, remedy))
            return False
        if not reasons:
            return True
        self._tell(self._protocol.correction(reasons, tools))
        self._note(
            f"a call could not be read: {'; '.join(reasons)}",
            remedy=f"the model was told, correction {count} of {MOST_CORRECTIONS}",
        )
        return True

    def _tell(self, text: str) -> None:
        """Send the model a message from the host, in the role of the user."""
        turn = self._session.turn
        self._session.say(Message(role="user", parts=(Text(text=text),), turn=turn, source="host"))

    def _answer(self, step: Step) -> str | None:
        message = step.message()
        return None if message is None else self._protocol.answer(message)

    def _ended(self, step: Step) -> bool:
        """Add the answer to the history; returns whether the turn is over."""
        answered = step.answered
        if answered.is_broken:
            self._cut(step)
            return True
        message = step.message()
        if message is not None:
            self._session.say(message)
        if answered.fold.unreadable:
            count = answered.fold.unreadable
            words = "1 part" if count == 1 else f"{count:,} parts"
            shown = "it" if count == 1 else "them"
            self._note(f"{words} of the answer could not be read; the inspector shows {shown}")
        self._tell_vendor_tools(answered.fold)
        self._doubt_window(answered)
        if answered.fold.calls:
            return False
        self._tell_left_out(answered.fold)
        if answered.fold.malformed:
            return False
        unread = self._mistakes.unread
        if unread is not None:
            self._fail(ModelError(unread.what, self._session.model.provider, unread.remedy))
            return True
        command = self._protocol.command(message) if message is not None else ""
        if command:
            self._note(wording.command_of(command))
        if answered.fold.stop == "paused":
            self._note(f"the provider paused ({answered.fold.vendor_stop}); asked it to continue")
            return False
        if answered.fold.stop == "length":
            self.result.stop = "length"
            is_full = "context" in answered.fold.vendor_stop
            limit = "end of the model's context" if is_full else "token limit"
            self._note(f"the answer reached the {limit}", is_full=is_full)
        elif answered.fold.stop == "refused":
            self.result.stop = "refused"
            self._note(f"the provider refused to answer ({answered.fold.vendor_stop})")
        elif not answered.fold.text.strip() and answered.fold.unreadable:
            remedy = "look at the response in the inspector, and try again"
            self._fail(ModelError("the response holds no readable answer", self._session.model.provider, remedy))
        elif not answered.fold.text.strip():
            self._note("the answer is empty", again=True)
        return True

    def _tell_vendor_tools(self, fold: Fold) -> None:
        """Note in the chat what the vendor's built-in tools did, and the sources of the answer."""
        for run in fold.vendor_runs:
            self._note(f"{self._session.model.provider} {run.words}")
        if fold.sources:
            shown = [f"{source.title} {source.url}".strip() for source in fold.sources[:MOST_SOURCES]]
            more = len(fold.sources) - len(shown)
            self._note(f"sources: {'; '.join(shown)}{f'; and {more} more' if more else ''}")

    def _tell_left_out(self, fold: Fold) -> None:
        """Note in the chat, below the calls, which text was left out of an answer."""
        if fold.cut_off:
            count = sum(len(piece.text) for piece in fold.cut_off)
            asked = self._mistakes.calls_behind
            self._note(wording.cut_behind_call_of(count, asked), remedy="the model was told" if asked else "")
        if fold.has_calls_left_out:
            self._note(wording.left_out_of(len(fold.calls)))

    def _doubt_window(self, answered: Answered) -> None:
        """Warn the user once that the server may have cut the prompt without saying so."""
        window, tokens = answered.window, answered.fold.usage.input_total
        if window is not None and window.is_filled(tokens) and not self._is_filled:
            self._is_filled = True
            self._note(
                f"the prompt filled {tokens:,} of {window.tokens:,} tokens: the server may have cut it silently",
                remedy=window.remedy,
                is_full=True,
            )

    def _cut(self, step: Step) -> None:
        """Close an exchange that failed. The text received stays on screen and in the history; its calls are not run."""
        self.result.stop = "error"
        self.result.error = step.answered.error or ModelError(
            "the answer broke off before its end", where=self._session.model.provider, remedy="try again"
        )
        message = step.message(calls=False)
        if message is not None:
            self._session.say(replace(message, stop="cut"))
            self._session.say(cut_note(self._session, stopped=False))
        self._error_card(self.result.error)

    async def _run_calls(self, step: Step, asked: NextRequest) -> list[str]:
        """Decide and run the calls; returns the faults of all calls if none could be run."""
        self._calls = Calls(
            self._services, self._session, step=step.number, asked=asked, answers=self._answers, stop=self.stop
        )
        fold = step.answered.fold
        self._calls.read(fold.calls, cut="at the token limit" if fold.stop == "length" else "before their end")
        self._tell_left_out(fold)
        await self._calls.run()
        invalid = self._calls.invalid
        self._close_calls()
        # If a decision stopped the turn, the turn ends here, before the next step.
        await anyio.lowlevel.checkpoint()
        return invalid

    def _close_calls(
        self,
        running: str = wording.STOPPED_RUNNING,
        waiting: str = wording.STOPPED,
        *,
        state: Literal["stopped", "cut"] = "stopped",
    ) -> None:
        """Add a result for every requested call to the history, also for calls that were left open."""
        if self._calls is None:
            return
        results = self._calls.results(running, waiting, state="failed" if state == "cut" else "stopped")
        self.result.outcomes.extend(outcome for outcome in self._calls.outcomes if not outcome.by_host)
        self._calls = None
        for message in self._protocol.results(results, turn=self._session.turn):
            self._session.say(message)

    def _keep(self, running: str, waiting: str, *, state: Literal["stopped", "cut"]) -> None:
        """Add everything so far to the history, with what to say of running and of waiting calls."""
        step, self._step = self._step, None
        if step is not None:
            step.close(state)
            self.result.answer = self._answer(step)
            message = step.message(calls=False)
            if message is not None:
                self._session.say(replace(message, stop=state))
        self._close_calls(running, waiting, state=state)

    def _stopped(self) -> None:
        """Tell the model in the history that the user stopped the turn."""
        self.result.stop = "stopped"
        self._keep(wording.STOPPED_RUNNING, wording.STOPPED, state="stopped")
        session = self._session
        match session.messages[-1].role:
            case "assistant":
                session.say(cut_note(session, stopped=True))
            case "tool":
                session.say(host_message(wording.TURN_STOPPED, turn=session.turn))
            case _:
                session.say(host_message(wording.ANSWER_NOT_BEGUN, turn=session.turn))
        self._note("stopped by you")

    def _profile(self) -> Profile | None:
        """Return the session's profile. If it is no longer configured, tells the user and removes it from the session."""
        session = self._session
        profile = profile_of(session, self._services.settings)
        if profile is None and session.profile:
            self._note(
                f"the profile {session.profile} is no longer configured: continued without it",
                remedy="f4 chooses another",
            )
            session.profile = ""
            session.save()
        return profile

    async def _wait_for_servers(self, profile: Profile | None) -> None:
        """Wait at most `limits.connect_wait` for servers, except servers of which the profile offers no tool."""
        services, session = self._services, self._session
        session.wait_for("servers")
        missing = await services.pool.settled_for_turn(
            services.settings.limits.connect_wait, lambda server: offers(profile, server)
        )
        if missing:
            they = "it is" if len(missing) == 1 else "they are"
            self._note(
                f"continued without {', '.join(missing)}: still connecting",
                remedy=f"once {they} ready, press up and enter to ask again; limits.connect_wait sets the wait",
            )

    async def _provider(self) -> Provider:
        model = self._session.model
        self._session.wait_for("model", str(model))
        return await self._services.provider(model)

    def _fail(self, error: TuiHostError) -> None:
        self.result.stop = "error"
        self.result.error = error
        self._error_card(error)

    def _error_card(self, error: TuiHostError) -> None:
        self._session.conversation.add(
            NoteItem(
                turn=self._session.turn,
                kind="error",
                what=error.what,
                where=error.where,
                remedy=error.remedy,
                again=True,
                is_full=isinstance(error, ModelError) and error.is_full,
            )
        )

    def _note(self, what: str, *, remedy: str = "", again: bool = False, is_full: bool = False) -> None:
        self._session.conversation.add(
            NoteItem(turn=self._session.turn, kind="note", what=what, remedy=remedy, again=again, is_full=is_full)
        )

    def _summarise(self, began: float) -> None:
        self._session.conversation.add(
            SummaryItem(
                turn=self._session.turn,
                steps=self.result.steps,
                calls=len(self.result.outcomes),
                seconds=self._services.clock() - began,
                tokens_in=self.result.tokens("input_total"),
                tokens_out=self.result.tokens("output_total"),
                tokens_cached=self.result.tokens("input_cached"),
                tokens_thinking=self.result.tokens("reasoning"),
                cost=self.result.cost,
            )
        )
