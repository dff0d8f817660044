"""Runs a host, and turns in it, for a command: a signal ends both in order, and errors are raised without exception groups."""

from __future__ import annotations

import json
import math
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_host.capture.visible import tool_name
from tui_host.chat.conversation import NoteItem
from tui_host.chat.turn_result import TurnResult
from tui_host.cli import diagnostics, output
from tui_host.cli.answerers import given_text
from tui_host.errors import JSON, ServerError, SettingsError, TuiHostError
from tui_host.llm.provider_check import check_provider
from tui_host.llm.provider_keys import with_stored_key
from tui_host.settings.mistakes import nearest
from tui_host.settings.tables import matches, pattern_of

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

    from tui_host.capture.recorder import Recorder
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.host.host import Host
    from tui_host.servers.catalog import ServerStatus
    from tui_host.servers.pool import Pool
    from tui_host.settings.schema import ModelRef, ServerSpec, Settings

LIST_SECONDS = 30.0  # allowed for listing a server's offers, in addition to the time limit for connecting
_REPORT_SECONDS = 2.0  # after which the servers still connecting are named
_LOOK_SECONDS, _SILENCE_SECONDS = 0.02, 30.0  # between two looks at a turn, and two words on a silent provider
_LARGEST_QUESTION_BYTES = 64 << 20  # on standard input: the question is sent with every step


