"""OpenAI's Responses."""

from dataclasses import replace

from tests.kit.bodies import event
from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded, asking, compact, failing, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

TOLD: JSON = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 6},
    "output_tokens": 48,
    "output_tokens_details": {"reasoning_tokens": 16},
}
USED = Usage(input_total=120, input_cached=64, cache_written=6, output_total=48, reasoning=16)
IDS = ("call_1", "call_2")
REASONING: dict[str, JSON] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": THOUGHT}],
    "encrypted_content": "gAAA+/==",
}
HIDDEN: dict[str, JSON] = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "hidden"}


def named(kind: str, index: int | None = None, **more: JSON) -> bytes:
    """An event, of an item if it has an index; some services give none."""
    place: dict[str, JSON] = {} if index is None else {"output_index": index}
    return event({"type": f"response.{kind}", **place, **more}, f"response.{kind}")


BEGAN = named("created", response={"id": "resp_1", "status": "in_progress", "output": []})


def over(status: str = "completed", *output: JSON, **more: JSON) -> bytes:
    response: JSON = {"id": "resp_1", "status": status, "output": list(output), "error": None, "usage": None, **more}
    return named(status, response=response)


def opened(index: int | None, item: JSON) -> bytes:
    return named("output_item.added", index, item=item)


def closed(index: int | None, item: JSON) -> bytes:
    return named("output_item.done", index, item=item)


