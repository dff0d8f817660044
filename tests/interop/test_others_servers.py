"""More servers of others: all checked at once, one that grows a tool in a turn, one that cannot start."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.asking import Program, http_server, stdio_server
from tests.interop.comparison import Figures, compare_exchanges, compare_pipes
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
    everything_at,
    everything_over_http,
    free_port,
    uvx,
)
from tests.interop.relay import Relay
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

GROWING = str(Path(__file__).parent / "growing.py")
OFFERED = {
    "everything": ("2025-11-25", 13),
    "web": ("2025-11-25", 13),
    "files": ("2025-11-25", 14),
    "memory": ("2025-11-25", 9),
    "time": ("2026-07-28", 2),
    "fetch": ("2026-07-28", 1),
    "git": ("2026-07-28", 12),
    "sqlite": ("2025-11-25", 6),
    "growing": ("2025-11-25", 1),
}
"""What each negotiates, and how many tools it has."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What `servers check --json` said of each server."""

    code: int
    servers: Mapping[str, Mapping[str, JSON]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("others")


@pytest.fixture(scope="module")
def program(node: Node, folder: Path) -> Generator[Program]:
    """Ten servers; all but the last can start."""
    person: JSON = {"HOME": HOME}

    def tee(name: str) -> Path:
        return folder / f"tee-{name}"

    subprocess.run(["git", "init", "--quiet", str(folder / "repository")], check=True)  # noqa: S607 - the person's git
    with everything_over_http(node) as web:
        yield Program(
            folder,
            stdio_server("everything", node.command(EVERYTHING), tee=tee("everything")),
            http_server("web", web),
            stdio_server("files", node.command(FILESYSTEM, str(folder)), tee=tee("files")),
            stdio_server(
                "memory",
                node.command(MEMORY),
                tee=tee("memory"),
                env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
            ),
            stdio_server("time", uvx(TIME), tee=tee("time"), env=person),
            stdio_server("fetch", uvx(FETCH), tee=tee("fetch"), env=person),
            stdio_server("git", uvx(GIT, "--repository", str(folder / "repository")), tee=tee("git"), env=person),
            stdio_server(
                "sqlite",
                uvx(SQLITE, "--db-path", str(folder / "a.db"), options=["--with", "mcp<2"]),
                tee=tee("sqlite"),
                env=person,
            ),
            stdio_server(
                "growing", uvx("python", GROWING, options=["--from", FASTMCP]), tee=tee("growing"), env=person
            ),
            stdio_server("broken", uvx(SQLITE, "--db-path", str(folder / "b.db")), env=person),
        )


@pytest.fixture(scope="module")
def checked(program: Program) -> Checked:
    done = program.run("servers", "check", "--json")
    servers = [object_of(one) for one in array_of(object_of(json.loads(done.stdout))["servers"])]
    return Checked(done.returncode, {str(one["name"]): one for one in servers})


def test_all_that_can_start_are_ready_with_their_tools(checked: Checked) -> None:
    found = {
        name: (one["protocol"], len(array_of(one["tools"])))
        for name, one in checked.servers.items()
        if one["state"] == "ready"
    }
    assert found == OFFERED


def test_one_that_cannot_start_is_told_with_its_exit_code_and_its_own_words(checked: Checked) -> None:
    assert checked.code == 1
    broken = checked.servers["broken"]
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
    program: Program, folder: Path, checked: Checked, tell: Callable[[str, Figures], None]
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
        tell(f"{name}, stdio", compare_pipes(lines, name, folder / f"tee-{name}"))
    bodies = [object_of(json.loads(line.data)) for line in chosen(lines, wire="llm", kind="request")]
    offered = [
        {str(object_of(object_of(tool)["function"])["name"]) for tool in array_of(one["tools"])} for one in bodies
    ]
    assert offered[1] - offered[0] == {"growing__late"}


@pytest.mark.parametrize("transport", ["sse", "http"])
def test_a_server_of_the_older_transport_received_and_sent_what_is_exported_and_is_found_out_if_need_be(
    node: Node, tmp_path: Path, transport: str, tell: Callable[[str, Figures], None]
) -> None:
    port = free_port()
    with everything_at(node, port, "sse"), Relay(port) as relay:
        program = Program(tmp_path, http_server("older", relay.port, "/sse", transport=transport))
        calls = 'call older.echo {"message":"héllo ✓"}\ncall older.get-tiny-image {}\n'
        answer = program.ask(calls + call_awhile("older"))
        assert [call["is_error"] for call in answer.calls] == [False, False, False]
        lines = program.export()
        assert len(chosen(lines, peer="older", kind="frame")) > 10
        # Two attempts over streamable HTTP were refused before; they were another connection.
        after = ["POST", "POST"] if transport == "http" else []
        tell(
            f"{EVERYTHING}, HTTP with SSE, configured as {transport}",
            compare_exchanges(lines, "older", relay, after=after),
        )
