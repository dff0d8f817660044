"""Wrong configurations, and the whole lines that they are refused with: file, key, line, what was found, and a remedy."""

from pathlib import Path

import pytest

from tests.settings.reading import read, refused, write
from tui_host.errors import SettingsError
from tui_host.settings.load import Overrides, load
from tui_host.settings.presets import PRESETS
from tui_host.settings.schema import PROTOCOLS, THEMES

LONG = {"{PRESETS}": ", ".join(PRESETS), "{PROTOCOLS}": ", ".join(PROTOCOLS), "{THEMES}": ", ".join(THEMES)}
REFUSED, NOTICED = "=> ", "~> "


def table() -> list[tuple[str, list[str], list[str]]]:
    """The blocks of `mistakes.txt`: a configuration, the lines that refuse it, and the lines that warn of it."""
    text = Path(__file__).with_name("mistakes.txt").read_text("utf-8")
    for name, words in LONG.items():
        text = text.replace(name, words)
    blocks: list[tuple[str, list[str], list[str]]] = []
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        toml = "\n".join(line for line in lines if not line.startswith((REFUSED, NOTICED)))
        mistakes, notices = (
            [line.removeprefix(mark) for line in lines if line.startswith(mark)] for mark in (REFUSED, NOTICED)
        )
        blocks.append((toml, mistakes, notices))
    return blocks


def test_each_wrong_configuration_is_refused_or_warned_of_in_whole_lines(tmp_path: Path) -> None:
    file = f"{tmp_path}/config.toml: "
    for toml, mistakes, notices in table():
        told, warned = list[str](), tuple[str, ...]()
        try:
            warned = read(tmp_path, toml).notices
        except SettingsError as error:
            told = [str(mistake) for mistake in (error, *error.more)]
        assert (told, list(warned)) == ([file + line for line in mistakes], [file + line for line in notices]), toml
        assert "canary" not in "".join((*told, *warned))
        assert all(line.isprintable() for line in told)


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "command = 1", "servers.d/other.toml")
    write(tmp_path, "x = [", "rules.toml")
    write(tmp_path, "themes = 'x'", "state.toml")
    told = refused(tmp_path, "[limits]\nsteps = 0\n[servers.a]\ncommand = 'x'\narg = ['y']\nurl = 3\n[ui]\nascii = 1")
    config, other = f"{tmp_path}/config.toml", f"{tmp_path}/servers.d/other.toml"
    invalid = "not TOML: Invalid value (at end of document) (fix it; see https://toml.io for the format)"
    assert told == [
        f"{tmp_path}/rules.toml: {invalid}",
        f"{tmp_path}/state.toml: themes, line 1: unknown key (did you mean theme?)",
        f"{config}: limits.steps, line 2: found 0, expected an integer, 1 or more (choose another number)",
        f"{config}: ui.ascii, line 8: found 1, expected true or false (write it without quotes)",
        f"{config}: servers.a.url, line 6: found an integer, expected text (write it in quotes)",
        f"{config}: servers.a.arg, line 5: unknown key (did you mean args?)",
        f"{config}: servers.a.url, line 6: conflicts with command (remove one: a server has command or url)",
        f"{other}: command, line 1: found an integer, expected text (write it in quotes)",
    ]


def test_what_was_typed_wrongly_is_named_as_it_was_typed(tmp_path: Path) -> None:
    arguments = Overrides(
        config=write(tmp_path, "[profiles.q]"),
        model="grok/x",
        protocol="magic",
        profile="pp",
        allow=("time", "a b.c", "time.get_[ab]"),
    )
    with pytest.raises(SettingsError) as caught:
        load(arguments, {})
    remedy = "write it like time.get_* or math.*"
    assert [str(error) for error in (caught.value, *caught.value.more)] == [
        '--profile: no profile "pp" (choose from q)',
        '--model: no provider "grok" (did you mean groq?)',
        f'--protocol: found "magic", expected one of {", ".join(PROTOCOLS)} (write one of them)',
        f'--allow: found "time", expected SERVER.TOOL ({remedy})',
        f'--allow: found "a b.c", expected SERVER.TOOL ({remedy})',
        '--allow: found "time.get_[ab]", expected SERVER.TOOL (write * for brackets and other signs: time.get_*ab*)',
    ]


def test_a_file_that_is_no_toml_or_a_path_that_cannot_be_is_one_mistake(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    for data, told in (
        (None, "no such file (create"),
        (b"a = 1\nb = = 2\n", "not TOML: Invalid value (at line 2, column 5) (fix it"),
        (b"a = 1\nb = '\xff'\n", "line 2: not UTF-8: byte 0xff (save"),
        (b"a = " + b"[" * 20000, "not TOML: maximum recursion depth exceeded"),
    ):
        if data is not None:
            path.write_bytes(data)
        assert mistake(path).startswith(f"{path}: {told}")
    home = mistake(Path("~nobody-of-that-name/c.toml"))
    assert home.startswith("--config: the path begins with ~, but no home folder is known")
    assert mistake(tmp_path).startswith(
        f"{tmp_path}: cannot be read: Is a directory (give the path of the file, such as"
    )


def mistake(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load(Overrides(config=path), {})
    assert caught.value.more == ()
    return str(caught.value)
