"""Watched files: a change restarts the server and its catalog's difference is told; a changed configuration is offered."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests.cases import some
from tests.host.test_host import serving
from tests.kit.peer import until
from tests.servers.running import sdk_configured
from tui_host.host import server_watch
from tui_host.host.host import Host
from tui_host.host.server_watch import watched_files
from tui_host.servers.catalog import ServerStatus
from tui_host.servers.catalog_changes import changes_between, offers_of
from tui_host.settings.load import Overrides, load
from tui_host.settings.schema import ServerSpec, Template

# The paces are for people; nothing here waits for a person.
setattr(server_watch, "SECONDS", 0.1)  # noqa: B010
setattr(server_watch, "SETTLED_NS", 100_000_000)  # noqa: B010

SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("watched")
@server.tool()
def echo(text: str) -> str:
    '''Give the text back.'''
    return text
def main(words):
    server.run("stdio")
"""
CHANGED = SERVER.replace("Give the text back", "Send the text away").replace(
    "def main", "@server.tool()\ndef more() -> str:\n    '''More.'''\n    return ''\ndef main"
)


def hosting(folder: Path) -> AbstractAsyncContextManager[Host]:
    return serving(load(Overrides(config=folder / "config.toml", data_dir=folder / "data"), {}))


def configured(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "server.py").write_text(SERVER)
    own = sdk_configured("own", program=folder / "src" / "server.py")
    (folder / "config.toml").write_text(f'{own}watch = ["src/**"]\n')


def write(path: Path, text: str) -> None:
    """Write a file in one step: half of it would be a change too."""
    new = path.parent.parent / "new"
    new.write_text(text)
    new.replace(path)


def status(host: Host, name: str = "own") -> ServerStatus | None:
    return next((status for status in some(host.pool).statuses() if status.name == name), None)


def tools(host: Host) -> list[str]:
    now = status(host)
    return [tool.name for tool in now.tools] if now is not None and now.state == "ready" else []


async def test_a_changed_file_restarts_the_server_and_its_new_catalog_is_compared(tmp_path: Path) -> None:
    configured(tmp_path)
    kept = tmp_path / "data" / "catalogs" / "own.json"
    async with hosting(tmp_path) as host:
        await until(kept.exists)
        write(tmp_path / "src" / "server.py", CHANGED)
        await until(lambda: tools(host) == ["echo", "more"])
        assert [notice for notice in host.notices if "restarts" in notice] == ["own restarts: server.py changed"]
        await until(lambda: any("since it was last connected" in notice for notice in host.notices))
    write(tmp_path / "src" / "server.py", SERVER)
    now = some(status(host))
    assert [notice for notice in now.notices if notice[:1] in "+-~" or "void" in notice] == [
        "+ tool more",
        "~ tool echo: description Give → Send, back. → away.",
        "session rules for echo are void",
    ]
    async with hosting(tmp_path) as host:  # the next start compares with what was kept
        await until(lambda: any("own has changed since it was last connected" in notice for notice in host.notices))
        assert "- tool more" in next(notice for notice in host.notices if "last connected" in notice)


async def test_a_changed_configuration_is_offered_and_applied(tmp_path: Path) -> None:
    configured(tmp_path)
    async with hosting(tmp_path) as host:
        await until((tmp_path / "data" / "catalogs" / "own.json").exists)
        assert host.pool is not None
        (tmp_path / "servers.d").mkdir()
        write(tmp_path / "servers.d" / "sums.toml", 'bundled = "math"\n')
        await until(lambda: any("(+ sums): /reload applies it" in notice for notice in host.notices))
        assert status(host, "sums") is None
        assert host.reload_servers() == "+ sums"
        await until(lambda: (now := status(host, "sums")) is not None and now.state == "ready")
        (tmp_path / "state.toml").write_text('[switches]\nown = false\n"own.echo" = false\n')
        (tmp_path / "servers.d" / "sums.toml").unlink()
        assert (host.reload_servers(), host.pool.server("own").tools_off) == ("~ own, - sums, ~ own.echo", {"echo"})
        await until(lambda: (now := status(host)) is not None and now.state != "ready")
        assert status(host, "sums") is None
        (tmp_path / "servers.d" / "bad.toml").write_text("x")
        wrong = "the configuration has changed, and has a mistake"
        await until(lambda: any(wrong in notice for notice in host.notices))


def test_a_damaged_catalog_of_before_is_compared_without_a_fault() -> None:
    changes = changes_between({"tool": 3, "resource": {"a": 1}}, offers_of(ServerStatus(name="a", state="ready")))
    assert changes[0].name == "a"


def test_a_pattern_names_files_below_the_file_that_names_it(tmp_path: Path) -> None:
    for name in ("src/a.js", "src/in/b.py", "src/node_modules/c.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    both = ["a.js", "b.py"]
    patterns = {"src/**": both, "src": both, "src/**/*.py": ["b.py"], "src/a.js": ["a.js"], "other/**": []}
    for pattern, names in patterns.items():
        spec = ServerSpec(name="a", command=Template(text="a"), watch=(pattern,), file=str(tmp_path / "config.toml"))
        assert [path.name for path in watched_files(spec, {})] == names
