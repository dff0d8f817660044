# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# ruff: noqa: ANN001, ANN201
# The vendors' packages are not in this project's environment, so nothing here has a type: this file runs in one of its own.
"""A vendor's own client, asked once for a stream and once for a whole answer: `vendors.py NAME URL`. Prints what it read as JSON."""

import json
import sys

URL = sys.argv[2]
SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}}}
FUNCTION = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
ASKED = [{"role": "user", "content": "what is 1 + 2?"}]


def openai(*, streamed):
    import openai

    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    options = {"model": "m", "messages": ASKED, "tools": [{"type": "function", "function": FUNCTION}]}
    if streamed:
        with client.chat.completions.stream(**options, stream_options={"include_usage": True}) as stream:
            for _ in stream:
                pass
            whole = stream.get_final_completion()
    else:
        whole = client.chat.completions.create(**options)
    message, usage = whole.choices[0].message, whole.usage
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
    return message.content, calls, (usage.prompt_tokens, usage.completion_tokens), whole.choices[0].finish_reason


def openai_responses(*, streamed):
    import openai

    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    options = {"model": "m", "input": ASKED, "tools": [{"type": "function", "strict": False, **FUNCTION}]}
    if streamed:
        with client.responses.stream(**options) as stream:
            for _ in stream:
                pass
            whole = stream.get_final_response()
    else:
        whole = client.responses.create(**options)
    calls = [(item.name, json.loads(item.arguments)) for item in whole.output if item.type == "function_call"]
    return whole.output_text, calls, (whole.usage.input_tokens, whole.usage.output_tokens), whole.status


def anthropic(*, streamed):
    import anthropic

    client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
    tools = [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]
    options = {"model": "m", "max_tokens": 100, "messages": ASKED, "tools": tools}
    if streamed:
        with client.messages.stream(**options) as stream:
            whole = stream.get_final_message()
    else:
        whole = client.messages.create(**options)
    text = "".join(block.text for block in whole.content if block.type == "text")
    calls = [(block.name, block.input) for block in whole.content if block.type == "tool_use"]
    return text, calls, (whole.usage.input_tokens, whole.usage.output_tokens), whole.stop_reason


def gemini(*, streamed):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL))
    declared = types.FunctionDeclaration(name="add", description="Adds.", parameters_json_schema=SCHEMA)
    automatic = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])], automatic_function_calling=automatic
    )
    options = {"model": "gemini-x", "contents": "what is 1 + 2?", "config": config}
    models = client.models
    chunks = list(models.generate_content_stream(**options)) if streamed else [models.generate_content(**options)]
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    text = "".join(part.text or "" for part in parts if not part.thought)
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    usage = chunks[-1].usage_metadata
    counts = usage.prompt_token_count, usage.candidates_token_count + (usage.thoughts_token_count or 0)
    return text, calls, counts, chunks[-1].candidates[0].finish_reason.value


def ollama(*, streamed):
    import ollama

    tools = [{"type": "function", "function": FUNCTION}]
    answer = ollama.Client(host=URL).chat(model="m", messages=ASKED, tools=tools, stream=streamed)
    chunks = list(answer) if streamed else [answer]
    text = "".join(chunk.message.content or "" for chunk in chunks)
    calls = [
        (call.function.name, call.function.arguments) for chunk in chunks for call in chunk.message.tool_calls or []
    ]
    return text, calls, (chunks[-1].prompt_eval_count, chunks[-1].eval_count), chunks[-1].done_reason


def refused(ask):
    """The name of what the client raises."""
    try:
        ask(streamed=False)
    except Exception as error:  # noqa: BLE001 - each vendor has its own
        return type(error).__name__
    return ""


read = globals()[sys.argv[1].replace("-", "_")]
print(json.dumps({"streamed": read(streamed=True), "whole": read(streamed=False), "refused": refused(read)}))
