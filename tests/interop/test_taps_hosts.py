"""Whole hosts that this project did not write, with what they talk to tapped: they do what they do without, and each call is one story."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases import some
from tests.demo.running import model_at
from tests.interop.others import EVERYTHING, HOME, Node
from tests.tap.stdio_taps import sessions, tap, until
from tui_host.capture.store.store import Store
from tui_host.infer.story import Story

pytestmark = pytest.mark.timeout(300, func_only=True)

ECHO = ("echo", '{"message": "写 <b>"}')
ASKED = (ECHO, ("get-sum", '{"a": 20, "b": 22}'), ECHO)
"""Two of them are alike, and bring the same: only a host that says with each frame whose it is tells which is which. Codex does, and sends
calls in any order."""
_VARIES = re.compile(rb"Wall time: [\d.]+ seconds")
"""What a host tells of its own clock."""
Started = tuple[Sequence[str], Mapping[str, str]]
"""A host's arguments and what it has in its environment."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a host is started on: a home into which its files are written, a model, a server's command, a question."""

    home: Path
    origin: str
    server: Sequence[str]
    question: str


@contextmanager
def tapped(upstream: str, folder: Path) -> Generator[str]:
    """The tap before an upstream, as a program; its origin."""
    words = ["tap", "llm", "--upstream", upstream, "--port", "0", "--data-dir", str(folder)]
    with subprocess.Popen([sys.executable, "-m", "tui_host", *words], stdout=subprocess.PIPE) as process:
        try:
            found = re.match(rb"http://[^/]+", some(process.stdout).readline().strip())
            yield some(found)[0].decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 143
        finally:
            process.kill()


def told(folder: Path, taps: int) -> Story:
    """What so many taps together have recorded, once that is at its end, which may be later than their own."""
    until(lambda: [info.live for info in sessions(folder)] == [False] * taps, 30)
    store = Store.open(folder / "tui-host.db")
    story = Story()
    records = [record for session in store.sessions.list() for record, _ in store.session_records(session.id)]
    store.close()
    for record in sorted(records, key=story.clock.at_ns):
        story.feed(record)
    return story


def run(command: Sequence[str], home: Path, given: bytes, own: Mapping[str, str]) -> tuple[int, bytes]:
    """A host's exit code and standard output; its home is empty, and uv's cache the person's."""
    cache = os.environ.get("UV_CACHE_DIR", f"{HOME}/.cache/uv")
    usual = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm", "UV_CACHE_DIR": cache}
    done = subprocess.run(
        command, cwd=home, env={**usual, **own}, input=given, capture_output=True, check=False, timeout=200
    )
    return done.returncode, done.stdout


def servers(command: Sequence[str], **more: bool) -> dict[str, object]:
    return {"mcpServers": {"everything": {"command": command[0], "args": list(command[1:]), **more}}}


