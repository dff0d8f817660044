"""More servers of others: all checked at once, also one that cannot start, one of the older transport, and a host that is killed in a call."""

import json
import signal
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.interop.asking import Program, http_server, stdio_server
from tests.interop.comparison import array_of, chosen, compare_exchanges, compare_pipes, object_of
from tests.interop.others import (
    EVERYTHING,
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
    npx,
    uvx,
)
from tests.interop.relay import Relay
from tests.system.terminal import Family
from tests.tap.stdio_taps import until
from tui_host.errors import JSON

pytestmark = pytest.mark.timeout(300)

OFFERED = {
    "everything": ("2025-11-25", 15),
    "web": ("2025-11-25", 15),
    "files": ("2025-11-25", 14),
    "memory": ("2025-11-25", 9),
    "time": ("2026-07-28", 2),
    "fetch": ("2026-07-28", 1),
    "git": ("2026-07-28", 12),
    "sqlite": ("2025-11-25", 6),
}
"""What each negotiates, and how many tools it has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("others")


@pytest.fixture(scope="module")
def program(node: Node, folder: Path) -> Generator[Program]:
    """Nine servers; all but one can start."""
    subprocess.run(["git", "init", "--quiet", str(folder / "repository")], check=True)  # noqa: S607 - the person's git
    commands = {
        "everything": node.command(EVERYTHING),
        "files": node.command(FILESYSTEM, str(folder)),
        "memory": node.command(MEMORY),
        "time": uvx(TIME),
        "fetch": uvx(FETCH),
        "git": uvx(GIT, "--repository", str(folder / "repository")),
        "sqlite": uvx(SQLITE, "--db-path", str(folder / "a.db"), options=["--with", "mcp<2"]),
        "broken": uvx(SQLITE, "--db-path", str(folder / "b.db")),
    }
    own: JSON = {"HOME": HOME, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    tables = [stdio_server(name, each, env=own) for name, each in commands.items()]
    with everything_over_http(node) as web:
        yield Program(folder, *tables, http_server("web", web))


@pytest.fixture(scope="module")
def checked(program: Program) -> Mapping[str, Mapping[str, JSON]]:
    code, out, _ = program.run("servers", "check", "--json")
    assert code == 1
    servers = [object_of(one) for one in array_of(object_of(json.loads(out))["servers"])]
    return {str(one["name"]): one for one in servers}


def test_all_that_can_start_are_ready_and_one_that_cannot_says_why(checked: Mapping[str, Mapping[str, JSON]]) -> None:
    ready = {name: one for name, one in checked.items() if one["state"] == "ready"}
    assert {name: (one["protocol"], len(array_of(one["tools"]))) for name, one in ready.items()} == OFFERED
    broken = checked["broken"]
    assert (broken["state"], broken["detail"]) == ("failed", "exited 1")
    assert "AttributeError" in str(array_of(broken["stderr"])[-1])


@pytest.mark.parametrize("transport", ["sse", "http"])
def test_a_server_of_the_older_transport_received_and_sent_what_is_exported_and_is_found_out_if_need_be(
    node: Node, tmp_path: Path, transport: str
) -> None:
    with everything_over_http(node, "sse") as port, Relay(port) as relay:
        program = Program(tmp_path, http_server("older", relay.port, "/sse", transport=transport))
        calls = 'call older.echo {"message":"héllo ✓"}\ncall older.get-tiny-image {}\n'
        assert [call["is_error"] for call in program.ask(calls + call_awhile("older")).calls] == [False, False, False]
        lines = program.export()
        assert len(chosen(lines, peer="older", kind="frame")) > 10
        # Two attempts over streamable HTTP were refused before; they were another connection.
        compare_exchanges(lines, "older", relay, after=["POST", "POST"] if transport == "http" else [])


LONG = 'call everything.trigger-long-running-operation {"duration":600,"steps":600}'


def in_the_call(folder: Path) -> tuple[Program, subprocess.Popen[bytes], Family]:
    """`ask` in the middle of a call that takes ten minutes, and all its descendants: npx and uvx each start a program that starts another."""
    program = Program(
        folder,
        stdio_server("everything", npx(EVERYTHING), tee=folder / "everything", env={"HOME": HOME}),
        stdio_server("time", uvx(TIME), env={"HOME": HOME}),
    )
    process = program.start("ask", LONG, "--json", "--yes")
    told = (folder / "everything").glob
    until(lambda: any(b"notifications/progress" in path.read_bytes() for path in told("*/stdout")), 120)
    family = Family(process.pid)
    family.look()
    return program, process, family


def those_of(family: Family) -> list[int]:
    """npx, its shell, the server: the innermost last."""
    return sorted(pid for pid, words in family.look().items() if "mcp-server-everything" in words)


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGKILL", -9)])
def test_a_host_that_a_signal_ends_in_a_call_leaves_no_child_and_no_gap(tmp_path: Path, name: str, code: int) -> None:
    program, process, family = in_the_call(tmp_path)
    assert len(those_of(family)) > 1
    process.send_signal(signal.Signals[name])
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    if name != "SIGKILL":
        assert object_of(json.loads(out))["stop"] == "stopped"
    until(lambda: family.living() == set(), 12 if name == "SIGKILL" else 0)
    compare_pipes(program.export(), "everything", tmp_path / "everything", goes_on=True)
