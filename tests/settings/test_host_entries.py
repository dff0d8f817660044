"""Servers of other hosts: each host's own notation becomes our table, and what is lost is said."""

import json
from pathlib import Path

import pytest

from tui_host.errors import JSON
from tui_host.settings.hosts.host_entries import HostEntry, host_of, read_host_entries
from tui_host.settings.hosts.known_hosts import HOSTS, PASTED, KnownHost, files_of


def host(name: str) -> KnownHost:
    return next(known for known in HOSTS if known.name == name)


def only(text: str, known: KnownHost = PASTED) -> HostEntry:
    (entry,) = read_host_entries(text, known)
    return entry


@pytest.mark.parametrize(
    ("name", "value", "table"),
    [
        ("claude-code", {"type": "http", "url": "https://a.example/mcp"}, {"url": "https://a.example/mcp"}),
        ("cline", {"url": "https://a.example/sse"}, {"url": "https://a.example/sse", "transport": "sse"}),
        ("cline", {"type": "streamableHttp", "url": "https://a.example"}, {"url": "https://a.example"}),
        ("cline", {"transport": {"type": "stdio", "command": "x"}, "timeout": 5}, {"command": "x", "timeout": 5}),
        ("gemini-cli", {"url": "https://a.example/sse"}, {"url": "https://a.example/sse", "transport": "sse"}),
        ("gemini-cli", {"httpUrl": "https://a", "timeout": 600000}, {"url": "https://a", "timeout": 600}),
        ("windsurf", {"serverUrl": "https://a.example"}, {"url": "https://a.example"}),
        ("", {"baseUrl": "https://a.example", "type": "streamable_http"}, {"url": "https://a.example"}),
        ("", {"command": "x", "args": ["y"], "env": {"A": "1"}}, {"command": "x", "args": ["y"], "env": {"A": "1"}}),
    ],
)
def test_each_host_says_in_its_way_how_a_server_is_reached(name: str, value: JSON, table: dict[str, object]) -> None:
    known = host(name) if name else PASTED
    assert dict(only(json.dumps({known.servers[0][0]: {"a": value}}), known).table) == {**table, "enabled": False}


def test_references_are_kept_in_our_form() -> None:
    args: list[JSON] = ["${env:TOKEN}", "${userHome}/a", "${workspaceFolder}/b", "${A:-b}", "${input:my-key}"]
    entry = only(json.dumps({"servers": {"a": {"command": "x", "args": args}}}), host("vscode"))
    assert entry.table["args"] == ["${TOKEN}", "${HOME}/a", "${workspaceFolder}/b", "${A:-b}", "${MY_KEY}"]
    assert entry.notes == (
        "it depends on the host's open folder: replace ${workspaceFolder} by a path",
        "set the environment variable MY_KEY, which VS Code asks for",
    )


def test_gemini_writes_references_without_braces_too() -> None:
    remote: JSON = {"httpUrl": "https://$HOST/mcp", "headers": {"X": "$TOKEN", "Authorization": "Bearer ${TOKEN}"}}
    program: JSON = {"command": "$HOME/bin/x", "args": ["--t=$TOKEN", "$5"], "env": {"P": "pre-$KEY"}}
    first, second = read_host_entries(json.dumps({"mcpServers": {"a": remote, "b": program}}), host("gemini-cli"))
    headers = {"X": "${TOKEN}", "Authorization": "Bearer ${TOKEN}"}
    assert dict(first.table) == {"url": "https://${HOST}/mcp", "headers": headers, "enabled": False}
    own = {"args": ["--t=${TOKEN}", "$5"], "env": {"P": "pre-${KEY}"}}
    assert dict(second.table) == {"command": "${HOME}/bin/x", **own, "enabled": False}
    assert (first.notes, second.notes) == ((), ())


def test_what_is_not_imported_is_said() -> None:
    value = {"command": "npx", "args": ["x"], "disabled": True, "envFile": ".env", "autoApprove": ["read"]}
    entry = only(json.dumps({"mcpServers": {"a b": {**value, "env": {"API_KEY": "secret-1"}}}}))
    assert entry.name == "a-b"
    assert list(entry.notes) == [
        "not imported: envFile, autoApprove",
        "named a b there",
        'env.API_KEY: the file contains the secret itself (API_KEY); write "${NAME}" for it and set that variable instead',
    ]


def test_a_server_that_cannot_be_reached_from_here_has_a_problem() -> None:
    entries = read_host_entries('{"mcpServers": {"a": {"type": "inMemory"}, "b": {"url": "http://a.example"}}}', PASTED)
    assert [entry.problem.partition(" (")[0] for entry in entries] == [
        "no command, url or bundled",
        "url: plain http to http://a.example would send everything unencrypted, keys too",
    ]


def test_codex_is_read_from_toml() -> None:
    text = '[mcp_servers.a]\nurl = "https://a.example"\nbearer_token_env_var = "T"\n[mcp_servers.b]\ncommand = "x"\nenv_vars = ["V"]\n'
    first, second = read_host_entries(text, host("codex"))
    assert first.table["headers"] == {"Authorization": "Bearer ${T}"}
    assert second.table["env"] == {"V": "${V}"}


def test_pasted_text_may_have_any_common_shape() -> None:
    for text in (
        '\ufeff{"mcpServers": {"a": {"command": "uvx", "args": ["mcp-server-time"],}}} // pasted',
        '{"mcp": {"servers": {"a": {"command": "uvx", "args": ["mcp-server-time"]}}}}',
        '{"a": {"command": "uvx", "args": ["mcp-server-time"]}}',
    ):
        entry = only(text)
        assert (entry.name, entry.table["command"], entry.table["args"]) == ("a", "uvx", ["mcp-server-time"])


def test_a_file_tells_its_host(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path)}
    own = {path: known for known in HOSTS for path in files_of(known, environment, "linux")}
    names = {str(path.relative_to(tmp_path)): host_of(path, own).name for path in own}
    assert (names[".codex/config.toml"], names[".lmstudio/mcp.json"]) == ("codex", "lm-studio")
    assert names[".codeium/windsurf/mcp_config.json"] == "windsurf"
    assert host_of(tmp_path / "project/.vscode/mcp.json", own).name == "vscode"
    assert host_of(tmp_path / "any.json", own) == PASTED
