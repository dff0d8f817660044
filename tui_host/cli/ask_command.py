"""`ask`: runs a turn without the app.

`--json` prints one object. If the model asks a question with proposed answers, the object has `"question": {"text",
"options"}` beside the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from tui_host.chat.active_profile import apply_profile, local_time, profile_of
from tui_host.chat.attachments import with_marks
from tui_host.chat.policy import Refuse
from tui_host.cli import command_turn, diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.command_host import running
from tui_host.cli.flag_answerer import FlagAnswerer, with_flags
from tui_host.cli.terminal_approver import TerminalApprover, can_ask
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.open_sessions import DEFAULT_MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings


def ask(arguments: Arguments, settings: Settings) -> int:
    """Ask the model, print the answer, and return the exit code."""
    if arguments.no_record and arguments.session:
        raise SettingsError("--session continues a recorded session", where="--no-record", remedy="leave one out")
    asked = _AskRun(arguments, settings)
    try:
        text = command_turn.question(arguments.words[0], "ask")
        if not arguments.session or arguments.model is not None:
            is_in_file = arguments.model is None and "model" in settings.fixed
            chosen = f"{settings.config_file}: model" if is_in_file else ""
            command_turn.check_model(settings, settings.model or DEFAULT_MODEL, where="model", chosen=chosen)
        attached = command_turn.files(arguments.attach)
        return anyio.run(asked.run, text, attached)
    except SettingsError:
        raise
    except KeyboardInterrupt:
        asked.tell_unbegun("stopped")
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        asked.tell_unbegun("error", error)
        raise


class _AskRun:
    """A single run of `ask`, from the host's start to its end."""

    def __init__(self, arguments: Arguments, settings: Settings) -> None:
        self._arguments = arguments
        settings = with_flags(settings, arguments)
        self._host = Host(settings, source="ask", record=not arguments.no_record, allow_all=arguments.yes)
        self._host.answerer = FlagAnswerer(arguments, self._say)
        self._asks = can_ask() and arguments.words[0] != "-"
        self._is_told = False

    async def run(self, text: str, attached: Sequence[Attached]) -> int:
        """Run the turn, print the result, and return the exit code."""
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
            marked = with_marks(text, attached)
            result = await command_turn.take_turn(host, session, marked, interruption, self._say, attached=attached)
            if result is not None:
                self._tell(session, result)
                code = command_turn.exit_code([result], interruption)
        for words in () if self._arguments.no_record else command_turn.unkept(host):
            self._say(words)
        return code

    def tell_unbegun(self, stop: str, error: TuiHostError | None = None) -> None:
        """Print the object of `--json` for a turn that never began, unless an object is already printed."""
        if self._is_told or not self._arguments.json:
            return
        self._is_told = True
        nothing: dict[str, JSON] = {
            "session": None,
            "turn": None,
            "answer": None,
            "stop": stop,
            "steps": 0,
            "calls": [],
        }
        usage: JSON = {"input": None, "output": None}
        fault = None if error is None else error.to_json()
        command_turn.value(self._host, {**nothing, "usage": usage, "error": fault})

    def _session(self) -> Session:
        """Return a new session, or the session to continue. Typed options win over the session's stored options."""
        host, arguments = self._host, self._arguments
        settings = host.settings
        if not arguments.session:
            return self._speaking(host.sessions.new())
        session = host.sessions.open(arguments.session)
        if arguments.profile is not None:
            host.sessions.take_profile(session, host.sessions.profile)
        if arguments.model is not None and settings.model is not None:
            session.model = settings.model
        if arguments.protocol is not None:
            session.protocol = settings.protocol
        command_turn.check_model(settings, session.model, where=f"session {session.id}")
        return self._speaking(session)

    def _speaking(self, session: Session) -> Session:
        """Check the prompts of tool protocol and profile before waiting for servers; returns the session."""
        from tui_host.chat.next_request import session_protocol

        settings = self._host.settings
        session_protocol(session, settings)
        apply_profile(profile_of(session, settings), settings.environment, now=local_time(), servers=())
        return session

    def _tell(self, session: Session, result: TurnResult) -> None:
        if self._arguments.json:
            self._is_told = True
            command_turn.value(self._host, _to_json(session, result))
        elif result.answer is not None:
            output.text(self._host.redacted(result.answer))
        proposed = session.conversation.proposed()
        if proposed:
            goes_on = "" if self._arguments.no_record else f" (reply with: tui-host ask --session {session.id} …)"
            self._say(f"the model asks, with proposed answers: {' · '.join(proposed)}{goes_on}")
        for words in command_turn.unconnected(self._host):
            self._say(words)
        for words in () if self._asks else command_turn.refusals([result]):
            self._say(words)
        if result.error is not None:
            self._say(str(result.error))

    def _say(self, words: str) -> None:
        command_turn.say(self._host, words)


def _to_json(session: Session, result: TurnResult) -> dict[str, JSON]:
    """Return the object printed by `--json`."""
    options: list[JSON] = list(session.conversation.proposed())
    asked: dict[str, JSON] = {"question": {"text": result.answer, "options": options}} if options else {}
    return {
        "session": session.id,
        "turn": result.turn,
        "answer": result.answer,
        **asked,
        "stop": result.stop,
        "steps": result.steps,
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "usage": result.usage_json(),
        "error": None if result.error is None else result.error.to_json(),
    }
