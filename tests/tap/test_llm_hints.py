"""Where hosts of others want the address of a tap before a model."""

from __future__ import annotations

import pytest

from tui_host.tap.http.llm_tap import base_url, instructions
from tui_host.tap.http.upstream import upstream_of

OWN = "http://127.0.0.1:8321"
OPENAI, ANTHROPIC, GEMINI, OLLAMA = "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST"


@pytest.mark.parametrize(
    ("upstream", "hints"),
    [
        ("https://api.deepseek.com/v1", {f"{OPENAI}={OWN}/v1"}),
        ("http://127.0.0.1:11434/v1", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1", {f"{OPENAI}={OWN}/v1"}),
        ("https://api.deepseek.com/v1/chat/completions", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1/responses/", {f"{OPENAI}={OWN}/v1"}),
        ("https://llm.example/v1/messages", {f"{ANTHROPIC}={OWN}"}),
        ("https://llm.example/v1beta/models/m:generateContent", {f"{GEMINI}={OWN}"}),
        ("https://llm.example/api/chat", {f"{OLLAMA}={OWN}"}),
        ("https://api.anthropic.com", {f"{ANTHROPIC}={OWN}"}),
        ("https://api.deepseek.com/anthropic", {f"{ANTHROPIC}={OWN}/anthropic"}),
        ("https://generativelanguage.googleapis.com", {f"{GEMINI}={OWN}"}),
        ("https://llm.example/v1beta", {f"{GEMINI}={OWN}"}),
        ("http://127.0.0.1:11434", {f"{OLLAMA}={OWN}"}),
        ("http://127.0.0.1:9000", {f"{OPENAI}={OWN}/v1", f"{ANTHROPIC}={OWN}", f"{GEMINI}={OWN}", f"{OLLAMA}={OWN}"}),
    ],
)
def test_the_variables_named_are_those_of_whom_the_upstream_speaks_like(upstream: str, hints: set[str]) -> None:
    lines = list(instructions(upstream_of(upstream, {}, None), OWN))
    names = (OPENAI, ANTHROPIC, GEMINI, OLLAMA)
    assert {line.rpartition(": ")[2] for line in lines if any(f" {name}=" in line for name in names)} == hints
    assert any("--allow-host host.docker.internal" in line for line in lines) == (
        OPENAI in str(hints) or OLLAMA in str(hints)
    )


@pytest.mark.parametrize(
    ("upstream", "path"),
    [
        ("https://api.deepseek.com/v1", "/v1"),
        ("https://llm.example/v1/", "/v1/"),
        ("https://api.anthropic.com/v1", ""),
        ("https://api.anthropic.com/", "/"),
        ("https://api.moonshot.cn/anthropic/v1/", "/anthropic"),
        ("https://generativelanguage.googleapis.com/v1beta", ""),
        ("https://llm.example/v1beta/models/m:generateContent", ""),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "/v1beta/openai/"),
    ],
)
def test_the_base_url_is_what_those_hosts_take_that_speak_so(upstream: str, path: str) -> None:
    """Clients of Anthropic's and of Gemini's API put the version behind it themselves: with it twice there is nothing."""
    assert base_url(upstream_of(upstream, {}, None), OWN) == OWN + path
