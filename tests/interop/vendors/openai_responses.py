# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""OpenAI's own client over Responses, with everything given back as it came. Prints what it saw as one JSON object."""

import json
import sys

import openai

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])
MODEL = "openai-responses"
client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
tools = [{"type": "function", "strict": False, **tool} for tool in TOOLS]


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


def turn(question, *, streamed):
    items = [{"role": "user", "content": question}]
    steps = []
    while True:
        whole = asked(items, streamed=streamed)
        items += [item.model_dump(exclude_none=True) for item in whole.output]
        calls = [item for item in whole.output if item.type == "function_call"]
        if not calls:
            usage = whole.usage
            counts = usage.input_tokens > 0 and usage.total_tokens == usage.input_tokens + usage.output_tokens
            finish = "stop" if whole.status == "completed" else whole.status
            return {"steps": steps, "answer": whole.output_text, "finish": finish, "usage": counts}
        steps.append([[call.name, json.loads(call.arguments)] for call in calls])
        for call in calls:
            result = RESULTS[f"{call.name} {json.dumps(json.loads(call.arguments), sort_keys=True)}"]
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def error(question):
    try:
        client.responses.create(model=MODEL, input=question)
    except openai.APIError as found:
        return [type(found).__name__, str(found)]
    return ["", ""]


def error_in_stream():
    """This client does not raise for it: it hands it on as an event."""
    events = list(client.responses.create(model=MODEL, input="error stream", stream=True))
    return [events[-1].type, getattr(events[-1], "message", "")]


def thinking():
    whole = asked([{"role": "user", "content": "what is 2 + 3?"}], streamed=True)
    first = whole.output[0]
    return first.type == "reasoning" and bool(first.summary[0].text) and bool(first.encrypted_content)


print(
    json.dumps(
        {
            "models": [model.id for model in client.models.list()],
            "streamed": turn(QUESTION, streamed=True),
            "whole": turn(QUESTION, streamed=False),
            "parallel": turn(PARALLEL, streamed=True),
            "thinking": thinking(),
            "refused": error("error 429"),
            "broken": error_in_stream(),
        }
    )
)
