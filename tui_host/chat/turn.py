"""The turn loop, common to all dialects and tool protocols, the app and the command line."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.lowlevel
from anyio import to_thread

from tui_host.chat import result_words as wording
from tui_host.chat.active_profile import apply_profile, offers, profile_of
from tui_host.chat.conversation import NoteItem, SummaryItem
from tui_host.chat.history_repair import host_message, new_results
from tui_host.chat.next_request import build_request, session_protocol
from tui_host.chat.step import Step, cut_note
from tui_host.chat.step_calls import Calls
from tui_host.chat.turn_result import TurnResult
from tui_host.errors import ModelError, TuiHostError
from tui_host.llm.dialects.dialect_table import dialect
from tui_host.llm.events import CallMalformed
from tui_host.llm.messages import Message, Text
from tui_host.llm.protocols.foreign_calls import grammar_of
from tui_host.llm.protocols.native import Native
from tui_host.llm.protocols.text_reader import calls_after_call

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
"""Corrections in a row for calls that cannot be read or name no existing tool; then the turn ends."""
MOST_SAME = 3
"""How often in a row the same calls with the same arguments are run."""


class CallMistakes:
    """Counts the model's mistakes during a turn.

    Attributes:
        malformed: Answers in a row whose calls could not be read or run.
        same: Times in a row that the same calls were asked for.
        behind: Tools of the calls found in the text cut behind an answer's call, named as in the tool protocol.
    """

    def __init__(self) -> None:
        self.malformed = 0
        self.same = 0
        self.behind: list[str] = []
        self._last: tuple[tuple[str, str], ...] = ()

    def look(self, fold: Fold, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> None:
        """Examine an answer; further faults are added to its `malformed`.

        Args:
            fold: The answer.
            speaks: The tool protocol.
            tools: Tools the model may know by name.
        """
        cut = "".join(piece.text for piece in fold.cut_off) if fold.calls else ""
        self.behind = [speaks.spoken(name, tools) for name in calls_after_call(cut, speaks, tools)]
        if speaks.name != "native":  # the vendor's API delimits native calls
            reason = _reason(fold, speaks, tools)
            if reason:
                fold.add(CallMalformed(reason=reason, start=0, end=0))
            asked = tuple((folded.call.name, "".join(folded.call.arguments.split())) for folded in fold.calls)
            self.same = self.same + 1 if asked and asked == self._last else int(bool(asked))
            self._last = asked

    def count(self, wrong: Sequence[str]) -> int:
        """Count answers in a row without a runnable call; `wrong` lists the faults of the current answer."""
        self.malformed = self.malformed + 1 if wrong else 0
        return self.malformed


def _reason(fold: Fold, speaks: ToolProtocol, tools: Sequence[ToolSpec]) -> str:
    if fold.calls or fold.malformed or fold.unreadable or fold.stop != "end":
        return ""
    parts = fold.message(turn=0).parts
    if any(
        isinstance(part, Text) and part.written for part in parts
    ):  # text in the tool protocol's own element for answers
        return ""
    if not fold.text.strip():
        return "the answer was empty"
    grammar = grammar_of(fold.text, tools, besides=speaks.name)
    return f"it uses the form of {grammar}, not the agreed one" if grammar else ""


RESOURCES_SECONDS = 2.0
"""How long a turn waits for the lists of resources, if its tool protocol mentions resources."""


class Turn:
    """A turn at work.

    Attributes:
        result: The state so far; complete once `run` has returned.
    """

    def __init__(self, services: Services, session: Session) -> None:
        self._services = services
        self._session = session
        self._protocol: ToolProtocol = Native()  # until the session's own is read
        self._mistakes = CallMistakes()
        self._scope = anyio.CancelScope()
        self._step: Step | None = None  # while its answer is not in the history
        self._calls: Calls | None = None  # while their results are not in the history
        self._is_filled = False  # whether a full context window was reported
        self._began = services.clock()
        self.result = TurnResult(turn=session.turn)

    def stop(self) -> None:
        """End the turn now: everything so far stays, undecided calls are not sent."""
        for question in self._session.questions:
            question.void()
        self._scope.cancel()

    async def run(self) -> TurnResult:
        """Take the turn begun by `Session.begin_turn` to its end. Only a defect raises; call `broke` then."""
        self._began = self._services.clock()
        session = self._session
        try:
            with self._scope:
                await self._loop()
            if self._scope.cancelled_caught:
                self._stopped()
        except TuiHostError as error:
            self._fail(error)
        except Exception:  # a defect: keep the history usable
            self._keep(wording.FAILED, wording.FAILED_BEFORE, state="cut")
            raise
        except BaseException:  # the program ends
            self._keep(wording.ENDED, wording.ENDED_BEFORE, state="cut")
            raise
        finally:
            session.wait_for("")
        return self._over()

    def broke(self, error: TuiHostError) -> TurnResult:
        """Record a defect raised by `run` as the turn's end."""
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
        await self._wait_for_servers(profile)  # last, so that their statuses hold for the request
        follows = apply_profile(
            profile, services.settings.environment, now=services.now(), servers=services.pool.statuses()
        )
        self._protocol = await to_thread.run_sync(session_protocol, session, services.settings)
        if not session.messages.is_loaded:  # thousands would block the screen
            await to_thread.run_sync(session.messages.load)
        if self._protocol.reads_resources:
            await services.pool.listed(RESOURCES_SECONDS)
        limit = services.settings.limits.steps
        for number in range(1, limit + 1):
            rule = dialect(provider.dialect).name_rule
            asked = build_request(session, services.pool.tools(), rule, self._protocol, profile=follows)
            session.step += 1
            self.result.steps = number
            self.result.answer = None
            step = self._step = Step(services, session, session.step, asked.table)
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
            self._mistakes.look(answered.fold, self._protocol, asked.known)
            if self._ended(step) or self._repeats():
                return
            invalid = await self._run_calls(step, asked) if answered.fold.calls else []
            if not self._corrected(answered.fold, asked.tools, invalid):
                return
        self.result.stop = "limit"
        session.say(host_message(wording.limit_of(limit), turn=session.turn))
        self._note(
            f"stopped after {limit} step{'s' * (limit != 1)}",
            remedy="say «go on» to continue, or raise limits.steps in the configuration",
        )

    def _repeats(self) -> bool:
        """End the turn if the model repeats a call even after a warning; whether it does."""
        is_stuck = self._mistakes.same > MOST_SAME
        if is_stuck:
            what = f"the model made the same call with the same arguments {self._mistakes.same} times in a row"
            self._fail(ModelError(what, self._session.model.provider, "choose another model, or ask in other words"))
        return is_stuck

    def _corrected(self, fold: Fold, tools: Sequence[ToolSpec], invalid: Sequence[str]) -> bool:
        """Report faulty calls to the model and the user; whether the turn goes on.

        Args:
            fold: The answer.
            tools: The offered tools.
            invalid: Faults of readable calls that could not be run, if all calls were such; their results tell the model.
        """
        if self._mistakes.behind:
            self._tell(wording.not_run_behind_of(self._mistakes.behind))
        if self._mistakes.same == MOST_SAME:
            self._tell(wording.same_call_of(MOST_SAME))
            self._note(
                f"the same call with the same arguments, {MOST_SAME} times in a row", remedy="the model was told"
            )
        reasons = [malformed.reason for malformed in fold.malformed]
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
            remedy=f"the model was told, correction {count} of {MOST_CORRECTIONS}",
        )
        return True

    def _tell(self, text: str) -> None:
        """Send the model a host message in the user's role."""
        turn = self._session.turn
        self._session.say(Message(role="user", parts=(Text(text=text),), turn=turn, source="host"))

    def _answer(self, step: Step) -> str | None:
        message = step.message()
        return None if message is None else self._protocol.answer(message)

    def _ended(self, step: Step) -> bool:
        """Add the answer to the history; whether the turn is over."""
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
            self._note(f"the provider paused ({answered.fold.vendor_stop}); asked it to continue")
            return False
        if answered.fold.stop == "length":
            self.result.stop = "length"
            limit = "end of the model's context" if "context" in answered.fold.vendor_stop else "token limit"
            self._note(f"the answer reached the {limit}")
        elif answered.fold.stop == "refused":
            self.result.stop = "refused"
            self._note(f"the provider refused to answer ({answered.fold.vendor_stop})")
        elif not answered.fold.text.strip() and answered.fold.unreadable:
            remedy = "look at the response in the inspector, and try again"
            self._fail(ModelError("the response holds no readable answer", self._session.model.provider, remedy))
        elif not answered.fold.text.strip():
            self._note("the answer is empty", again=True)
        return True

    def _tell_left_out(self, fold: Fold) -> None:
        """Note the text left out of an answer, below its calls."""
        if fold.cut_off:
            count = sum(len(piece.text) for piece in fold.cut_off)
            asked = self._mistakes.behind
            self._note(wording.cut_behind_call_of(count, asked), remedy="the model was told" if asked else "")
        if fold.has_calls_left_out:
            self._note(wording.left_out_of(len(fold.calls)))

    def _doubt_window(self, answered: Answered) -> None:
        """Warn once that the server may have cut the prompt silently."""
        window, tokens = answered.window, answered.fold.usage.input_total
        if window is not None and window.is_filled(tokens) and not self._is_filled:
            self._is_filled = True
            self._note(
                f"the prompt filled {tokens:,} of {window.tokens:,} tokens: the server may have cut it silently",
                remedy=window.remedy,
            )

    def _cut(self, step: Step) -> None:
        """Close a failed exchange. The text so far stays on screen and in the history; its calls are not run."""
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
        """Take the calls to their results; returns the faults of all calls if none could be run."""
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
        """Add a result for every requested call to the history, whatever happened."""
        if self._calls is None:
            return
        results = self._calls.results(running, waiting)
        self.result.outcomes.extend(outcome for outcome in self._calls.outcomes if not outcome.by_host)
        self._calls = None
        for message in self._protocol.results(results, turn=self._session.turn):
            self._session.say(message)

    def _keep(self, running: str, waiting: str, *, state: Literal["stopped", "cut"]) -> None:
        """Bring everything so far into the history, at any point of the turn.

        Args:
            running: Text for the model about calls that were running.
            waiting: Text for the model about calls that were not sent.
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
        """Say in the history, truthfully, that the user stopped the turn."""
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
        """Return the session's profile. A profile that is no longer configured is noted and dropped."""
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
        """Wait at most `limits.connect_wait` for servers, except those of which the profile offers nothing."""
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
