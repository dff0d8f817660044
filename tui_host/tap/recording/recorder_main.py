"""The process beside a tap: records what the relay passed on, and ends a server that it has, if the relay was killed."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from tui_host.tap.recording.channel_read import Told, notice
from tui_host.tap.recording.channel_write import BYE, DOUBTFUL, HEARD, HOPEFUL
from tui_host.tap.threads import Thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tui_host.tap.recording.log_writer import Log
    from tui_host.tap.recording.recorder_process import Asked, Ends
    from tui_host.tap.recording.resuming import Folding
    from tui_host.tap.recording.tap_session import TapRecording

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""While bytes pass it has about a tenth of the time where others want all of it, and all that they leave: what waits has room in the journal."""
BROKEN = 1
"""The exit code of who has broken down while the relay goes on: another is begun."""
CLOSE_SECONDS = 10.0
GRACE_SECONDS = 2.0
"""How long after the relay's end, and after SIGTERM, what is left is still recorded, if one came: else for as long as it takes."""
_ERRORS = 2


def record(ends: Ends, asked: Asked, folding: Callable[[TapRecording], Folding], patience: float | None) -> None:
    """Record to the end of the relay, and then what is left. Nothing is open but the ends, and nowhere.

    Args:
        ends: What leads to the relay.
        asked: What is recorded.
        folding: What makes records.
        patience: Seconds to wait for a first word; None waits for it, and records nothing without.
    """
    gc.enable()
    _share(NICE)
    told = Told(ends, GRACE_SECONDS)
    signal.signal(signal.SIGTERM, lambda _number, _frame: told.hurry())
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    has_ended = threading.Event()
    guarding = Thread(lambda: _guard(ends, has_ended.set))

    def say(line: str) -> None:
        _say(asked, ends.notices, line)

    has_ended.wait(ends.pause)
    try:
        if ends.journal.taken or told.listen(patience) or patience is not None:
            _record(told, ends, asked, partial(_tell, asked, say), folding)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(asked, say, f"recording has broken down: {error!r}")
        ends.journal.look(0)
        if not ends.journal.is_over:
            os._exit(BROKEN)
    has_ended.wait()
    os.dup2(0, ends.notices)  # nowhere: closed for the relay, while who guards may still write there
    guarding.wait()


def _share(nice: int, attempts: int = 1) -> None:
    """Have so much of the processor. A session of its own would else have as much as all that its user runs at a terminal.

    Unlike a process's own niceness this can be taken back. Source: sched(7), The autogroup feature.
    """
    for _ in range(attempts):
        try:
            with open("/proc/self/autogroup", "w") as group:  # noqa: PTH123 - pathlib takes long to import
                group.write(str(nice))
        except BlockingIOError:
            time.sleep(0.1)  # of all who are not root the system listens to ten a second
        except OSError:
            return  # not on this system
        else:
            return


def _guard(ends: Ends, ended: Callable[[], None]) -> None:
    """End the server, if the relay ends without a word: it was killed, as the server would have been without it."""

    def hear(told: bytes) -> None:
        if told.endswith(BYE):
            notice(ends.notices, HEARD)
            ended()

    told = ends.said
    hear(told)
    while chunk := os.read(ends.lifeline, 64):
        told += chunk
        hear(told)
    ended()
    if told and not told.endswith(BYE):
        from tui_host.guard.watchdog import end_groups

        with suppress(OSError):  # it has ended by itself
            os.kill(int(told), signal.SIGKILL)
        end_groups({int(told)})  # with them the host has nothing to do: they may take their time
    _share(0, attempts=20)  # nothing passes any more, and somebody may wait for what is left


def _record(
    told: Told, ends: Ends, asked: Asked, tell: Callable[[str], None], folding: Callable[[TapRecording], Folding]
) -> None:
    from pathlib import Path

    from tui_host.tap.recording.early_check import are_good, are_still_good

    place = None if asked.data_dir is None else Path(asked.data_dir)

    def hope(do_bode_well: Callable[[Path | None, Mapping[str, str]], bool]) -> None:
        if asked.log is None and do_bode_well(place, os.environ):  # who wants a log has it whole when the tap ends
            told.notice(HOPEFUL)

    if not ends.is_another:  # who was told that recording has broken off is told that it goes on
        hope(are_good)
    from tui_host.guard.core_dumps import leave_no_core
    from tui_host.settings.credential_places import in_variables, in_words
    from tui_host.tap.recording.resuming import beginning, fold, restore
    from tui_host.tap.recording.tap_session import TapRecording

    leave_no_core()
    recording = TapRecording(
        asked.title,
        tell=tell,
        secrets=(*in_variables(os.environ), *in_words(asked.command)),
        log=_log(asked, partial(_say, asked, ends.notices)),
        begins=beginning(
            ends, asked, place, is_well=partial(hope, are_still_good), is_ill=partial(told.notice, DOUBTFUL)
        ),
    )
    folder = folding(recording)
    restore(ends.journal, folder)
    recording.start(place, os.environ)
    fold(told, ends.journal, recording.recorder, folder, recording.missed)
    if told.missing:
        tell(f"the last {told.missing:,} bytes of what passed are not recorded")
    signal.signal(signal.SIGTERM, lambda _number, _frame: recording.give_up())
    if told.is_hurried:
        recording.give_up()
    if recording.close(CLOSE_SECONDS):
        ends.journal.unsettled.settle(
            ends.journal.taken, b"", recording.recorder.reached
        )  # whoever looks now finds nothing lost


def _log(asked: Asked, say: Callable[[str], None]) -> Log | None:
    if asked.log is None:
        return None
    if asked.log_file is None:
        return asked.plain(say)
    from tui_host.tap.recording.record_log import JsonLines

    return JsonLines(asked.log_file, asked.log)


def _tell(asked: Asked, say: Callable[[str], None], words: str) -> None:
    from tui_host.capture.visible import visible

    say(visible(f"tui-host tap {asked.title}: {words}", newlines=False))


def _say(asked: Asked, notices: int, words: str) -> None:
    """A line on standard error, by way of the relay while that is there."""
    line = f"{words}\n".encode(errors="backslashreplace")
    if not notice(notices, line):
        _tell_later(asked.terminal, line)


def _tell_later(terminal: str | None, line: bytes) -> None:
    """Tell a person at a terminal, or the file that standard error is; to a pipe nobody would read it."""
    target = _ERRORS
    try:
        if terminal is not None:  # opened for this alone: who holds one keeps others waiting for its end
            target = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(target, line)
    except OSError:
        return  # the terminal has gone as well, or the disk is full, which may be what should be told
    finally:
        if target != _ERRORS:
            os.close(target)
