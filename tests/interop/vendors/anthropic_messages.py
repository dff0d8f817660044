# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Anthropic's own client, with thinking given back as it came. Prints what it saw as one JSON object."""

import json
import sys

import anthropic

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])
MODEL = "anthropic"
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
tools = [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in TOOLS]


def asked(messages, *, streamed):
    options = {
        "model": MODEL,
        "max_tokens": 4_000,
        "messages": messages,
        "tools": tools,
        "thinking": {"type": "enabled", "budget_tokens": 2_000},
    }
    if not streamed:
        return client.messages.create(**options)
    with client.messages.stream(**options) as stream:
        return stream.get_final_message()


def turn(question, *, streamed):
    messages = [{"role": "user", "content": question}]
    steps = []
    while True:
        whole = asked(messages, streamed=streamed)
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in whole.content]}
        )
        calls = [block for block in whole.content if block.type == "tool_use"]
        if not calls:
            text = "".join(block.text for block in whole.content if block.type == "text")
            counts = whole.usage.input_tokens > 0 and whole.usage.output_tokens > 0
            finish = "stop" if whole.stop_reason == "end_turn" else whole.stop_reason
            return {"steps": steps, "answer": text, "finish": finish, "usage": counts}
        steps.append([[call.name, call.input] for call in calls])
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": RESULTS[f"{call.name} {json.dumps(call.input, sort_keys=True)}"],
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


def error(question, *, streamed):
    try:
        answer = client.messages.create(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": question}], stream=streamed
        )
        if streamed:
            for _ in answer:
                pass
    except anthropic.APIError as found:
        return [type(found).__name__, str(found)]
    return ["", ""]


def thinking():
    first = asked([{"role": "user", "content": "what is 2 + 3?"}], streamed=True).content[0]
    return first.type == "thinking" and bool(first.thinking) and bool(first.signature)


print(
    json.dumps(
        {
            "models": [model.id for model in client.models.list()],
            "streamed": turn(QUESTION, streamed=True),
            "whole": turn(QUESTION, streamed=False),
            "parallel": turn(PARALLEL, streamed=True),
            "thinking": thinking(),
            "refused": error("error 429", streamed=False),
            "broken": error("error stream", streamed=True),
        }
    )
)
