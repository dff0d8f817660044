"""Anthropic's Messages."""

from dataclasses import replace

from tests.kit.bodies import event
from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded, asking, compact, failing, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

COUNTS: JSON = {"input_tokens": 50, "cache_creation_input_tokens": 6, "cache_read_input_tokens": 64, "output_tokens": 1}
BEFORE = Usage(input_total=120, input_cached=64, cache_written=6)
SIGNATURE = "EqQB/+=="
THINKING: JSON = {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}
REDACTED: JSON = {"type": "redacted_thinking", "data": "EmwK"}
IDS = ("toolu_1", "toolu_2")


def named(value: dict[str, JSON]) -> bytes:
    return event(value, str(value["type"]))


def placed(kind: str, index: int | None, **more: JSON) -> bytes:
    """An event about a block; some services give no index."""
    return named({"type": f"content_block_{kind}", **({} if index is None else {"index": index}), **more})


def began(usage: JSON = None) -> bytes:
    message: dict[str, JSON] = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    return named({"type": "message_start", "message": message | ({} if usage is None else {"usage": usage})})


def opened(index: int | None, block: JSON) -> bytes:
    return placed("start", index, content_block=block)


def more(index: int | None, kind: str, name: str, piece: str) -> bytes:
    return placed("delta", index, delta={"type": kind, name: piece})


def closed(index: int | None) -> bytes:
    return placed("stop", index)


def finished(word: str | None, usage: JSON = None, **delta: JSON) -> bytes:
    told = {} if usage is None else {"usage": usage}
    return named({"type": "message_delta", "delta": {"stop_reason": word, "stop_sequence": None, **delta}, **told})


STOP = named({"type": "message_stop"})


def words(index: int | None = 0, said: str = TEXT) -> bytes:
    pieces = [more(index, "text_delta", "text", piece) for piece in (said[:7], said[7:])]
    return opened(index, {"type": "text", "text": ""}) + named({"type": "ping"}) + b"".join(pieces) + closed(index)


def call_opened(index: int | None, wire_id: str, name: str) -> bytes:
    return opened(index, {"type": "tool_use", "id": wire_id, "name": name, "input": {}})


def given(index: int | None, *pieces: str) -> bytes:
    return b"".join(more(index, "input_json_delta", "partial_json", piece) for piece in pieces)


def call(index: int | None, wire_id: str, asked: tuple[str, str], *pieces: str) -> bytes:
    pieces = pieces or ("", asked[1][:5], asked[1][5:])
    return call_opened(index, wire_id, asked[0]) + given(index, *pieces) + closed(index)


def thought(index: int, said: str = THOUGHT, signature: str = SIGNATURE) -> bytes:
    pieces = [more(index, "thinking_delta", "thinking", piece) for piece in (said[:5], said[5:]) if piece]
    pieces += [more(index, "signature_delta", "signature", signature)] if signature else []
    return opened(index, {"type": "thinking", "thinking": "", "signature": ""}) + b"".join(pieces) + closed(index)


MIXED = (
    call_opened(0, IDS[0], WEATHER[0])
    + call_opened(1, IDS[1], TIME[0])
    + given(0, WEATHER[1][:3])
    + given(1, TIME[1][:9])
    + given(0, WEATHER[1][3:])
    + given(1, TIME[1][9:])
    + closed(1)
    + closed(0)
)
"""Two calls whose pieces come in turns."""


def ended(word: str, stop: Stop = "end", why: str = "", **delta: JSON) -> Case:
    return Case(body=began() + words() + finished(word, **delta) + STOP, text=TEXT, stop=stop, vendor=word + why)


def wants(*blocks: bytes, ids: tuple[str, ...] = IDS, text: str = "", **more: object) -> Case:
    body = began() + b"".join(blocks) + finished("tool_use") + STOP
    return replace(asking(body, "tool_use", ids=ids, text=text), **more)


