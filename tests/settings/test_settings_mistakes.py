from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.settings.reading import mistake, mistakes, read, write
from tui_host.errors import SettingsError, TuiHostError
from tui_host.settings.load import Overrides, load
from tui_host.settings.save import write_toml


def test_all_mistakes_are_told_at_once_each_in_one_line_with_file_key_found_and_remedy(tmp_path: Path) -> None:
    text = """
    model = "deepsek/deepseek-chat"
    protocl = "native"
    [providers.mine]
    base_url = "http://192.0.2.1/v1"
    timeout = "slow"
    [servers.time]
    command = "uvx"
    arg = ["mcp-server-time"]
    env = { TZ = 3 }
    [servers.a__b]
    bundled = "maths"
    [[rules]]
    server = "time"
    tool = "*"
    action = "alow"
    [limits]
    steps = 0
    [store]
    keep = "long"
    [ui]
    theme = "nrod"
    """
    write(tmp_path, "command = 1", "servers.d/other.toml")
    write(tmp_path, "x = [", "rules.toml")
    write(tmp_path, "themes = 'x'", "state.toml")
    file = str(tmp_path / "config.toml")
    told = {str(error.where): str(error) for error in mistakes(tmp_path, text)}
    assert {where.removeprefix(f"{file}: ") for where in told if where.startswith(file)} == {
        "model",
        "protocl",
        "providers.mine.base_url",
        "providers.mine.timeout",
        "servers.time.arg",
        "servers.time.env.TZ",
        "servers.a__b",
        "servers.a__b.bundled",
        "rules #1.action",
        "limits.steps",
        "store.keep",
        "ui.theme",
    }
    assert 'there is no theme "nrod" (did you mean nord?)' in told[f"{file}: ui.theme"]
    assert "did you mean deepseek" in told[f"{file}: model"]
    assert "did you mean protocol" in told[f"{file}: protocl"]
    assert 'found "slow" (text), expected a number' in told[f"{file}: providers.mine.timeout"]
    assert "found an integer, expected text" in told[f"{file}: servers.time.env.TZ"]
    assert "did you mean args" in told[f"{file}: servers.time.arg"]
    assert "did you mean math" in told[f"{file}: servers.a__b.bundled"]
    assert "did you mean allow" in told[f"{file}: rules #1.action"]
    assert f"{tmp_path}/servers.d/other.toml: command" in told
    assert "did you mean theme" in told[f"{tmp_path}/state.toml: themes"]
    assert any(where.startswith(f"{tmp_path}/rules.toml: ") for where in told)
    assert all("\n" not in line and line.endswith(")") for line in told.values())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("model = 3", "found 3 (an integer), expected text"),
        ("rules = ['x']", 'found "x" (text), expected a table'),
        ("[limits]\nsteps = true", "found true, expected an integer"),
        ("[limits]\nconnect_wait = nan", "found nan (a number), expected 0 or more"),
        (f"[limits]\nsteps = 0x{'f' * 5000}", "found a huge number"),
        ("[servers.a]\ncommand='x'\nargs = 'y'", "found text, expected an array of text"),
    ],
)
def test_a_value_of_a_wrong_type_is_shown(text: str, what: str, tmp_path: Path) -> None:
    assert mistake(tmp_path, text).what.startswith(what)