def said(index: int | None = 0) -> dict[str, JSON]:
    content: JSON = [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    head: dict[str, JSON] = {"type": "message", "id": f"msg_{index}", "status": "completed"}
    return {**head, "role": "assistant", "content": content, "phase": "commentary"}


def words(index: int | None = 0) -> bytes:
    of = f"msg_{index}"
    pieces = [named("output_text.delta", index, item_id=of, delta=piece, logprobs=[]) for piece in (TEXT[:7], TEXT[7:])]
    begun = opened(index, {"type": "message", "id": of, "status": "in_progress", "content": []})
    ends = named("output_text.done", index, item_id=of, text=TEXT) + closed(index, said(index))
    return begun + b"".join(pieces) + ends


def item(asked: tuple[str, str], wire_id: str, item_id: str, *, is_done: bool = True) -> dict[str, JSON]:
    found: dict[str, JSON] = {"type": "function_call", "id": item_id, "call_id": wire_id, "name": asked[0]}
    return found | {"arguments": asked[1] if is_done else "", "status": "completed" if is_done else "in_progress"}


def pieces(index: int | None, item_id: str, *told: str) -> bytes:
    return b"".join(named("function_call_arguments.delta", index, item_id=item_id, delta=piece) for piece in told)


def call(index: int | None, asked: tuple[str, str], wire_id: str, item_id: str = "") -> bytes:
    item_id = item_id or f"fc_{wire_id}"
    begun = opened(index, item(asked, wire_id, item_id, is_done=False))
    ends = named("function_call_arguments.done", index, item_id=item_id, arguments=asked[1])
    return (
        begun + pieces(index, item_id, asked[1][:5], asked[1][5:]) + ends + closed(index, item(asked, wire_id, item_id))
    )


def thought(index: int) -> bytes:
    told = [
        named("reasoning_summary_text.delta", index, item_id="rs_1", summary_index=0, delta=piece)
        for piece in (THOUGHT[:5], THOUGHT[5:])
    ]
    begun = opened(index, {"type": "reasoning", "id": "rs_1", "summary": []})
    return begun + b"".join(told) + closed(index, {**REASONING, "status": None})


MIXED = (
    opened(0, item(WEATHER, IDS[0], "fc_0", is_done=False))
    + opened(1, item(TIME, IDS[1], "fc_1", is_done=False))
    + pieces(0, "fc_0", WEATHER[1][:4])
    + pieces(1, "fc_1", TIME[1][:4])
    + pieces(0, "fc_0", WEATHER[1][4:])
    + pieces(1, "fc_1", TIME[1][4:])
    + closed(1, item(TIME, IDS[1], "fc_1"))
    + closed(0, item(WEATHER, IDS[0], "fc_0"))
)
"""Two calls whose pieces come in turns."""
DREAMS = (
    named("reasoning_text.delta", 0, delta=THOUGHT[:3])
    + named("reasoning_text.delta", 0, delta=THOUGHT[3:])
    + named("reasoning_text.delta", 0, delta=None)
    + named("function_call_arguments.delta", 9, delta="{")
    + named("dream.delta", 1, delta="x")
    + named("output_item.done", 1, item=7)
)
"""Raw thinking, pieces of nothing, and events of tomorrow."""


def ended(status: str, stop: Stop = "end", *, vendor: str = "", failure: str = "", **more: JSON) -> Case:
    more |= {"incomplete_details": {"reason": vendor}} if vendor else {}
    body = BEGAN + words() + over(status, **more)
    return Case(body=body, text=TEXT, stop=stop, vendor=vendor or status, failure=failure)


def wants(*items: bytes, ids: tuple[str, ...] = IDS, text: str = "", end: bytes = b"", **more: object) -> Case:
    return replace(asking(BEGAN + b"".join(items) + (end or over()), "completed", ids=ids, text=text), **more)


RECORDED = Recorded(
    dialect="openai-responses",
    text=ended("completed"),
    tools=wants(words(0), call(1, WEATHER, IDS[0]), ids=IDS[:1], text=TEXT),
    parallel=wants(MIXED),
    thinking=wants(
        thought(0),
        words(1),
        opened(2, {"type": "reasoning", "id": "rs_2", "summary": []}) + closed(2, HIDDEN),
        call(3, WEATHER, IDS[0]),
        ids=IDS[:1],
        text=TEXT,
        thinking=THOUGHT,
        echoes=(compact(REASONING), b'"type":"message","id":"msg_1","status":"completed","phase":"commentary"}',
            compact(HIDDEN),
            b'{"type":"function_call","id":"fc_call_1","status":"completed","call_id":"call_1","name":"get_weather"'),
    ),
    usage=replace(ended("completed", usage=TOLD, output=None), usage=USED),
    failing=failing(BEGAN + words() + event({"type": "error", "code": "server_error", "message": "it broke"})),
    whole=asking(
        text({"status": "completed", "output": [said(), item(WEATHER, IDS[0], "fc_1"), item(TIME, IDS[1], "fc_2")]}),
        "completed", ids=IDS, text=TEXT),
    ends={
        "max_output_tokens": ended("incomplete", "length", vendor="max_output_tokens"),
        "content_filter": ended("incomplete", "refused", vendor="content_filter"),
        "failed": ended("failed", "failed", failure="it broke", error={"code": "server_error", "message": "it broke"}),
        "cancelled": ended("cancelled", "failed", failure="the provider ended the answer with 'cancelled'"),
        "a refusal": Case(body=BEGAN + named("refusal.delta", 0, delta="I cannot.") + over(), text="I cannot.",
            stop="refused", vendor="completed"),
        "[DONE] alone": Case(body=BEGAN + words() + b"data: [DONE]\n\n", text=TEXT, vendor="[DONE]"),
    },
    odd={
        "no arguments": wants(call(0, (NOW[0], ""), IDS[0]), ids=IDS[:1], calls=((NOW[0], ""),)),
        "no index": wants(words(None), call(None, WEATHER, "a"), call(None, TIME, "b"), ids=("a", "b"), text=TEXT),
        "index always 0": wants(words(0), call(0, WEATHER, "a"), call(0, TIME, "b"), ids=("a", "b"), text=TEXT),
        "no ids": wants(call(0, WEATHER, ""), call(1, TIME, ""), ids=("", "")),
        "one id for both": wants(call(0, WEATHER, "a", "fc"), call(1, TIME, "a", "fc"), ids=("a", "a")),
        "wholes alone": wants(closed(0, said(0)), closed(1, item(WEATHER, "a", "fc_1")), ids=("a",), text=TEXT),
        "all at the end": wants(end=over("completed", said(0), item(WEATHER, "a", "fc_1")), ids=("a",), text=TEXT),
        "a whole unlike its pieces": wants(opened(0, item(WEATHER, "a", "fc_1", is_done=False)),
            pieces(0, "fc_1", '{"city":"Rome"}'), closed(0, item(WEATHER, "a", "fc_1")), ids=("a",)),
        "a whole twice": wants(call(0, WEATHER, "a"), closed(0, item(WEATHER, "a", "fc_a")), ids=("a",)),
        "events of tomorrow": replace(ended("completed"), body=BEGAN + DREAMS + words(2) + over(), thinking=THOUGHT),
    },
    models=b'{"object":"list","data":[{"id":"model-a","object":"model"},{"id":"model-b","object":"model"}]}',
    refusal=b'{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}',
)  # fmt: skip
