"""Wrong configurations, and the whole lines that they are refused with: file, key, line, what was found, and a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.settings.reading import read, refused, write
from tui_host.errors import SettingsError
from tui_host.settings.load import Overrides, load
from tui_host.settings.presets import PRESETS
from tui_host.settings.save import write_toml
from tui_host.settings.schema import PROTOCOLS, THEMES

LONG = {
    "{HUGE}": f"0x{'f' * 5000}",
    "{PRESETS}": ", ".join(PRESETS),
    "{PROTOCOLS}": ", ".join(PROTOCOLS),
    "{THEMES}": ", ".join(THEMES),
}
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
        assert (toml, told, list(warned)) == (
            toml,
            [file + line for line in mistakes],
            [file + line for line in notices],
        )
        assert "canary" not in "".join((*told, *warned))
        assert all(line.isprintable() for line in told)


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    write(tmp_path, "command = 1", "servers.d/other.toml")
    write(tmp_path, "x = [", "rules.toml")
    write(tmp_path, "themes = 'x'", "state.toml")
    told = refused(tmp_path, "[limits]\nsteps = 0\n[servers.a]\ncommand = 'x'\narg = ['y']\nurl = 3\n[ui]\nascii = 1")
    config, other = f"{tmp_path}/config.toml", f"{tmp_path}/servers.d/other.toml"
    assert told == [
        (
            f"{tmp_path}/rules.toml: line 1: not TOML: Invalid value, at the end "
            "(fix it; see https://toml.io for the format)"
        ),
        (
            f"{config}: limits.steps, line 2: found 0 (an integer), expected an integer, 1 or more "
            "(write an integer, such as 25)"
        ),
        (
            f"{config}: ui.ascii, line 8: found 1 (an integer), expected true or false "
            "(write true or false, without quotes)"
        ),
        f"{tmp_path}/state.toml: themes, line 1: unknown key (did you mean theme?)",
        f"{config}: servers.a.url, line 6: found an integer, expected text (write it in quotes)",
        f"{config}: servers.a.arg, line 5: unknown key (did you mean args?)",
        f"{config}: servers.a.url, line 6: conflicts with command (remove one: a server has command or url)",
        f"{other}: command, line 1: found 1 (an integer), expected text (write it in quotes)",
    ]


def test_what_was_typed_wrongly_is_named_as_it_was_typed(tmp_path: Path) -> None:
    arguments = Overrides(
        config=write(tmp_path, "[profiles.q]"),
        model="grok/x",
        protocol="magic",
        profile="pp",
        steps=0,
        allow=("time", "a b.c", "time.get_[ab]"),
    )
    with pytest.raises(SettingsError) as caught:
        load(arguments, {})
    remedy = "write it like time.get_* or math.*"
    assert [str(error) for error in (caught.value, *caught.value.more)] == [
        f'--allow: found "time", expected SERVER.TOOL ({remedy})',
        f'--allow: found "a b.c", expected SERVER.TOOL ({remedy})',
        '--allow: found "time.get_[ab]", expected SERVER.TOOL (write * for brackets and other signs: time.get_*ab*)',
        '--profile: no profile "pp" (choose from q)',
        '--model: no provider "grok" (did you mean groq?)',
        f'--protocol: found "magic", expected one of {", ".join(PROTOCOLS)} (write one of them)',
        "--max-steps: found 0, expected 1 or more (write a number, such as 25)",
    ]


def test_paths_that_cannot_be_are_told() -> None:
    arguments = Overrides(config=Path("~nobody-of-that-name/c.toml"), data_dir=Path("a\0b"))
    with pytest.raises(SettingsError) as caught:
        load(arguments, {})
    assert [str(error) for error in (caught.value, *caught.value.more)][:3:2] == [
        "--config: no home folder for ~nobody-of-that-name/c.toml (write the full path)",
        "--data-dir: a NUL character in the path (give another path)",
    ]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a = 1\nb = = 2\n", ": line 2: not TOML: Invalid value, at column 5"),
        (b"a = 1\nb = '\xff'\n", ": line 2: not UTF-8: byte 0xff"),
        (b"a = " + b"[" * 20000, ": tables or arrays nested too deeply"),
        (b"#" * 1_000_001, ": more than 1,000,000 bytes"),
    ],
    ids=["two equals", "not UTF-8", "deep arrays", "a long file"],
)
def test_a_file_that_is_no_toml_is_one_mistake_with_its_line(data: bytes, line: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load(Overrides(config=path), {})
    assert caught.value.more == ()
    assert str(caught.value).startswith(f"{path}{line} (")


def test_a_folder_and_an_unreadable_file_are_told(tmp_path: Path) -> None:
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    below = write(tmp_path, "") / "below"
    for path, what in (
        (tmp_path, "found a folder, expected a file"),
        (loop, "cannot be read: Too many levels of symbolic links"),
        (below, "no such file"),
    ):
        with pytest.raises(SettingsError) as caught:
            load(Overrides(config=path), {})
        assert (caught.value.where, caught.value.what) == (str(path), what)


def test_a_prompt_that_no_tool_protocol_uses_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    for name in ("cherry.md", "chery.md", "native.md", "README.md", "cline.txt"):
        write(tmp_path, "{tools}", f"protocols/{name}")
    assert load(Overrides(config=path), {}).notices == (
        'protocols/chery.md is not used: no tool protocol "chery"; did you mean cherry?',
        "protocols/native.md is not used: native has no prompt to replace",
    )


@pytest.mark.parametrize("name", ["a__b", "a.b", "a b", "", "x" * 41, "a\x1b[31m"])
def test_a_server_needs_a_valid_name(name: str, tmp_path: Path) -> None:
    quoted = name.replace("\x1b", "\\u001b")
    (line,) = refused(tmp_path, f'[servers."{quoted}"]\nbundled = "math"')
    assert "is not a valid server name (use 1 to 40 letters" in line


def test_hostile_file_names_are_told_in_one_harmless_line(tmp_path: Path) -> None:
    folder = tmp_path / "servers.d"
    folder.mkdir()
    for name in (b"a\x1b[2J\n.toml", b"\xff\xfe.toml", "\u202egpj.toml".encode(), b"a__b.toml", b"..toml.toml"):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text('bundled = "math"')
    os.mkfifo(folder / "waits.toml")
    (folder / "folder.toml").mkdir()
    (folder / "gone.toml").symlink_to(tmp_path / "nowhere")
    told = refused(tmp_path, "")
    assert len(told) == 5  # ..toml.toml is hidden; the fifo and the folder are no files
    assert all(line.isprintable() and len(line) < 1000 for line in told)


values = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("model", "protocol", "providers", "servers", "rules", "limits", "store", "ui", "timeout", "headers", "env")
keyed = st.dictionaries(st.sampled_from(KEYS), values, max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(document={"model": "", "servers": {}, "providers": {"\x1f": {}}})
@given(document=st.dictionaries(st.sampled_from(KEYS), values | keyed | st.dictionaries(st.text(max_size=3), keyed)))
def test_whatever_a_file_holds_it_is_settings_or_mistakes(document: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    write_toml(path, document)
    told: tuple[str, ...] = ()
    try:
        load(Overrides(config=path), {})
    except SettingsError as error:
        told = tuple(map(str, (error, *error.more)))
    assert all(line.isprintable() for line in told)
