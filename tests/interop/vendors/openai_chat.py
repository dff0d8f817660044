# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""OpenAI's own client over Chat Completions. Prints what it saw as one JSON object."""

import json
import sys

import openai

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])
MODEL = "openai"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "function": tool} for tool in TOOLS]


def asked(messages, *, streamed):
    if not streamed:
        whole = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        return whole.choices[0].message, whole.choices[0].finish_reason, whole.usage
    with client.chat.completions.stream(
        model=MODEL, messages=messages, tools=tools, stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        whole = stream.get_final_completion()
    return whole.choices[0].message, whole.choices[0].finish_reason, whole.usage


def turn(question, *, streamed):
    messages = [{"role": "user", "content": question}]
    steps = []
    while True:
        message, finish, usage = asked(messages, streamed=streamed)
        if not message.tool_calls:
            counts = usage.prompt_tokens > 0 and usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
            return {"steps": steps, "answer": message.content, "finish": finish, "usage": counts}
        steps.append([[call.function.name, json.loads(call.function.arguments)] for call in message.tool_calls])
        messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        for call in message.tool_calls:
            result = RESULTS[f"{call.function.name} {json.dumps(json.loads(call.function.arguments), sort_keys=True)}"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def error(question, *, streamed):
    try:
        answer = client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": question}], stream=streamed
        )
        if streamed:
            for _ in answer:
                pass
    except openai.APIError as found:
        return [type(found).__name__, str(found)]
    return ["", ""]


def thinking():
    answer = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "what is 2 + 3?"}], reasoning_effort="low"
    )
    return answer.choices[0].message.reasoning_content, answer.usage.completion_tokens_details.reasoning_tokens


told, tokens = thinking()
print(
    json.dumps(
        {
            "models": [model.id for model in client.models.list()],
            "streamed": turn(QUESTION, streamed=True),
            "whole": turn(QUESTION, streamed=False),
            "parallel": turn(PARALLEL, streamed=True),
            "thinking": bool(told) and tokens > 0,
            "refused": error("error 429", streamed=False),
            "broken": error("error stream", streamed=True),
        }
    )
)
