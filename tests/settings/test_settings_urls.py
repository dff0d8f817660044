from __future__ import annotations

import pytest

from tui_host.errors import SettingsError
from tui_host.settings.urls import check_url, parts_of

LOOPBACK = ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"]
ELSEWHERE = [
    "192.0.2.1",
    "e.example",
    "0.0.0.0",  # noqa: S104 - refused, not bound
    "127.1",
    "2130706433",
    "0x7f000001",
    "localhost.example",
    "127.0.0.1.example",
    "[::]",
    "[fe80::1]",
    "10.0.0.1",
]


@pytest.mark.parametrize("host", LOOPBACK)
def test_plain_http_may_go_to_this_machine(host: str) -> None:
    check_url(f"http://{host}:8080/v1", allow_http=False)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_plain_http_goes_nowhere_else_unless_it_is_said(host: str) -> None:
    with pytest.raises(SettingsError, match="allow_http"):
        check_url(f"http://{host}/v1", allow_http=False, where="p")
    check_url(f"http://{host}/v1", allow_http=True)
    check_url(f"https://{host}/v1", allow_http=False)


def test_the_user_part_of_a_url_is_not_its_host() -> None:
    with pytest.raises(SettingsError):
        check_url("http://127.0.0.1@e.example/", allow_http=False)


@pytest.mark.parametrize(
    "url", ["", "e.example", "ftp://e.example", "https://", "https:///x", "https://e.example:0/", "x" * 9]
)
def test_what_is_no_url_is_refused_even_where_http_is_allowed(url: str) -> None:
    with pytest.raises(SettingsError, match="URL"):
        check_url(url, allow_http=True)


def test_an_error_shows_scheme_and_host_alone() -> None:
    with pytest.raises(SettingsError) as caught:
        check_url("http://user:canary@e.example:81/canary?key=canary#canary", allow_http=False)
    assert "http://e.example:81 " in str(caught.value)
    assert "canary" not in str(caught.value)


def test_what_somebody_wrote_for_an_url_is_taken_apart_whatever_it_is() -> None:
    assert parts_of("http://a.example:x/b?c#d")[1:] == ("a.example:x", "/b", "c", "d")
    assert parts_of("http://[a/b?c#d") == ("", "", "http://[a/b", "c", "d")
