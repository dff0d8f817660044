"""A full disk: what is deleted makes room on it, and what waited is written. On a real one of a few megabytes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
from tests.capture.drafts import frame
from tests.capture.stores import FIRST, SECOND, assert_sound, kept_of, save
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

path = Path(sys.argv[1]) / "tui-host.db"
ballast = path.with_name("tui-host.db.ballast")

def keep(store, session, frames):
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

def fill():
    "All that is left is taken by another file."
    with (path.parent / "filling").open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(4096))
        except OSError:
            pass
"""


def on_small_disk(tmp_path: Path, program: str, megabytes: int = 16) -> None:
    """Run a program with a disk of its own; what it asserts must hold."""
    unshare = shutil.which("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size={megabytes}m,mode=700 none "$0" && exec "$@"'
    command = [unshare or "", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(disk)]
    if unshare is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        # Only a file system of its own can be full without harm; containers often forbid one, and macOS has no unshare.
        pytest.skip("this machine lets nobody mount a disk")
    done = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM + program + "\nprint('done')", str(disk)],
        capture_output=True,
        check=False,
        timeout=90,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr.decode()


def test_on_a_full_disk_what_can_be_done_is_done_and_nothing_is_harmed(tmp_path: Path) -> None:
    on_small_disk(
        tmp_path,
        """
store = Store.open(path)
assert keep(store, FIRST, 500).close()
assert keep(store, SECOND, 500).close()
assert store.close()
fill()
assert free() == 0
reading = Store.open_to_read(path)
assert len(kept_of(reading, FIRST)) == 500
reading.close()
fill()
store = Store.open(path)
assert delete_session(store, FIRST)
assert len(kept_of(store, SECOND)) == 500
assert free() > 1_500_000 and ballast.exists()
assert_sound(store)
store.close()

# without room held back
ballast.unlink()
fill()
try:
    Store.open(path)
except StoreError as error:
    assert "cannot be opened: the disk is full" in str(error)
else:
    raise AssertionError("it was opened")
(path.parent / "filling").unlink()
store = Store.open(path)
assert len(kept_of(store, SECOND)) == 500
assert_sound(store)
store.close()
""",
    )
