# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendor's package is not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""Google's own client, with thought signatures given back as they came. Prints what it saw as one JSON object."""

from google import genai
from google.genai import errors, types
from turns import TOOLS, URL, caught, result_of, tell

MODEL = "gemini"
client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL))
declared = [
    types.FunctionDeclaration(
        name=tool["name"], description=tool["description"], parameters_json_schema=tool["parameters"]
    )
    for tool in TOOLS
]
config = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=declared)],
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)


def first(question):
    return [types.Content(role="user", parts=[types.Part(text=question)])]


def asked(contents, *, streamed):
    if not streamed:
        whole = client.models.generate_content(model=MODEL, contents=contents, config=config)
        return whole.candidates[0].content.parts, whole.candidates[0].finish_reason, whole.usage_metadata
    parts, finish, usage = [], None, None
    for chunk in client.models.generate_content_stream(model=MODEL, contents=contents, config=config):
        parts += chunk.candidates[0].content.parts
        finish, usage = chunk.candidates[0].finish_reason, chunk.usage_metadata
    return parts, finish, usage


def step(contents, *, streamed):
    parts, finish, usage = asked(contents, streamed=streamed)
    calls = [part.function_call for part in parts if part.function_call]
    results = [
        types.Part.from_function_response(name=call.name, response={"output": result_of(call.name, call.args)})
        for call in calls
    ]
    text = "".join(part.text or "" for part in parts if not part.thought)
    whole = usage.prompt_token_count + usage.candidates_token_count + (usage.thoughts_token_count or 0)
    last = text, finish.value.lower(), usage.total_token_count == whole
    answer = types.Content(role="model", parts=parts)
    return [answer], [(call.name, call.args) for call in calls], [types.Content(role="user", parts=results)], last


def error(question, *, streamed):
    ask = client.models.generate_content_stream if streamed else client.models.generate_content
    return caught(errors.APIError, lambda: ask(model=MODEL, contents=question))


seen, _, counted = asked(first("what is 2 + 3?"), streamed=True)
signed = [part for part in seen if part.function_call and part.thought_signature]
tell(
    first,
    step,
    models=[model.name.removeprefix("models/") for model in client.models.list()],
    thinking=bool(seen[0].thought) and len(signed) == 1 and counted.thoughts_token_count > 0,
    refused=error("error 429", streamed=False),
    broken=error("error stream", streamed=True),
)
