"""A turn without the app, for `ask` and `compare`: the question, the model, the turn itself, and what is said of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tui_host.capture.visible import tool_name
from tui_host.chat.conversation import NoteItem
from tui_host.cli import diagnostics
from tui_host.cli.hosting import Interruption, pool_of, report_connecting
from tui_host.errors import SettingsError, TuiHostError
from tui_host.settings.mistakes import nearest
from tui_host.settings.provider_check import check_provider
from tui_host.settings.rule_tables import matches, pattern_of
from tui_host.settings.system_keyring import with_stored_key

if TYPE_CHECKING:
    from tui_host.chat.attachments import Attached
    from tui_host.chat.session import Session
    from tui_host.chat.turn_result import Outcome, TurnResult
    from tui_host.host.host import Host
    from tui_host.settings.schema import ModelRef, Settings

_LOOK_SECONDS = 0.02
_LARGEST_QUESTION_BYTES = 64 << 20  # on standard input: the question is sent with every step


def check_model(settings: Settings, model: ModelRef, *, where: str, chosen: str = "") -> None:
    """Raise SettingsError if the model cannot be asked; `chosen` names the place in the configuration."""
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


def reporting(work: Callable[[], int], tell: Callable[[str, TuiHostError | None], None]) -> int:
    """Do the work; if it fails or is interrupted before it has told its result, `tell` prints what there is."""
    try:
        return work()
    except SettingsError:
        raise
    except KeyboardInterrupt:
        tell("stopped", None)
        return diagnostics.INTERRUPTED
    except TuiHostError as error:
        tell("error", error)
        raise


def question(word: str, command: str) -> str:
    """Return the question; `-` reads standard input. Raises SettingsError if the text is empty or not UTF-8."""
    is_piped = word == "-"
    where = f"{command} {'-' if is_piped else 'TEXT'}"
    if not is_piped:
        data = word.encode(errors="surrogateescape")  # back to the bytes that were typed
    elif sys.stdin is None:
        raise SettingsError("standard input is closed", where, "pipe the question into it")
    else:
        data = sys.stdin.buffer.read(_LARGEST_QUESTION_BYTES + 1)
    if len(data) > _LARGEST_QUESTION_BYTES:
        raise SettingsError(f"the question is longer than {_LARGEST_QUESTION_BYTES:,} bytes", where, "send less")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        what = f"the question is not UTF-8: byte {error.start + 1:,} is 0x{data[error.start]:02x}"
        raise SettingsError(what, where, "send text") from None
    if not text.strip():
        raise SettingsError("there is no question", command, f'tui-host {command} "what is 6 × 7?"')
    return text


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
    import anyio

    reported = len(session.conversation)
    async with anyio.create_task_group() as group:
        group.start_soon(report_connecting, host, lambda: session.activity.waits == "servers")
        host.send(session, text, attached)
        interruption.then(lambda: host.stop_turn(session))  # so that the answer so far is kept
        while session.busy:
            await anyio.sleep(_LOOK_SECONDS)  # views pull: the turn calls nobody
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
    # A signal after the end of the last turn changes nothing.
    if interruption.code is not None and any(result.stop == "stopped" for result in results):
        return interruption.code
    if any(result.stop != "done" for result in results):
        return diagnostics.FAILED
    decisions = (outcome.decision for result in results for outcome in result.outcomes)
    for decision in decisions:
        if decision is not None and decision.verdict == "rejected" and decision.by in {"person", "default"}:
            return diagnostics.REFUSED
    return diagnostics.DONE


def refusals(results: Sequence[TurnResult]) -> Iterator[str]:
    """Describe calls refused because no user could be asked: a sentence per tool, with the option that allows it."""
    outcomes = (outcome for result in results for outcome in result.outcomes if _is_refused_unasked(outcome))
    for (server, tool), count in Counter((outcome.server, outcome.tool) for outcome in outcomes).items():
        calls = "a call was" if count == 1 else f"{count} calls were"
        yield (
            f"{tool_name(server, tool)}: {calls} refused, because nobody can be asked here"
            f" (allow with --allow '{pattern_of(f'{server}.{tool}')}')"
        )


def _is_refused_unasked(outcome: Outcome) -> bool:
    decision = outcome.decision
    return decision is not None and (decision.verdict, decision.by, outcome.fault) == ("rejected", "default", "")


def attachments(paths: Sequence[str]) -> tuple[Attached, ...]:
    """Read the files of `--attach`. Raises SettingsError if one cannot be sent, or all are too large together."""
    from tui_host.chat.attachments import check_together, read_attached

    try:
        attached = tuple(map(read_attached, paths))
        check_together(attached)
    except TuiHostError as error:
        raise SettingsError(error.what, "--attach", error.remedy) from error
    return attached


def unmatched_flags(host: Host) -> Iterator[str]:
    """Point out each `--allow` that fits no tool of its server, if the server is connected."""
    for flag in host.settings.allow:
        server, _, tool = flag.partition(".")
        names = [each.name for each in pool_of(host).tools() if each.server == server]
        if names and not any(matches(name, tool) for name in names):
            yield f"--allow {flag} fits no tool of {server} ({nearest(tool, names)})"
