"""Chat Completions."""

from dataclasses import replace

from tests.kit import bodies
from tests.kit.bodies import DONE, calls, chunk, event, fragment
from tests.llm.recorded.case import NOW, TEXT, THOUGHT, TIME, WEATHER, Case, Recorded, asking, failing, text
from tui_host.errors import JSON
from tui_host.llm.messages import Stop, Usage

TOLD = bodies.Usage(input=120, cached=64, output=48, thinking=16)
USED = Usage(input_total=120, input_cached=64, output_total=48, reasoning=16)
SAID = chunk({"role": "assistant", "content": ""}) + chunk({"content": TEXT[:7]}) + chunk({"content": TEXT[7:]})
OVER = chunk(finish="tool_calls") + DONE
IDS = ("call_1", "call_2")


def piece(
    asked: tuple[str, str], wire_id: str | None = None, index: int | None = None, start: int = 0, end: int = 99
) -> JSON:
    """A piece of a call; without an id it has no name either, and of the arguments these characters."""
    return fragment(index=index, wire_id=wire_id, name=asked[0] if wire_id else None, arguments=asked[1][start:end])


ASKED = calls(piece(WEATHER, IDS[0], 0, 0, 0)) + calls(piece(WEATHER, None, 0))
BOTH = (
    calls(piece(WEATHER, IDS[0], 0, 0, 0))
    + calls(piece(WEATHER, None, 0, 0, 4), piece(TIME, IDS[1], 1, 0, 0))
    + calls(piece(TIME, None, 1), piece(WEATHER, None, 0, 4))
)


def ended(finish: str, stop: Stop = "end") -> Case:
    return Case(body=SAID + chunk(finish=finish) + DONE, text=TEXT, stop=stop, vendor=finish)


def wants(*pieces: bytes, ids: tuple[str, ...] = IDS, said: str = "", **more: object) -> Case:
    return replace(asking(b"".join(pieces) + OVER, "tool_calls", ids=ids, text=said), **more)


BOTH_WHOLE = [bodies.Call(IDS[0], WEATHER[0], {}, WEATHER[1]), bodies.Call(IDS[1], TIME[0], {}, TIME[1])]

RECORDED = Recorded(
    dialect="openai",
    text=ended("stop"),
    tools=wants(SAID, ASKED, ids=IDS[:1], said=TEXT),
    parallel=wants(BOTH),
    thinking=replace(wants(chunk({"reasoning_content": THOUGHT}), SAID, ASKED, ids=IDS[:1], said=TEXT),
        thinking=THOUGHT, echoes=(b'"reasoning_content":' + text(THOUGHT),)),
    usage=replace(ended("stop"),
        body=SAID + chunk(finish="stop") + event({"choices": [], **bodies.OpenAI.usage(TOLD)}) + DONE, usage=USED),
    failing=failing(SAID + event({"error": {"message": "it broke", "type": "server_error", "code": None}})),
    whole=replace(
        asking(bodies.OpenAI().whole(bodies.Answer(TEXT, BOTH_WHOLE, usage=TOLD)), "tool_calls", ids=IDS, text=TEXT),
        usage=USED),
    ends={
        "length": ended("length", "length"),
        "content_filter": ended("content_filter", "refused"),
        "without a word": Case(body=SAID + DONE, text=TEXT, vendor="[DONE]"),
        "without [DONE]": Case(body=SAID + chunk(finish="stop"), text=TEXT, vendor="stop"),
        "stop with calls": asking(ASKED + chunk(finish="stop") + DONE, "stop", ids=IDS[:1]),
        **{
            word: replace(ended(word, "failed"), failure=f"the provider ended the answer with {word!r}")
            for word in ("error", "network_error", "insufficient_system_resource")
        },
    },
    odd={"no arguments": wants(calls(piece((NOW[0], ""), IDS[0], 0)), ids=IDS[:1], calls=((NOW[0], ""),))},
    models=b'{"object":"list","data":[{"id":"model-a","object":"model"},{"id":"model-b","object":"model"}]}',
    refusal=b'{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}',
)  # fmt: skip
