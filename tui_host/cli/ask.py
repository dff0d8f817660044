"""`ask`: one turn without the screen."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.visible import tool_name
from tui_host.chat.conversation import NoteItem
from tui_host.chat.policy import Refuse
from tui_host.cli import diagnostics, output
from tui_host.cli.approver import TerminalApprover, can_ask
from tui_host.cli.running import Interruption, running, told_while_connecting
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import DEFAULT_MODEL, Host
from tui_host.settings.system_keyring import with_stored_key
from tui_host.settings.usable import check_provider

if TYPE_CHECKING:
    from tui_host.chat.outcome import Outcome
    from tui_host.chat.session import Session
    from tui_host.chat.turn import TurnResult
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import ModelRef, Settings

LOOK_SECONDS = 0.02
MOST_TEXT = 64 << 20
"""Bytes of a question on standard input; more is somebody's mistake, and would be sent with every step."""


def ask(arguments: Arguments, settings: Settings) -> int:
    """Ask, answer, and say by the exit code how it went."""
    if arguments.no_record and arguments.session:
        raise SettingsError("--session goes on with what is recorded", where="--no-record", remedy="leave one out")
    asking = _Asking(arguments, settings)
    try:
        text = _question(arguments.words[0])
        if not arguments.session or arguments.model is not None:
            is_in_file = arguments.model is None and "model" in settings.fixed
            chosen = f"{settings.config_file}: model" if is_in_file else ""
            _check_model(settings, settings.model or DEFAULT_MODEL, where="model", chosen=chosen)
        return anyio.run(asking.run, text)
    except SettingsError:
        raise
    except KeyboardInterrupt:
        asking.tell_unbegun("stopped")
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        asking.tell_unbegun("error", error)
        raise


def _check_model(settings: Settings, model: ModelRef, *, where: str, chosen: str = "") -> None:
    """Tell what keeps this model from being asked, before anything is waited for or kept; `chosen` is the place in a file.

    Raises:
        SettingsError: With every mistake.
    """
    provider = settings.providers.get(model.provider)
    if provider is None:
        raise SettingsError(f"there is no provider {model.provider}", where, "configure it, or choose with --model")
    try:
        check_provider(provider, settings.environment, chosen=chosen)
    except SettingsError:
        with_key = with_stored_key(provider)  # not loaded before it is needed
        if with_key is provider:
            raise
        check_provider(with_key, settings.environment, chosen=chosen)


def _question(word: str) -> str:
    """The text to ask; `-` stands for standard input."""
    try:
        if word == "-":
            if sys.stdin is None:
                raise SettingsError("standard input is closed", where="ask -", remedy="send the question into it")
            data = sys.stdin.buffer.read(MOST_TEXT + 1)
            if len(data) > MOST_TEXT:  # before it is decoded: the limit may cut a character
                raise SettingsError(
                    f"the question is longer than {MOST_TEXT:,} bytes", where="ask -", remedy="send less"
                )
            text = data.decode()
        else:
            text = word.encode(errors="surrogateescape").decode()  # the bytes as they were typed
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"the question is not UTF-8: byte {error.start + 1:,} is 0x{error.object[error.start]:02x}",
            where=f"ask {'-' if word == '-' else 'TEXT'}",
            remedy="send text",
        ) from None
    if not text.strip():
        raise SettingsError("there is no question", where="ask", remedy='tui-host ask "what is 6 × 7?"')
    return text


