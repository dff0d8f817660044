"""Imports files in a separate process, so that the app never waits for a file.

The app writes one line to the process's standard input, and closes the input to end the process. The process writes
lines with its progress to standard output, and finally one with the result.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.json.narrowing import items, mapping, number_or_zero, text_or_empty
from tui_host.errors import JSON, SettingsError, TuiHostError

if TYPE_CHECKING:
    from tui_host.opening.import_types import Progress
    from tui_host.settings.schema import Settings

NICER = 5
"""How much lower the process's priority is than the app's."""
COMMAND = (sys.executable, "-P", "-m", "tui_host.opening.import_process")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportState:
    """The progress of an import."""

    expected: int = 0
    done: int = 0
    records: int = 0
    id: str = ""
    notices: tuple[str, ...] = ()
    is_whole: bool = False


def request_line(paths: Sequence[Path], database: Path, settings: Settings) -> bytes:
    """Return the line for the process's standard input."""
    from tui_host.settings.environment_references import secret_headers, secrets_of

    asked = {
        "paths": [str(path) for path in paths],
        "database": str(database),
        "secrets": [[secret.name, secret.reveal()] for secret in secrets_of(settings)],
        "headers": list(secret_headers(settings)),
    }
    return f"{json.dumps(asked)}\n".encode()


def import_state(line: bytes) -> ImportState:
    """Parse a line of the process's standard output.

    Raises:
        TuiHostError: The import failed, with the error of `import_files`, or the process has ended.
    """
    try:
        value: JSON = json.loads(line)
    except ValueError:
        value = None
    members = mapping(value)
    if not members:
        raise TuiHostError("the process that reads it has ended", remedy="open it again")
    if "error" in members:
        raise _error_of(mapping(members["error"]), is_typed=members.get("is_typed") is True)
    expected, done, records = (number_or_zero(members.get(name)) for name in ("expected", "done", "records"))
    notices = tuple(words for words in items(members.get("notices")) if isinstance(words, str))
    is_whole = members.get("is_whole") is True
    return ImportState(
        expected=expected,
        done=done,
        records=records,
        id=text_or_empty(members.get("id")),
        notices=notices,
        is_whole=is_whole,
    )


def _error_of(said: Mapping[str, JSON], *, is_typed: bool) -> TuiHostError:
    what, where, remedy = (text_or_empty(said.get(name)) for name in ("what", "where", "remedy"))
    return SettingsError(what, where, remedy) if is_typed else TuiHostError(what, where, remedy)


def main() -> None:
    """Import the files that the line on standard input names."""
    from tui_host.guard.core_dumps import leave_no_core

    leave_no_core()
    os.nice(NICER)
    asked = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_whoever_asked, daemon=True).start()
    try:
        _say(_answer(asked))
    except TuiHostError as error:
        _say({"error": error.to_json(), "is_typed": isinstance(error, SettingsError)})


def _answer(asked: Mapping[str, Sequence[str]]) -> Mapping[str, JSON]:
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.capture.store.store import Store
    from tui_host.opening.importing import import_files

    redactor = Redactor((name, value) for name, value in asked["secrets"])
    redactor.add_places(headers=asked["headers"])
    store = Store.open(Path(str(asked["database"])))
    try:
        paths = [Path(path) for path in asked["paths"]]
        imported = import_files(store, paths, redactor, _tell, lambda session: _say({"id": session}))
    finally:
        store.close()
    return {"id": imported.id, "notices": [*store.notices, *imported.notices], "is_whole": True}


def _tell(progress: Progress) -> None:
    _say({"expected": progress.expected, "done": progress.done, "records": progress.records})


def _say(answer: Mapping[str, JSON]) -> None:
    sys.stdout.buffer.write(f"{json.dumps(answer)}\n".encode())
    sys.stdout.buffer.flush()


def _end_with_whoever_asked() -> None:
    while os.read(0, 1 << 12):  # unbuffered: the lock of a buffer would be held if this process ends meanwhile
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
