"""OpenAI's Responses."""

from __future__ import annotations

from dataclasses import replace

from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded
from tests.llm.recorded.wire import event, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

TOLD: JSON = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 6},
    "output_tokens": 48,
    "output_tokens_details": {"reasoning_tokens": 16},
    "total_tokens": 168,
}
USED = Usage(input_total=120, input_cached=64, cache_written=6, output_total=48, reasoning=16)
IDS = ("call_1", "call_2")
SEALED = "gAAA+/=="
REASONING: dict[str, JSON] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": THOUGHT}],
    "encrypted_content": SEALED,
}
HIDDEN: dict[str, JSON] = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "hidden"}


def named(kind: str, **more: JSON) -> bytes:
    return event({"type": kind, **more, "sequence_number": 7}, kind)


BEGAN = named("response.created", response={"id": "resp_1", "status": "in_progress", "output": []}) + named(
    "response.in_progress", response={"id": "resp_1"}
)


def over(status: str = "completed", *output: JSON, usage: JSON = None, **more: JSON) -> bytes:
    response: JSON = {"id": "resp_1", "status": status, "output": list(output), "error": None, "usage": usage, **more}
    return named(f"response.{status}", response=response)


def place(index: int | None) -> dict[str, JSON]:
    return {} if index is None else {"output_index": index}


def opened(index: int | None, item: JSON) -> bytes:
    return named("response.output_item.added", **place(index), item=item)


def closed(index: int | None, item: JSON) -> bytes:
    return named("response.output_item.done", **place(index), item=item)


