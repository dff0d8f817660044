"""The turn loop: one for all dialects and tool protocols, the same for the app and the command line."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel
from anyio import to_thread

from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import applied, offers, profile_of
from tui_host.chat.call_mistakes import MOST_CORRECTIONS, MOST_SAME, Mistakes
from tui_host.chat.conversation import NoteItem, SummaryItem
from tui_host.chat.history_repair import host_says, untold
from tui_host.chat.next_request import asking, spoken
from tui_host.chat.step import Step, cut_note
from tui_host.chat.step_calls import Calls
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import ModelError, TuiHostError
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.messages import Message, Text
from tui_host.llm.protocols.native import Native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.next_request import Asking
    from tui_host.chat.session import Session
    from tui_host.chat.step import Answered
    from tui_host.chat.turn_services import Services
    from tui_host.llm.fold import Fold
    from tui_host.llm.messages import ToolSpec
    from tui_host.llm.protocols.tool_protocol import ToolProtocol
    from tui_host.settings.schema import Profile, Provider

RESOURCES_SECONDS = 2.0
"""How long a turn waits for the lists of resources, where its tool protocol tells of them."""


class Turn:
    """One turn at work.

    Attributes:
        result: How it stands; complete once `run` has returned.
    """

    def __init__(self, services: Services, session: Session) -> None:
        self._services = services
        self._session = session
        self._protocol: ToolProtocol = Native()  # until the session's own is read
        self._mistakes = Mistakes()
        self._scope = anyio.CancelScope()
        self._step: Step | None = None  # while its answer is not in the history
        self._calls: Calls | None = None  # while their results are not in the history
        self._is_filled = False  # the model's window, as was told
        self._began = services.clock()
        self.result = TurnResult(turn=session.turn)

    def stop(self) -> None:
        """End it now: what came so far stays, nothing undecided is sent."""
        for question in self._session.questions:
            question.void()
        self._scope.cancel()

    async def run(self) -> TurnResult:
        """Take the turn that `Session.begin_turn` began to its end. Only a defect raises; then `broke` is to be called."""
        self._began = self._services.clock()
        session = self._session
        try:
            with self._scope:
                await self._loop()
            if self._scope.cancelled_caught:
                self._stopped()
        except TuiHostError as error:
            self._fail(error)
        except Exception:  # a defect: the history stays one that can be gone on with
            self._keep(wording.FAILED, wording.FAILED_BEFORE, state="cut")
            raise
        except BaseException:  # the program ends
            self._keep(wording.ENDED, wording.ENDED_BEFORE, state="cut")
            raise
        finally:
            session.wait_for("")
        return self._over()

    def broke(self, error: TuiHostError) -> TurnResult:
        """Tell of the defect that `run` raised, as how the turn ended."""
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
        await self._wait_for_servers(profile)  # last: what is said of them then holds for the request
        follows = applied(profile, services.settings.environment, now=services.now(), servers=services.pool.statuses())
        self._protocol = await to_thread.run_sync(spoken, session, services.settings)
        if not session.messages.is_loaded:  # thousands of them would hold up the screen
            await to_thread.run_sync(session.messages.load)
        if self._protocol.reads_resources:
            await services.pool.listed(RESOURCES_SECONDS)
        limit = services.settings.limits.steps
        for number in range(1, limit + 1):
            rule = dialect(provider.dialect).name_rule
            asked = asking(session, services.pool.tools(), rule, self._protocol, profile=follows)
            session.step += 1
            self.result.steps = number
            self.result.answer = None
            step = self._step = Step(services, session, session.step, asked.table)
            answered = await step.run(
                provider,
                asked.ask,
                prepared=asked.prepared,
                told=untold(asked.history),
                reader=partial(self._protocol.reader, asked.known),
            )
            self.result.usage.append(answered.fold.usage)
            self.result.answer = self._answer(step)
            self._step = None
            self._mistakes.look(answered.fold, self._protocol, asked.known)
            if self._ended(step) or self._repeats():
                return
            invalid = await self._run_calls(step, asked) if answered.fold.calls else []
            if not self._corrected(answered.fold, asked.tools, invalid):
                return
        self.result.stop = "limit"
        session.say(host_says(wording.limit_of(limit), turn=session.turn))
        self._note(
            f"stopped after {limit} step{'s' * (limit != 1)}",
            remedy="say «go on» to go on; limits.steps in the configuration",
        )

    def _repeats(self) -> bool:
        """Whether the model goes on to make the same call after it was told that it does: the turn ends before it is run."""
        is_stuck = self._mistakes.same > MOST_SAME
        if is_stuck:
            what = f"the model made the same call with the same arguments {self._mistakes.same} times in a row"
            self._fail(ModelError(what, self._session.model.provider, "choose another model, or ask in other words"))
        return is_stuck

    def _corrected(self, fold: Fold, tools: Sequence[ToolSpec], invalid: Sequence[str]) -> bool:
        """Tell the model, and the person, what is wrong with its calls; whether the turn goes on.

        Args:
            fold: The answer.
            tools: What it might ask for.
            invalid: What is wrong with the calls that could be read and not run, if that was all of them: their results tell it.
        """
        if self._mistakes.behind:
            self._tell(wording.not_run_behind_of(self._mistakes.behind))
        if self._mistakes.same == MOST_SAME:
            self._tell(wording.same_call_of(MOST_SAME))
            self._note(f"the same call with the same arguments, {MOST_SAME} times in a row", remedy="told the model so")
        reasons = [each.reason for each in fold.malformed]
        count = self._mistakes.count([*reasons, *invalid])
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
            remedy=f"told the model so, {count} of {MOST_CORRECTIONS}",
        )
        return True

    def _tell(self, text: str) -> None:
        """Say something to the model where a person would."""
        turn = self._session.turn
        self._session.say(Message(role="user", parts=(Text(text=text),), turn=turn, source="host"))

    def _answer(self, step: Step) -> str | None:
        message = step.message()
        return None if message is None else self._protocol.answer(message)

    def _ended(self, step: Step) -> bool:
        """Keep the answer in the history; whether the turn is over with it."""
        answered = step.answered
        if answered.broken:
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
        self._doubt_window(answered)
        if answered.fold.calls:
            return False
        self._tell_left_out(answered.fold)
        if answered.fold.malformed:
            return False
        command = self._protocol.command(message) if message is not None else ""
        if command:
            self._note(wording.command_of(command))
        if answered.fold.stop == "paused":
            self._note(f"the provider paused ({answered.fold.vendor_stop}); asked to go on")
            return False
        if answered.fold.stop == "length":
            self.result.stop = "length"
            limit = "end of the model's context" if "context" in answered.fold.vendor_stop else "token limit"
            self._note(f"the answer reached the {limit}")
        elif answered.fold.stop == "refused":
            self.result.stop = "refused"
            self._note(f"the provider refused to answer ({answered.fold.vendor_stop})")
        elif not answered.fold.text.strip() and answered.fold.unreadable:
            remedy = "look at it in the inspector, and try again"
            self._fail(ModelError("no answer can be read in what came", self._session.model.provider, remedy))
        elif not answered.fold.text.strip():
            self._note("the answer is empty", again=True)
        return True

    def _tell_left_out(self, fold: Fold) -> None:
        """Tell the person what of an answer is not taken in; it stands behind its calls, so it is told below them."""
        if fold.cut_off:
            count = sum(len(piece.text) for piece in fold.cut_off)
            asked = self._mistakes.behind
            self._note(wording.cut_behind_call_of(count, asked), remedy="told the model so" if asked else "")
        if fold.has_calls_left_out:
            self._note(wording.left_out_of(len(fold.calls)))

    def _doubt_window(self, answered: Answered) -> None:
        """Tell once that the prompt may have been cut by the server without a word."""
        window, tokens = answered.window, answered.fold.usage.input_total
        if window is not None and window.is_filled(tokens) and not self._is_filled:
            self._is_filled = True
            self._note(
                f"the prompt filled {tokens:,} of {window.tokens:,} tokens: the server may have cut it without a word",
                remedy=window.remedy,
            )

    def _cut(self, step: Step) -> None:
        """The exchange failed or broke off. What came stays on screen and in the history; calls in it are not run."""
        self.result.stop = "error"
        self.result.error = step.answered.error or ModelError(
            "the answer broke off before its end", where=self._session.model.provider, remedy="try again"
        )
        message = step.message(calls=False)
        if message is not None:
            self._session.say(replace(message, stop="cut"))
            self._session.say(cut_note(self._session, stopped=False))
        self._error_card(self.result.error)

    async def _run_calls(self, step: Step, asked: Asking) -> list[str]:
        """Take them to their results; what is wrong with each, if none of them could be run."""
        self._calls = Calls(self._services, self._session, step=step.number, asked=asked, stop=self.stop)
        fold = step.answered.fold
        self._calls.read(fold.calls, cut="at the token limit" if fold.stop == "length" else "before their end")
        self._tell_left_out(fold)
        await self._calls.run()
        invalid = self._calls.invalid
        self._close_calls()
        # A decision that stopped the turn ends it here, before the next step is begun.
        await anyio.lowlevel.checkpoint()
        return invalid

    def _close_calls(self, running: str = wording.STOPPED_RUNNING, waiting: str = wording.STOPPED) -> None:
        """Every call that the model asked for gets its result into the history, whatever happened."""
        if self._calls is None:
            return
        results = self._calls.results(running, waiting)
        self.result.outcomes.extend(each for each in self._calls.outcomes if not each.by_host)
        self._calls = None
        for message in self._protocol.results(results, turn=self._session.turn):
            self._session.say(message)

    def _keep(self, running: str, waiting: str, *, state: Literal["stopped", "cut"]) -> None:
        """Bring what came so far into the history, in the middle of whatever was being done.

        Args:
            running: What the model is told of calls that were running.
            waiting: What it is told of calls that nothing was sent of.
            state: How the answer ended.
        """
        step, self._step = self._step, None
        if step is not None:
            step.close(state)
            self.result.answer = self._answer(step)
            message = step.message(calls=False)
            if message is not None:
                self._session.say(replace(message, stop=state))
        self._close_calls(running, waiting)

    def _stopped(self) -> None:
        """The person stopped the turn: the history says so, truthfully."""
        self.result.stop = "stopped"
        self._keep(wording.STOPPED_RUNNING, wording.STOPPED, state="stopped")
        session = self._session
        match session.messages[-1].role:
            case "assistant":
                session.say(cut_note(session, stopped=True))
            case "tool":
                session.say(host_says(wording.TURN_STOPPED, turn=session.turn))
            case _:
                session.say(host_says(wording.ANSWER_NOT_BEGUN, turn=session.turn))
        self._note("stopped by you")

    def _profile(self) -> Profile | None:
        """The session's profile; one that is no longer configured is told, and the session goes on without it."""
        session = self._session
        profile = profile_of(session, self._services.settings)
        if profile is None and session.profile:
            self._note(
                f"the profile {session.profile} is no longer configured: went on without it",
                remedy="f4 chooses another",
            )
            session.profile = ""
            session.save()
        return profile

    async def _wait_for_servers(self, profile: Profile | None) -> None:
        """At most `limits.connect_wait`, saying so; not for those of which the profile offers nothing."""
        services, session = self._services, self._session
        session.wait_for("servers")
        missing = await services.pool.settled_for_turn(
            services.settings.limits.connect_wait, lambda server: offers(profile, server)
        )
        if missing:
            they = "it is" if len(missing) == 1 else "they are"
            self._note(
                f"went on without {', '.join(missing)}: still connecting",
                remedy=f"once {they} ready, up and enter ask again; limits.connect_wait is how long is waited",
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
            )
        )

    def _note(self, what: str, *, remedy: str = "", again: bool = False) -> None:
        self._session.conversation.add(
            NoteItem(turn=self._session.turn, kind="note", what=what, remedy=remedy, again=again)
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
            )
        )
