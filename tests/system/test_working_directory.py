"""Where a person stands when the program is started runs nothing: a folder from elsewhere is data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tui_host.settings.environment_references import CHILD_VARIABLES, listed_environment

CANARIES = ("argparse", "json", "asyncio", "mcp", "anyio", "tui_host")


def test_modules_in_the_working_directory_are_run_by_nobody(tmp_path: Path) -> None:
    here = tmp_path / "cloned"
    here.mkdir()
    for name in CANARIES:
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'a').write('{name} ')\nraise SystemExit\n")
    config = tmp_path / "config.toml"
    config.write_text('servers.math.bundled = "math"\nlimits.connect_wait = 240\n')
    own = ["--data-dir", str(tmp_path / "data"), "--config", str(config)]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "tui_host", *own, "ask", "what is 2 + 3?", "--allow", "math.*"],
        cwd=here,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=90,
    )
    assert not (tmp_path / "pwned").exists(), (tmp_path / "pwned").read_text()
    assert b"2 + 3 = **5**" in done.stdout, done.stderr
    assert done.returncode == 0


def test_the_children_of_ours_get_no_credential() -> None:
    environment = {"OPENAI_API_KEY": "sk-not-yours", "PATH": "/bin", "HOME": "/h"}
    assert listed_environment(environment) == {"PATH": "/bin", "HOME": "/h"}
    assert not [name for name in CHILD_VARIABLES if "KEY" in name or "TOKEN" in name]
