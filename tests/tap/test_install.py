"""Taps in the configurations of other hosts: put in, taken out, and nothing else touched, in their texts and on the disk."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tap.host_files import CLAUDE_CODE, CURSOR, SAMPLES, SECRETS, VSCODE
from tui_host.cli.arguments import read_arguments
from tui_host.cli.commands.tap_install import own_program
from tui_host.cli.commands.tap_install import run as tap_install
from tui_host.errors import JSON, SettingsError
from tui_host.servers.masked_words import hide
from tui_host.settings.hosts.host_entries import servers_in
from tui_host.settings.hosts.jsonc import PlacedValue, parse
from tui_host.settings.hosts.known_hosts import KnownHost, files_of, known_host
from tui_host.tap.stdio_arguments import read_stdio_arguments
from tui_host.tap.tap_insertion import differences, install

PROGRAM = ("/opt/tui host/bin/tui-host", "tap", "stdio")
FORMS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "BOM": lambda text: f"\ufeff{text}",
    "tabs": lambda text: text.replace("  ", "\t"),
    "wide": lambda text: json.dumps(value_of(parse(text, "a.json")), indent=4),
    "in one line": lambda text: json.dumps(value_of(parse(text, "a.json")), separators=(",", ":")),
}
"""The same file as different hands and hosts leave it."""


def value_of(node: PlacedValue | None) -> JSON:
    return None if node is None else node.value


def words_of(text: str, host: KnownHost) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {entry.place: entry.words for entry in servers_in(text, host, "") if entry.words}


def tapped(text: str, host: KnownHost, *names: str) -> str:
    return install(text, servers_in(text, host, ""), names, PROGRAM).text


def untapped(text: str, host: KnownHost, *names: str) -> str:
    return install(text, servers_in(text, host, ""), names, ()).text


def without_words(value: JSON) -> JSON:
    """A file's value without any command and arguments."""
    if isinstance(value, dict):
        return {key: without_words(member) for key, member in value.items() if key not in {"command", "args"}}
    return value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_what_was_tapped_and_untapped_is_the_same_to_the_letter(name: str, sample: str, form: str) -> None:
    text, host = FORMS[form](sample), known_host(name)
    written = tapped(text, host)
    before, after = words_of(text, host), words_of(written, host)
    assert before
    for place, words in before.items():
        tap = read_stdio_arguments(after[place][1:])
        assert tap is not None
        assert (after[place][0], tap.name, tap.command) == (PROGRAM[0], place[-1], words)
    assert without_words(value_of(parse(written, ""))) == without_words(value_of(parse(text, "a.json")))
    assert (tapped(written, host), untapped(written, host)) == (written, text)


def test_only_the_named_servers_are_tapped_in_every_project_that_has_them() -> None:
    host = known_host("claude-code")
    written = tapped(CLAUDE_CODE, host, "db")
    changes = differences(servers_in(CLAUDE_CODE, host, ""), servers_in(written, host, ""))
    assert [change.place for change in changes] == [
        ("projects", f"/home/ann/{project}", "mcpServers", "db") for project in ("shop", "wiki")
    ]
    assert (untapped(written, host, "memory"), untapped(written, host, "db")) == (written, CLAUDE_CODE)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ('{"command": "/usr/bin/tui-host", "args": ["tap", "stdio", "it", "--", "x"]}', "tapped already"),
        ('{"command": "uvx", "args": ["tui-host", "tap", "stdio", "it", "x", "-v"]}', "tapped already"),
        ('{"command": "npx -y server"}', "its command is a line for a shell; split it into command and args first"),
        ('{"command": "x", "args": "-y"}', "its arguments are not a list of strings"),
        ('{"command": "", "args": []}', "its command is not text, or is empty"),
        ('{"command": "node", "dev": {"debug": {}}}', "its host starts it under a debugger; remove «debug» first"),
        ('{"env": {}}', "neither a command nor a URL"),
    ],
)
def test_what_cannot_be_tapped_is_left_as_it_is_with_a_reason(server: str, why: str) -> None:
    text = f'{{"mcpServers": {{"it": {server}}}}}'
    outcome = install(text, servers_in(text, known_host("cursor"), ""), (), PROGRAM)
    assert (outcome.text, [server.why for server in outcome.skipped]) == (text, [why])


