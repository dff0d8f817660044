from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_host.errors import SettingsError
from tui_host.settings.schema import Template
from tui_host.settings.server_tables import SERVER_NAME, server_from_arguments, server_name


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["uvx", "mcp-server-time"], "mcp-server-time"),
        (["uvx", "--python", "mcp-server-time==1.0"], "mcp-server-time-1-0"),
        (["npx", "-y", "@modelcontextprotocol/server-everything@2026.1", "stdio"], "server-everything"),
        (["python", "./here/server.py", "x"], "server"),
        (["./bin/my__server"], "my_server"),
        (["python"], "python"),
        (["时间"], "时间"),
    ],
)
def test_a_command_names_its_server(words: list[str], name: str) -> None:
    spec = server_from_arguments(words)
    assert spec.name == name
    assert spec.transport == "stdio"
    assert spec.command == Template(text=words[0], literal=True)
    assert [argument.text for argument in spec.args] == words[1:]


@pytest.mark.parametrize(
    ("url", "name", "transport"),
    [
        ("https://docs.example/mcp", "docs-example", "http"),
        ("http://127.0.0.1:8000/mcp", "127-0-0-1-8000", "http"),
        ("http://[::1]:9/sse", "1-9", "sse"),
    ],
)
def test_a_url_names_its_server(url: str, name: str, transport: str) -> None:
    spec = server_from_arguments(url)
    assert (spec.name, spec.transport, spec.url) == (name, transport, Template(text=url, literal=True))


@pytest.mark.parametrize("typed", ["", "docs.example", "ftp://e.example", [], [""], ["a", "b\0"]])
def test_what_is_no_server_is_told(typed: str | list[str]) -> None:
    with pytest.raises(SettingsError):
        server_from_arguments(typed)


@given(text=st.text())
def test_any_text_gives_a_valid_name(text: str) -> None:
    assert SERVER_NAME.fullmatch(server_name(text))
