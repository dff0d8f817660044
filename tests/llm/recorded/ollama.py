"""Ollama's own API."""

from dataclasses import replace

from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded, asking, failing, text
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
BOTH = (("", WEATHER), ("", TIME))


def line(message: bytes = b'"content": ""', /, **more: JSON) -> bytes:
    """A line whose message has these members, written out, for arguments are what the model wrote."""
    rest = text({"done": False, **more})[1:]
    return b'{"model": "m", "message": {"role": "assistant", ' + message + b"}, " + rest + b"\n"


def words(*pieces: str) -> bytes:
    return b"".join(line(b'"content": ' + text(piece)) for piece in pieces or (TEXT[:7], TEXT[7:]))


def asked(*calls: tuple[str, tuple[str, str]], said: str = "", **more: JSON) -> bytes:
    """A line with calls, each whole: its id, its name and its arguments."""
    written: list[bytes] = []
    for number, (wire_id, (name, arguments)) in enumerate(calls):
        given = b', "arguments": ' + arguments.encode() if arguments else b""
        function = b'"function": {"index": %d, "name": %s%s}' % (number, text(name), given)
        written.append(b"{" + (b'"id": ' + text(wire_id) + b", " if wire_id else b"") + function + b"}")
    return line(b'"content": ' + text(said) + b', "tool_calls": [' + b", ".join(written) + b"]", **more)


def done(word: str | None = "stop", /, **more: JSON) -> bytes:
    return line(done=True, **({} if word is None else {"done_reason": word}), **more)


def ended(word: str, stop: Stop = "end") -> Case:
    return Case(body=words() + done(word), text=TEXT, stop=stop, vendor=word)


def wants(*lines: bytes, ids: tuple[str, ...] = ("", ""), said: str = "", **more: object) -> Case:
    return replace(asking(b"".join(lines) + done(), "stop", ids=ids, text=said), **more)


RECORDED = Recorded(
    dialect="ollama",
    text=ended("stop"),
    tools=wants(words(), asked((IDS[0], WEATHER)), ids=IDS[:1], said=TEXT),
    parallel=wants(asked((IDS[0], WEATHER), (IDS[1], TIME)), ids=IDS),
    thinking=wants(line(b'"content": "", "thinking": ' + text(THOUGHT[:4])),
        line(b'"content": "", "thinking": ' + text(THOUGHT[4:])), words(), asked((IDS[0], WEATHER)), ids=IDS[:1],
        said=TEXT, thinking=THOUGHT, echoes=(b'"thinking":' + text(THOUGHT),)),
    usage=Case(body=words() + done(**TIMES), text=TEXT, vendor="stop", usage=USED),
    failing=failing(words() + b'{"error": "it broke", "status": 500}\n'),
    whole=replace(
        asking(asked((IDS[0], WEATHER), (IDS[1], TIME), said=TEXT, done_reason="stop", done=True, **TIMES).rstrip(),
            "stop", ids=IDS, text=TEXT),
        usage=USED,
    ),
    ends={"length": ended("length", "length"),
        "without a reason": Case(body=words() + done(None), text=TEXT, vendor="done")},
    odd={
        "no arguments": wants(asked(("", (NOW[0], ""))), ids=("",), calls=((NOW[0], ""),)),
        "index always 0, one call a line": wants(asked(BOTH[0]), asked(BOTH[1])),
        "no ids": wants(asked(*BOTH)),
        "one id for both": wants(asked(("a", WEATHER), ("a", TIME)), ids=("a", "a")),
        "arguments as text": wants(asked(("", (WEATHER[0], text(WEATHER[1]).decode())), ("", TIME))),
        "thinking between tags": replace(ended("stop"), body=words("<think>", THOUGHT, "</think>") + words() + done(),
            thinking=THOUGHT),
        "calls and the end in one line": asking(asked(BOTH[0], done=True), "done", ids=("",)),
    },
    models=b'{"models":[{"name":"model-a","model":"model-a","size":1,"details":{}},{"name":"model-b","model":"model-b"}]}',
    refusal=b'{"error":"no such model"}',
)  # fmt: skip
