"""A generateContent request, checked as strictly as the vendor does. Source: Gemini API reference, v1beta."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import parse_qs, unquote

from tui_host.demo.model.http_connection import Request
from tui_host.demo.model.narrow import is_array, is_object, texts_of
from tui_host.demo.model.request_content import Conversation, Message, SystemSaid, Thinking, Tool
from tui_host.demo.model.token_estimate import estimate, repeated
from tui_host.demo.model.wires.gemini_content import bad, camel, messages_of, parts_of, plain
from tui_host.demo.model.wires.wire import Asked
from tui_host.demo.model.wires.wire_reading import parameters, parse

PATH = re.compile(r"/(?:v1|v1beta)/((?:models|tunedModels)/[^/:]+):(\w+)")

_KNOWN = frozenset(
    (
        *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings"),
        *("cachedContent", "labels", "model", "serviceTier", "store"),
    )
)
_GENERATION = frozenset(
    (
        *(
            "maxOutputTokens",
            "stopSequences",
            "temperature",
            "topP",
            "topK",
            "candidateCount",
            "thinkingConfig",
            "seed",
        ),
        *("responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities", "presencePenalty"),
        *("frequencyPenalty", "responseLogprobs", "logprobs", "speechConfig", "mediaResolution", "responseFormat"),
    )
)
_SCHEMA = frozenset(
    (
        *("type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties"),
        *("required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum"),
        *("example", "anyOf", "propertyOrdering", "default"),
    )
)
_DECLARATION = frozenset(
    ("name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior")
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_LEVELS = ("THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH")
_MOST_STOPS = 5
_MOST_DEPTH = 30


def read_request(request: Request) -> Asked:
    """A request with its path, which names the model, and its query.

    Raises:
        RequestRefused: With the status 400 and the vendor's kind of words.
    """
    body = parse(
        request.body,
        not_json="Invalid JSON payload received. {}",
        no_object="Invalid JSON payload received. The root of the request must be an object.",
    )
    body = plain(body)
    check_names(body, _KNOWN, "")
    found = PATH.fullmatch(unquote(request.path))
    model, method = (found[1].removeprefix("models/"), found[2]) if found else ("", "")
    messages = (*_system(body), *messages_of(body.get("contents")))
    generation = _generation(body)
    thinking, shows_thinking = _thinking(generation)
    tools = _tools(body)
    tokens = estimate(request.body.decode("utf-8", "replace"))
    is_streamed = method == "streamGenerateContent"
    return Asked(
        conversation=Conversation(messages=messages, tools=() if _mode(body) == "NONE" else tools, thinking=thinking),
        model=model,
        is_streamed=is_streamed,
        with_usage=True,
        most_tokens=_integer(generation, "maxOutputTokens"),
        prompt_tokens=tokens,
        cached_tokens=min(tokens, repeated(messages)),
        stops=_stops(generation),
        shows_thinking=shows_thinking,
        options={"array": wants_array(request)},
    )


def wants_array(request: Request) -> bool:
    """Whether the answer is to come as one list in pieces: a stream that does not ask for events."""
    return request.path.endswith("streamGenerateContent") and parse_qs(request.query).get("alt") != ["sse"]


def count_tokens(request: Request) -> int:
    """The tokens of a request to count them, bare or around one for an answer. Raises `RequestRefused`."""
    body = plain(parse(request.body))
    around = body.get("generateContentRequest")
    messages_of(plain(around).get("contents") if is_object(around) else body.get("contents"))
    return estimate(request.body.decode("utf-8", "replace"))


def check_names(value: dict[str, object], known: Collection[str], path: str) -> None:
    """Refuses what the vendor does not know. Raises `RequestRefused`."""
    for name in value:
        if name not in known:
            where = f" at '{path}'" if path else ""
            raise bad(f'Invalid JSON payload received. Unknown name "{name[:100]}"{where}: Cannot find field.')


def _object(values: dict[str, object], name: str) -> dict[str, object]:
    value = values.get(name)
    if value is None:
        return {}
    if not is_object(value):
        raise bad(f"Invalid value at '{name}': expected an object.")
    return plain(value)


def _integer(values: dict[str, object], name: str) -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise bad(f"Invalid value at 'generation_config.{name}' (TYPE_INT32), \"{str(value)[:40]}\"")
    if value < 1:
        raise bad(f"* GenerateContentRequest.generation_config.{name}: must be positive.")
    return value


def _system(body: dict[str, object]) -> tuple[Message, ...]:
    if body.get("systemInstruction") is None:
        return ()
    value = body["systemInstruction"]
    if not is_object(value):
        raise bad(
            "Invalid value at 'system_instruction' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content)"
        )
    texts = [part.get("text") for part in parts_of(plain(value), "system_instruction")]
    if not all(isinstance(text, str) for text in texts):
        raise bad("* GenerateContentRequest.system_instruction.parts: only text is supported.")
    return (SystemSaid(text="\n".join(str(text) for text in texts)),)


def _generation(body: dict[str, object]) -> dict[str, object]:
    generation = _object(body, "generationConfig")
    check_names(generation, _GENERATION, "generation_config")
    if generation.get("candidateCount", 1) != 1:
        raise bad("Multiple candidates is not enabled for this model")
    return generation


def _stops(generation: dict[str, object]) -> tuple[str, ...]:
    texts = texts_of(generation.get("stopSequences"))
    if texts is None:
        raise bad("Invalid value at 'generation_config.stop_sequences' (TYPE_STRING)")
    if len(texts) > _MOST_STOPS:
        raise bad(f"* GenerateContentRequest.generation_config.stop_sequences: at most {_MOST_STOPS} are supported.")
    return texts


def _thinking(generation: dict[str, object]) -> tuple[Thinking, bool]:
    """Whether it is thought, and whether a summary of that is told."""
    if generation.get("thinkingConfig") is None:
        return "asked", True
    config = _object(generation, "thinkingConfig")
    check_names(config, ("includeThoughts", "thinkingBudget", "thinkingLevel"), "generation_config.thinking_config")
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    if level is not None and budget is not None:
        raise bad("You can only set only one of thinking budget and thinking level.")
    if level is not None and str(level).upper() not in _LEVELS:
        raise bad(f"Invalid value at 'generation_config.thinking_config.thinking_level', \"{str(level)[:40]}\"")
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < -1):
        raise bad("Invalid value at 'generation_config.thinking_config.thinking_budget' (TYPE_INT32)")
    return ("never" if budget == 0 else "always"), config.get("includeThoughts") is True


def _mode(body: dict[str, object]) -> str:
    config = _object(body, "toolConfig")
    check_names(config, ("functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"), "tool_config")
    calling = _object(config, "functionCallingConfig")
    mode = str(calling.get("mode", "AUTO")).upper()
    if mode not in ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"):
        raise bad(f"Invalid value at 'tool_config.function_calling_config.mode', \"{mode[:40]}\"")
    if mode == "ANY":
        raise bad("The demo model follows its own rules: 'mode' may be AUTO, VALIDATED or NONE.")
    return mode


def _tools(body: dict[str, object]) -> tuple[Tool, ...]:
    tools = body.get("tools")
    if tools is None:
        return ()
    if not is_array(tools):
        raise bad("Invalid value at 'tools': expected a list.")
    found: list[Tool] = []
    for index, value in enumerate(tools):
        tool = plain(value) if is_object(value) else {}
        declarations = tool.get("functionDeclarations")
        check_names(tool, ("functionDeclarations",), f"tools[{index}]")
        if not is_array(declarations):
            raise bad(f"* GenerateContentRequest.tools[{index}]: the demo model takes function declarations only.")
        found += [
            _declared(declaration, f"tools[{index}].function_declarations[{place}]")
            for place, declaration in enumerate(declarations)
        ]
    for place, tool in enumerate(found):
        if tool.name in {other.name for other in found[:place]}:
            raise bad(f"Duplicate function declaration found: {tool.name}")
    return tuple(found)


def _declared(value: object, path: str) -> Tool:
    if not is_object(value):
        raise bad(f"Invalid value at '{path}': expected an object.")
    declaration = plain(value)
    check_names(declaration, _DECLARATION, path)
    name = declaration.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise bad(
            f"* GenerateContentRequest.{path}.name: Invalid function name. Must start with a letter or an underscore. Must be "
            "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128."
        )
    description = declaration.get("description", "")
    if not isinstance(description, str):
        raise bad(f"Invalid value at '{path}.description' (TYPE_STRING)")
    narrow, wide = declaration.get("parameters"), declaration.get("parametersJsonSchema")
    if narrow is not None and wide is not None:
        raise bad(f"* {path}: parameters and parameters_json_schema are mutually exclusive.")
    if narrow is not None:
        _check_schema(narrow, f"{path}.parameters", 0)
    elif wide is not None and not is_object(wide):
        raise bad(f"Invalid value at '{path}.parameters_json_schema': expected an object.")
    types, required = parameters(narrow if wide is None else wide)
    types = {parameter: kind.lower() for parameter, kind in types.items()}
    return Tool(name=name, description=description, types=types, required=required)


def _check_schema(value: object, path: str, depth: int) -> None:
    """What `parameters` may hold: an OpenAPI schema's subset, not JSON Schema."""
    if not is_object(value):
        raise bad(f"Invalid value at '{path}': expected an object.")
    if depth > _MOST_DEPTH:
        raise bad(f"{path}: the schema is nested too deep.")
    for name in value:
        if camel(name) not in _SCHEMA:
            raise bad(f"Invalid JSON payload received. Unknown name \"{name[:100]}\" at '{path}': Cannot find field.")
    schema = plain(value)
    if is_array(schema.get("type")):
        raise bad(
            f"Invalid JSON payload received. Unknown name \"type\" at '{path}': Proto field is not repeating, cannot start list."
        )
    properties = schema.get("properties")
    names = properties if is_object(properties) else {}
    for name, inner in names.items():
        _check_schema(inner, f"{path}.properties[{name}].value", depth + 1)
    required = schema.get("required")
    for place, name in enumerate(required if is_array(required) else []):
        if name not in names:
            raise bad(f"* GenerateContentRequest.{path}.required[{place}]: property is not defined")
    if schema.get("items") is not None:
        _check_schema(schema["items"], f"{path}.items", depth + 1)
    choices = schema.get("anyOf")
    for place, inner in enumerate(choices if is_array(choices) else []):
        _check_schema(inner, f"{path}.any_of[{place}]", depth + 1)
    values = schema.get("enum")
    if is_array(values) and not all(isinstance(one, str) for one in values):
        raise bad(f"Invalid value at '{path}.enum' (TYPE_STRING)")
