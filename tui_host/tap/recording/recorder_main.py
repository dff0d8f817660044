"""The recorder, a process beside a tap: stores the relay's reports, and ends the server of a killed relay. Imported late."""

from __future__ import annotations

import gc
import os
import resource
import signal
import stat
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tui_host.tap.recording.channel_read import ChannelReader, send_notice
from tui_host.tap.recording.channel_write import BYE, DOUBTFUL, HOPEFUL, LOST
from tui_host.tap.threads import Thread

if TYPE_CHECKING:
    from tui_host.tap.recording.channel_write import Item
    from tui_host.tap.recording.journal import Journal
    from tui_host.tap.recording.log_writer import Log
    from tui_host.tap.recording.recorder_process import RecorderEnds, RecorderOptions
    from tui_host.tap.recording.tap_session import TapRecording

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
NICE = 10
"""The recorder's niceness while bytes pass: it gets about a tenth of a busy processor, and all of an idle one."""
BROKEN = 1
"""Exit code of a recorder that failed while the relay runs; the relay then starts another."""
CLOSE_SECONDS = 10.0
GRACE_SECONDS = 2.0
"""Seconds for which recording continues after SIGTERM and the relay's end. Without SIGTERM there is no limit."""
UNWRITTEN = 8 << 20
"""Bytes to record before waiting for the database: about as much as a killed recorder loses."""
SETTLE_SECONDS = 1.0
"""Seconds to record before waiting for the database."""
DISK_ROOM = 64 << 20
"""Bytes that should be free on the disk; with less, a burst may not fit."""
_ERRORS = 2


class ItemRecords(Protocol):
    """Makes records from a relay's items."""

    def take(self, item: Item) -> int:
        """Record the next item; returns how many bytes the new records take in memory."""
        ...

    @property
    def unfinished(self) -> int:
        """Number of bytes held of unfinished lines and requests."""
        ...

    def finish(self) -> None:
        """Record the bytes still held."""
        ...


def record(
    ends: RecorderEnds,
    options: RecorderOptions,
    records_of: Callable[[TapRecording], ItemRecords],
    patience: float | None,
) -> None:
    """Record until the relay ends, and then the rest. Expects only `ends` open, and standard streams that lead nowhere.

    Args:
        ends: The recorder's descriptors to the relay.
        options: What to record.
        records_of: Makes the object that turns items into records.
        patience: Seconds to wait for a first item; None waits until the relay ends. Without one, nothing is recorded.
    """
    gc.enable()
    _share_processor(NICE)
    reader = ChannelReader(ends, GRACE_SECONDS)
    signal.signal(signal.SIGTERM, lambda _number, _frame: reader.hurry())
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    has_ended = threading.Event()
    guarding = Thread(lambda: _guard(ends, has_ended.set))
    say = partial(_say, options, ends.notices)
    try:
        if ends.follows_another or reader.wait_for_more_than_input(patience) or patience is not None:
            _record(reader, ends, options, partial(_tell, options, say), records_of)
    except Exception as error:  # noqa: BLE001 - the last resort: the relay goes on, and the server is ended all the same
        _tell(options, say, f"recording failed: {error!r}")
        ends.journal.look(0)
        if not ends.journal.is_over:
            os._exit(BROKEN)
    has_ended.wait()
    os.dup2(0, ends.notices)  # closes this end for the relay; the guarding thread may still write to the number
    guarding.wait()


def _share_processor(nice: int, attempts: int = 1) -> None:
    """Set the niceness of this process's session; without, it gets as much as everything its user runs at a terminal.

    Unlike the niceness of a process, this can be undone. Source: sched(7), The autogroup feature.
    """
    for _ in range(attempts):
        try:
            with open("/proc/self/autogroup", "w") as group:  # noqa: PTH123 - one line, as the kernel wants it
                group.write(str(nice))
        except BlockingIOError:
            time.sleep(0.1)  # the system accepts ten changes a second from users other than root
        except OSError:
            return  # the system lacks this feature
        else:
            return


def _guard(ends: RecorderEnds, ended: Callable[[], None]) -> None:
    """End the server if the relay ends without a word, as the server would have ended without a tap."""
    heard = ends.said
    while not heard.endswith(BYE) and (chunk := os.read(ends.lifeline, 64)):
        heard += chunk
    if heard.endswith(BYE):
        ended()
    while os.read(ends.lifeline, 64):
        pass
    ended()
    if heard and not heard.endswith(BYE):
        from tui_host.guard.watchdog import end_groups

        group = int(heard)
        with suppress(OSError):  # the server has already ended
            os.kill(group, signal.SIGKILL)
        end_groups({group})  # wait for the rest of the server's group, with which the host has nothing to do
    _share_processor(0, attempts=20)  # no traffic passes any more, and a process may wait for the rest