def test_a_prompt_that_no_tool_protocol_uses_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    (tmp_path / "protocols").mkdir()
    for name in ("cherry.md", "chery.md", "native.md", "README.md", "cline.txt"):
        (tmp_path / "protocols" / name).write_text("{tools}")
    assert load(Overrides(config=path), {}).notices == (
        'protocols/chery.md is not used: no tool protocol "chery"; did you mean cherry?',
        "protocols/native.md is not used: native has no prompt to replace",
    )


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        (b"a = 1\nb = = 2\n", "line 2", "not TOML: Invalid value, at column 5"),
        (b"a = 1\nb = '\xff'\n", "line 2", "not UTF-8: byte 0xff"),
        (b"a = " + b"[" * 20000, "", "tables or arrays nested too deeply"),
        (b"#" * 1_000_001, "", "more than 1,000,000 bytes"),
    ],
    ids=["two equals", "not UTF-8", "deep arrays", "a long file"],
)
def test_a_file_that_is_no_toml_is_one_mistake_with_its_line(
    data: bytes, where: str, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load(Overrides(config=path), {})
    assert caught.value.more == ()
    assert caught.value.where == (f"{path}: {where}" if where else str(path))
    assert what in caught.value.what
    assert len(str(caught.value)) < 1000


def test_tables_deep_in_each_other_are_a_mistake(tmp_path: Path) -> None:
    text = '[providers.a]\nbase_url = "https://e.example"\noptions.' + ".".join(["a"] * 3000) + " = 1"
    assert "levels of tables or arrays" in mistake(tmp_path, text).what


def test_a_folder_and_an_unreadable_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="found a folder, expected a file"):
        load(Overrides(config=tmp_path), {})
    loop = tmp_path / "loop.toml"
    loop.symlink_to(loop)
    with pytest.raises(SettingsError, match="cannot be read: "):
        load(Overrides(config=loop), {})
    with pytest.raises(SettingsError, match="no such file"):
        load(Overrides(config=write(tmp_path, "") / "below"), {})


def test_an_unset_variable_in_the_model_is_a_mistake(tmp_path: Path) -> None:
    assert mistake(tmp_path, 'model = "${WHICH}"').what == "WHICH is not set"


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("", ""),
        ('command = "x"\nurl = "https://e.example"', "url"),
        ('bundled = "math"\ncommand = "x"', "bundled"),
        ('bundled = "math"\ntransport = "http"', "transport"),
        ('url = "https://e.example"\nenv = { A = "b" }', "env"),
        ('command = "x"\nheaders = { A = "b" }', "headers"),
        ('command = ""', "command"),
        ('command = "x"\nenv = { "A=B" = "c" }', 'env."A=B"'),
        ('command = "x"\nmode = "modern"', "mode"),
        ('command = "x"\nargs = ["a", 2]', "args[1]"),
        ('url = "http://192.0.2.1/mcp"', "url"),
        ('url = "https://e.example:99999/"', "url"),
        ('url = "https://e.example"\nheaders = { "A:" = "b" }', 'headers."A:"'),
        ('url = "https://e.example"\nheaders = { A = "b\\nC: d" }', "headers.A"),
        ('url = "https://e.example"\nheaders = { A = "b", a = "c" }', "headers.a"),
    ],
)
def test_what_does_not_make_a_server_is_a_mistake_at_its_key(table: str, key: str, tmp_path: Path) -> None:
    wrong = mistake(tmp_path, f"[servers.s]\n{table}")
    assert wrong.where == f"{tmp_path}/config.toml: servers.s" + (f".{key}" if key else "")
    assert wrong.remedy


@pytest.mark.parametrize("name", ["a__b", "a.b", "a b", "", "x" * 41, "a\x1b[31m"])
def test_a_server_needs_a_valid_name(name: str, tmp_path: Path) -> None:
    quoted = name.replace("\x1b", "\\u001b")
    wrong = mistake(tmp_path, f'[servers."{quoted}"]\nbundled = "math"')
    assert "is not a valid server name" in wrong.what
    assert str(wrong).isprintable()


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("", "base_url"),
        ('base_url = "http://e.example/v1"', "base_url"),
        ('base_url = "https://e.example/v1/chat/completions"', "base_url"),
        ('base_url = "https://e.example"\ndialect = "openapi"', "dialect"),
        ('base_url = "http://127.0.0.1:11434/v1/"\ndialect = "ollama"', "base_url"),
        ('base_url = "https://e.example"\ntimeout = 0', "timeout"),
        ('base_url = "https://e.example"\napi_kei = "x"', "api_kei"),
        ('base_url = "https://e.example"\noptions = { a = 2026-01-01 }', "options.a"),
        ('base_url = "https://e.example"\noptions = { a = inf }', "options.a"),
        ('base_url = "https://e.example"\noptions = { a = 0xffffffffffffffffff }', "options.a"),
    ],
)
def test_what_does_not_make_a_provider_is_a_mistake_at_its_key(table: str, key: str, tmp_path: Path) -> None:
    wrong = mistake(tmp_path, f"[providers.p]\n{table}")
    assert wrong.where == f"{tmp_path}/config.toml: providers.p.{key}"
    assert wrong.remedy


