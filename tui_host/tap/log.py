"""Where a tap's records go besides the database: JSON lines in a file, or plain lines for a person who looks on."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tui_host.capture.exports.jsonl import record_line, session_line
from tui_host.capture.record import Record
from tui_host.capture.store.sessions import SessionInfo
from tui_host.capture.visible import visible

SHOWN = 400
"""Characters of a record that a plain line has."""
_ARROWS = {"out": "-->", "in": "<--", None: " * "}


class JsonLines:
    """Record lines at the end of a file, which this user alone may read. Source: DESIGN, Contract, Record lines.

    Args:
        path: The file; made with the first line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def begin(self, session: SessionInfo) -> None:
        """The line that begins a session."""
        self._append(session_line(session))

    def write(self, record: Record) -> None:
        """One record's line."""
        self._append(record_line(record))

    def _append(self, line: bytes) -> None:
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if _ends_within_a_line(self._path):
                line = b"\n" + line
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.close(self._file)  # the next line finds it again, and what is there of this one
            self._file = None
            raise OSError(error.errno, error.strerror, str(self._path)) from error


def _ends_within_a_line(path: Path) -> bool:
    """Whether a tap that was killed has left half a line there."""
    if not path.is_file() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


class PlainLines:
    """A line for a person for each record, but for what stands on standard error anyway.

    Args:
        write: Takes a line without its end.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def begin(self, session: SessionInfo) -> None:
        """Which session it is."""
        self._write(f"recording {session.id}")

    def write(self, record: Record) -> None:
        """One record in short."""
        draft = record.draft
        if draft.wire == "stderr":
            return
        moment = datetime.fromtimestamp(record.time_ns / 1_000_000_000).astimezone()
        words = [f"{moment:%H:%M:%S}.{record.time_ns // 1_000_000 % 1000:03d}", draft.peer, _ARROWS[draft.direction]]
        head = draft.head
        if head is not None:
            words += [str(item) for item in (head.method, head.url, head.status) if item is not None]
        elif draft.kind != "frame":
            words.append(draft.kind)
        size = len(draft.data)
        if draft.kind == "frame":
            text = draft.data[: SHOWN * 4].decode("utf-8", "backslashreplace").rstrip("\r\n")
            words.append(visible(text[:SHOWN], newlines=False))
            if len(text) > SHOWN:
                words.append(f"… {size:,} bytes")
        elif size:
            words.append(f"{size:,} bytes")
        if draft.malformed:
            words.append(f"({visible(draft.malformed, newlines=False)})")
        self._write(" ".join(words))