def _record(
    reader: ChannelReader,
    ends: RecorderEnds,
    options: RecorderOptions,
    tell: Callable[[str], None],
    records_of: Callable[[TapRecording], ItemRecords],
) -> None:
    folder = None if options.data_dir is None else Path(options.data_dir)
    journal = ends.journal

    def on_well() -> None:
        journal.is_well = True
        if options.log is None:  # a log has to be complete when the tap ends
            reader.notify(HOPEFUL)

    if not ends.follows_another and options.log is None and looks_writable(folder, os.environ):
        reader.notify(HOPEFUL)
    from tui_host.guard.core_dumps import leave_no_core
    from tui_host.settings.credential_places import in_variables, in_words
    from tui_host.tap.recording.tap_session import SessionStart, TapRecording

    leave_no_core()
    recording = TapRecording(
        options.title,
        tell=tell,
        secrets=(*in_variables(os.environ), *in_words(options.command)),
        log=_log(options, partial(_say, options, ends.notices)),
        start=SessionStart(
            seed=options.seed,
            began_ns=options.began_ns,
            follows_another=ends.follows_another,
            lost_bytes=ends.lost_bytes,
            on_well=on_well,
            on_ill=partial(reader.notify, DOUBTFUL),
        ),
    )
    records = records_of(recording)
    recording.start(folder, os.environ)
    _record_items(reader, journal, recording, records)
    if reader.missing:
        tell(f"the last {reader.missing:,} bytes of the traffic are not recorded")
    signal.signal(signal.SIGTERM, lambda _number, _frame: recording.give_up())
    if reader.is_hurried:
        recording.give_up()
    if recording.close(CLOSE_SECONDS):
        journal.keep()


def _record_items(reader: ChannelReader, journal: Journal, recording: TapRecording, records: ItemRecords) -> None:
    """Make records of all items, and report progress in the journal."""
    recorder = recording.recorder
    unwritten, waited_at = 0, 0.0
    for items in reader.batches():
        for item in items:
            unwritten += records.take(item)
            if item[0] in LOST:
                recording.missed(int(item[3]))
        now = time.monotonic()
        if (unwritten > UNWRITTEN or now - waited_at > SETTLE_SECONDS) and not recorder.fault:
            unwritten, waited_at = 0, now
            recorder.flush()
        journal.is_fault_told = recording.has_told_fault
        if not recorder.left:
            journal.keep(records.unfinished)
    records.finish()


def _log(options: RecorderOptions, say: Callable[[str], None]) -> Log | None:
    if options.log is None:
        return None
    if options.log_file is None:
        return options.plain_log(say)
    from tui_host.tap.recording.log_writer import JsonLines

    return JsonLines(options.log_file, options.log)


def _tell(options: RecorderOptions, say: Callable[[str], None], words: str) -> None:
    from tui_host.capture.visible import visible

    say(visible(f"tui-host tap {options.title}: {words}", newlines=False))


def _say(options: RecorderOptions, notices: int, words: str) -> None:
    """Write a line to standard error, through the relay if it is alive."""
    line = f"{words}\n".encode(errors="backslashreplace")
    if not send_notice(notices, line):
        _say_late(options.terminal, line)


def _say_late(terminal: str | None, line: bytes) -> None:
    """Write to the tap's terminal or its file of standard error; nobody would read a pipe."""
    target = _ERRORS
    try:
        if terminal is not None:  # opened for this line alone: a process that holds a terminal delays others
            target = os.open(terminal, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(target, line)
    except OSError:
        return  # the terminal has gone too, or the disk is full, as the line may say
    finally:
        if target != _ERRORS:
            os.close(target)


# Whether recording will work. Opening the database takes longer than a host should wait for a tap's end. So a tap ends
# at once if the database's folder looks usable; otherwise it waits for the recorder's report.


def looks_writable(typed: Path | None, environment: Mapping[str, str]) -> bool:
    """Whether the database can probably be opened, without opening it.

    Call only before this process has opened the database: closing any descriptor of the file releases all locks that
    the process has on it. Source: SQLite, How To Corrupt An SQLite Database File, section 2.2.

    Args:
        typed: `--data-dir DIR`.
        environment: The process's environment variables.
    """
    from tui_host.settings.paths import DATABASE, data_dir

    try:
        path = data_dir(typed, environment) / DATABASE
        side_files = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", "-journal"))
        return (
            _has_room(path.parent)
            and (not os.path.lexists(path) or _is_ours(path))  # a link may lead to a file that does not exist
            and all(file.is_file() for file in side_files if os.path.lexists(file))
        )
    except Exception:  # noqa: BLE001 - whatever it is, opening the database will tell it
        return False


def _has_room(folder: Path) -> bool:
    """Whether a folder of this user has room on its disk, or can be created."""
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    status, disk = nearest.stat(), os.statvfs(nearest)
    may_grow, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    is_safe = nearest != folder or (status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX)
    has_room = disk.f_bavail * disk.f_frsize >= DISK_ROOM and not 0 <= may_grow < DISK_ROOM  # negative: unknown
    return is_safe and has_room and os.access(nearest, os.W_OK | os.X_OK)


def _is_ours(path: Path) -> bool:
    """Whether a file has the header of this program's database. Source: SQLite, Database File Format, section 1.3."""
    from tui_host.capture.store.schema import APPLICATION_ID, FORM

    if not path.is_file() or not os.access(path, os.R_OK | os.W_OK):
        return False
    with path.open("rb") as file:
        header = file.read(100)
    version, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    # Both are 0 while the process that made the file is the only one: the header then stands in the log beside it.
    return header.startswith(b"SQLite format 3\0") and version <= FORM and application in {0, APPLICATION_ID}
