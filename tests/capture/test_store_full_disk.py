"""A full disk: what is deleted makes room on it, and what waited is written. On a real one of a few megabytes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture.drafts import frame
from tests.capture.stores import FIRST, REPOSITORY, SECOND, assert_sound, kept_of, save
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.store.deletion import delete_session
from tui_host.capture.store.store import Store
from tui_host.errors import StoreError

MOUNTED = 'mount -t tmpfs -o size=16m,mode=700 none "$0" && exec "$@"'


def fill(disk: Path) -> None:
    """All that is left is taken by another file."""
    with (disk / "filling").open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(4096))
        except OSError:
            pass


def free(disk: Path) -> int:
    system = os.statvfs(disk)
    return system.f_bavail * system.f_frsize


def scene(disk: Path) -> None:
    path = disk / "tui-host.db"
    ballast = path.with_name("tui-host.db.ballast")
    store = Store.open(path)
    for session in (FIRST, SECOND):
        save(store, session)
        recorder = Recorder(store, Redactor(), capture=f"c of {session}")
        for number in range(500):
            recorder.append(frame(os.urandom(4000), session=session))
            assert number % 100 < 99 or recorder.flush()
        assert recorder.close()
    assert store.close()
    fill(disk)
    assert free(disk) == 0

    reading = Store.open_to_read(path)
    assert len(kept_of(reading, FIRST)) == 500
    reading.close()
    fill(disk)
    store = Store.open(path)
    assert delete_session(store, FIRST)
    assert len(kept_of(store, SECOND)) == 500
    assert free(disk) > 1_500_000
    assert ballast.exists()
    assert_sound(store)
    store.close()

    ballast.unlink()  # without room held back
    fill(disk)
    with pytest.raises(StoreError, match="cannot be opened: the disk is full"):
        Store.open(path)
    (disk / "filling").unlink()
    store = Store.open(path)
    assert len(kept_of(store, SECOND)) == 500
    assert_sound(store)
    store.close()


def test_on_a_full_disk_what_can_be_done_is_done_and_nothing_is_harmed(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    command = [unshare or "", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNTED, str(tmp_path)]
    if unshare is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        # Only a file system of its own can be full without harm; containers often forbid one, and macOS has no unshare.
        pytest.skip("this machine lets nobody mount a disk")
    command += [sys.executable, "-m", __name__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=90, cwd=REPOSITORY)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr.decode()


if __name__ == "__main__":
    scene(Path(sys.argv[1]))
    print("done")