def claude_code(on: Asked) -> Started:
    (on.home / "servers.json").write_text(json.dumps(servers(on.server)))
    arguments = ["-p", on.question, "--model", "anthropic", "--mcp-config", "servers.json", "--strict-mcp-config"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    patient = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000"}
    own = {"ANTHROPIC_BASE_URL": on.origin, "ANTHROPIC_API_KEY": "none", **quiet, **patient}
    return [*arguments, "--allowedTools", "mcp__everything"], own


def gemini_cli(on: Asked) -> Started:
    settings = {**servers(on.server, trust=True), "security": {"auth": {"selectedType": "gemini-api-key"}}}
    (on.home / ".gemini").mkdir()
    (on.home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    own = {"GOOGLE_GEMINI_BASE_URL": on.origin, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return ["-m", "gemini", "-p", on.question], own


def codex(on: Asked) -> Started:
    options = {
        "model_provider": '"tap"',
        "model_providers.tap": f'{{name="tap",base_url="{on.origin}/v1",env_key="OPENAI_API_KEY"}}',
        "mcp_servers.everything.command": json.dumps(on.server[0]),
        "mcp_servers.everything.args": json.dumps(on.server[1:]),
        "mcp_servers.everything.default_tools_approval_mode": '"approve"',
        "mcp_servers.everything.startup_timeout_sec": "60",
        "mcp_servers.everything.required": "true",
        "analytics.enabled": "false",
    }
    given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return ["exec", "--skip-git-repo-check", *given, "-m", "openai-responses", on.question], {"OPENAI_API_KEY": "none"}


def continue_cli(on: Asked) -> Started:
    """By a file; JSON is YAML."""
    model = {"name": "demo", "provider": "openai", "model": "openai", "apiKey": "none", "apiBase": f"{on.origin}/v1"}
    config = {
        "name": "tap",
        "version": "0.0.1",
        "schema": "v1",
        "models": [{**model, "roles": ["chat"], "capabilities": ["tool_use"]}],
        "mcpServers": [{"name": "everything", "command": on.server[0], "args": list(on.server[1:])}],
    }
    (on.home / "config.yaml").write_text(json.dumps(config))
    return ["--config", "config.yaml", "--auto", "-p", on.question], {"CONTINUE_TELEMETRY_ENABLED": "0"}


def opencode(on: Asked) -> Started:
    """By its file. Of a question with blanks among its arguments it makes one in quotation marks, so it reads this one from its input."""
    options = {"baseURL": f"{on.origin}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"openai": {"tool_call": True}}}
    config = {
        "provider": {"tap": provider},
        "permission": "allow",
        "mcp": {"everything": {"type": "local", "command": list(on.server), "timeout": 60000}},
    }
    (on.home / "opencode.json").write_text(json.dumps(config))
    return ["run", "-m", "tap/openai"], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host: its program, how it names a tool of the server `everything`, and whether it sends the model's id of a call with its frame."""

    program: str
    tool: str
    start: Callable[[Asked], Started]
    clean: Callable[[str], str] = str
    says_whose: bool = False
    reads_question: bool = False


HOSTS = {
    "Claude Code": Host(program="claude", tool="mcp__everything__", start=claude_code, says_whose=True),
    "Gemini CLI": Host(program="gemini", tool="mcp_everything_", start=gemini_cli),
    "Codex": Host(
        program="codex",
        tool="mcp__everything__",
        start=codex,
        clean=lambda name: name.replace("-", "_"),
        says_whose=True,
    ),
    "Continue": Host(program="cn", tool="", start=continue_cli),
    "opencode": Host(program="opencode", tool="everything_", start=opencode, reads_question=True),
}


@pytest.mark.parametrize("title", HOSTS)
def test_a_host_does_with_both_halves_tapped_what_it_does_without_and_every_call_is_one_story(
    title: str, tmp_path: Path, node: Node, hosts: Node
) -> None:
    host, server, data = HOSTS[title], node.command(EVERYTHING, "stdio"), tmp_path / "data"
    question = "\n".join(f"call {host.tool}{host.clean(name)} {arguments}" for name, arguments in ASKED)

    def ask(home: Path, origin: str, command: Sequence[str]) -> tuple[int, bytes]:
        home.mkdir()
        words, own = host.start(Asked(home, origin, command, question))
        given = question.encode() if host.reads_question else b""
        code, said = run([hosts.program(host.program), *words], home, given, own)
        return code, _VARIES.sub(b"", said)

    with model_at("--pace", "0") as (_, port):
        upstream = f"http://127.0.0.1:{port}"
        alone = ask(tmp_path / "alone", upstream, server)
        with tapped(upstream, data) as origin:
            both = ask(tmp_path / "tapped", origin, tap(data, *server, name="everything"))
    assert both == alone
    assert alone[0] == 0
    story = told(data, 2)
    rivals = {each.call.key: each.rivals if each.known == "maybe" else () for each in story.joined()}
    joined = [(it.server, it.tool, len(it.sent), len(rivals[it.call.key]), len(it.results)) for it in story.joined()]
    sure, maybe = ("everything", 1, 0), ("everything", 1, 1)
    found = {"echo": sure if host.says_whose else maybe, "get-sum": sure}
    assert joined == [(found[name][0], name, *found[name][1:], 1) for name, _ in ASKED]
    assert list(story.hosts) == [title]
    assert question in {each.text for each in story.conversations.exchanges.values()}  # some ask for a title before it


OWN_FILES: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "claude-code": ("claude", ".claude.json", ("mcp", "add", "-s", "user", "everything", "--")),
    "gemini-cli": ("gemini", ".gemini/settings.json", ("mcp", "add", "-s", "user", "everything")),
}


@pytest.mark.parametrize("name", OWN_FILES)
def test_a_host_connects_through_the_tap_that_was_installed_in_the_file_that_it_wrote_itself(
    name: str, tmp_path: Path, node: Node, hosts: Node
) -> None:
    program, place, add = OWN_FILES[name]
    environment = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "MCP_TIMEOUT": "60000"}

    def done(*command: str) -> str:
        code, out = run(["sh", "-c", 'exec "$0" "$@" 2>&1', *command], tmp_path, b"", environment)
        assert code == 0, out
        return out.decode()

    done(hosts.program(program), *add, *node.command(EVERYTHING, "stdio"))
    before = (tmp_path / place).read_bytes()
    ours = (sys.executable, "-m", "tui_host", "tap")
    done(*ours, "install", name, "--yes", "--data-dir", str(tmp_path / "data"))
    listed = done(hosts.program(program), "mcp", "list")
    assert " tap stdio " in listed
    assert "Connected" in listed
    assert set(told(tmp_path / "data", 1).frames.clients.values())
    done(*ours, "uninstall", name, "--yes")
    assert json.loads((tmp_path / place).read_bytes())["mcpServers"] == json.loads(before)["mcpServers"]
