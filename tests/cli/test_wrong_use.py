"""What cannot be meant ends with 2 before anything is asked: nothing on standard output, and a remedy for each mistake."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.cli.desk import NO_SERVER, Desk, desk
from tests.kit.program import Programs


@pytest.fixture(scope="module")
def place(program: Programs, tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    with desk(program, tmp_path_factory.mktemp("wrong"), servers=NO_SERVER) as found:
        yield found


@pytest.mark.parametrize(
    ("words", "remedies"),
    [
        ([], ["tui-host ask TEXT"]),
        (["ask", "--config", "/nowhere.toml", "hi"], ["/nowhere.toml: no such file"]),
        (["ask", "  ", "--json"], ["there is no question"]),
        (["ask", "-", "--json"], ["not UTF-8"]),
        (["ask", "hi", "--no-record", "--session", "last"], ["leave one out"]),
        (["ask", "hi", "--model", "nobody/m", "--json"], ['--model: no provider "nobody"']),
        (["ask", "hi", "--protocol", "smoke"], ["--protocol"]),
        (["ask", "hi", "--elicit", "seats"], ["--elicit: seats has no value (write FIELD=VALUE)"]),
        (["ask", "hi", "--root", "/no"], ["--root: there is no folder /no"]),
        (["ask", "hi", "--attach", "/"], ["tui-host: --attach: "]),
        (
            ["ask", "hi", "--allow", "off.get[1]"],
            ['--allow: found "off.get[1]", expected SERVER.TOOL (write * for brackets and other signs: off.get*1*)\n'],
        ),
        (
            ["compare", "hi", "--json", "--with", "nobody/m", "--with", "mine"],
            ['no provider "nobody"', 'found "mine", expected PROVIDER/MODEL (write mine/MODEL)'],
        ),
        (["compare", "hi", "--with", "demo/openai:clin"], ['demo has no model "openai:clin"']),
        (["compare", "hi", "--with", "mine/m", "--with", "mine/m:native"], ["twice"]),
        (["compare", "hi", "--json"], ["--with"]),
        (["models", "deepsek"], ["tui-host: models: no provider deepsek (choose from mine, openai,"]),
        (["call", "off", "echo", "{'text': 1}"], ["the arguments are not JSON"]),
        (["prompt", "off", "greet", "name"], ["name has no value (write KEY=VALUE)"]),
        (["servers", "check", "off", "of"], ["tui-host: servers: no server of (choose from off)"]),
        (["servers", "check", "--call", "add", "{}"], ["--call"]),
        (["servers", "login", "guardian"], ["guardian"]),
        (["conformance"], ["write a URL, or -- and a command"]),
    ],
    ids=" ".join,
)
def test_wrong_use_names_its_remedies_and_asks_nobody(place: Desk, words: list[str], remedies: list[str]) -> None:
    ended = place.run(*words, stdin=b"\xff\xfe")
    assert (ended.code, ended.out) == (2, b"")
    for line, remedy in zip(ended.err.splitlines(keepends=True), remedies, strict=True):
        assert remedy in line
    assert place.provider.requests == []
    assert not place.data.exists()
