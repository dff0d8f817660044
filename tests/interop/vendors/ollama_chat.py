# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Ollama's own client. Prints what it saw as one JSON object."""

import ollama
from turns import TOOLS, URL, caught, result_of, tell

MODEL = "ollama"
client = ollama.Client(host=URL)
tools = [{"type": "function", "function": tool} for tool in TOOLS]


def first(question):
    return [{"role": "user", "content": question}]


def asked(messages, *, streamed):
    answer = client.chat(model=MODEL, messages=messages, tools=tools, think=True, stream=streamed)
    text, thought, calls, last = "", "", [], None
    for last in answer if streamed else [answer]:
        text += last.message.content or ""
        thought += last.message.thinking or ""
        calls += last.message.tool_calls or []
    return text, thought, calls, last


def step(messages, *, streamed):
    text, thought, calls, last = asked(messages, streamed=streamed)
    answer = {"role": "assistant", "content": text, "thinking": thought}
    answer["tool_calls"] = [call.model_dump() for call in calls]
    named = [(call.function.name, dict(call.function.arguments)) for call in calls]
    results = [{"role": "tool", "tool_name": name, "content": result_of(name, arguments)} for name, arguments in named]
    timed = last.total_duration > last.eval_duration > 0 and last.eval_count > 0 and last.prompt_eval_count > 0
    return [answer], named, results, (text, last.done_reason, timed)


def error(question, *, streamed):
    options = {"model": MODEL, "messages": first(question), "stream": streamed}
    return caught(ollama.ResponseError, lambda: client.chat(**options))


_, told, _, _ = asked(first("what is 2 + 3?"), streamed=True)
assert "thinking" in client.show(MODEL).capabilities
assert client.ps().models[0].context_length > 0
tell(
    first,
    step,
    models=[model.model for model in client.list().models],
    thinking=bool(told),
    refused=error("error 429", streamed=False),
    broken=error("error stream", streamed=True),
)
