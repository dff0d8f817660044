"""Who a tapped host is, by what it says of itself; and which taps tell one story."""

from __future__ import annotations

import pytest

from tui_host.infer.conversations.host_names import Speaker, host_asking, host_named, model_asked

BROWSER = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "system", "named"),
    [
        ("OpenAI/JS 4.83.0", "You are Cline, a highly skilled software engineer", "Cline"),
        ("Cline/3.20.1", "", "Cline"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/537.36 CherryStudio/1.6.2 Chrome/138 Electron/37", "", "Cherry Studio"),
        ("GeminiCLI/v0.9.0/gemini-2.5-pro (linux; x64)", "", "Gemini CLI"),
        (
            "litellm/1.80",
            "x-anthropic-billing-header: a\n\nYou are Claude Code, Anthropic's official CLI for Claude.",
            "Claude Code",
        ),
        ("agent/1", "Review this:\nYou are Claude Code, Anthropic's official CLI for Claude.", "agent"),
        ("agent/1", "Review this: You are Claude Code, Anthropic's official CLI for Claude.", "agent"),
        ("go/1", "You are an assistant, powered by a model. You operate in Cursor.", "Cursor"),
        ("agent/1", 'Say why it says "you operate in Cursor."', "agent"),
        (
            "GeminiCLI-tui/0.61.0/gemini-3 (linux; x64; terminal)",
            "You are Gemini CLI, an autonomous CLI agent",
            "Gemini CLI",
        ),
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14", "", "opencode"),
        ("codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm (codex_exec; 0.169.0)", "", "Codex"),
        ("ls/JS 5.23.2", "You are an agent in the Continue CLI. Given", "Continue"),
        ("ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30", "You are Cline, an AI coding agent.", "Cline"),
        ("ai-sdk/openai-compatible/3.0.37 ai-sdk/provider-utils/5.0.30", "", "the AI SDK"),
        ("OpenAI/Python 2.20.0", "Act as an expert software developer.\nTake requests for changes", "Aider"),
        ("Python/3.12 aiohttp/3.14.5", 'Be kind.\nMCP server "math" instructions:\nFour operations.', "Open WebUI"),
        ("Python/3.12 aiohttp/3.14.5", "", "aiohttp"),
        ("OpenAI/JS 4.83.0", "", "the OpenAI SDK for JavaScript"),
        ("my-agent/2.0 (test)", "", "my-agent"),
        (f"{BROWSER} My-App/3.1 Chrome/122.0.0.0 Electron/29.4.0 Safari/537.36", "", "My-App"),
        (f"{BROWSER} Chrome/122.0.0.0 Electron/29.4.0 Safari/537.36", "", "Electron"),
        (f"{BROWSER} Chrome/126.0.0.0 Safari/537.36", "", "Chrome"),
        (f"{BROWSER} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "", "Edge"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0", "", "Firefox"),
        ("Mozilla/5.0", "", "Mozilla"),
        ("", "", ""),
    ],
)
def test_a_host_is_named_by_what_it_sends_to_its_model(agent: str, system: str, named: str) -> None:
    assert host_asking([("User-Agent", agent)], system) == named


@pytest.mark.parametrize(
    ("opening", "named"),
    [
        ("### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>", "Open WebUI"),
        ("### Task:\nRespond to the user query using the provided context, incorporating citations", "Open WebUI"),
        ("### Task:\nWrite a poem.", "aiohttp"),
        ("What does `### Task:\n…\n<chat_history>\n` mean?", "aiohttp"),
    ],
)
def test_a_host_is_named_by_what_it_asks_in_the_users_place(opening: str, named: str) -> None:
    assert host_asking([("User-Agent", "Python/3.12 aiohttp/3.14.5")], "", opening) == named


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ("claude-ai", "Claude Desktop"),
        ("claude-code", "Claude Code"),
        ("Visual Studio Code - Insiders", "VS Code Copilot"),
        ("cursor-vscode", "Cursor"),
        ("gemini-cli-mcp-client", "Gemini CLI"),
        ("@cline/core", "Cline"),
        ("inspector-cli", "MCP Inspector"),
        ("fast-agent-mcp", "fast-agent"),
        ("mcp", "the MCP SDK for Python"),
        ("somebody's own", "somebody's own"),
    ],
)
def test_a_host_is_named_by_its_client(client: str, named: str) -> None:
    assert host_named(client) == named


def test_a_model_is_named_in_the_body_or_in_the_path() -> None:
    assert model_asked("https://x/v1/chat/completions", b'{"model":"deepseek-chat"}') == "deepseek-chat"
    assert model_asked("https://x/v1beta/models/gemini-3:streamGenerateContent?alt=sse", b"{}") == "gemini-3"
    assert model_asked("https://x/v1/chat/completions", b"not JSON") == ""


SDK = Speaker(host="the OpenAI SDK for Python", agent=("OpenAI/Python 2.20", ""))
