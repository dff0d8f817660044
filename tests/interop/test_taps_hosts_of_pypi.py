"""Hosts of PyPI that this project did not write, with both halves tapped: they say what they say without, and each call is one story.

What they taught: `llm` starts a server anew for each call, so that one story has a tap for each; it offers tools by their bare names,
and tells results wrapped in words of its own. fast-agent asks a server over stdio and one over HTTP at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.demo.running import line_of, model_at, started
from tests.interop.others import FAST_AGENT, HOME, LLM, LLM_MCP, uvx
from tests.interop.test_taps_http import tapped, told
from tests.tap.stdio_taps import tap

pytestmark = pytest.mark.timeout(300)

_SAID = re.compile(rb"\S+ answered .*I am no AI", re.DOTALL)
"""The model's last words, without what a host tells of its own clock and of ids."""
MATH = (sys.executable, "-m", "tui_host.demo.servers", "math")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host and how it is started on one question.

    Attributes:
        titles: As it is named here.
        asked: How the model names the two tools that it is to call.
        servers: Whose these tools are.
        taps: How many taps that makes: of the model, of a server over HTTP, and of each start of one over stdio.
        start: Its command and its environment, for a home, a model's origin, a server's command and URL, and a question; files
            that it reads are written there.
    """

    titles: Sequence[str]
    asked: Sequence[str]
    servers: Sequence[str]
    taps: int
    start: Callable[[Path, str, Sequence[str], str, str], tuple[Sequence[str], Mapping[str, str]]]

    @property
    def question(self) -> str:
        """What asks for both calls at once."""
        add, multiply = self.asked
        return f'call {add} {{"a": 20, "b": 22}}\ncall {multiply} {{"a": 3, "b": 4}}'

    def run(self, home: Path, origin: str, server: Sequence[str], url: str) -> tuple[int, Sequence[bytes]]:
        """Ask; gives the exit code and what it printed of the answer."""
        home.mkdir()
        command, own = self.start(home, origin, server, url, self.question)
        environment = {
            **os.environ,
            "HOME": str(home),
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR", f"{HOME}/.cache/uv"),
            **own,
        }
        done = subprocess.run(
            command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=200
        )
        return done.returncode, _SAID.findall(done.stdout)


def llm(
    home: Path, origin: str, server: Sequence[str], url: str, question: str
) -> tuple[Sequence[str], Mapping[str, str]]:
    """Models by a file of its own, servers by its plugin's; JSON is YAML."""
    model = {"model_id": "demo", "model_name": "openai", "api_base": f"{origin}/v1", "supports_tools": True}
    (home / "extra-openai-models.yaml").write_text(json.dumps([model]))
    (home / ".llm-tools-mcp").mkdir()
    math = {"type": "stdio", "command": server[0], "args": list(server[1:])}
    (home / ".llm-tools-mcp" / "mcp.json").write_text(json.dumps({"mcpServers": {"math": math}}))
    command = uvx(LLM, "-m", "demo", "-T", "MCP", question, options=["--with", LLM_MCP, "--with", "mcp<2"])
    return command, {"LLM_USER_PATH": str(home), "OPENAI_API_KEY": "none"}


def fast_agent(
    home: Path, origin: str, server: Sequence[str], url: str, question: str
) -> tuple[Sequence[str], Mapping[str, str]]:
    """By one file."""
    python = ("--python", "3.12")  # it takes no older one
    if subprocess.run([*uvx("python", options=python), "-V"], capture_output=True, check=False).returncode:
        pytest.skip("uv finds no Python 3.12 here, which fast-agent needs")
    servers = {
        "math": {"command": server[0], "args": list(server[1:])},
        "far": {"transport": "http", "url": url},
    }
    config = {"generic": {"base_url": f"{origin}/v1", "api_key": "none"}, "mcp": {"servers": servers}}
    (home / "fastagent.config.yaml").write_text(json.dumps(config))
    words = ["-c", "fastagent.config.yaml", "--servers", "math,far", "--model", "generic.openai"]
    return uvx("fast-agent", "go", *words, "--message", question, options=["--from", FAST_AGENT, *python]), {}


HOSTS = {
    "llm": Host(
        titles=["the OpenAI SDK for Python", "the MCP SDK for Python"],
        asked=("add", "multiply"),
        servers=("math", "math"),
        taps=5,
        start=llm,
    ),
    "fast-agent": Host(
        titles=["fast-agent"], asked=("math__add", "far__multiply"), servers=("math", "far"), taps=3, start=fast_agent
    ),
}


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_says_with_both_halves_tapped_what_it_says_without_and_every_call_is_one_story(
    name: str, tmp_path: Path
) -> None:
    host, data = HOSTS[name], tmp_path / "data"
    with ExitStack() as running:
        _, port = running.enter_context(model_at("--pace", "0"))
        url = str(line_of(running.enter_context(started(*MATH[1:], "--http")))["url"])
        origin = f"http://127.0.0.1:{port}"
        alone = host.run(tmp_path / "alone", origin, MATH, url)
        with tapped(origin, data) as model, tapped(url, data, "http", "far") as far:
            both = host.run(tmp_path / "tapped", model, tap(data, *MATH), f"{far}/mcp")
    assert both == alone
    assert (alone[0], len(alone[1])) == (0, 1)
    story = told(data, host.taps)
    joined = [(each.server, each.tool, len(each.sent), len(each.results)) for each in story.joined()]
    assert joined == [(host.servers[0], "add", 1, 1), (host.servers[1], "multiply", 1, 1)]
    assert sorted(story.hosts) == sorted(host.titles)
    assert story.exchanges[0].text == host.question
