# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""OpenAI's own client over Responses, with everything given back as it came. Prints what it saw as one JSON object."""

import json

import openai
from turns import TOOLS, URL, caught, result_of, tell

MODEL = "openai-responses"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "strict": False, **tool} for tool in TOOLS]


def first(question):
    return [{"role": "user", "content": question}]


def asked(items, *, streamed):
    options = {
        "model": MODEL,
        "input": items,
        "tools": tools,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
    }
    if not streamed:
        return client.responses.create(**options)
    with client.responses.stream(**options) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def step(items, *, streamed):
    whole = asked(items, streamed=streamed)
    called = [item for item in whole.output if item.type == "function_call"]
    named = [(call.name, json.loads(call.arguments)) for call in called]
    results = [
        {"type": "function_call_output", "call_id": call.call_id, "output": result_of(*name)}
        for call, name in zip(called, named, strict=True)
    ]
    usage = whole.usage
    counts = usage.input_tokens > 0 and usage.total_tokens == usage.input_tokens + usage.output_tokens
    finish = "stop" if whole.status == "completed" else whole.status
    answer = [item.model_dump(exclude_none=True) for item in whole.output]
    return answer, named, results, (whole.output_text, finish, counts)


first_item = asked(first("what is 2 + 3?"), streamed=True).output[0]
# This client does not raise for an error in mid-stream: it hands it on as an event.
last = list(client.responses.create(model=MODEL, input="error stream", stream=True))[-1]
tell(
    first,
    step,
    models=[model.id for model in client.models.list()],
    thinking=first_item.type == "reasoning" and bool(first_item.summary[0].text) and bool(first_item.encrypted_content),
    refused=caught(openai.APIError, lambda: client.responses.create(model=MODEL, input="error 429")),
    broken=[last.type, getattr(last, "message", "")],
)
