"""Whole hosts that this project did not write, with both halves tapped: they do what they do without, and each call is one story."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.demo.running import model_at
from tests.interop.others import EVERYTHING, Node
from tests.interop.test_taps_http import tapped, told
from tests.tap.stdio_taps import tap

pytestmark = pytest.mark.timeout(180, func_only=True)

ECHO = ("echo", '{"message": "写 <b>"}')
ASKED = (ECHO, ("get-sum", '{"a": 20, "b": 22}'), ECHO)
"""Two of them are alike, and bring the same: only a host that says with each frame whose it is tells which is which. Codex does, and sends
calls in any order."""
_VARIES = re.compile(rb"Wall time: [\d.]+ seconds")
"""What a host tells of its own clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host and how it is started on one question.

    Attributes:
        title: As it is named here.
        program: Its program.
        tool: How it names a tool of the server `everything`.
        start: Its arguments and its environment, for a home, a model's origin, a server's command and a question; files that it
            reads are written there.
        clean: The name of a tool as it is put into a name.
        says_whose: It sends the model's id of a call along with its frame.
        reads_question: The question is its standard input.
    """

    title: str
    program: str
    tool: str
    start: Callable[[Path, str, Sequence[str], str], tuple[list[str], dict[str, str]]]
    clean: Callable[[str], str] = str
    says_whose: bool = False
    reads_question: bool = False

    @property
    def question(self) -> str:
        """What asks for three calls at once."""
        return "\n".join(f"call {self.tool}{self.clean(name)} {arguments}" for name, arguments in ASKED)

    def run(self, hosts: Node, home: Path, origin: str, server: Sequence[str]) -> tuple[int, bytes]:
        """Ask; gives the exit code and what it printed."""
        home.mkdir()
        arguments, own = self.start(home, origin, server, self.question)
        environment = {**bare_environment(home), **own}
        command = [hosts.program(self.program), *arguments]
        done = subprocess.run(
            command,
            cwd=home,
            env=environment,
            input=self.question.encode() if self.reads_question else b"",
            capture_output=True,
            check=False,
            timeout=90,
        )
        return done.returncode, _VARIES.sub(b"", done.stdout)


def bare_environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}


def servers(command: Sequence[str], **more: bool) -> dict[str, object]:
    """The table of servers that most hosts share."""
    return {"mcpServers": {"everything": {"command": command[0], "args": list(command[1:]), **more}}}


def claude_code(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By `--mcp-config` and a variable."""
    (home / "servers.json").write_text(json.dumps(servers(server)))
    arguments = ["-p", question, "--model", "anthropic", "--mcp-config", "servers.json", "--strict-mcp-config"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    patient = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000"}
    own = {"ANTHROPIC_BASE_URL": origin, "ANTHROPIC_API_KEY": "none", **quiet, **patient}
    return [*arguments, "--allowedTools", "mcp__everything"], own


def gemini_cli(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By its settings and a variable."""
    settings = {**servers(server, trust=True), "security": {"auth": {"selectedType": "gemini-api-key"}}}
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    own = {"GOOGLE_GEMINI_BASE_URL": origin, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return ["-m", "gemini", "-p", question], own


def codex(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By options alone."""
    options = {
        "model_provider": '"tap"',
        "model_providers.tap": f'{{name="tap",base_url="{origin}/v1",env_key="OPENAI_API_KEY"}}',
        "mcp_servers.everything.command": json.dumps(server[0]),
        "mcp_servers.everything.args": json.dumps(server[1:]),
        "mcp_servers.everything.default_tools_approval_mode": '"approve"',
        "mcp_servers.everything.startup_timeout_sec": "60",
        "mcp_servers.everything.required": "true",
        "analytics.enabled": "false",
    }
    given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return ["exec", "--skip-git-repo-check", *given, "-m", "openai-responses", question], {"OPENAI_API_KEY": "none"}


def continue_cli(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By a file; JSON is YAML."""
    model = {"name": "demo", "provider": "openai", "model": "openai", "apiKey": "none", "apiBase": f"{origin}/v1"}
    config = {
        "name": "tap",
        "version": "0.0.1",
        "schema": "v1",
        "models": [{**model, "roles": ["chat"], "capabilities": ["tool_use"]}],
        "mcpServers": [{"name": "everything", "command": server[0], "args": list(server[1:])}],
    }
    (home / "config.yaml").write_text(json.dumps(config))
    return ["--config", "config.yaml", "--auto", "-p", question], {"CONTINUE_TELEMETRY_ENABLED": "0"}


def qwen_code(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By its settings and variables."""
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text(json.dumps(servers(server, trust=True)))
    own = {"OPENAI_BASE_URL": f"{origin}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "openai"}
    return ["--exclude-tools", "tool_search", "-y", question], own


def opencode(home: Path, origin: str, server: Sequence[str], question: str) -> tuple[list[str], dict[str, str]]:
    """By its file. Of a question with blanks among its arguments it makes one in quotation marks, so it reads this one from its input."""
    options = {"baseURL": f"{origin}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"openai": {"tool_call": True}}}
    config = {
        "provider": {"tap": provider},
        "permission": "allow",
        "mcp": {"everything": {"type": "local", "command": list(server), "timeout": 60000}},
    }
    (home / "opencode.json").write_text(json.dumps(config))
    return ["run", "-m", "tap/openai"], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


HOSTS = (
    Host(title="Claude Code", program="claude", tool="mcp__everything__", start=claude_code, says_whose=True),
    Host(title="Gemini CLI", program="gemini", tool="mcp_everything_", start=gemini_cli),
    Host(
        title="Codex",
        program="codex",
        tool="mcp__everything__",
        start=codex,
        clean=lambda name: name.replace("-", "_"),
        says_whose=True,
    ),
    Host(title="Continue", program="cn", tool="", start=continue_cli),
    Host(title="Qwen Code", program="qwen", tool="mcp__everything__", start=qwen_code),
    Host(title="opencode", program="opencode", tool="everything_", start=opencode, reads_question=True),
)


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.title)
def test_a_host_does_with_both_halves_tapped_what_it_does_without_and_every_call_is_one_story(
    host: Host, tmp_path: Path, node: Node, hosts: Node
) -> None:
    server, data = node.command(EVERYTHING, "stdio"), tmp_path / "data"
    with model_at("--pace", "0") as (_, port):
        upstream = f"http://127.0.0.1:{port}"
        alone = host.run(hosts, tmp_path / "alone", upstream, server)
        with tapped(upstream, data) as origin:
            both = host.run(hosts, tmp_path / "tapped", origin, tap(data, *server, name="everything"))
    assert both == alone
    assert alone[0] == 0
    story = told(data, 2)
    joined = [(each.server, each.tool, len(each.sent), len(each.rivals), len(each.results)) for each in story.joined()]
    sure, doubtful = ("everything", 1, 0), ("everything" if host.tool else "", 0, 2)
    found = {"echo": sure if host.says_whose else doubtful, "get-sum": sure}
    assert joined == [(found[name][0], name, *found[name][1:], 1) for name, _ in ASKED]
    assert list(story.hosts) == [host.title]
    assert host.question in {each.text for each in story.exchanges}  # some ask for a title before it


OWN_FILES: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "claude-code": ("claude", ".claude.json", ("mcp", "add", "-s", "user", "everything", "--")),
    "gemini-cli": ("gemini", ".gemini/settings.json", ("mcp", "add", "-s", "user", "everything")),
}


@pytest.mark.parametrize("name", OWN_FILES)
def test_a_host_connects_through_the_tap_that_was_installed_in_the_file_that_it_wrote_itself(
    name: str, tmp_path: Path, node: Node, hosts: Node
) -> None:
    program, place, add = OWN_FILES[name]
    environment = {**bare_environment(tmp_path), "GEMINI_CLI_TRUST_WORKSPACE": "true", "MCP_TIMEOUT": "60000"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=60,
        )
        return (done.stdout + done.stderr).decode()

    run(hosts.program(program), *add, *node.command(EVERYTHING, "stdio"))
    before = (tmp_path / place).read_bytes()
    ours = (sys.executable, "-m", "tui_host", "tap")
    run(*ours, "install", name, "--yes", "--data-dir", str(tmp_path / "data"))
    listed = run(hosts.program(program), "mcp", "list")
    assert " tap stdio " in listed
    assert "Connected" in listed
    assert set(told(tmp_path / "data", 1).frames.clients.values())
    run(*ours, "uninstall", name, "--yes")
    uninstalled = (tmp_path / place).read_bytes()
    assert json.loads(uninstalled)["mcpServers"] == json.loads(before)["mcpServers"]
