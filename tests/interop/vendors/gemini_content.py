# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Google's own client, with thought signatures given back as they came. Prints what it saw as one JSON object."""

import json
import sys

from google import genai
from google.genai import errors, types

URL, QUESTION, PARALLEL, TOOLS, RESULTS = sys.argv[1], *json.loads(sys.argv[2])
MODEL = "gemini"
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL))
config = types.GenerateContentConfig(
    tools=[
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration(
                    name=tool["name"], description=tool["description"], parameters_json_schema=tool["parameters"]
                )
                for tool in TOOLS
            ]
        )
    ],
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def asked(contents, *, streamed):
    if not streamed:
        whole = client.models.generate_content(model=MODEL, contents=contents, config=config)
        return whole.candidates[0].content.parts, whole.candidates[0].finish_reason, whole.usage_metadata
    parts, finish, usage = [], None, None
    for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=config):
        parts += chunk.candidates[0].content.parts
        finish, usage = chunk.candidates[0].finish_reason, chunk.usage_metadata
    return parts, finish, usage


def turn(question, *, streamed):
    contents = [types.Content(role="user", parts=[types.Part(text=question)])]
    steps = []
    while True:
        parts, finish, usage = asked(contents, streamed=streamed)
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            text = "".join(part.text or "" for part in parts if not part.thought)
            whole = usage.prompt_token_count + usage.candidates_token_count + (usage.thoughts_token_count or 0)
            return {
                "steps": steps,
                "answer": text,
                "finish": finish.value.lower(),
                "usage": usage.total_token_count == whole,
            }
        steps.append([[call.name, call.args] for call in calls])
        results = [
            types.Part(
                function_response=types.FunctionResponse(
                    name=call.name,
                    response={"output": RESULTS[f"{call.name} {json.dumps(call.args, sort_keys=True)}"]},
                )
            )
            for call in calls
        ]
        contents.append(types.Content(role="user", parts=results))


def error(question, *, streamed):
    try:
        if streamed:
            for _ in client.models.generate_content_stream(model=MODEL, contents=question):
                pass
        else:
            client.models.generate_content(model=MODEL, contents=question)
    except errors.APIError as found:
        return [type(found).__name__, str(found)]
    return ["", ""]


def thinking():
    parts, _, usage = asked([types.Content(role="user", parts=[types.Part(text="what is 2 + 3?")])], streamed=True)
    signed = [part for part in parts if part.function_call and part.thought_signature]
    return bool(parts[0].thought) and len(signed) == 1 and usage.thoughts_token_count > 0


print(
    json.dumps(
        {
            "models": [model.name.removeprefix("models/") for model in client.models.list()],
            "streamed": turn(QUESTION, streamed=True),
            "whole": turn(QUESTION, streamed=False),
            "parallel": turn(PARALLEL, streamed=True),
            "thinking": thinking(),
            "refused": error("error 429", streamed=False),
            "broken": error("error stream", streamed=True),
        }
    )
)
