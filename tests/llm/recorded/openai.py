"""Chat Completions."""

from __future__ import annotations

from dataclasses import replace

from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded
from tests.llm.recorded.wire import text
from tests.llm.streams import DONE, calls, chunk, event, fragment
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

TOLD: JSON = {
    "prompt_tokens": 120,
    "completion_tokens": 48,
    "total_tokens": 168,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 16},
}
USED = Usage(input_total=120, input_cached=64, output_total=48, reasoning=16)
SAID = chunk({"role": "assistant", "content": ""}) + chunk({"content": TEXT[:7]}) + chunk({"content": TEXT[7:]})
ASKED = calls(fragment(index=0, wire_id="call_1", name=WEATHER[0], arguments="")) + calls(
    fragment(index=0, arguments=WEATHER[1])
)
BOTH = b"".join(
    (
        calls(fragment(index=0, wire_id="call_1", name=WEATHER[0], arguments="")),
        calls(
            fragment(index=0, arguments=WEATHER[1][:4]), fragment(index=1, wire_id="call_2", name=TIME[0], arguments="")
        ),
        calls(fragment(index=1, arguments=TIME[1]), fragment(index=0, arguments=WEATHER[1][4:])),
    )
)
IDS = ("call_1", "call_2")


def ended(finish: str, stop: Stop = "end") -> Case:
    return Case(body=SAID + chunk(finish=finish) + DONE, text=TEXT, stop=stop, vendor=finish)


def asking(*pieces: bytes, ids: tuple[str, ...], said: str = "", finish: str = "tool_calls") -> Case:
    body = b"".join(pieces) + chunk(finish=finish) + DONE
    return Case(body=body, text=said, calls=(WEATHER, TIME)[: len(ids)], ids=ids, stop="tools", vendor=finish)


def whole() -> bytes:
    function = {"name": WEATHER[0], "arguments": WEATHER[1]}, {"name": TIME[0], "arguments": TIME[1]}
    asked: list[JSON] = [
        {"id": wire_id, "type": "function", "function": dict(one)} for wire_id, one in zip(IDS, function, strict=True)
    ]
    message: JSON = {"role": "assistant", "content": TEXT, "tool_calls": asked}
    return text(
        {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": TOLD}
    )


RECORDED = Recorded(
    dialect="openai",
    text=ended("stop"),
    tools=asking(SAID, ASKED, ids=IDS[:1], said=TEXT),
    parallel=asking(BOTH, ids=IDS),
    thinking=replace(
        asking(chunk({"reasoning_content": THOUGHT}), SAID, ASKED, ids=IDS[:1], said=TEXT),
        thinking=THOUGHT,
        echoes=(b'"reasoning_content":' + text(THOUGHT),),
    ),
    usage=Case(
        body=SAID + chunk(finish="stop") + event({"id": "c", "choices": [], "usage": TOLD}) + DONE,
        text=TEXT,
        vendor="stop",
        usage=USED,
    ),
    failing=Case(
        body=SAID + event({"error": {"message": "it broke", "type": "server_error", "code": None}}),
        text=TEXT,
        stop="failed",
        failure="it broke",
    ),
    cut=Case(body=SAID, text=TEXT, stop="cut"),
    nothing=replace(
        asking(calls(fragment(index=0, wire_id="call_1", name=NOW[0], arguments="")), ids=IDS[:1]),
        calls=((NOW[0], ""),),
    ),
    whole=Case(body=whole(), text=TEXT, calls=(WEATHER, TIME), ids=IDS, stop="tools", vendor="tool_calls", usage=USED),
    ends={
        "length": ended("length", "length"),
        "content_filter": ended("content_filter", "refused"),
        "without a word": Case(body=SAID + DONE, text=TEXT, vendor="[DONE]"),
        "without [DONE]": Case(body=SAID + chunk(finish="stop"), text=TEXT, vendor="stop"),
        "stop with calls": asking(ASKED, ids=IDS[:1], finish="stop"),
    },
    odd={
        "no index": asking(
            calls(fragment(wire_id="a", name=WEATHER[0], arguments=WEATHER[1])),
            calls(fragment(wire_id="b", name=TIME[0], arguments=TIME[1])),
            ids=("a", "b"),
        ),
        "index always 0": asking(
            calls(fragment(index=0, wire_id="a", name=WEATHER[0], arguments=WEATHER[1])),
            calls(fragment(index=0, wire_id="b", name=TIME[0], arguments=TIME[1])),
            ids=("a", "b"),
        ),
        "no ids": asking(
            calls(
                fragment(name=WEATHER[0], arguments=WEATHER[1]),
                fragment(name=TIME[0], arguments=TIME[1]),
            ),
            ids=("", ""),
        ),
        "one id for both": asking(
            calls(fragment(index=0, wire_id="a", name=WEATHER[0], arguments=WEATHER[1])),
            calls(fragment(index=1, wire_id="a", name=TIME[0], arguments=TIME[1])),
            ids=("a", "a"),
        ),
        "the id in every piece": asking(
            calls(fragment(index=0, wire_id="a", name=WEATHER[0], arguments=WEATHER[1][:3])),
            calls(fragment(index=0, wire_id="a", arguments=WEATHER[1][3:])),
            calls(fragment(index=1, wire_id="b", name=TIME[0], arguments=TIME[1])),
            ids=("a", "b"),
        ),
    },
    models=b'{"object":"list","data":[{"id":"model-a","object":"model"},{"id":"model-b","object":"model"}]}',
    refusal=b'{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}',
)
