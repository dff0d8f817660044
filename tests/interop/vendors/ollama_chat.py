# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Ollama's own client. Prints what it saw as one JSON object."""

import json
import sys

import ollama

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])
MODEL = "ollama"
client = ollama.Client(host=URL)
tools = [{"type": "function", "function": tool} for tool in TOOLS]


def asked(messages, *, streamed):
    answer = client.chat(model=MODEL, messages=messages, tools=tools, think=True, stream=streamed)
    text, thought, calls, last = "", "", [], None
    for last in answer if streamed else [answer]:
        text += last.message.content or ""
        thought += last.message.thinking or ""
        calls += last.message.tool_calls or []
    return text, thought, calls, last


def turn(question, *, streamed):
    messages = [{"role": "user", "content": question}]
    steps = []
    while True:
        text, thought, calls, last = asked(messages, streamed=streamed)
        if not calls:
            timed = last.total_duration > last.eval_duration > 0 and last.eval_count > 0 and last.prompt_eval_count > 0
            return {"steps": steps, "answer": text, "finish": last.done_reason, "usage": timed}
        steps.append([[call.function.name, dict(call.function.arguments)] for call in calls])
        given = [call.model_dump() for call in calls]
        messages.append({"role": "assistant", "content": text, "thinking": thought, "tool_calls": given})
        for call in calls:
            arguments = json.dumps(dict(call.function.arguments), sort_keys=True)
            content = RESULTS[f"{call.function.name} {arguments}"]
            messages.append({"role": "tool", "tool_name": call.function.name, "content": content})


def error(question, *, streamed):
    try:
        answer = client.chat(model=MODEL, messages=[{"role": "user", "content": question}], stream=streamed)
        if streamed:
            for _ in answer:
                pass
    except ollama.ResponseError as found:
        return [type(found).__name__, str(found)]
    return ["", ""]


_, told, _, _ = asked([{"role": "user", "content": "what is 2 + 3?"}], streamed=True)
assert "thinking" in client.show(MODEL).capabilities
assert client.ps().models[0].context_length > 0
print(
    json.dumps(
        {
            "models": [model.model for model in client.list().models],
            "streamed": turn(QUESTION, streamed=True),
            "whole": turn(QUESTION, streamed=False),
            "parallel": turn(PARALLEL, streamed=True),
            "thinking": bool(told),
            "refused": error("error 429", streamed=False),
            "broken": error("error stream", streamed=True),
        }
    )
)
