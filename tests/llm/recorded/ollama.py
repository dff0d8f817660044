"""Ollama's own API."""

from __future__ import annotations

from dataclasses import replace

from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded
from tests.llm.recorded.wire import line, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

TIMES: dict[str, JSON] = {
    "total_duration": 4_771_552_700,
    "load_duration": 30_473_200,
    "prompt_eval_count": 120,
    "prompt_eval_duration": 77_797_900,
    "eval_count": 48,
    "eval_duration": 4_656_713_800,
}
USED = Usage(input_total=120, output_total=48, loading=0.0304732, reading=0.0777979, writing=4.6567138)
IDS = ("call_abc", "call_def")


def said(message: bytes = b'"content": ""', more: dict[str, JSON] | None = None) -> bytes:
    """A line whose message has these members."""
    head = text({"model": "m", "created_at": "2026-11-21T07:38:18.2Z"})[:-1]
    return (
        head
        + b', "message": {"role": "assistant", '
        + message
        + b"}, "
        + text({"done": False, **(more or {})})[1:]
        + b"\n"
    )


def words(*pieces: str) -> bytes:
    return b"".join(said(b'"content": ' + text(piece)) for piece in pieces or (TEXT[:7], TEXT[7:]))


def asked(*calls: tuple[str, tuple[str, str]], index: int | None = None) -> bytes:
    """A line with calls, each whole: its id, its name and its arguments."""
    written: list[bytes] = []
    for number, (wire_id, (name, arguments)) in enumerate(calls):
        place = f'"index": {number if index is None else index}, '.encode()
        function = (
            b'{"function": {' + place + b'"name": ' + text(name) + b', "arguments": ' + arguments.encode() + b"}}"
        )
        written.append(b'{"id": ' + text(wire_id) + b", " + function[1:] if wire_id else function)
    return said(b'"content": "", "tool_calls": [' + b", ".join(written) + b"]")


def done(word: str | None = "stop", more: dict[str, JSON] | None = None) -> bytes:
    given: dict[str, JSON] = {} if word is None else {"done_reason": word}
    return said(more=given | {"done": True} | (more or {}))


def ended(word: str, stop: Stop = "end") -> Case:
    return Case(body=words() + done(word), text=TEXT, stop=stop, vendor=word)


def asking(*lines: bytes, ids: tuple[str, ...] = ("", ""), text: str = "") -> Case:
    calls = (WEATHER, TIME)[: len(ids)]
    return Case(body=b"".join(lines) + done(), text=text, calls=calls, ids=ids, stop="tools", vendor="stop")


WEATHER_AND_TIME = (("", WEATHER), ("", TIME))

RECORDED = Recorded(
    dialect="ollama",
    framing="lines",
    text=ended("stop"),
    tools=asking(words(), asked((IDS[0], WEATHER)), ids=IDS[:1], text=TEXT),
    parallel=asking(asked((IDS[0], WEATHER), (IDS[1], TIME)), ids=IDS),
    thinking=replace(
        asking(
            said(b'"content": "", "thinking": ' + text(THOUGHT[:4])),
            said(b'"content": "", "thinking": ' + text(THOUGHT[4:])),
            words(),
            asked((IDS[0], WEATHER)),
            ids=IDS[:1],
            text=TEXT,
        ),
        thinking=THOUGHT,
        echoes=(b'"thinking":' + text(THOUGHT),),
    ),
    usage=Case(body=words() + done(more=TIMES), text=TEXT, vendor="stop", usage=USED),
    failing=Case(
        body=words() + line({"error": "it broke", "status": 500}), text=TEXT, stop="failed", failure="it broke"
    ),
    cut=Case(body=words(), text=TEXT, stop="cut"),
    nothing=Case(body=asked(("", NOW)) + done(), calls=(NOW,), ids=("",), stop="tools", vendor="stop"),
    whole=Case(
        body=asked((IDS[0], WEATHER), (IDS[1], TIME))
        .replace(b'"content": ""', b'"content": ' + text(TEXT))
        .replace(b'"done": false}', b'"done_reason": "stop", "done": true, ' + text(TIMES)[1:])
        .rstrip(b"\n"),
        text=TEXT,
        calls=(WEATHER, TIME),
        ids=IDS,
        stop="tools",
        vendor="stop",
        usage=USED,
    ),
    ends={
        "length": ended("length", "length"),
        "without a reason": Case(body=words() + done(None), text=TEXT, vendor="done"),
    },
    odd={
        "index always 0, one call a line": asking(
            asked(WEATHER_AND_TIME[0], index=0), asked(WEATHER_AND_TIME[1], index=0)
        ),
        "no ids": asking(asked(*WEATHER_AND_TIME)),
        "one id for both": asking(asked(("a", WEATHER), ("a", TIME)), ids=("a", "a")),
        "arguments as text": asking(asked(("", (WEATHER[0], text(WEATHER[1]).decode())), ("", TIME))),
        "no arguments": replace(
            asking(said(b'"content": "", "tool_calls": [{"function": {"name": "now"}}]'), ids=("",)),
            calls=((NOW[0], ""),),
        ),
        "thinking between tags": Case(
            body=words("<think>", THOUGHT, "</think>") + words() + done(), text=TEXT, thinking=THOUGHT, vendor="stop"
        ),
        "calls and the end in one line": Case(
            body=asked(("", WEATHER)).replace(b'"done": false', b'"done": true'),
            calls=(WEATHER,),
            ids=("",),
            stop="tools",
            vendor="done",
        ),
    },
    models=b'{"models":[{"name":"model-a","model":"model-a","size":1,"details":{}},{"name":"model-b","model":"model-b"}]}',
    refusal=b'{"error":"no such model"}',
)
