"""Each vendor's own Python client reads what `tests/kit` writes in its dialect: the check on the writer that other tests rely on.

Each runs in an environment of its own, from PyPI's packages of exactly these versions, and prints what it read.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.interop.others import HOME
from tests.kit.bodies import Answer, Call, Usage, says
from tests.kit.peer import head, peer_in_thread

pytestmark = pytest.mark.timeout(300)

CLIENTS: Mapping[str, tuple[str, str, str]] = {
    "openai": ("openai==3.52.0", "tool_calls", "RateLimitError"),
    "openai-responses": ("openai==3.52.0", "completed", "RateLimitError"),
    "anthropic": ("anthropic==2.11.0", "tool_use", "RateLimitError"),
    "gemini": ("google-genai==3.4.0", "STOP", "ClientError"),
    "ollama": ("ollama==0.6.3", "stop", "ResponseError"),
}
"""By the dialect: its package, how it calls the end, and what it makes of status 429."""
ANSWER = Answer("Let me see… 看", [Call("c1", "add", {"a": 1.5})], usage=Usage(120, 48))
BUSY = head("429 Too Many Requests", kind="application/json") + b'{"error":{"message":"slow down","code":429}}'


@pytest.mark.parametrize("dialect", CLIENTS)
def test_a_vendors_own_client_reads_what_the_kit_writes(dialect: str) -> None:
    with peer_in_thread(*answers(dialect)) as there:
        reads_all(dialect, there.origin)


def answers(dialect: str) -> tuple[list[bytes], list[bytes], bytes]:
    return says(dialect, ANSWER, size=5), says(dialect, ANSWER, is_streamed=False), BUSY


def reads_all(dialect: str, origin: str) -> None:
    """Let a vendor's client ask three times at an origin, and look at what it made of the answers."""
    if shutil.which("uv") is None:  # it brings the vendors' clients: without it there is nothing to test
        pytest.skip("uv is not installed")
    package, stop, error = CLIENTS[dialect]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    words = ["uv", "run", "--quiet", "--no-project", "--python", version, "--with", package, "python"]
    script = Path(__file__).with_name("vendors.py")
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    done = subprocess.run(
        [*words, str(script), dialect, origin],
        env={**environment, "HOME": HOME},
        capture_output=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr.decode()
    read = [ANSWER.text, [["add", {"a": 1.5}]], [120, 48], stop]
    assert json.loads(done.stdout) == {"streamed": read, "whole": read, "refused": error}
