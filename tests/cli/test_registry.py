"""`servers add --registry`: an entry of a registry becomes a server that is switched off."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from tests.cli.desk import Desk, desk
from tests.kit.program import Ended, Programs
from tui_host.errors import JSON

ENTRIES: dict[str, dict[str, JSON]] = {
    "io.github.a/npm": {
        "packages": [
            {"registryType": "mcpb", "identifier": "https://a.example/a.mcpb"},
            {
                "registryType": "npm",
                "identifier": "@a/server",
                "version": "1.2.0",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "valueHint": "folder", "isRequired": True},
                    {"type": "named", "name": "--mode", "default": "local"},
                    {"type": "named", "name": "--port"},
                ],
                "environmentVariables": [
                    {"name": "API_KEY", "isRequired": True, "isSecret": True},
                    {"name": "LEVEL", "default": "info"},
                    {"name": "REGION", "isRequired": True},
                    {"name": "UNUSED"},
                ],
            },
        ]
    },
    "io.github.a/oci": {
        "packages": [
            {
                "registryType": "oci",
                "identifier": "docker.io/a/server:1.0",
                "runtimeArguments": [
                    {
                        "type": "named",
                        "name": "--mount",
                        "value": "src={from}",
                        "variables": {"from": {"default": "/a"}},
                    }
                ],
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "environmentVariables": [{"name": "API_KEY", "isRequired": True, "isSecret": True}],
            }
        ]
    },
    "io.github.a/remote": {
        "remotes": [
            {"type": "sse", "url": "https://a.example/sse"},
            {
                "type": "streamable-http",
                "url": "https://a.example/{tenant}/mcp",
                "variables": {"tenant": {"isRequired": True}},
                "headers": [
                    {
                        "name": "Authorization",
                        "value": "Bearer {token}",
                        "variables": {"token": {"isSecret": True, "isRequired": True}},
                    }
                ],
            },
        ]
    },
    "io.github.a/none": {"packages": [{"registryType": "mcpb", "identifier": "x"}]},
}


class Registry(BaseHTTPRequestHandler):
    """Answers as the registry's API v0.1 does."""

    def do_GET(self) -> None:
        name = self.path.removeprefix("/v0.1/servers/").removesuffix("/versions/latest").replace("%2F", "/")
        found = name in ENTRIES
        self.send_response(200 if found else 404)
        self.end_headers()
        entry = {"server": {"name": name, **ENTRIES.get(name, {})}} if found else {}
        self.wfile.write(json.dumps(entry).encode())

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


@pytest.fixture
def place(program: Programs, tmp_path: Path) -> Generator[Desk]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as registry:
        threading.Thread(target=registry.serve_forever, daemon=True).start()
        with desk(program, tmp_path) as found:
            config = tmp_path / "config.toml"
            config.write_text(f'registry = "http://127.0.0.1:{registry.server_port}"\n' + config.read_text())
            yield found
        registry.shutdown()


def added(place: Desk, name: str, *words: str) -> dict[str, object]:
    ended = add(place, name, *words)
    assert ended.code == 0, ended.err
    return tomllib.loads((place.folder / "servers.d" / "a.toml").read_text())


def add(place: Desk, name: str, *words: str) -> Ended:
    return place.run("servers", "add", "a", "--registry", f"io.github.a/{name}", *words)


def test_a_package_brings_its_arguments_and_the_environment_that_it_asks_for(place: Desk) -> None:
    assert added(place, "npm", "--set", "folder=/data", "--env", "REGION=eu") == {
        "command": "npx",
        "args": ["-y", "@a/server@1.2.0", "/data", "--mode", "local"],
        "env": {"API_KEY": "${API_KEY}", "LEVEL": "info", "REGION": "eu"},
        "enabled": False,
    }
    missing = add(place, "npm", "--set", "folder=/data")
    assert missing.code == 2
    assert "REGION has no value (add --set REGION=VALUE)" in missing.err


def test_a_container_gets_its_environment_by_name(place: Desk) -> None:
    assert added(place, "oci") == {
        "command": "docker",
        "args": ["run", "-i", "--rm", "-e", "API_KEY", "--mount", "src=/a", "docker.io/a/server:1.0", "serve"],
        "env": {"API_KEY": "${API_KEY}"},
        "enabled": False,
    }


def test_a_remote_is_reached_by_http_with_its_secrets_as_references(place: Desk) -> None:
    assert added(place, "remote", "--set", "tenant=t1") == {
        "url": "https://a.example/t1/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
        "enabled": False,
    }


def test_entries_that_do_not_exist_or_cannot_start_say_so(place: Desk) -> None:
    gone, none = add(place, "gone"), add(place, "none")
    assert (gone.code, none.code) == (1, 2)
    assert "there is no server io.github.a/gone" in gone.err
    assert "the entry cannot be started here: it has mcpb" in none.err
