"""A full disk: what is deleted makes room on it, and what waited is written. On a real one of a few megabytes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json, os, sys
from pathlib import Path
from tests.capture.drafts import frame, wait_until
from tests.capture.test_store_sessions import FIRST, SECOND, save
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

path = Path(sys.argv[1]) / "tui-host.db"
ballast = path.with_name("tui-host.db.ballast")
told = {}

def kept(store, session, frames):
    save(store, session)
    recorder = Recorder(store, Redactor(), capture=f"c of {session}")
    for number in range(frames):
        recorder.append(frame(os.urandom(4000), session=session))
        if number % 100 == 99 and not recorder.flush():
            break
    return recorder

def free():
    system = os.statvfs(path.parent)
    return system.f_bavail * system.f_frsize

def filled():
    "All that is left is taken by another file."
    with (path.parent / "filling").open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(4096))
        except OSError:
            pass

def checked(store):
    return store.read("PRAGMA integrity_check")[0][0]
"""


def on_small_disk(tmp_path: Path, program: str, megabytes: int = 16) -> dict[str, object]:
    """Run a program with a disk of its own; what it tells."""
    unshare = shutil.which("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size={megabytes}m,mode=700 none "$0" && exec "$@"'
    command = [unshare or "", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(disk)]
    if unshare is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        # Only a file system of its own can be full without harm; containers often forbid one, and macOS has no unshare.
        pytest.skip("this machine lets nobody mount a disk")
    done = subprocess.run(
        [*command, sys.executable, "-c", f"{PROGRAM}{program}\nprint(json.dumps(told))", str(disk)],
        capture_output=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_deleting_makes_room_and_what_waited_is_written(tmp_path: Path) -> None:
    told = on_small_disk(
        tmp_path,
        """
store = Store.open(path, retry_seconds=3600)
assert kept(store, FIRST, 500).close()
told["held"] = ballast.stat().st_size
late = kept(store, SECOND, 4000)
told["fault"], waiting = late.fault, late.unkept
told["waited"] = waiting > 0
told["checked"] = checked(store)
told["deleted"] = store.sessions.delete(FIRST)
told["written"] = late.flush(10)
told["fault after"] = late.fault
told["kept"] = len(list(store.records(session=SECOND))) > 1000
told["left"] = len(list(store.records(session=FIRST)))
told["checked after"] = checked(store)
store.close()
""",
    )

    assert told == {
        "held": 4 << 20,
        "fault": "the disk is full",
        "waited": True,
        "checked": "ok",
        "deleted": True,
        "written": True,
        "fault after": "",
        "kept": True,
        "left": 0,
        "checked after": "ok",
    }


def test_a_process_that_begins_on_a_full_disk_can_delete(tmp_path: Path) -> None:
    told = on_small_disk(
        tmp_path,
        """
store = Store.open(path)
assert kept(store, FIRST, 500).close()
assert kept(store, SECOND, 500).close()
assert store.close()
filled()
told["free"] = free()
reading = Store.open_to_read(path)
told["read"] = len(list(reading.records(session=FIRST)))
reading.close()
filled()
store = Store.open(path)
told["deleted"] = store.sessions.delete(FIRST)
told["kept"] = len(list(store.records(session=SECOND)))
told["has room"] = free() > 1_500_000
told["holds"] = ballast.exists()
told["checked"] = checked(store)
store.close()
""",
    )

    assert told == {
        "free": 0,
        "read": 500,
        "deleted": True,
        "kept": 500,
        "has room": True,
        "holds": True,
        "checked": "ok",
    }


def test_without_room_held_back_a_full_disk_is_told_and_nothing_is_harmed(tmp_path: Path) -> None:
    told = on_small_disk(
        tmp_path,
        """
store = Store.open(path)
assert kept(store, FIRST, 500).close()
assert store.close()
ballast.unlink()
filled()
try:
    Store.open(path)
except StoreError as error:
    told["error"] = str(error)
(path.parent / "filling").unlink()
store = Store.open(path)
told["kept"] = len(list(store.records(session=FIRST)))
told["checked"] = checked(store)
store.close()
""",
    )

    assert "cannot be opened: the disk is full" in str(told.pop("error"))
    assert told == {"kept": 500, "checked": "ok"}
