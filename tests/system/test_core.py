"""A crash of the interpreter leaves no memory on the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import resource, sys
_, most = resource.getrlimit(resource.RLIMIT_CORE)
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
from tui_host.__main__ import run
code = run(sys.argv[1:])
print(code, resource.getrlimit(resource.RLIMIT_CORE) == (0, most))
"""


def test_the_program_writes_no_core_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, "sessions", "list", "--data-dir", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, check=True, timeout=90)
    assert ended.stdout == b"0 True\n"