def test_the_embedded_models_name_is_taken_and_a_slash_is_no_name(tmp_path: Path) -> None:
    assert "embedded model" in mistake(tmp_path, '[providers.demo]\nbase_url = "https://e.example"').what
    assert "not a valid provider name" in mistake(tmp_path, '[providers."a/b"]\nbase_url = "https://e.example"').what


@pytest.mark.parametrize(
    ("model", "remedy"),
    [("deepseek", "deepseek/deepseek-chat"), ("groq/", "groq/MODEL"), ("demo/openia", "openai"), ("opnai/x", "openai")],
)
def test_a_model_that_cannot_be_is_a_mistake_with_the_nearest(model: str, remedy: str, tmp_path: Path) -> None:
    assert remedy in mistake(tmp_path, f'model = "{model}"').remedy


def test_plain_http_is_allowed_where_it_is_said_or_cannot_be_known_yet(tmp_path: Path) -> None:
    text = """
    [providers.said]
    base_url = "http://192.0.2.1/v1"
    allow_http = true
    [providers.later]
    base_url = "http://${HOST_OF_MODEL}/v1"
    [servers.said]
    url = "http://192.0.2.1/mcp"
    allow_http = true
    """
    assert read(tmp_path, text).notices == ()


def test_the_value_of_what_may_be_a_secret_is_in_no_mistake(tmp_path: Path) -> None:
    text = """
    [providers.p]
    base_url = "http://user:canary1@e.example/canary2?key=canary3"
    api_key = ["canary4"]
    headers = { A = "canary5\\n", B = ["canary6"] }
    [servers.s]
    url = "ftp://canary7"
    headers = "canary8"
    [servers.t]
    command = "x"
    env = { A = 12345678 }
    """
    told = " ".join(str(error) for error in mistakes(tmp_path, text))
    assert "canary" not in told
    assert "12345678" not in told


def test_a_secret_in_a_file_is_noticed_by_file_and_key_without_its_value(tmp_path: Path) -> None:
    text = """
    [providers.openai]
    api_key = "canary1"
    [providers.mine]
    base_url = "https://e.example"
    api_key = "${MINE:-canary2}"
    headers = { x-api-key = "canary3", X-Team = "a" }
    [providers.good]
    base_url = "https://e.example"
    api_key = "${GOOD:-}"
    [servers.s]
    command = "x"
    args = ["--api-key", "canary5-canary5", "--verbose", "--token", "${TOKEN}"]
    env = { MY_TOKEN = "canary4", KEYBOARD = "us", OTHER_KEY = "${K}" }
    """
    notices = read(tmp_path, text).notices
    assert [notice.split(": ")[1] for notice in notices] == [
        "providers.openai.api_key",
        "providers.mine.api_key",
        "providers.mine.headers.x-api-key",
        "servers.s.env.MY_TOKEN",
        "servers.s.args",
    ]
    assert all(notice.startswith(f"{tmp_path}/config.toml: ") for notice in notices)
    assert "OPENAI_API_KEY" in notices[0]
    assert "canary" not in "".join(notices)


