"""A Responses request, checked as strictly as the vendor does. Source: OpenAI API reference, Responses, Create."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui_host.demo.model.narrow import is_array, is_object
from tui_host.demo.model.request_content import Conversation, SystemSaid, Thinking, Tool
from tui_host.demo.model.token_estimate import estimate, repeated
from tui_host.demo.model.wires.openai_request import thinking_of
from tui_host.demo.model.wires.responses_items import bad, joined, messages_of, wrong_type
from tui_host.demo.model.wires.wire import Asked
from tui_host.demo.model.wires.wire_reading import parameters, parse
from tui_host.errors import JSON

_KNOWN = frozenset(
    (
        *("model", "input", "instructions", "stream", "stream_options", "store", "include", "tools", "tool_choice"),
        *("parallel_tool_calls", "max_output_tokens", "max_tool_calls", "reasoning", "text", "truncation", "metadata"),
        *("temperature", "top_p", "top_logprobs", "user", "previous_response_id", "service_tier", "prompt_cache_key"),
        *("prompt_cache_retention", "safety_identifier", "background", "prompt", "conversation", "context_management"),
        *("moderation", "prompt_cache_options", "client_metadata"),
    )
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LEAST_TOKENS = 16
_INCLUDED = (
    *("reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"),
    *("file_search_call.results", "web_search_call.results", "web_search_call.action.sources"),
    *("code_interpreter_call.outputs", "computer_call_output.output.image_url"),
)
_VENDORS = ("web_search",)
_SUMMARIES = ("auto", "concise", "detailed")
_REPEATED = (
    "instructions",
    "max_output_tokens",
    "metadata",
    "parallel_tool_calls",
    "tool_choice",
    "store",
    "truncation",
)


def read_request(body: bytes) -> Asked:
    """A request's body.

    Raises:
        RequestRefused: With the status 400, or 404 for what is not stored, and the vendor's kind of words.
    """
    request = parse(body)
    for name in request:
        if name not in _KNOWN:
            raise bad(f"Unknown parameter: '{name[:100]}'.", name[:100], "unknown_parameter")
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise bad("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    _check_state(request)
    is_streamed = _flag(request, "stream", default=False)
    if request.get("stream_options") is not None and not is_streamed:
        raise bad("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options")
    thinking, shows_thinking = _reasoning(request)
    instructions = request.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise wrong_type("instructions", "a string", instructions)
    tools = _tools(request)
    is_stored = _flag(request, "store", default=True)
    messages = (
        *((SystemSaid(text=instructions),) if instructions else ()),
        *messages_of(request.get("input"), is_stored=is_stored),
    )
    tokens = estimate(body.decode("utf-8", "replace"))
    return Asked(
        conversation=Conversation(
            messages=messages,
            tools=() if _choice(request) == "none" else tools,
            parallel=_flag(request, "parallel_tool_calls", default=True),
            thinking=thinking,
        ),
        model=model,
        is_streamed=is_streamed,
        with_usage=True,
        most_tokens=_limit(request),
        prompt_tokens=tokens,
        cached_tokens=min(tokens, repeated(messages)),
        shows_thinking=shows_thinking,
        options={**_options(request), "namespaces": _namespaces(request)},
    )


def _check_state(request: dict[str, object]) -> None:
    previous = request.get("previous_response_id")
    if previous is not None:
        raise bad(
            f"Previous response with id '{str(previous)[:100]}' not found. (The demo model stores none.)",
            "previous_response_id",
            "previous_response_not_found",
        )
    for name in ("background", "prompt", "conversation"):
        if request.get(name):
            raise bad(f"The demo model stores nothing: '{name}' cannot be used.", name)


def _flag(values: dict[str, object], name: str, *, default: bool) -> bool:
    value = values.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise wrong_type(name, "a boolean", value)
    return value


def _limit(request: dict[str, object]) -> int | None:
    value = request.get("max_output_tokens")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type("max_output_tokens", "an integer", value)
    if value < _LEAST_TOKENS:
        raise bad(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_LEAST_TOKENS}, but got {value} "
            "instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    return value


def _reasoning(request: dict[str, object]) -> tuple[Thinking, bool]:
    """Whether it is thought, and whether a summary of that is told."""
    value = request.get("reasoning")
    if value is None:
        return "asked", True
    if not is_object(value):
        raise wrong_type("reasoning", "an object", value)
    summary = value.get("summary")
    if summary is not None and summary not in _SUMMARIES:
        listed = ", ".join(f"'{name}'" for name in _SUMMARIES)
        raise bad(
            f"Invalid value for 'reasoning.summary'. Supported values are: {listed}.",
            "reasoning.summary",
            "invalid_value",
        )
    effort = value.get("effort")
    thinking = thinking_of(effort, "reasoning.effort")
    return ("always" if thinking == "asked" and summary else thinking), bool(summary) or effort is None


def _choice(request: dict[str, object]) -> object:
    choice = request.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise bad("The demo model follows its own rules: 'tool_choice' may be 'auto' or 'none'.", "tool_choice")
    return choice


def _tools(request: dict[str, object]) -> tuple[Tool, ...]:
    tools = request.get("tools")
    if tools is None:
        return ()
    if not is_array(tools):
        raise wrong_type("tools", "an array of objects", tools)
    return tuple(tool for index, each in enumerate(tools) for tool in _offered(each, f"tools[{index}]"))


def _offered(value: object, path: str) -> Iterator[Tool]:
    """A tool, or those of a namespace; none for what the vendor runs itself, and this model never asks for."""
    kind = value.get("type") if is_object(value) else None
    if not is_object(value) or kind not in ("namespace", *_VENDORS):
        yield _tool(value, path)
    elif kind == "namespace":
        name, tools = value.get("name"), value.get("tools")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise bad(f"Invalid '{path}.name': string does not match pattern.", f"{path}.name", "invalid_value")
        if not is_array(tools):
            raise wrong_type(f"{path}.tools", "an array of objects", tools)
        for index, tool in enumerate(tools):
            found = _tool(tool, f"{path}.tools[{index}]")
            yield replace(found, name=joined(name, found.name))


def _namespaces(request: dict[str, object]) -> list[JSON]:
    tools = request.get("tools")
    spaces = [tool.get("name") for tool in tools if is_object(tool) and "tools" in tool] if is_array(tools) else []
    return [name for name in spaces if isinstance(name, str)]


def _tool(value: object, path: str) -> Tool:
    if not is_object(value):
        raise wrong_type(path, "an object", value)
    if value.get("type") != "function":
        raise bad(f"Invalid value for '{path}.type': the demo model takes 'function'.", f"{path}.type", "invalid_value")
    if "function" in value:
        raise bad(f"Unknown parameter: '{path}.function'.", f"{path}.function", "unknown_parameter")
    name = value.get("name")
    if name is None:
        raise bad(f"Missing required parameter: '{path}.name'.", f"{path}.name", "missing_required_parameter")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise bad(
            f"Invalid '{path}.name': string does not match pattern. Expected a string that matches the pattern "
            "'^[a-zA-Z0-9_-]+$'.",
            f"{path}.name",
            "invalid_value",
        )
    description = value.get("description")
    if description is not None and not isinstance(description, str):
        raise wrong_type(f"{path}.description", "a string", description)
    schema = value.get("parameters")
    _check_schema(schema, name, f"{path}.parameters", is_strict=value.get("strict") is True)
    types, required = parameters(schema)
    return Tool(name=name, description=description or "", types=types, required=required)


def _check_schema(schema: object, name: str, path: str, *, is_strict: bool) -> None:
    problem = ""
    if schema is None:
        return
    if not is_object(schema) or schema.get("type") != "object":
        problem = "schema must be a JSON Schema of 'type: \"object\"'."
    elif any(key in schema for key in ("oneOf", "anyOf", "allOf", "enum", "not")):
        problem = "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    elif is_strict and schema.get("additionalProperties") is not False:
        problem = "In context=(), 'additionalProperties' is required to be supplied and to be false."
    elif is_strict and set(parameters(schema)[0]) - set(parameters(schema)[1]):
        problem = "In context=(), 'required' is required to be an array including every key in properties."
    if problem:
        raise bad(f"Invalid schema for function '{name}': {problem}", path, "invalid_function_parameters")


def _options(request: dict[str, object]) -> dict[str, JSON]:
    """What the response repeats, and whether what was thought goes out sealed."""
    include = request.get("include")
    names = include if is_array(include) else []
    if include is not None and not is_array(include):
        raise wrong_type("include", "an array of strings", include)
    for index, name in enumerate(names):
        if name not in _INCLUDED:
            listed = ", ".join(f"'{known}'" for known in _INCLUDED)
            raise bad(
                f"Invalid value: '{str(name)[:80]}'. Supported values are: {listed}.",
                f"include[{index}]",
                "invalid_value",
            )
    found: dict[str, JSON] = {"sealed": "reasoning.encrypted_content" in names}
    for name in _REPEATED:
        value = request.get(name)
        if isinstance(value, str | int):
            found[name] = value
    return found
