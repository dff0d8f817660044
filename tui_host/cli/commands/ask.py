"""`ask`: runs a turn without the app.

`--json` prints one object. If the model asks a question with proposed answers, the object has `"question": {"text",
"options"}` beside the answer.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tui_host.cli import diagnostics, options, output
from tui_host.cli.hosting import print_value, run_async, running, say, say_unkept, unconnected
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.open_sessions import DEFAULT_MODEL

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import TurnResult
    from tui_host.settings.schema import Settings


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = "Ask one question and print the answer."
    options.json_too(parser)
    options.model(parser)
    parser.option("--session", "ID", "continue this session", options.name_of)
    parser.several("--attach", "FILE", "attach an image or a text file", options.name_of)
    options.turn(parser)
    options.answers(parser)


def run(args: Namespace, settings: Settings) -> int:
    """Ask the model, print the answer, and return the exit code."""
    from tui_host.cli.turn import attachments, check_model, question, reporting

    if args.no_record and args.session:
        raise SettingsError("--session continues a recorded session", where="--no-record", remedy="leave one out")
    asking = _AskRun(args, settings)

    def ask() -> int:
        text = question(args.text, "ask")
        if not args.session or args.model is not None:
            is_in_file = args.model is None and "model" in settings.fixed
            chosen = f"{settings.config_file}: model" if is_in_file else ""
            check_model(settings, settings.model or DEFAULT_MODEL, where="model", chosen=chosen)
        return run_async(asking.run, text, attachments(args.attach))

    return reporting(ask, asking.tell_unbegun)


class _AskRun:
    """A single run of `ask`, from the host's start to its end."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        from tui_host.chat.policy import Refuse
        from tui_host.cli.answerers import FlagAnswerer, TerminalApprover, can_ask, with_flags

        self._args = args
        self._host = Host(with_flags(settings, args), source="ask", record=not args.no_record, allow_all=args.yes)
        self._say = partial(say, self._host)
        self._answerer = self._host.answerer = FlagAnswerer(args, self._say)
        self._asks = can_ask() and args.text != "-"
        self._host.approver = TerminalApprover(self._host.redacted) if self._asks else Refuse()
        self._is_told = False

    async def run(self, text: str, attached: Sequence[Attached]) -> int:
        """Run the turn, print the result, and return the exit code."""
        from tui_host.chat.attachments import with_marks
        from tui_host.cli.turn import exit_code, take_turn

        host, code = self._host, diagnostics.FAILED
        async with running(host) as interruption:
            session = self._session()
            if interruption.code is not None:
                self.tell_unbegun("stopped")
                return interruption.code
            marked = with_marks(text, attached)
            result = await take_turn(host, session, marked, interruption, self._say, attached=attached)
            if result is not None:
                self._tell(session, result)
                code = exit_code([result], interruption)
        if not self._args.no_record:
            say_unkept(host)
        return code

    def tell_unbegun(self, stop: str, error: TuiHostError | None = None) -> None:
        """Print the object of `--json` for a turn that never began, unless an object is already printed."""
        if self._args.json and not self._is_told:
            begun: dict[str, JSON] = dict.fromkeys(("session", "turn", "answer"))
            usage: JSON = {"input": None, "output": None}
            self._print({**begun, "stop": stop, "steps": 0, "calls": [], "usage": usage}, error)

    def _session(self) -> Session:
        """Return a new session, or the session to continue. Typed options win over the session's stored options."""
        from tui_host.chat.active_profile import apply_profile, local_time, profile_of
        from tui_host.chat.next_request import session_protocol
        from tui_host.cli.turn import check_model

        sessions, settings, args = self._host.sessions, self._host.settings, self._args
        session = sessions.open(args.session) if args.session else sessions.new()
        if args.session:
            if args.profile is not None:
                sessions.take_profile(session, sessions.profile)
            if args.model is not None and settings.model is not None:
                session.model = settings.model
            if args.protocol is not None:
                session.protocol = settings.protocol
            check_model(settings, session.model, where=f"session {session.id}")
        # Mistakes in the prompts of tool protocol and profile are told before servers are waited for.
        session_protocol(session, settings)
        apply_profile(profile_of(session, settings), settings.environment, now=local_time(), servers=())
        return session

    def _tell(self, session: Session, result: TurnResult) -> None:
        from tui_host.cli.turn import refusals, unmatched_flags

        proposed = session.conversation.proposed()
        if self._args.json:
            self._print(_to_json(session, result, proposed), result.error)
        elif result.answer is not None:
            output.text(self._host.redacted(result.answer))
        if proposed:
            goes_on = "" if self._args.no_record else f" (reply with: tui-host ask --session {session.id} …)"
            self._say(f"the model asks, with proposed answers: {' · '.join(proposed)}{goes_on}")
        for words in (*unconnected(self._host), *unmatched_flags(self._host), *self._answerer.unknown()):
            self._say(words)
        for words in () if self._asks else refusals([result]):
            self._say(words)
        if result.error is not None:
            self._say(str(result.error))

    def _print(self, value: dict[str, JSON], error: TuiHostError | None) -> None:
        self._is_told = True
        print_value(self._host, {**value, "error": None if error is None else error.to_json()})


def _to_json(session: Session, result: TurnResult, proposed: Sequence[str]) -> dict[str, JSON]:
    return {
        "session": session.id,
        "turn": result.turn,
        "answer": result.answer,
        **({"question": {"text": result.answer, "options": [*proposed]}} if proposed else {}),
        "stop": result.stop,
        "steps": result.steps,
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "usage": result.usage_json(),
    }