class _Asking:
    """One `ask`, from its host's start to its end."""

    def __init__(self, arguments: Arguments, settings: Settings) -> None:
        self._arguments = arguments
        self._host = Host(settings, source="ask", record=not arguments.no_record, allow_all=arguments.yes)
        self._asks = can_ask() and arguments.words[0] != "-"
        self._is_told = False

    async def run(self, text: str) -> int:
        """Take the turn to its end, and tell it; returns the exit code."""
        host = self._host
        host.approver = TerminalApprover(host.redacted) if self._asks else Refuse()
        code = diagnostics.FAILED
        async with running(host) as interruption:
            for notice in host.notices:
                diagnostics.tell(notice)
            session = self._session()
            if interruption.code is not None:
                self.tell_unbegun("stopped")
                return interruption.code
            result = await self._turn(session, text, interruption)
            if result is not None:
                self._tell(session, result)
                code = _exit_code(result, interruption)
        self._tell_unkept()
        return code

    def tell_unbegun(self, stop: str, error: TuiHostError | None = None) -> None:
        """The object of `--json` where no turn came to be; nothing if one was told already."""
        if self._is_told or not self._arguments.json:
            return
        self._is_told = True
        self._value(
            {
                "session": None,
                "turn": None,
                "answer": None,
                "stop": stop,
                "steps": 0,
                "calls": [],
                "usage": {"input": None, "output": None},
                "error": _error(error),
            }
        )

    def _session(self) -> Session:
        """A new session, or the one to go on with; what was typed wins over what it was begun with."""
        host, arguments = self._host, self._arguments
        if not arguments.session:
            return host.new_session()
        session = host.open_session(arguments.session)
        if arguments.model is not None and host.settings.model is not None:
            session.model = host.settings.model
        if arguments.protocol is not None:
            session.protocol = host.settings.protocol
        _check_model(host.settings, session.model, where=f"session {session.id}")
        return session

    async def _turn(self, session: Session, text: str, interruption: Interruption) -> TurnResult | None:
        """Run the turn, telling what its notes say as they come; a signal stops it, and it ends in order."""
        host = self._host
        told = len(session.conversation)
        async with anyio.create_task_group() as group:
            group.start_soon(told_while_connecting, host, lambda: session.activity.waits == "servers")
            host.send(session, text)
            interruption.then(lambda: host.stop_turn(session))
            while session.busy:
                await anyio.sleep(LOOK_SECONDS)
                told = self._tell_notes(session, told, interruption)
            group.cancel_scope.cancel()
        return host.result(session)

    def _tell_notes(self, session: Session, told: int, interruption: Interruption) -> int:
        items = session.conversation.items
        for item in items[told:]:
            # An error is told with the result, and who sent a signal knows that the turn was stopped.
            if isinstance(item, NoteItem) and item.kind == "note" and interruption.code is None:
                self._say(f"{item.what} ({item.remedy})" if item.remedy else item.what)
        return len(items)

    def _tell(self, session: Session, result: TurnResult) -> None:
        if self._arguments.json:
            self._is_told = True
            self._value(_to_json(session, result))
        elif result.answer is not None:
            output.text(self._host.redacted(result.answer))
        for status in self._host.pool.statuses() if self._host.pool is not None else ():
            if status.state == "failed":
                self._say(f"{status.name} is not connected: {status.detail}")
        if not self._asks:
            for words in _refusals(result.outcomes):
                self._say(words)
        if result.error is not None:
            self._say(str(result.error))

    def _tell_unkept(self) -> None:
        recorder = self._host.recorder
        if self._arguments.no_record or recorder is None or not recorder.unkept:
            return
        self._say(f"{recorder.unkept:,} records are not kept: {recorder.fault or 'the database was too slow'}")

    def _say(self, words: str) -> None:
        diagnostics.tell(self._host.redacted(words))

    def _value(self, value: JSON) -> None:
        text = json.dumps(value)
        redacted = self._host.redacted_json(text)
        output.value(value if redacted == text else json.loads(redacted))


def _exit_code(result: TurnResult, interruption: Interruption) -> int:
    """0 done, 1 not done, 3 done but a call was refused by a person or by default; a signal's own if it stopped the turn."""
    if result.stop == "stopped" and interruption.code is not None:
        return interruption.code
    if result.stop != "done":
        return diagnostics.FAILED
    refused = any(
        outcome.decision is not None
        and outcome.decision.verdict == "rejected"
        and outcome.decision.by in {"person", "default"}
        for outcome in result.outcomes
    )
    return diagnostics.REFUSED if refused else diagnostics.DONE


def _refusals(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What was refused because nobody could be asked, a sentence for each tool, and the option that allows it."""
    refused = Counter(
        (outcome.server, outcome.tool)
        for outcome in outcomes
        if outcome.decision is not None and outcome.decision.verdict == "rejected" and not outcome.fault
        if outcome.decision.by == "default"
    )
    for (server, tool), count in refused.items():
        calls = "a call was" if count == 1 else f"{count} calls were"
        # What cannot be typed, or would end the quotation, is any character.
        pattern = "".join(letter if letter.isprintable() and letter != "'" else "*" for letter in f"{server}.{tool}")
        yield (
            f"{tool_name(server, tool)}: {calls} refused, as nobody can be asked here (--allow '{pattern}' allows it)"
        )


def _to_json(session: Session, result: TurnResult) -> dict[str, JSON]:
    """The object that `--json` prints. Source: DESIGN, Contract, `ask`."""
    return {
        "session": session.id,
        "turn": result.turn,
        "answer": result.answer,
        "stop": result.stop,
        "steps": result.steps,
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "usage": {"input": result.tokens("input_total"), "output": result.tokens("output_total")},
        "error": _error(result.error),
    }


def _error(error: TuiHostError | None) -> JSON:
    return None if error is None else {"what": error.what, "where": error.where, "remedy": error.remedy}
