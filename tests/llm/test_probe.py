"""Model servers on this machine, found by their lists of models."""

from __future__ import annotations

import subprocess
import sys

import anyio
import pytest

from tests.kit.peer import PATIENCE, hangs, head, peer
from tui_host.llm.probe import LocalServer, local_servers, presets_with_keys

TAGS = b'{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}'
LIST = b'{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}'


def test_keys_in_the_environment_are_found_by_their_presets() -> None:
    environment = {"DEEPSEEK_API_KEY": "k", "OPENAI_API_KEY": " ", "ANTHROPIC_API_KEY": "k", "OTHER": "k"}
    assert presets_with_keys(environment) == ("anthropic", "deepseek")


async def test_servers_that_list_models_are_found_and_one_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_host.llm.probe._SECONDS", 1)  # a busy machine takes longer than a start has time for
    async with (
        peer([head(kind="application/json"), TAGS]) as tags,
        peer([head(kind="application/json"), LIST]) as lists,
        peer(hangs()) as hanging,
    ):
        urls = {"ollama": tags.url.removesuffix("/v1"), "llamacpp": hanging.url, "vllm": lists.url}
        with anyio.fail_after(PATIENCE):
            servers = await local_servers({**urls, "lmstudio": "http://127.0.0.1:9/v1"})

    wanted = [LocalServer(provider=name, base_url=urls[name], models=("qwen3:8b",)) for name in ("ollama", "vllm")]
    assert servers == tuple(wanted)
    assert tags.requests[0].data.startswith(b"GET /api/tags HTTP/1.1\r\n")
    assert lists.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")


@pytest.mark.parametrize("pieces", [[head("404 Not Found"), LIST], [], [head(), b"x" * 3_000_000]])
async def test_what_is_no_model_server_is_left_out(pieces: list[bytes]) -> None:
    async with peer(pieces) as there:
        assert await local_servers({"llamacpp": there.url}) == ()


def test_where_nobody_listens_nothing_that_speaks_http_is_imported() -> None:
    code = """
import sys, anyio
from tui_host.llm.probe import local_servers
print(anyio.run(local_servers, {"ollama": "http://127.0.0.1:9/v1"}), *{"httpx", "httpcore"} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "()\n"