@dataclass(slots=True)
class Interruption:
    """The first signal that asks the program to exit. `code` is its exit code, None before a signal arrives."""

    code: int | None = None
    _act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """Set what a signal does; calls `act` at once if a signal has already arrived."""
        self._act = act
        if self.code is not None:
            act()

    async def watch(self, *, task_status: TaskStatus[None]) -> None:
        """Wait for signals; only the first one counts."""
        import anyio

        # If the parent process has switched a signal off (nohup, a background job), the signal stays switched off.
        heeded = [number for number in diagnostics.ENDED_BY if signal.getsignal(number) is not signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            task_status.started()
            async for number in signals:
                if self.code is None:
                    self.code = diagnostics.ENDED_BY[signal.Signals(number)]
                    if self._act is not None:
                        self._act()


def run_host(host: Host, work: Callable[[Interruption], Awaitable[int]]) -> int:
    """Do the work while the host runs, and return its exit code; afterwards the host and its child processes have ended.

    A signal cancels the work, and its code is returned, unless the work has set what the signal does.
    """
    import anyio  # only here, so that no help waits for it

    from tui_host.host.defects import catch_defects

    async def run() -> int:
        interruption = Interruption()
        fault: TuiHostError | OSError | None = None
        code: int | None = None
        # A bug is told in one line, without a traceback.
        with catch_defects(lambda error, _: diagnostics.tell(str(host.mistake(error)))):
            async with anyio.create_task_group() as group:
                await group.start(interruption.watch)
                async with anyio.create_task_group() as served:
                    served.start_soon(host.serve)
                    try:
                        await host.ready()
                        told = len(host.notices)  # more may come until the end, such as a locked keyring
                        diagnostics.tell(*host.notices)
                        with anyio.CancelScope() as scope:
                            interruption.then(scope.cancel)
                            code = await work(interruption)
                        diagnostics.tell(*host.notices[told:])
                    except (TuiHostError, OSError) as error:
                        fault = error  # raised again after the host's end: an error raised here would cancel the host
                    finally:
                        host.stop()  # asked to end, not cancelled: its children end and its records are written first
                group.cancel_scope.cancel()
        fault = fault or host.fault  # what the command met first explains more than what followed at the end
        if fault is not None:
            raise fault
        return interruption.code or diagnostics.FAILED if code is None else code

    code = anyio.run(run)
    if host.store is not None and host.recorder is not None and host.recorder.unkept:
        why = host.recorder.fault or "the database was too slow"
        say(host, f"{host.recorder.unkept:,} records were not stored: {why}")
    return code


async def report_connecting(host: Host, is_waiting: Callable[[], bool]) -> None:
    """Name the servers still connecting on standard error, once, if the wait takes longer than a moment."""
    import anyio

    await anyio.sleep(_REPORT_SECONDS)
    if host.pool is not None and is_waiting():
        waited = [status.name for status in host.pool.statuses() if status.state == "connecting"]
        if waited:
            diagnostics.tell(f"waiting for {', '.join(waited)} to connect")


def opened(host: Host) -> tuple[Pool, Recorder]:
    """Return the servers and the recorder of a host that is ready."""
    assert host.pool is not None  # noqa: S101 - both are there once the host is ready
    assert host.recorder is not None  # noqa: S101
    return host.pool, host.recorder


def chosen_servers(specs: Mapping[str, ServerSpec], names: Sequence[str]) -> tuple[str, ...]:
    """Return the named servers, or all enabled servers; raises SettingsError for a name that is not configured."""
    unknown = [name for name in names if name not in specs]
    if unknown:
        configured = ", ".join(specs) or "none"
        raise SettingsError(f"no server {', '.join(unknown)}", where="servers", remedy=f"choose from {configured}")
    return tuple(names) or tuple(name for name, spec in specs.items() if spec.enabled)


async def settled(host: Host) -> Sequence[ServerStatus]:
    """Wait until every server is connected or has failed."""
    import anyio

    pool, _ = opened(host)
    timeout = max((spec.timeout or math.inf for spec in host.settings.servers.values()), default=0.0)
    patience = 2 * (timeout + max(LIST_SECONDS, timeout))  # a server may be tried in both eras
    async with anyio.create_task_group() as group:
        group.start_soon(report_connecting, host, lambda: True)
        await pool.settled(patience)
        group.cancel_scope.cancel()
    return pool.statuses()


async def only_server(host: Host) -> ServerStatus:
    """Wait for the host's only server; raises ServerError if it is not ready then."""
    (status,) = await settled(host)
    if status.state != "ready":
        raise ServerError(f"not connected: {status.detail or status.state}", status.name, sent=False)
    return status


def say(host: Host, words: str) -> None:
    """Write a line to standard error, with secrets removed."""
    diagnostics.tell(host.redactor.text(words))


def print_value(host: Host, value: JSON) -> None:
    """Write a JSON object to standard output, with secrets removed."""
    # Redacted as JSON: in a dumped text a secret's quotes and line breaks are escaped.
    text = json.dumps(value)
    redacted = host.redactor.json_text(text)
    output.value(value if redacted == text else json.loads(redacted))


def check_model(settings: Settings, model: ModelRef, *, where: str, chosen: str = "") -> None:
    """Raise SettingsError if the model cannot be asked; `chosen` names the place in the configuration."""
    provider = settings.providers.get(model.provider)
    if provider is None:
        raise SettingsError(f"there is no provider {model.provider}", where, "configure it, or choose with --model")
    try:
        check_provider(provider, settings.environment, chosen=chosen)
    except SettingsError:
        # Not at first: it needs the keyring's library, which is slow to import.
        check_provider(with_stored_key(provider), settings.environment, chosen=chosen)


def reporting(work: Callable[[], int], tell: Callable[[TurnResult], None]) -> int:
    """Do the work; if it fails or is interrupted before it has told its result, `tell` prints what there is."""
    try:
        return work()
    except SettingsError:
        raise
    except KeyboardInterrupt:
        tell(TurnResult(turn=0, stop="stopped"))
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        tell(TurnResult(turn=0, stop="error", error=error))
        raise


def question(word: str, command: str) -> str:
    """Return the question; `-` reads standard input. Raises SettingsError if there is none."""
    text = given_text(word, command, _LARGEST_QUESTION_BYTES)
    if not text.strip():
        raise SettingsError("there is no question", command, f'tui-host {command} "what is 6 × 7?"')
    return text


async def take_turn(
    host: Host, session: Session, text: str, interruption: Interruption, attached: Sequence[Attached] = ()
) -> TurnResult | None:
    """Run a turn, and say the host's notes when they appear; a signal stops the turn in order."""
    import anyio

    reported, told = len(session.conversation), 0.0
    async with anyio.create_task_group() as group:
        group.start_soon(report_connecting, host, lambda: session.activity.waits == "servers")
        host.send(session, text, attached)
        interruption.then(lambda: host.turns.stop(session))  # so that the answer so far is kept
        while session.busy:
            await anyio.sleep(_LOOK_SECONDS)  # views pull: the turn calls nobody
            for number in range(reported, len(session.conversation)):
                item = session.conversation[number]
                # The result contains the errors, and whoever sent a signal knows that the turn was stopped.
                if isinstance(item, NoteItem) and item.kind == "note" and interruption.code is None:
                    say(host, note_words(item))
            reported = len(session.conversation)
            silence = session.activity.silence(session.clock())
            if silence and session.clock() > told + _SILENCE_SECONDS:
                told = session.clock()
                say(host, f"{silence} ({session.activity.limit})")
        group.cancel_scope.cancel()
    return host.turns.result(session)


def note_words(note: NoteItem) -> str:
    """Return a note as one line of text."""
    return f"{note.what} ({note.remedy})" if note.remedy else note.what


def exit_code(results: Sequence[TurnResult], interruption: Interruption) -> int:
    """Return 0 if every turn is done, else 1; 3 if a call was refused by the user or by default; or a signal's code."""
    stops = {result.stop for result in results}
    # A signal after the end of the last turn changes nothing.
    if interruption.code is not None and "stopped" in stops:
        return interruption.code
    if stops != {"done"}:
        return diagnostics.FAILED
    decisions = (outcome.decision for result in results for outcome in result.outcomes)
    refused = (
        decision is not None and decision.verdict == "rejected" and decision.by != "rule" for decision in decisions
    )
    return diagnostics.REFUSED if any(refused) else diagnostics.DONE


def say_asides(host: Host, results: Sequence[TurnResult]) -> None:
    """Say what went beside the turns: servers that failed, options that fit nothing, calls that nobody could allow."""
    pool, _ = opened(host)
    for status in pool.statuses():
        if status.state in {"failed", "lost"}:
            say(host, f"{status.name} is not connected: {status.detail}")
    for flag in host.settings.allow:
        server, _, tool = flag.partition(".")
        if not any(matches(name, server) for name in host.settings.servers):
            say(host, f"--allow {flag} fits no server ({nearest(server, tuple(host.settings.servers))})")
        names = [tool.name for tool in pool.tools() if tool.server == server]
        if names and not any(matches(name, tool) for name in names):
            say(host, f"--allow {flag} fits no tool of {server} ({nearest(tool, names)})")
    refused = Counter(
        (outcome.server, outcome.tool)
        for outcome in (outcome for result in results for outcome in result.outcomes)
        if outcome.decision is not None
        and (outcome.decision.verdict, outcome.decision.by, outcome.fault) == ("rejected", "default", "")
    )
    for (server, tool), count in refused.items():
        calls = "a call was" if count == 1 else f"{count} calls were"
        remedy = f"allow with --allow '{pattern_of(f'{server}.{tool}')}'"
        say(host, f"{tool_name(server, tool)}: {calls} refused, because nobody can be asked here ({remedy})")
