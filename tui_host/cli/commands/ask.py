"""`ask`: runs a turn without the app."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tui_host.chat.active_profile import apply_profile, local_time
from tui_host.chat.attachments import Attached, read_attached
from tui_host.chat.next_request import session_protocol
from tui_host.chat.policy import Refuse
from tui_host.chat.turn_result import TurnResult
from tui_host.cli import diagnostics, hosting, options, output
from tui_host.cli.answerers import FlagAnswerer, TerminalApprover, can_ask, with_flags
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.host.host import Host
from tui_host.host.open_sessions import DEFAULT_MODEL

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    parser.description = "Ask one question and print the answer."
    parser.flag("--json", options.AS_JSON)
    options.model(parser)
    parser.option("--session", "ID", "continue this session", options.name_of)
    parser.option("--attach", "FILE", "attach an image or a text file", options.name_of, repeats=True)
    options.turn(parser)
    options.answers(parser)


def run(args: Namespace, settings: Settings) -> int:
    """Ask the model, print the answer, and return the exit code."""
    if args.no_record and args.session:
        raise SettingsError("--session continues a recorded session", where="--no-record", remedy="leave one out")
    host = Host(with_flags(settings, args), source="ask", record=not args.no_record, allow_all=args.yes)
    answerer = host.answerer = FlagAnswerer(args, partial(hosting.say, host))
    asks = can_ask() and args.text != "-"
    host.approver = TerminalApprover(host.redactor.text) if asks else Refuse()
    asking = _AskRun(args, settings, host, answerer)
    return hosting.reporting(asking.run, asking.print_json)


@dataclass(slots=True)
class _AskRun:
    args: Namespace
    settings: Settings
    host: Host
    answerer: FlagAnswerer
    is_told: bool = False

    def run(self) -> int:
        """Check what can be checked before servers are started, then run the turn."""
        args, settings = self.args, self.settings
        text = hosting.question(args.text, "ask")
        if not args.session or args.model is not None:
            is_in_file = args.model is None and "model" in settings.fixed
            chosen = f"{settings.config_file}: model" if is_in_file else ""
            hosting.check_model(settings, settings.model or DEFAULT_MODEL, where="model", chosen=chosen)
        try:
            attached = tuple(map(read_attached, args.attach))
        except TuiHostError as error:
            raise SettingsError(error.what, "--attach", error.remedy) from error
        if attached:  # the mark of each file stands below the text
            text = "\n\n".join((text, "\n".join(f"[{file.words}]" for file in attached)))
        code = hosting.run_host(self.host, partial(self._take_turn, text, attached))
        self.print_json(TurnResult(turn=0, stop="stopped"))  # if a signal came before the turn began
        return code

    async def _take_turn(self, text: str, attached: Sequence[Attached], interruption: hosting.Interruption) -> int:
        host, args, sessions = self.host, self.args, self.host.sessions
        session = sessions.open(args.session) if args.session else sessions.new()
        if args.session:  # typed options win over the session's stored ones
            if args.profile is not None:
                sessions.take_profile(session, sessions.profile)
            if args.model is not None and host.settings.model is not None:
                session.model = host.settings.model
            if args.protocol is not None:
                session.protocol = host.settings.protocol
            hosting.check_model(host.settings, session.model, where=f"session {session.id}")
        # Mistakes in the prompts of tool protocol and profile are told before servers are waited for.
        session_protocol(session, host.settings)
        profile = host.settings.profiles.get(session.profile)
        apply_profile(profile, host.settings.environment, now=local_time(), servers=())
        result = await hosting.take_turn(host, session, text, interruption, attached)
        if result is None:
            return diagnostics.FAILED
        proposed = session.conversation.proposed()
        if args.json:
            self.print_json(result, session.id, proposed)
        elif result.answer is not None:
            output.text(host.redactor.text(result.answer))
        if proposed:
            goes_on = "" if args.no_record else f" (reply with: tui-host ask --session {session.id} …)"
            hosting.say(host, f"the model asks, with proposed answers: {' · '.join(proposed)}{goes_on}")
        for words in self.answerer.unknown():
            hosting.say(host, words)
        hosting.say_asides(host, [result])
        if result.error is not None:
            hosting.say(host, str(result.error))
        return hosting.exit_code([result], interruption)

    def print_json(self, result: TurnResult, session: str | None = None, proposed: Sequence[str] = ()) -> None:
        """Print the object of `--json`, without a session for a turn that never began, unless one is already printed."""
        if not self.args.json or self.is_told:
            return
        self.is_told = True
        value: dict[str, JSON] = {
            "session": session,
            "turn": result.turn or None,
            "answer": result.answer,
            **({"question": {"text": result.answer, "options": [*proposed]}} if proposed else {}),
            "stop": result.stop,
            "steps": result.steps,
            "calls": [outcome.to_json() for outcome in result.outcomes],
            "usage": result.usage_json(),
            "error": None if result.error is None else result.error.to_json(),
        }
        hosting.print_value(self.host, value)
