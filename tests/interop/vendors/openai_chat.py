# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""OpenAI's own client over Chat Completions. Prints what it saw as one JSON object."""

import json

import openai
from turns import TOOLS, URL, caught, result_of, tell

MODEL = "openai"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "function": tool} for tool in TOOLS]


def first(question):
    return [{"role": "user", "content": question}]


def asked(messages, *, streamed):
    options = {"model": MODEL, "messages": messages, "tools": tools}
    if not streamed:
        return client.chat.completions.create(**options)
    with client.chat.completions.stream(**options, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def step(messages, *, streamed):
    whole = asked(messages, streamed=streamed)
    message, usage = whole.choices[0].message, whole.usage
    called = message.tool_calls or []
    named = [(call.function.name, json.loads(call.function.arguments)) for call in called]
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": result_of(*name)}
        for call, name in zip(called, named, strict=True)
    ]
    answer = message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"})
    counts = usage.prompt_tokens > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    return [answer], named, results, (message.content, whole.choices[0].finish_reason, counts)


def error(question, *, streamed):
    options = {"model": MODEL, "messages": first(question), "stream": streamed}
    return caught(openai.APIError, lambda: client.chat.completions.create(**options))


thought = client.chat.completions.create(model=MODEL, messages=first("what is 2 + 3?"), reasoning_effort="low")
reasoned = thought.usage.completion_tokens_details.reasoning_tokens
tell(
    first,
    step,
    models=[model.id for model in client.models.list()],
    thinking=bool(thought.choices[0].message.reasoning_content) and reasoned > 0,
    refused=error("error 429", streamed=False),
    broken=error("error stream", streamed=True),
)
