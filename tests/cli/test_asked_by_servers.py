"""Commands answer what servers ask by their flags, and never wait."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.desk import desk
from tests.kit.bodies import asks, text
from tests.kit.program import Programs
from tests.servers.running import ASKING_SERVER, sdk_configured

FRAMES = ASKING_SERVER.with_name("question_server.py")
BOOK = ("asking__book", '{"train":"IC 1"}')


def asking() -> str:
    return sdk_configured("asking", program=ASKING_SERVER)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_ask_fills_in_a_form_by_its_flags(program: Programs, tmp_path: Path, mode: str) -> None:
    servers = f'{asking()}mode = "{mode}"\n'
    with desk(program, tmp_path, asks(BOOK), text("booked"), servers=servers) as place:
        ended = place.ask("--yes", "--elicit", "seats=3", "--elicit", "window=no", "--elicit", "elsewhere=1", "go")
        assert ended.code == 0, ended.err
        assert "IC 1: 3 plants False" in str(place.provider.messages(-1))


def test_ask_declines_what_no_flag_answers_and_says_so(program: Programs, tmp_path: Path) -> None:
    wished = asks(BOOK, ("asking__ask_the_model", "{}"))
    with desk(program, tmp_path, wished, text("well"), servers=asking()) as place:
        ended = place.ask("--yes", "go")
        assert ended.code == 0, ended.err
        assert (
            "asking asked for seats, meal, window (Which seats?): declined: nothing was given; --elicit FIELD=VALUE answers"
            in ended.err
        )
        assert len(place.provider.requests) == 2


def test_ask_lets_a_server_ask_the_model_and_know_a_folder(program: Programs, tmp_path: Path) -> None:
    wished = asks(("asking__ask_the_model", "{}"), ("asking__folders", "{}"))
    with desk(program, tmp_path, wished, text("blue"), text("well"), servers=asking()) as place:
        ended = place.ask("--yes", "--sampling", "--root", tmp_path, "go")
        assert ended.code == 0, ended.err
        told = str(place.provider.messages(-1))
        assert "mine/m: blue" in told
        assert tmp_path.as_uri() in told


def test_a_call_tells_what_was_refused_and_what_the_server_logged(program: Programs, tmp_path: Path) -> None:
    frames = f"[servers.frames]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(FRAMES))}]\n"
    with desk(program, tmp_path, servers=frames) as place:
        ended = place.run("call", "frames", "undeclared")
        assert "frames: its question was refused: this mode of elicitation was not declared" in ended.err
        ended = place.run("call", "frames", "logs")
        assert 'log debug: l: {"n": 2999}' in ended.err
        assert "2,700 earlier log messages are not shown" in ended.err