def said(index: int | None = 0, *, phase: str = "commentary") -> dict[str, JSON]:
    content: JSON = [{"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}]
    return {
        "type": "message",
        "id": f"msg_{index}",
        "status": "completed",
        "role": "assistant",
        "content": content,
        "phase": phase,
    }


def words(index: int | None = 0) -> bytes:
    """The text as an item, in pieces."""
    where: dict[str, JSON] = {"item_id": f"msg_{index}", **place(index), "content_index": 0}
    part: JSON = {"type": "output_text", "text": "", "annotations": []}
    return b"".join(
        (
            opened(index, {"type": "message", "id": f"msg_{index}", "status": "in_progress", "content": []}),
            named("response.content_part.added", **where, part=part),
            *(named("response.output_text.delta", **where, delta=piece, logprobs=[]) for piece in (TEXT[:7], TEXT[7:])),
            named("response.output_text.done", **where, text=TEXT),
            named("response.content_part.done", **where, part={"type": "output_text", "text": TEXT}),
            closed(index, said(index)),
        )
    )


def item(asked: tuple[str, str], wire_id: str, item_id: str, *, is_done: bool = True) -> dict[str, JSON]:
    """A call as an item."""
    found: dict[str, JSON] = {"type": "function_call", "id": item_id, "call_id": wire_id, "name": asked[0]}
    return found | {"arguments": asked[1] if is_done else "", "status": "completed" if is_done else "in_progress"}


def pieces(index: int | None, item_id: str, *told: str) -> list[bytes]:
    where: dict[str, JSON] = {"item_id": item_id, **place(index)}
    return [named("response.function_call_arguments.delta", **where, delta=piece) for piece in told if piece]


def call(index: int | None, asked: tuple[str, str], wire_id: str, item_id: str = "") -> bytes:
    item_id = item_id or f"fc_{wire_id}"
    where: dict[str, JSON] = {"item_id": item_id, **place(index)}
    return b"".join(
        (
            opened(index, item(asked, wire_id, item_id, is_done=False)),
            *pieces(index, item_id, asked[1][:5], asked[1][5:]),
            named("response.function_call_arguments.done", **where, arguments=asked[1]),
            closed(index, item(asked, wire_id, item_id)),
        )
    )


def thought(index: int) -> bytes:
    where: dict[str, JSON] = {"item_id": "rs_1", "output_index": index, "summary_index": 0}
    told = [named("response.reasoning_summary_text.delta", **where, delta=each) for each in (THOUGHT[:5], THOUGHT[5:])]
    return b"".join(
        (
            opened(index, {"type": "reasoning", "id": "rs_1", "summary": []}),
            named("response.reasoning_summary_part.added", **where, part={"type": "summary_text", "text": ""}),
            *told,
            named("response.reasoning_summary_text.done", **where, text=THOUGHT),
            closed(index, {**REASONING, "status": None}),
        )
    )


def mixed() -> bytes:
    """Two calls whose pieces come in turns."""
    calls = ((0, WEATHER, "call_1"), (1, TIME, "call_2"))
    halves = [[pieces(n, f"fc_{n}", asked[1][:4], asked[1][4:])[half] for n, asked, _ in calls] for half in (0, 1)]
    return b"".join(
        (
            *(opened(n, item(asked, wire_id, f"fc_{n}", is_done=False)) for n, asked, wire_id in calls),
            *halves[0],
            *halves[1],
            *(closed(n, item(asked, wire_id, f"fc_{n}")) for n, asked, wire_id in reversed(calls)),
        )
    )


def ended(status: str, stop: Stop = "end", *, vendor: str = "", failure: str = "", **more: JSON) -> Case:
    more |= {"incomplete_details": {"reason": vendor}} if vendor else {}
    body = BEGAN + words() + over(status, **more)
    return Case(body=body, text=TEXT, stop=stop, vendor=vendor or status, failure=failure)


def asking(*items: bytes, ids: tuple[str, ...] = IDS, text: str = "") -> Case:
    body = BEGAN + b"".join(items) + over()
    calls = (WEATHER, TIME)[: len(ids)]
    return Case(body=body, text=text, calls=calls, ids=ids, stop="tools", vendor="completed")


def refusing() -> Case:
    refusal = "I cannot."
    where: dict[str, JSON] = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    whole: JSON = {
        "type": "message",
        "id": "msg_0",
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": refusal}],
    }
    body = BEGAN + named("response.refusal.delta", **where, delta=refusal) + closed(0, whole) + over("completed", whole)
    return Case(body=body, text=refusal, stop="refused", vendor="completed")


def compact(value: JSON) -> bytes:
    return text(value).replace(b'": ', b'":').replace(b', "', b',"').replace(b"}, {", b"},{")


WHOLE: JSON = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [said(0), item(WEATHER, IDS[0], "fc_1"), item(TIME, IDS[1], "fc_2")],
    "usage": TOLD,
}

RECORDED = Recorded(
    dialect="openai-responses",
    text=ended("completed"),
    tools=asking(words(0), call(1, WEATHER, IDS[0]), ids=IDS[:1], text=TEXT),
    parallel=asking(mixed()),
    thinking=replace(
        asking(
            thought(0),
            words(1),
            opened(2, {"type": "reasoning", "id": "rs_2", "summary": []}) + closed(2, HIDDEN),
            call(3, WEATHER, IDS[0]),
            ids=IDS[:1],
            text=TEXT,
        ),
        thinking=THOUGHT,
        echoes=(
            compact(REASONING),
            b'"type":"message","id":"msg_1","status":"completed","phase":"commentary"}',
            compact(HIDDEN),
            b'{"type":"function_call","id":"fc_call_1","status":"completed","call_id":"call_1","name":"get_weather"',
        ),
    ),
    usage=Case(
        body=BEGAN + words() + over("completed", said(0), usage=TOLD), text=TEXT, vendor="completed", usage=USED
    ),
    failing=Case(
        body=BEGAN + words() + named("error", code="server_error", message="it broke", param=None),
        text=TEXT,
        stop="failed",
        failure="it broke",
    ),
    cut=Case(body=BEGAN + words(), text=TEXT, stop="cut"),
    nothing=replace(
        asking(
            opened(0, item((NOW[0], ""), IDS[0], "fc_1", is_done=False)),
            closed(0, item((NOW[0], ""), IDS[0], "fc_1")),
            ids=IDS[:1],
        ),
        calls=((NOW[0], ""),),
    ),
    whole=Case(
        body=text(WHOLE), text=TEXT, calls=(WEATHER, TIME), ids=IDS, stop="tools", vendor="completed", usage=USED
    ),
    ends={
        "max_output_tokens": ended("incomplete", "length", vendor="max_output_tokens"),
        "content_filter": ended("incomplete", "refused", vendor="content_filter"),
        "failed": ended("failed", "failed", failure="it broke", error={"code": "server_error", "message": "it broke"}),
        "failed without a word": ended("failed", "failed", failure="the provider ended the answer with 'failed'"),
        "cancelled": ended("cancelled", "failed", failure="the provider ended the answer with 'cancelled'"),
        "a refusal": refusing(),
        "[DONE] alone": Case(body=BEGAN + words() + b"data: [DONE]\n\n", text=TEXT, vendor="[DONE]"),
    },
    odd={
        "no index": asking(words(None), call(None, WEATHER, "a"), call(None, TIME, "b"), ids=("a", "b"), text=TEXT),
        "index always 0": asking(words(0), call(0, WEATHER, "a"), call(0, TIME, "b"), ids=("a", "b"), text=TEXT),
        "no ids": asking(call(0, WEATHER, ""), call(1, TIME, ""), ids=("", "")),
        "one id for both": asking(call(0, WEATHER, "a", "fc"), call(1, TIME, "a", "fc"), ids=("a", "a")),
        "wholes alone": asking(closed(0, said(0)), closed(1, item(WEATHER, "a", "fc_1")), ids=("a",), text=TEXT),
        "all at the end": Case(
            body=BEGAN + over("completed", said(0), item(WEATHER, "a", "fc_1")),
            text=TEXT,
            calls=(WEATHER,),
            ids=("a",),
            stop="tools",
            vendor="completed",
        ),
        "a whole unlike its pieces": asking(
            opened(0, item(WEATHER, "a", "fc_1", is_done=False)),
            *pieces(0, "fc_1", '{"city":"Rome"}'),
            closed(0, item(WEATHER, "a", "fc_1")),
            ids=("a",),
        ),
        "wholes twice": asking(
            call(0, WEATHER, "a"), closed(0, item(WEATHER, "a", "fc_a")), call(1, TIME, "b"), ids=("a", "b")
        ),
        "no output at the end": Case(
            body=BEGAN + words() + named("response.completed", response={"output": None}), text=TEXT, vendor="completed"
        ),
        "a response that is none": Case(
            body=BEGAN + words() + named("response.completed", response=None), text=TEXT, vendor="completed"
        ),
        "raw thinking, and pieces of nothing": Case(
            body=b"".join(
                (
                    named("response.reasoning_text.delta", output_index=0, delta=THOUGHT[:3]),
                    named("response.reasoning_text.delta", output_index=0, delta=THOUGHT[3:]),
                    named("response.reasoning_text.delta", output_index=0, delta=None),
                    named("response.function_call_arguments.delta", output_index=9, delta="{"),
                    named("response.output_text.annotation.added", output_index=1, annotation={}),
                    named("response.dream.delta", output_index=1, delta="x"),
                    named("response.output_item.done", output_index=1, item=7),
                    words(2),
                    over(),
                )
            ),
            text=TEXT,
            thinking=THOUGHT,
            vendor="completed",
        ),
    },
    models=b'{"object":"list","data":[{"id":"model-a","object":"model"},{"id":"model-b","object":"model"}]}',
    refusal=b'{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}',
)
