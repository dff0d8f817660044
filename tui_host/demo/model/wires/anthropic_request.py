"""A Messages request, checked as strictly as the vendor does. Source: Anthropic API reference, Messages."""

from __future__ import annotations

import re

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.narrow import is_array, is_object, texts_of
from tui_host.demo.model.request_content import Conversation, Message, SystemSaid, Thinking, Tool
from tui_host.demo.model.token_estimate import estimate, repeated
from tui_host.demo.model.wires.anthropic_content import bad, blocks_of, check_keys, messages_of, text_of
from tui_host.demo.model.wires.wire import Asked
from tui_host.demo.model.wires.wire_reading import parameters, parse

_NEWEST = "2026-10-21"
"""From this version on there are no sampling parameters."""
_VERSIONS = ("2023-01-01", "2023-06-01", _NEWEST)
_SAMPLING = ("temperature", "top_p", "top_k")
_KNOWN = frozenset(
    (
        *_SAMPLING,
        *("model", "max_tokens", "messages", "system", "stream", "stop_sequences", "tools", "tool_choice", "thinking"),
        *("metadata", "service_tier", "output_config", "cache_control", "container", "context_management", "speed"),
        *("inference_geo", "mcp_servers", "diagnostics", "user_profile_id"),
    )
)
_TOOL_KEYS = frozenset(
    (
        *("type", "name", "description", "input_schema", "cache_control", "strict", "eager_input_streaming"),
        *("defer_loading", "input_examples", "allowed_callers"),
    )
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_THINKING = ("enabled", "adaptive", "between_tools", "disabled")
_LEAST_BUDGET = 1_024
_MOST_CACHED_BLOCKS = 4


def read_request(request: Request) -> Asked:
    """A request with its headers.

    Raises:
        RequestRefused: With the status 400 and the vendor's kind of words.
    """
    version = request.headers.get("anthropic-version", "")
    if not version:
        raise bad("anthropic-version: header is required")
    if version not in _VERSIONS:
        raise bad(f'anthropic-version: "{version[:40]}" is not a valid version')
    body = parse(
        request.body,
        not_json="The request body is not valid JSON: {}",
        no_object="The request body is not a valid JSON object",
    )
    check_keys(body, _KNOWN, "")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise bad("model: Field required" if model is None else "model: Input should be a valid string")
    most_tokens = _integer(body, "max_tokens", least=1)
    if most_tokens is None:
        raise bad("max_tokens: Field required")
    thinking, display = _thinking(body, most_tokens)
    _check_sampling(body, version, thinks=thinking == "always")
    choice = _tool_choice(body, thinks=thinking == "always")
    tools = _tools(body)
    _check_cached_blocks(body)
    messages = (*_system(body), *messages_of(body.get("messages"), thinking=_kind_of_thinking(body)))
    tokens = estimate(request.body.decode("utf-8", "replace"))
    return Asked(
        conversation=Conversation(
            messages=messages,
            tools=() if choice == "none" else tools,
            parallel=choice != "one",
            thinking=thinking,
        ),
        model=model,
        is_streamed=_flag(body, "stream"),
        with_usage=True,
        most_tokens=most_tokens,
        prompt_tokens=tokens,
        cached_tokens=min(tokens, repeated(messages)) if b'"cache_control"' in request.body else 0,
        stops=_stops(body),
        shows_thinking=display != "omitted",
        options={"caches": b'"cache_control"' in request.body},
    )


def count_tokens(request: Request) -> int:
    """The tokens of a request to count them. Raises `RequestRefused`."""
    body = parse(request.body)
    messages_of(body.get("messages"), thinking="")
    return estimate(request.body.decode("utf-8", "replace"))


def _flag(values: dict[str, object], name: str) -> bool:
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise bad(f"{name}: Input should be a valid boolean")
    return value


def _integer(values: dict[str, object], name: str, *, least: int) -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad(f"{name}: Input should be a valid integer")
    if value < least:
        raise bad(f"{name}: Input should be greater than or equal to {least}")
    return value


def _kind_of_thinking(body: dict[str, object]) -> str:
    thinking = body.get("thinking")
    kind = thinking.get("type") if is_object(thinking) else ""
    return kind if isinstance(kind, str) else ""


def _thinking(body: dict[str, object], most_tokens: int) -> tuple[Thinking, object]:
    """Whether it is thought, and how that is shown."""
    value = body.get("thinking")
    if value is None:
        return "asked", None
    if not is_object(value):
        raise bad("thinking: Input should be an object")
    kind = value.get("type")
    if kind not in _THINKING:
        listed = ", ".join(f"'{name}'" for name in _THINKING)
        raise bad(f"thinking: Input tag found using 'type' does not match any of the expected tags: {listed}")
    budget = value.get("budget_tokens")
    if kind == "enabled":
        if budget is None:
            raise bad("thinking.enabled.budget_tokens: Field required")
        if isinstance(budget, bool) or not isinstance(budget, int):
            raise bad("thinking.enabled.budget_tokens: Input should be a valid integer")
        if budget < _LEAST_BUDGET:
            raise bad(f"thinking.enabled.budget_tokens: Input should be greater than or equal to {_LEAST_BUDGET}")
        if budget >= most_tokens:
            raise bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
    elif budget is not None:
        raise bad(f"thinking.{kind}.budget_tokens: Extra inputs are not permitted")
    if value.get("display") not in (None, "summarized", "omitted"):
        raise bad(f"thinking.{kind}.display: Input should be 'summarized' or 'omitted'")
    return ("never" if kind == "disabled" else "always"), value.get("display")


def _check_sampling(body: dict[str, object], version: str, *, thinks: bool) -> None:
    for name in _SAMPLING:
        if name not in body:
            continue
        if version == _NEWEST:
            raise bad(f"{name}: Extra inputs are not permitted")
        if isinstance(body[name], bool) or not isinstance(body[name], int | float):
            raise bad(f"{name}: Input should be a valid number")
    temperature = body.get("temperature")
    if isinstance(temperature, int | float):
        if not 0 <= temperature <= 1:
            raise bad("temperature: range: 0..1")
        if thinks and temperature != 1:
            raise bad("`temperature` may only be set to 1 when thinking is enabled.")


def _tool_choice(body: dict[str, object], *, thinks: bool) -> str:
    """`none`, `one` for a single call at most, or nothing."""
    value = body.get("tool_choice")
    if value is None:
        return ""
    if not is_object(value) or value.get("type") not in ("auto", "any", "tool", "none"):
        raise bad("tool_choice: Input tag found using 'type' does not match any of 'auto', 'any', 'tool', 'none'")
    if not body.get("tools") and value["type"] != "none":
        raise bad("tool_choice: tool_choice may only be specified while providing tools.")
    if value["type"] in ("any", "tool"):
        if thinks:
            raise bad("Thinking may not be enabled when tool_choice forces tool use.")
        raise bad("tool_choice: The demo model follows its own rules: 'type' may be 'auto' or 'none'.")
    if value["type"] == "none":
        return "none"
    return "one" if _flag(value, "disable_parallel_tool_use") else ""


def _tools(body: dict[str, object]) -> tuple[Tool, ...]:
    tools = body.get("tools")
    if tools is None:
        return ()
    if not is_array(tools):
        raise bad("tools: Input should be a valid list")
    found = tuple(_tool(tool, f"tools.{index}.custom") for index, tool in enumerate(tools))
    if len({tool.name for tool in found}) < len(found):
        raise bad("tools: Tool names must be unique.")
    return found


def _tool(value: object, path: str) -> Tool:
    if not is_object(value):
        raise bad(f"{path}: Input should be an object")
    if value.get("type", "custom") not in ("custom", None):
        raise bad(f"{path}: The demo model has no tools of its own.")
    check_keys(value, _TOOL_KEYS, path)
    name = value.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise bad(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    description = value.get("description", "")
    if not isinstance(description, str):
        raise bad(f"{path}.description: Input should be a valid string")
    schema = value.get("input_schema")
    if schema is None:
        raise bad(f"{path}.input_schema: Field required")
    if not is_object(schema) or schema.get("type") != "object":
        raise bad(f"{path}.input_schema.type: Input should be 'object'")
    if any(key in schema for key in ("oneOf", "allOf", "anyOf")):
        raise bad(f"{path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
    types, required = parameters(schema)
    return Tool(name=name, description=description, types=types, required=required)


def _system(body: dict[str, object]) -> tuple[Message, ...]:
    system = body.get("system")
    if system is None:
        return ()
    if isinstance(system, str):
        return (SystemSaid(text=system),) if system else ()
    texts = [text_of(block, path, ()) for block, path in blocks_of(system, "system")]
    return (SystemSaid(text="\n".join(texts)),)


def _stops(body: dict[str, object]) -> tuple[str, ...]:
    texts = texts_of(body.get("stop_sequences"))
    if texts is None:
        raise bad("stop_sequences: Input should be a valid list of strings")
    if any(not text.strip() for text in texts):
        raise bad("stop_sequences: each stop sequence must contain non-whitespace")
    return texts


def _check_cached_blocks(value: object) -> None:
    found = _marked(value, 0)
    if found > _MOST_CACHED_BLOCKS:
        raise bad(f"A maximum of {_MOST_CACHED_BLOCKS} blocks with cache_control may be provided. Found {found}.")


def _marked(value: object, depth: int) -> int:
    if depth > 8:
        return 0
    if is_array(value):
        return sum(_marked(item, depth + 1) for item in value)
    if not is_object(value):
        return 0
    below = (_marked(item, depth + 1) for name, item in value.items() if name not in ("input", "input_schema"))
    return bool(value.get("cache_control")) + sum(below)
