"""`ask`: one turn without the screen."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import anyio

from tui_host.chat.policy import Refuse
from tui_host.cli import diagnostics, output
from tui_host.cli.approver import TerminalApprover
from tui_host.errors import JSON, SettingsError
from tui_host.host.host import Host

if TYPE_CHECKING:
    from tui_host.chat.session import Session
    from tui_host.chat.turn import TurnResult
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings

SIGNALS = {
    signal.SIGHUP: diagnostics.HANGUP,
    signal.SIGINT: diagnostics.INTERRUPTED,
    signal.SIGTERM: diagnostics.TERMINATED,
}


def ask(arguments: Arguments, settings: Settings) -> int:
    """Ask, answer, and say by the exit code how it went."""
    text = arguments.words[0]
    if text == "-":
        text = sys.stdin.read()
    if not text.strip():
        raise SettingsError("there is no question", where="tui-host ask", remedy='tui-host ask "what is 6 × 7?"')
    if arguments.no_record and arguments.session:
        raise SettingsError("--session goes on with what is recorded", where="--no-record", remedy="leave one out")
    return anyio.run(_ask, arguments, settings, text)


async def _ask(arguments: Arguments, settings: Settings, text: str) -> int:
    host = Host(settings, source="ask", record=not arguments.no_record, allow_all=arguments.yes)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and arguments.words[0] != "-"
    host.approver = TerminalApprover() if asks else Refuse()
    code = 0
    async with anyio.create_task_group() as group:
        group.start_soon(host.serve)
        try:
            await host.ready()
            for notice in host.notices:
                diagnostics.tell(notice)
            session = host.open_session(arguments.session) if arguments.session else host.new_session()
            code = await _turn(host, session, text, as_json=arguments.json)
        finally:
            host.stop()
    return code


async def _turn(host: Host, session: Session, text: str, *, as_json: bool) -> int:
    """Run the turn; a signal stops it, and its end is told all the same."""
    ended_by: list[int] = []

    async def watch() -> None:
        with anyio.open_signal_receiver(*SIGNALS) as signals:
            async for number in signals:
                ended_by.append(SIGNALS[signal.Signals(number)])
                host.stop_turn(session)

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        host.send(session, text)
        while session.busy:
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    result = host.result(session)
    if result is None:
        return diagnostics.FAILED
    if as_json:
        output.value(to_json(session, result))
    elif result.answer is not None:
        output.text(result.answer)
    if result.error is not None:
        diagnostics.tell(str(result.error))
    return ended_by[0] if ended_by else exit_code(result)


def exit_code(result: TurnResult) -> int:
    """0 done, 1 not done, 3 done but a call was refused by a person or by default."""
    if result.stop != "done":
        return diagnostics.FAILED
    refused = any(
        outcome.decision is not None
        and outcome.decision.verdict == "rejected"
        and outcome.decision.by in {"person", "default"}
        for outcome in result.outcomes
    )
    return diagnostics.REFUSED if refused else diagnostics.DONE


def to_json(session: Session, result: TurnResult) -> JSON:
    """The object that `--json` prints: DESIGN, Contract, `ask`."""
    error = result.error
    return {
        "session": session.id,
        "turn": result.turn,
        "answer": result.answer,
        "stop": result.stop,
        "steps": result.steps,
        "calls": [outcome.to_json() for outcome in result.outcomes],
        "usage": {"input": result.tokens("input_total"), "output": result.tokens("output_total")},
        "error": None if error is None else {"what": error.what, "where": error.where, "remedy": error.remedy},
    }