def whole() -> bytes:
    asked = [
        text({"type": "tool_use", "id": wire_id, "name": name})[:-1] + b', "input": ' + arguments.encode() + b"}"
        for wire_id, (name, arguments) in zip(IDS, (WEATHER, TIME), strict=True)
    ]
    content = b", ".join([text({"type": "text", "text": TEXT}), *asked])
    head = text({"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "tool_use"})[:-1]
    return head + b', "content": [' + content + b'], "usage": ' + text(COUNTS) + b"}"


NO_RECIPES: JSON = {"category": "bio", "explanation": "no recipes"}
THIRD: JSON = {"type": "thinking", "thinking": "", "signature": "Third"}

RECORDED = Recorded(
    dialect="anthropic",
    text=ended("end_turn"),
    tools=wants(words(0), call(1, IDS[0], WEATHER), ids=IDS[:1], text=TEXT),
    parallel=wants(MIXED),
    thinking=wants(
        *(thought(0), opened(1, REDACTED), closed(1), thought(2, "", "Third"), words(3), call(4, IDS[0], WEATHER)),
        ids=IDS[:1], text=TEXT, thinking=THOUGHT, echoes=tuple(map(compact, (THINKING, REDACTED, THIRD)))),
    usage=replace(
        ended("end_turn"),
        body=began(COUNTS)
        + words()
        + finished("end_turn", {"output_tokens": 40})
        + finished("end_turn", {"output_tokens": 48, "output_tokens_details": {"thinking_tokens": 16}})
        + STOP,
        usage=replace(BEFORE, output_total=48, reasoning=16),
    ),
    failing=failing(
        began() + words() + named({"type": "error", "error": {"type": "overloaded_error", "message": "it broke"}})),
    whole=replace(asking(whole(), "tool_use", ids=IDS, text=TEXT), usage=replace(BEFORE, output_total=1)),
    ends={
        "max_tokens": ended("max_tokens", "length"),
        "model_context_window_exceeded": ended("model_context_window_exceeded", "length"),
        "pause_turn": ended("pause_turn", "paused"),
        "refusal": ended("refusal", "refused", ": bio, no recipes", stop_details=NO_RECIPES),
        "a word of tomorrow": ended("tired"),
        "without message_stop": Case(body=began() + words() + finished("end_turn"), text=TEXT, vendor="end_turn"),
        "without a reason": Case(body=began() + words() + STOP, text=TEXT, vendor="message_stop"),
        "end_turn with calls": asking(began() + call(0, "a", WEATHER) + finished("end_turn"), "end_turn", ids=("a",)),
    },
    odd={
        "no arguments": wants(call(0, IDS[0], NOW, ""), ids=IDS[:1], calls=(NOW,)),
        "no index": wants(words(None), call(None, "a", WEATHER), call(None, "b", TIME), ids=("a", "b"), text=TEXT),
        "index always 0": wants(words(0), call(0, "a", WEATHER), call(0, "b", TIME), ids=("a", "b"), text=TEXT),
        "no ids": wants(call(0, "", WEATHER), call(1, "", TIME), ids=("", "")),
        "one id for both": wants(call(0, "a", WEATHER), call(1, "a", TIME), ids=("a", "a")),
        "blocks and events of tomorrow": wants(named({"type": "message_dream", "dream": 1}),
            opened(0, {"type": "dream", "dream": 1}) + more(0, "dream_delta", "dream", "x") + closed(0), words(1),
            call(2, "a", WEATHER), ids=("a",), text=TEXT),
        "[DONE]": Case(body=began() + words() + b"data: [DONE]\n\n", text=TEXT, vendor="[DONE]"),
    },
    models=b'{"data":[{"type":"model","id":"model-a","display_name":"A"},{"type":"model","id":"model-b"}],"has_more":false}',
    refusal=b'{"type":"error","error":{"type":"not_found_error","message":"no such model"},"request_id":"req_1"}',
)  # fmt: skip
