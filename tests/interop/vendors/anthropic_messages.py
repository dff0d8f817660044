# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Anthropic's own client, with thinking given back as it came. Prints what it saw as one JSON object."""

import anthropic
from turns import TOOLS, URL, caught, result_of, tell

MODEL = "anthropic"
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
tools = [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in TOOLS]


def first(question):
    return [{"role": "user", "content": question}]


def asked(messages, *, streamed):
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    options = {"model": MODEL, "max_tokens": 4_000, "messages": messages, "tools": tools, "thinking": thinking}
    if not streamed:
        return client.messages.create(**options)
    with client.messages.stream(**options) as stream:
        return stream.get_final_message()


def step(messages, *, streamed):
    whole = asked(messages, streamed=streamed)
    answer = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in whole.content]}
    calls = [block for block in whole.content if block.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": result_of(call.name, call.input)} for call in calls
    ]
    text = "".join(block.text for block in whole.content if block.type == "text")
    finish = "stop" if whole.stop_reason == "end_turn" else whole.stop_reason
    counts = whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0
    named = [(call.name, call.input) for call in calls]
    return [answer], named, [{"role": "user", "content": results}], (text, finish, counts)


def error(question, *, streamed):
    options = {"model": MODEL, "max_tokens": 100, "messages": first(question), "stream": streamed}
    return caught(anthropic.APIError, lambda: client.messages.create(**options))


thought = asked(first("what is 2 + 3?"), streamed=True).content[0]
tell(
    first,
    step,
    models=[model.id for model in client.models.list()],
    thinking=thought.type == "thinking" and bool(thought.thinking) and bool(thought.signature),
    refused=error("error 429", streamed=False),
    broken=error("error stream", streamed=True),
)
