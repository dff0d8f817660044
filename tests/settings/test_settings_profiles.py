"""Profiles: what is read, and which model and tool protocol a start begins with; and options of models as they are typed."""

from pathlib import Path

import pytest

from tests.settings.reading import read, write
from tui_host.errors import JSON
from tui_host.settings.load import Overrides, load
from tui_host.settings.model_options import SETTABLE, Options, option_of, options_of, options_to_json, text_of, value_of
from tui_host.settings.save import save_state
from tui_host.settings.schema import Profile, Template
from tui_host.tui.screens.field_screen import WORDS

NAMING = """
[profiles.p]
model = "groq/of-profile"
protocol = "react"
[profiles.bare]
"""


def test_a_profile_is_read_whole_from_the_file_or_from_one_of_its_own(tmp_path: Path) -> None:
    own = """
    system = "now {time}, {not this}"
    servers = ["math"]
    tools = ["math.*", "*.get_*"]
    model = "${WHO:-demo}/gemini"
    protocol = "hub+cline"
    options = { stop = ["a"], odd = 1 }
    extra_body = { k = "${V:-v}" }
    """
    path = write(tmp_path, own, "profiles.d/助手.toml")
    settings = read(tmp_path, "[profiles.quiet]\nservers = []")
    assert settings.profiles["quiet"] == Profile(name="quiet", servers=(), file=str(tmp_path / "config.toml"))
    found = settings.profiles["助手"]
    assert found.system == Template(text="now {time}, {not this}")
    assert (found.servers, found.tools) == (("math",), ("math.*", "*.get_*"))
    assert (str(found.model), found.protocol, found.file) == ("demo/gemini", "hub+cline", str(path))
    assert found.options == Options(stop=("a",), others={"odd": 1}, extra_body={"k": "${V:-v}"})
    assert settings.profile == ""


@pytest.mark.parametrize(
    ("config", "state", "typed", "expected"),
    [
        ("", {}, {"profile": "p"}, ("p", "groq/of-profile", "react")),
        ("", {}, {"profile": "p", "model": "groq/m", "protocol": "json"}, ("p", "groq/m", "json")),
        ('model = "groq/c"\nprotocol = "json"', {}, {"profile": "bare"}, ("bare", "groq/c", "json")),
        ('profile = "bare"', {"model": "groq/s"}, {}, ("bare", "groq/s", "native")),
        ("", {"profile": "p"}, {}, ("p", "groq/of-profile", "react")),
        ("", {"profile": "p", "model": "groq/s"}, {}, ("p", "groq/s", "react")),
        ("", {"profile": "gone"}, {}, ("", "None", "native")),
    ],
)
def test_what_was_typed_wins_over_the_profile_and_that_over_what_is_below_it(
    config: str, state: dict[str, str], typed: dict[str, str], expected: tuple[str, str, str], tmp_path: Path
) -> None:
    path = write(tmp_path, config + NAMING)
    save_state(load(Overrides(config=path, data_dir=tmp_path), {}), dict(state))
    model, protocol, profile = (typed.get(key) for key in ("model", "protocol", "profile"))
    settings = load(Overrides(config=path, data_dir=tmp_path, model=model, protocol=protocol, profile=profile), {})
    assert (settings.profile, str(settings.model), settings.protocol) == expected
    assert any('no profile "gone"' in notice for notice in settings.notices) == ("gone" in state.values())


TYPED: list[tuple[str, str, JSON]] = [
    ("temperature", " 0.25 ", 0.25),
    ("max_tokens", "4096", 4096),
    ("reasoning_effort", "high", "high"),
    ("stop", "END, ###", ["END", "###"]),
    ("stop", r'"a, \"b\"\n" , " ","c"', ['a, "b"\n', " ", "c"]),
    ("extra_body", '{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
]


def test_an_option_is_read_as_it_is_typed_and_what_is_no_value_is_told() -> None:
    for name, typed, value in TYPED:
        assert option_of(name, typed) == option_of(name, text_of(value)) == value
    for name, typed, told in (
        ("temperature", "warm", "a number"),
        ("temperature", "nan", "a number"),
        ("max_tokens", "1.5", "a whole number"),
        ("reasoning_effort", " ", "a text"),
        ("stop", ",", "texts"),
        ("extra_body", "[1]", "a JSON object"),
        ("extra_body", '{"a": NaN}', "a JSON object"),
    ):
        with pytest.raises(ValueError, match=told):
            option_of(name, typed)


def test_an_option_is_set_and_taken_away_and_all_others_stay() -> None:
    options = Options(temperature=0.5, top_p=0.9, stop=("END",), others={"k": 1})
    changed = options_of({**options_to_json(options), "temperature": 0})
    assert (changed.temperature, changed.top_p, changed.stop, changed.others) == (0, 0.9, ("END",), {"k": 1})
    without = options_of({**options_to_json(changed), "temperature": None})
    assert without == Options(top_p=0.9, stop=("END",), others={"k": 1})
    assert tuple(WORDS) == SETTABLE
    assert [value_of(without, name) for name in SETTABLE] == [None, 0.9, None, None, None, ["END"], None]
    whole = options_of({**options_to_json(without), "extra_body": {"a": None}})
    assert options_of(options_to_json(whole)) == whole
