"""What every dialect sends, and is made to write: a first question, tools and options, results with an image, an answer that is not streamed."""

from collections.abc import Mapping

from tests.llm.recorded import anthropic, gemini, ollama, openai, openai_responses
from tests.llm.recorded.case import MODEL, PROVIDER, Recorded, fold_of
from tui_host.llm.dialects.table import dialect
from tui_host.llm.messages import Ask, Image, Message, Part, Text, ToolCall, ToolResult, ToolSpec
from tui_host.llm.outgoing import Target
from tui_host.settings.model_options import Options

EVERY: Mapping[str, Recorded] = {
    each.RECORDED.dialect: each.RECORDED for each in (openai, openai_responses, anthropic, gemini, ollama)
}
"""All that was recorded, by the dialect's name."""
PIXEL, PHOTO = "iVBORw0KGgo=", "/9j/4AAQSkY="  # two images: of a result, and of a person
TOOLS = (
    ToolSpec(name="get_weather", description="Weather of a city. 天气",
        schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}, server="weather",
        tool="get"),
    ToolSpec(name="get_time", description="", schema={"type": "object"}, server="clock", tool="time"),
    ToolSpec(name="odd__any", description="", schema=True, server="odd", tool="any"),
)  # fmt: skip
NAMES = {tool.name: (tool.server, tool.tool) for tool in TOOLS}
OPTIONS = Options(
    temperature=0.2, top_p=0.9, max_tokens=100, reasoning_effort="high", stop=("STOP",), seed=7, others={"top_k": 5}
)
SYSTEM = Message(role="system", parts=(Text(text="Be brief."),))


MULTIPLY = ToolCall(id="t1s1c0", wire_id="call_1", name="math__multiply", arguments='{"a": 6,"b":5}')
ADD = ToolCall(id="t1s1c1", wire_id="call_2", name="math__add", arguments="")


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


def result(call: ToolCall, *content: Text | Image) -> ToolResult:
    return ToolResult(call=call, content=content)


def told(*results: ToolResult) -> Message:
    return Message(role="tool", parts=results)


def calls_of(message: Message) -> list[ToolCall]:
    return [part for part in message.parts if isinstance(part, ToolCall)]


def written(name: str, ask: Ask, provider: str = PROVIDER) -> bytes:
    return dialect(name).writer(ask, Target(provider=provider)).outgoing().body


def answered(message: Message, *more: Text | Image) -> Message:
    results = [
        ToolResult(call=call, content=(Text(text=f"{number + 20} C"), *(more if not number else ())))
        for number, call in enumerate(calls_of(message))
    ]
    return told(*results)


def loop(recorded: Recorded, *more: Text | Image) -> tuple[Message, ...]:
    """A question, the recorded answer that thinks and asks for a tool, and its result."""
    answer = fold_of(recorded.dialect, recorded.thinking.body).message(turn=1)
    return user("weather?"), answer, answered(answer, *more)


def asks(recorded: Recorded) -> Mapping[str, Ask]:
    failed = fold_of(recorded.dialect, recorded.parallel.body).message(turn=1)
    pictured = loop(recorded, Image(media_type="image/png", data=PIXEL))
    photo = Message(role="user", parts=(Text(text="and this?"), Image(media_type="image/jpeg", data=PHOTO)))
    wrong = [ToolResult(call=call, content=(Text(text="no"),), is_error=True) for call in calls_of(failed)]
    return {
        "first": Ask(model=MODEL, messages=(user("what's 6 × 5 + 7?"),)),
        "tools": Ask(model=MODEL, messages=(SYSTEM, user("weather?")), tools=TOOLS, options=OPTIONS,
            stop_sequences=("</use>",), extra=(("more", {"of": "it"}),)),
        "loop": Ask(model=MODEL, messages=loop(recorded), tools=TOOLS),
        "images": Ask(model=MODEL, messages=(*pictured, assistant(Text(text="Here it is.")), photo)),
        "errors": Ask(model=MODEL, messages=(user("weather?"), failed, told(*wrong))),
        "whole": Ask(model=MODEL, messages=(user("hello"),), stream=False),
    }  # fmt: skip
