"""Each vendor's own Python client against the demo model: the check on the demo model, which other tests rely on.

Each runs in an environment of its own, from PyPI's packages of exactly these versions, and prints what it saw.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.demo.played import BUNDLED
from tests.demo.running import model_at
from tests.interop.exported import array_of, object_of
from tests.interop.others import HOME
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

OPENAI, ANTHROPIC, GENAI, OLLAMA = "openai==3.52.0", "anthropic==2.11.0", "google-genai==3.4.0", "ollama==0.6.3"
CLIENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "openai_chat": (OPENAI, ("openai", "openai-responses")),
    "openai_responses": (OPENAI, ("openai", "openai-responses")),
    "anthropic_messages": (ANTHROPIC, ("anthropic",)),
    "gemini_content": (GENAI, ("gemini",)),
    "ollama_chat": (OLLAMA, ("ollama",)),
}
ERRORS: Mapping[str, tuple[str, str]] = {
    "openai_chat": ("RateLimitError", "APIError"),
    "openai_responses": ("RateLimitError", "error"),
    "anthropic_messages": ("RateLimitError", "APIStatusError"),
    "gemini_content": ("ClientError", "ServerError"),
    "ollama_chat": ("ResponseError", "ResponseError"),
}
"""What the client makes of a status 429, and of an error in mid-stream."""

QUESTION = "what is (1 + 2) * (3 + 4)?"
PARALLEL = "weather in Paris and Tokyo"
TOOLS: list[JSON] = [
    {
        "name": name,
        "description": tool.description,
        "parameters": {"type": "object", "properties": dict(tool.properties), "required": list(tool.properties)},
    }
    for name, tool in BUNDLED.items()
]
CALLED: tuple[tuple[str, dict[str, JSON]], ...] = (
    ("math__add", {"a": 1, "b": 2}),
    ("math__add", {"a": 3, "b": 4}),
    ("math__multiply", {"a": 3, "b": 7}),
    ("weather__get_forecast", {"city": "Paris"}),
    ("weather__get_forecast", {"city": "Tokyo"}),
)
RESULTS: dict[str, JSON] = {
    f"{name} {json.dumps(arguments, sort_keys=True)}": BUNDLED[name].call(dict(arguments)).text
    for name, arguments in CALLED
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with model_at("--pace", "0") as (process, port):
        yield f"http://127.0.0.1:{port}"
        process.terminate()
        assert process.communicate(timeout=10) == (b"", b"")


@pytest.mark.parametrize("name", CLIENTS)
def test_a_vendors_own_client_reads_all_that_the_demo_model_writes(name: str, address: str) -> None:
    reads_all(name, address)


def reads_all(name: str, address: str) -> None:
    """Let a client have every kind of turn with the demo model at an address, and look at what it made of them."""
    package, models = CLIENTS[name]
    seen = _run(name, package, address)

    assert array_of(seen["models"]) == list(models)
    for way in ("streamed", "whole"):
        turn = object_of(seen[way])
        assert turn["steps"] == [
            [["math__add", {"a": 1, "b": 2}], ["math__add", {"a": 3, "b": 4}]],
            [["math__multiply", {"a": 3, "b": 7}]],
        ]
        assert "**21**" in str(turn["answer"])
        assert (turn["finish"], turn["usage"]) == ("stop", True)
    parallel = object_of(seen["parallel"])
    assert parallel["steps"] == [
        [["weather__get_forecast", {"city": "Paris"}], ["weather__get_forecast", {"city": "Tokyo"}]]
    ]
    assert str(RESULTS['weather__get_forecast {"city": "Tokyo"}']) in str(parallel["answer"])
    assert seen["thinking"] is True
    for where, kind in zip(("refused", "broken"), ERRORS[name], strict=True):
        found, words = array_of(seen[where])
        assert found == kind
        assert "demo model was asked for" in str(words)


def _run(name: str, package: str, address: str) -> Mapping[str, JSON]:
    if shutil.which("uv") is None:  # it brings the vendors' clients: without it there is nothing to test
        pytest.skip("uv is not installed")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    script = Path(__file__).parent / "vendors" / f"{name}.py"
    command = ["uv", "run", "--quiet", "--no-project", "--python", version, "--with", package, "python", str(script)]
    given = json.dumps([QUESTION, PARALLEL, TOOLS, RESULTS])
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    done = subprocess.run(
        [*command, address, given],
        env={**environment, "HOME": HOME},
        capture_output=True,
        check=False,
        timeout=240,
        cwd=script.parent,
    )
    assert done.returncode == 0, done.stderr.decode()
    return object_of(json.loads(done.stdout))