@pytest.mark.parametrize(
    ("table", "rival"),
    [
        ('[providers.p]\napi_key = "${KEY}"\nbase_url', "api_key"),
        ('[providers.p]\nheaders = { authorization = "Basic ${KEY}" }\nbase_url', "headers.authorization"),
        ('[servers.p]\nheaders = { Authorization = "Bearer ${KEY}" }\nurl', "headers.Authorization"),
    ],
)
def test_a_user_in_a_url_beside_another_credential_is_a_mistake(table: str, rival: str, tmp_path: Path) -> None:
    wrong = mistake(tmp_path, f'{table} = "https://ann:canary@e.example/v1"')
    assert wrong.what == f"has a user before the @, beside {rival}"
    assert "canary" not in str(wrong)


@pytest.mark.parametrize("text", ["${input:key}", "$(touch x)${", "${A:-${B}}", "${1}"])
def test_what_looks_like_a_reference_of_others_is_noticed(text: str, tmp_path: Path) -> None:
    notices = read(tmp_path, f'[servers.s]\ncommand = "x"\nargs = ["{text}"]').notices
    assert [("servers.s.args[0]" in notice, "no reference" in notice) for notice in notices] == [(True, True)]


@pytest.mark.parametrize("command", ["uvx mcp-server-time", "./server.py", "~/server.py"])
def test_a_command_that_will_not_be_found_is_noticed(command: str, tmp_path: Path) -> None:
    assert len(read(tmp_path, f'[servers.s]\ncommand = "{command}"').notices) == 1


def test_hostile_file_names_are_told_in_one_harmless_line(tmp_path: Path) -> None:
    folder = tmp_path / "servers.d"
    folder.mkdir()
    for name in (b"a\x1b[2J\n.toml", b"\xff\xfe.toml", "\u202egpj.toml".encode(), b"a__b.toml", b"..toml.toml"):
        (Path(os.fsdecode(os.fsencode(folder) + b"/" + name))).write_text('bundled = "math"')
    os.mkfifo(folder / "waits.toml")
    (folder / "folder.toml").mkdir()
    (folder / "gone.toml").symlink_to(tmp_path / "nowhere")
    told = [str(error) for error in mistakes(tmp_path, "")]
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
    told: tuple[TuiHostError, ...] = ()
    try:
        load(Overrides(config=path), {})
    except SettingsError as error:
        told = (error, *error.more)
    assert all(str(one).isprintable() for one in told)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ('server = "a"\ntool = "b"', "action"),
        ('server = "a"\naction = "deny"', "tool"),
        ('server = "a"\ntool = ""\naction = "deny"', "tool"),
        ('server = "a.b"\ntool = "c"\naction = "deny"', "server"),
        ('server = "a"\ntool = "b"\naction = "deny"\nwhen = "c"', "when"),
    ],
)
def test_what_does_not_make_a_rule_is_a_mistake_at_its_key(table: str, key: str, tmp_path: Path) -> None:
    text = '[[rules]]\nserver = "*"\ntool = "*"\naction = "ask"\n[[rules]]\n' + table
    assert mistake(tmp_path, text).where == f"{tmp_path}/config.toml: rules #2.{key}"


def test_paths_that_cannot_be_are_told() -> None:
    arguments = Overrides(config=Path("~nobody-of-that-name/c.toml"), data_dir=Path("a\0b"))
    with pytest.raises(SettingsError) as caught:
        load(arguments, {})
    told = {error.where: error.what for error in (caught.value, *caught.value.more)}
    assert told["--config"] == "no home folder for ~nobody-of-that-name/c.toml"
    assert told["--data-dir"] == "a NUL character in the path"


def test_a_word_that_is_none_of_a_few_is_told_with_them_once(tmp_path: Path) -> None:
    text = '[servers.x]\ncommand = "x"\nmode = "%s"'
    assert str(mistake(tmp_path, text % "new")).endswith("expected one of auto, legacy, 2026-07-28 (write one of them)")
    assert str(mistake(tmp_path, text % "autos")).endswith("(did you mean auto?)")