@pytest.mark.parametrize("text", ["", " \r\n", "\ufeff", "// nothing yet\n", "{}", "[]", "3", '{"mcpServers": null}'])
def test_a_file_without_servers_has_nothing_to_tap(text: str) -> None:
    outcome = install(text, servers_in(text, known_host("cursor"), ""), (), PROGRAM)
    assert (outcome.text, outcome.skipped) == (text, ())


# On the disk: which file, what is shown, what is written, and what is left behind.


def never() -> bool:
    raise AssertionError("nothing was to be asked")


class Desk:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {"HOME": str(home)}

    def place(self, name: str) -> Path:
        return files_of(known_host(name), self.environment)[0]

    def put(self, name: str, text: str) -> Path:
        path = self.place(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o640)
        return path

    def run(self, action: str, *words: str, agreed: Callable[[], bool] = never) -> int:
        return tap_install(read_arguments(["tap", action, *words])[1], self.environment, agreed)

    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    monkeypatch.chdir(project)
    return Desk(home)


@pytest.mark.parametrize(("name", "sample"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_what_is_installed_is_shown_asked_kept_and_undone_to_the_byte(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str, sample: str
) -> None:
    path = desk.put(name, sample)
    before = desk.files()
    assert desk.run("install", name, agreed=lambda: True) == 0
    told = capsys.readouterr()
    copies = [each for each in path.parent.iterdir() if each.name == f"{path.name}.before-tap"]
    assert [copy.read_bytes() for copy in copies] == [sample.encode()]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (*copies, path)] == [0o600, 0o640]
    assert path.read_bytes() != sample.encode()
    assert f"--- {path}\n+++ {path}\n@@ " in told.out
    assert '"tap", "stdio", ' in told.out
    assert str(copies[0]) in told.err
    line = "tui-host tap http sse --upstream https://mcp.example/sse --port 8322"  # to be typed for one behind a URL
    assert (line in told.err) == (name == "cline")
    assert not [secret for secret in SECRETS if secret in told.out + told.err]
    assert desk.run("install", name) == 0, "there is nothing to ask about any more"
    assert (desk.run("uninstall", name, agreed=lambda: True), desk.files()) == (0, before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_nothing_is_written_without_a_yes_which_has_to_be_typed_where_nobody_can_be_asked(desk: Desk) -> None:
    desk.put("cursor", CURSOR)
    before = desk.files()
    for words, agreed, code in ((("--dry-run",), never, 0), ((), lambda: False, 3), (("linear",), never, 1)):
        assert desk.run("install", "cursor", *words, agreed=agreed) == code
    with pytest.raises(SettingsError, match="add --yes"):
        tap_install(read_arguments(["tap", "install", "cursor"])[1], desk.environment)
    assert (desk.files(), desk.run("install", "cursor", "--yes")) == (before, 0)
    assert desk.files() != before


def test_a_machine_is_told_what_was_written_and_what_was_not(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    path = desk.put("cursor", CURSOR)

    def told(*words: str) -> dict[str, JSON]:
        desk.run(*words, "--json", agreed=lambda: True)
        found = capsys.readouterr()
        assert ("--- " in found.err) == (words[-1] == "cursor")  # nobody agrees to what was not shown
        assert not [secret for secret in SECRETS if secret in found.out]
        value: dict[str, list[dict[str, JSON]]] = json.loads(found.out)
        return value["files"][0]

    dry, done, undone = told("install", "cursor", "--dry-run"), told("install", "cursor"), told("uninstall", "cursor")
    assert (dry["path"], dry["written"], dry["copy"]) == (str(path), False, None)
    assert dry["left"] == [{"server": "mcpServers.linear", "why": "behind a URL"}]
    assert done["changes"] == dry["changes"] != []
    assert str(done["copy"]).startswith(str(path))
    assert (undone["written"], undone["copy"], path.read_text()) == (True, None, CURSOR)


def test_a_file_that_was_changed_since_loses_our_words_alone(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    path = desk.put("vscode", VSCODE)
    desk.run("install", "vscode", "fetch", "--yes")
    path.write_text(path.read_text().replace("/* the first one */", "/* number one */"))
    desk.run("install", "vscode", "perplexity", "just", "--yes")
    changed = path.read_text()
    desk.run("uninstall", "vscode", "--yes")
    assert path.read_text() == VSCODE.replace("/* the first one */", "/* number one */")
    (backup,) = [each for each in path.parent.iterdir() if each != path]
    assert backup.read_text() == changed
    assert f"{path} is written; its former content is kept as {backup}, with all its keys" in capsys.readouterr().err


def test_a_file_that_changes_while_the_person_looks_is_not_written(desk: Desk) -> None:
    path = desk.put("cursor", CURSOR)
    with pytest.raises(SettingsError, match="changed while you looked"):
        desk.run("install", "cursor", agreed=lambda: path.write_text(CURSOR + "\n") > 0)
    assert list(desk.files().values()) == [CURSOR.encode() + b"\n"]


def test_a_link_stays_a_link_and_the_copy_lies_beside_the_file(desk: Desk) -> None:
    link, real = desk.place("cursor"), desk.home / "dotfiles" / "cursor.json"
    for folder in (link.parent, real.parent):
        folder.mkdir()
    real.write_text(CURSOR)
    real.chmod(0o640)
    link.symlink_to(real)
    desk.run("install", "cursor", "--yes")
    assert link.is_symlink()
    assert "tap" in real.read_text()
    assert (real.stat().st_mode & 0o777, len(list(real.parent.iterdir()))) == (0o640, 2)
    desk.run("uninstall", "cursor", "--yes")
    assert link.is_symlink()
    assert (real.read_text(), list(link.parent.iterdir())) == (CURSOR, [link])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"mcpServers": {', r"mcp.json: line 1, column 17: not JSON: Expecting property name"),
        (b'{"a": "\xff"}', "not UTF-8: byte 0xff"),
    ],
)
def test_a_broken_file_is_told_and_no_other_is_written(desk: Desk, data: bytes, what: str) -> None:
    good = desk.put("vscode", VSCODE)
    broken = good.parent / "profiles" / "5a1" / "mcp.json"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(data)
    with pytest.raises(SettingsError, match=what):
        desk.run("install", "vscode", "--yes")
    assert (good.read_text(), broken.read_bytes()) == (VSCODE, data)


def test_what_is_not_there_is_told_with_what_is(desk: Desk) -> None:
    where = f"{desk.home}/.claude.json: no configuration of Claude Code found \\(give its file with --file FILE\\)"
    with pytest.raises(SettingsError, match=where):
        desk.run("install", "Claude Code")
    desk.put("cursor", CURSOR)
    with pytest.raises(SettingsError, match=r"Cursor has no server x \(choose from linear, postgres\)"):
        desk.run("install", "cursor", "postgres", "x", "--yes")
    with pytest.raises(SettingsError, match=r"did you mean cursor\?"):
        known_host("curser")
    with pytest.raises(SettingsError, match=r"choose from claude-desktop, .* by hand"):
        known_host("zed")


def test_what_looks_like_a_secret_is_not_shown() -> None:
    for words, shown in (
        ("x --api-key abc --port 80", "x --api-key ••• --port 80"),
        ("x --token ${TOKEN} --key=$KEY", "x --token ${TOKEN} --key=$KEY"),
        ("x --passphrase abc --pat abc -e DB_PASS=abc", "x --passphrase ••• --pat ••• -e DB_PASS=•••"),
        ("x sk-proj-0123456789abcdef ghp_0123456789abcdef", "x ••• •••"),
        ("x 0123456789abcdef0123456789abcdef", "x •••"),
    ):
        assert " ".join(hide(words.split(" "))) == shown
    assert [*hide(["Authorization: Bearer a.b.c", "X-Team: a"])] == ["Authorization: •••", "X-Team: a"]


def test_a_host_gets_a_command_that_needs_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked, scripts = tmp_path / "bin", tmp_path / "venv"
    for folder in (linked, scripts):
        folder.mkdir()
    interpreter, tap = scripts / "python3", ("tap", "stdio", "--data-dir", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(interpreter))
    monkeypatch.setattr("sys.argv", ["__main__.py"])
    assert own_program(tmp_path, {}) == (str(interpreter), "-P", "-m", "tui_host", *tap)
    script = scripts / "tui-host"
    script.touch(0o755)
    (linked / "tui-host").symlink_to(script)
    assert own_program(tmp_path, {}) == (str(script), *tap)
    monkeypatch.chdir(tmp_path)
    for started in (str(linked / "tui-host"), "bin/tui-host"):
        monkeypatch.setattr("sys.argv", [started])
        assert own_program(tmp_path, {}) == (str(linked / "tui-host"), *tap)
