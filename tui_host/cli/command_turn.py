"""Functions that `ask` and `compare` share: reading the question, checking the model, running a turn, and reporting."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import anyio

from tui_host.capture.visible import tool_name
from tui_host.chat.attachments import check_together, read_attached
from tui_host.chat.conversation import NoteItem
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.command_host import Interruption, report_connecting
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.settings.provider_check import check_provider
from tui_host.settings.system_keyring import with_stored_key

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import Outcome, TurnResult
    from tui_host.host.host import Host
    from tui_host.settings.schema import ModelRef, Settings

LOOK_SECONDS = 0.02
MOST_TEXT = 64 << 20
"""Largest question on standard input, in bytes: the question is sent with every step."""


def check_model(settings: Settings, model: ModelRef, *, where: str, chosen: str = "") -> None:
    """Check that the model can be asked, before waiting for anything; `chosen` names the place in the configuration.

    Raises:
        SettingsError: The model cannot be asked. Contains all mistakes.
    """
    provider = settings.providers.get(model.provider)
    if provider is None:
        raise SettingsError(f"there is no provider {model.provider}", where, "configure it, or choose with --model")
    try:
        check_provider(provider, settings.environment, chosen=chosen)
    except SettingsError:
        with_key = with_stored_key(provider)  # needs the keyring's library, which is slow to import
        if with_key is provider:
            raise
        check_provider(with_key, settings.environment, chosen=chosen)


def question(word: str, command: str) -> str:
    """Return the question; `-` reads standard input. Raises SettingsError if the text is empty or not UTF-8."""
    try:
        if word == "-":
            if sys.stdin is None:
                raise SettingsError(
                    "standard input is closed", where=f"{command} -", remedy="pipe the question into it"
                )
            data = sys.stdin.buffer.read(MOST_TEXT + 1)
            if len(data) > MOST_TEXT:  # checked before decoding: the limit may cut a character
                raise SettingsError(
                    f"the question is longer than {MOST_TEXT:,} bytes", where=f"{command} -", remedy="send less"
                )
            text = data.decode()
        else:
            text = word.encode(errors="surrogateescape").decode()  # back to the bytes that were typed
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"the question is not UTF-8: byte {error.start + 1:,} is 0x{error.object[error.start]:02x}",
            where=f"{command} {'-' if word == '-' else 'TEXT'}",
            remedy="send text",
        ) from None
    if not text.strip():
        raise SettingsError("there is no question", where=command, remedy=f'tui-host {command} "what is 6 × 7?"')
    return text


def files(paths: Sequence[str]) -> tuple[Attached, ...]:
    """Read the files of `--attach`. Blocks on the disk.

    Raises:
        SettingsError: A file cannot be sent, or all are too large together.
    """
    try:
        attached = tuple(map(read_attached, paths))
        check_together(attached)
    except TuiHostError as error:
        raise SettingsError(error.what, "--attach", error.remedy) from error
    return attached


async def take_turn(
    host: Host,
    session: Session,
    text: str,
    interruption: Interruption,
    say: Callable[[str], None],
    *,
    attached: Sequence[Attached] = (),
) -> TurnResult | None:
    """Run a turn and pass the host's notes to `say` when they appear; a signal stops the turn in order."""
    reported = len(session.conversation)
    async with anyio.create_task_group() as group:
        group.start_soon(report_connecting, host, lambda: session.activity.waits == "servers")
        host.send(session, text, attached)
        interruption.then(lambda: host.stop_turn(session))
        while session.busy:
            await anyio.sleep(LOOK_SECONDS)
            items = session.conversation.items
            for item in items[reported:]:
                # The result contains the errors, and whoever sent a signal knows that the turn was stopped.
                if isinstance(item, NoteItem) and item.kind == "note" and interruption.code is None:
                    say(note_words(item))
            reported = len(items)
        group.cancel_scope.cancel()
    return host.result(session)


def note_words(note: NoteItem) -> str:
    """Return a note as one line of text."""
    return f"{note.what} ({note.remedy})" if note.remedy else note.what


def exit_code(results: Sequence[TurnResult], interruption: Interruption) -> int:
    """Return 0 if every turn is done, else 1; 3 if a call was refused by the user or by default; or a signal's code."""
    if interruption.code is not None and any(result.stop == "stopped" for result in results):
        return interruption.code
    if any(result.stop != "done" for result in results):
        return diagnostics.FAILED
    refused = any(
        outcome.decision is not None
        and outcome.decision.verdict == "rejected"
        and outcome.decision.by in {"person", "default"}
        for result in results
        for outcome in result.outcomes
    )
    return diagnostics.REFUSED if refused else diagnostics.DONE


def refusals(results: Sequence[TurnResult]) -> Iterator[str]:
    """Describe calls refused because no user could be asked: a sentence per tool, with the option that allows it."""
    refused = Counter(
        (outcome.server, outcome.tool)
        for result in results
        for outcome in result.outcomes
        if _is_refused_unasked(outcome)
    )
    for (server, tool), count in refused.items():
        calls = "a call was" if count == 1 else f"{count} calls were"
        # Characters that cannot be typed, or that end the quotation, become wildcards.
        pattern = "".join(letter if letter.isprintable() and letter != "'" else "*" for letter in f"{server}.{tool}")
        yield (
            f"{tool_name(server, tool)}: {calls} refused, because nobody can be asked here (allow with --allow '{pattern}')"
        )


def _is_refused_unasked(outcome: Outcome) -> bool:
    decision = outcome.decision
    return decision is not None and (decision.verdict, decision.by, outcome.fault) == ("rejected", "default", "")


def unconnected(host: Host) -> Iterator[str]:
    """Describe the servers that failed, one sentence each."""
    for status in host.pool.statuses() if host.pool is not None else ():
        if status.state in {"failed", "lost"}:
            yield f"{status.name} is not connected: {status.detail}"


def unkept(host: Host) -> Iterator[str]:
    """Say how many records could not be stored; yields nothing if all were stored."""
    recorder = host.recorder
    if recorder is not None and recorder.unkept:
        yield f"{recorder.unkept:,} records were not stored: {recorder.fault or 'the database was too slow'}"


def say(host: Host, words: str) -> None:
    """Write a line to standard error, with secrets removed."""
    diagnostics.tell(host.redacted(words))


def value(host: Host, told: JSON) -> None:
    """Write a JSON object to standard output, with secrets removed."""
    text = json.dumps(told)
    redacted = host.redacted_json(text)
    output.value(told if redacted == text else json.loads(redacted))
