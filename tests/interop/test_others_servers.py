"""More servers of others: all checked at once, one that grows a tool in a turn, one that cannot start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.interop.asking import Program, http_server, stdio_server
from tests.interop.comparison import compare_exchanges, compare_pipes
from tests.interop.exported import array_of, chosen, object_of
from tests.interop.others import (
    EVERYTHING,
    FASTMCP,
    FETCH,
    FILESYSTEM,
    GIT,
    HOME,
    MEMORY,
    SQLITE,
    TIME,
    Node,
    call_awhile,
    everything_over_http,
    uvx,
)
from tests.interop.relay import Relay
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

GROWING = str(Path(__file__).parent / "growing.py")
OFFERED = {
    "everything": ("2025-11-25", 15),
    "web": ("2025-11-25", 15),
    "files": ("2025-11-25", 14),
    "memory": ("2025-11-25", 9),
    "time": ("2026-07-28", 2),
    "fetch": ("2026-07-28", 1),
    "git": ("2026-07-28", 12),
    "sqlite": ("2025-11-25", 6),
    "growing": ("2025-11-25", 1),
}
"""What each negotiates, and how many tools it has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("others")


@pytest.fixture(scope="module")
def program(node: Node, folder: Path) -> Generator[Program]:
    """Ten servers; all but the last can start."""
    subprocess.run(["git", "init", "--quiet", str(folder / "repository")], check=True)  # noqa: S607 - the person's git
    commands = {
        "everything": node.command(EVERYTHING),
        "files": node.command(FILESYSTEM, str(folder)),
        "memory": node.command(MEMORY),
        "time": uvx(TIME),
        "fetch": uvx(FETCH),
        "git": uvx(GIT, "--repository", str(folder / "repository")),
        "sqlite": uvx(SQLITE, "--db-path", str(folder / "a.db"), options=["--with", "mcp<2"]),
        "growing": uvx("python", GROWING, options=["--from", FASTMCP]),
        "broken": uvx(SQLITE, "--db-path", str(folder / "b.db")),
    }
    own: JSON = {"HOME": HOME, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    tables = [stdio_server(name, each, tee=folder / f"tee-{name}", env=own) for name, each in commands.items()]
    with everything_over_http(node) as web:
        yield Program(folder, *tables, http_server("web", web))


@pytest.fixture(scope="module")
def checked(program: Program) -> Mapping[str, Mapping[str, JSON]]:
    code, out, _ = program.run("servers", "check", "--json")
    assert code == 1
    servers = [object_of(one) for one in array_of(object_of(json.loads(out))["servers"])]
    return {str(one["name"]): one for one in servers}


def test_all_that_can_start_are_ready_and_one_that_cannot_is_told_with_its_own_words(
    checked: Mapping[str, Mapping[str, JSON]],
) -> None:
    ready = {name: one for name, one in checked.items() if one["state"] == "ready"}
    assert {name: (one["protocol"], len(array_of(one["tools"]))) for name, one in ready.items()} == OFFERED
    broken = checked["broken"]
    assert (broken["state"], broken["detail"]) == ("failed", "exited 1")
    assert "AttributeError" in str(array_of(broken["stderr"])[-1])


QUESTION = """call files.list_allowed_directories {}
call files.read_text_file {"path": "/etc/hostname"}
call memory.create_entities {"entities": [{"name": "Zoë", "entityType": "person", "observations": ["✓"]}]}
call git.git_status {"repo_path": "/nonexistent"}
call sqlite.write_query {"query": "create table t (a)"}
call sqlite.list_tables {}
call fetch.fetch {"url": "http://127.0.0.1:9/"}
call growing.grow {}
""" + call_awhile("everything")


def test_a_turn_with_seven_of_them_is_exported_to_the_byte_and_a_new_tool_is_offered_at_the_next_step(
    program: Program, folder: Path, checked: Mapping[str, Mapping[str, JSON]]
) -> None:
    used = ["files", "memory", "git", "sqlite", "fetch", "growing", "everything"]
    for name in used:
        (checked_start,) = (folder / f"tee-{name}").iterdir()
        checked_start.rename(folder / f"checked-{name}")
    answer = program.ask(QUESTION)
    assert (answer.whole["stop"], answer.whole["steps"]) == ("done", 2)
    outcomes = [(call["server"], call["is_error"]) for call in answer.calls]
    assert outcomes == [
        ("files", False),
        ("files", True),  # outside what it may read
        ("memory", False),
        ("git", True),
        ("sqlite", False),
        ("sqlite", False),
        ("fetch", True),  # nobody listens there
        ("growing", False),
        ("everything", False),
    ]
    lines = program.export()
    for name in used:
        compare_pipes(lines, name, folder / f"tee-{name}")
    bodies = [object_of(json.loads(line.data)) for line in chosen(lines, wire="llm", kind="request")]
    offered = [
        {str(object_of(object_of(tool)["function"])["name"]) for tool in array_of(one["tools"])} for one in bodies
    ]
    assert offered[1] - offered[0] == {"growing__late"}


@pytest.mark.parametrize("transport", ["sse", "http"])
def test_a_server_of_the_older_transport_received_and_sent_what_is_exported_and_is_found_out_if_need_be(
    node: Node, tmp_path: Path, transport: str
) -> None:
    with everything_over_http(node, "sse") as port, Relay(port) as relay:
        program = Program(tmp_path, http_server("older", relay.port, "/sse", transport=transport))
        calls = 'call older.echo {"message":"héllo ✓"}\ncall older.get-tiny-image {}\n'
        answer = program.ask(calls + call_awhile("older"))
        assert [call["is_error"] for call in answer.calls] == [False, False, False]
        lines = program.export()
        assert len(chosen(lines, peer="older", kind="frame")) > 10
        # Two attempts over streamable HTTP were refused before; they were another connection.
        after = ["POST", "POST"] if transport == "http" else []
        compare_exchanges(lines, "older", relay, after=after)
