"""Addresses and paths: where plain http may go, what a command or a URL is called, which folders are private."""

import os
from pathlib import Path

import pytest

from tests.settings.reading import mode
from tui_host.cli.typed_server import typed_server
from tui_host.errors import SettingsError
from tui_host.settings.paths import ensure_private_dir
from tui_host.settings.schema import Template
from tui_host.settings.urls import check_url, parts_of

LOOPBACK = "localhost LOCALHOST localhost. 127.0.0.1 127.9.9.9 [::1] [::ffff:127.0.0.1]"
ELSEWHERE = (
    "192.0.2.1 e.example 0.0.0.0 127.1 2130706433 0x7f000001 localhost.example 127.0.0.1.example [::] [fe80::1] "
    "10.0.0.1 127.0.0.1@e.example"
)


def test_plain_http_goes_to_this_machine_and_nowhere_else_unless_it_is_said() -> None:
    for host in LOOPBACK.split():
        check_url(f"http://{host}:8080/v1", allow_http=False)
    for host in ELSEWHERE.split():
        with pytest.raises(SettingsError, match="allow_http"):
            check_url(f"http://{host}/v1", allow_http=False, where="p")
        check_url(f"http://{host}/v1", allow_http=True)
        check_url(f"https://{host}/v1", allow_http=False)


def test_what_is_no_url_is_refused_even_where_http_is_allowed_and_an_error_shows_scheme_and_host_alone() -> None:
    for url in ("", "e.example", "ftp://e.example", "https://", "https:///x", "https://e.example:0/"):
        with pytest.raises(SettingsError, match="URL"):
            check_url(url, allow_http=True)
    with pytest.raises(SettingsError, match="URL"):
        typed_server(["ftp://e.example"])
    with pytest.raises(SettingsError, match=r"http://e\.example:81 ") as caught:
        check_url("http://user:canary@e.example:81/canary?key=canary#canary", allow_http=False)
    assert "canary" not in str(caught.value)
    assert parts_of("http://a.example:x/b?c#d")[1:] == ("a.example:x", "/b", "c", "d")
    assert parts_of("http://[a/b?c#d") == ("http", "", "[a/b", "c", "d")


def test_a_command_or_a_url_names_its_server() -> None:
    for words, name in (
        (["uvx", "--python", "mcp-server-time==1.0"], "mcp-server-time-1-0"),
        (["npx", "-y", "@modelcontextprotocol/server-everything@2026.1", "stdio"], "server-everything"),
        (["python", "./here/server.py", "x"], "server"),
        (["./bin/my__server"], "my_server"),
        (["python"], "python"),
        (["时间"], "时间"),
    ):
        spec = typed_server(words)
        assert (spec.name, spec.transport, spec.command) == (name, "stdio", Template(text=words[0], literal=True))
        assert [argument.text for argument in spec.args] == words[1:]
    for wrong in ([], [""]):
        with pytest.raises(SettingsError):
            typed_server(wrong)
    for url, name, transport in (
        ("https://docs.example/mcp", "docs-example", "http"),
        ("http://127.0.0.1:8000/mcp", "127-0-0-1-8000", "http"),
        ("http://[::1]:9/sse", "1-9", "sse"),
    ):
        spec = typed_server([url])
        assert (spec.name, spec.transport, spec.url) == (name, transport, Template(text=url, literal=True))


@pytest.mark.usefixtures("no_umask")
def test_a_new_folder_is_private_and_an_own_one_keeps_its_mode_unless_others_could_write_in_it(tmp_path: Path) -> None:
    ensure_private_dir(tmp_path / "a" / "b")
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)
    for given_mode, left in ((0o755, 0o755), (0o700, 0o700), (0o777, 0o700), (0o770, 0o700)):
        tmp_path.chmod(given_mode)
        ensure_private_dir(tmp_path)
        assert mode(tmp_path) == left


def test_what_is_no_private_folder_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shared, foreign = tmp_path / "shared", Path("/")  # root's
    shared.mkdir()
    shared.chmod(0o1777)
    if os.geteuid() == 0:  # who alone can give a folder away
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        os.chown(foreign, 12345, 12345)
    for path, what in (
        (shared, "shared by all users"),
        (foreign, "another user"),
        (tmp_path / "file", "not a folder"),
        (tmp_path / "file" / "below", "cannot be used: Not a directory"),
    ):
        with pytest.raises(SettingsError, match=what):
            ensure_private_dir(path)
    assert mode(shared) == 0o1777
