"""Copies a program's three streams byte by byte to files. Put before a server's command; knows nothing of what passes.

    python tee.py FOLDER COMMAND ARGUMENTS…

Each start writes a folder of its own: FOLDER/NUMBER/{stdin,stdout,stderr}. A byte is in its file before it is passed on, so whatever a
peer has received is there. Standard library alone.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path


def write(target: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(target, piece) :]


def copy(source: int, target: int, log: Path) -> None:
    """Pass on what comes until it ends or nobody takes it any more."""
    kept = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        while piece := os.read(source, 1 << 16):
            write(kept, piece)
            write(target, piece)
    except BrokenPipeError:
        pass  # nobody takes it any more
    finally:
        os.close(source)
        os.close(target)


def main() -> None:
    folder = Path(sys.argv[1]) / str(time.monotonic_ns())
    folder.mkdir(parents=True)
    (its_in, to_child), (from_child, its_out), (said, its_err) = os.pipe(), os.pipe(), os.pipe()
    child = subprocess.Popen(sys.argv[2:], stdin=its_in, stdout=its_out, stderr=its_err)
    for descriptor in (its_in, its_out, its_err):
        os.close(descriptor)
    threading.Thread(target=copy, args=(0, to_child, folder / "stdin"), daemon=True).start()
    outward = [
        threading.Thread(target=copy, args=(from_child, 1, folder / "stdout")),
        threading.Thread(target=copy, args=(said, 2, folder / "stderr")),
    ]
    for thread in outward:
        thread.start()
    code = child.wait()
    for thread in outward:
        thread.join()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
