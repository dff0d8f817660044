"""The messages of a Messages request, block by block. Source: Anthropic API reference, Messages; its words of refusal."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterator

from tui_host.demo.model.narrow import is_array, is_object
from tui_host.demo.model.request_content import AssistantSaid, Call, Message, SystemSaid, ToolSaid, UserSaid
from tui_host.demo.model.wires.seals import could_be_seal, seal
from tui_host.demo.model.wires.wire import RequestRefused
from tui_host.demo.model.wires.wire_reading import is_base64, picture

SIGNED = "thinking"
"""What the signatures of thinking are made of, beside its text."""
THOUGHT_ID = "toolu_t"
"""How the id of a call begins that was thought about: its thinking is wanted back with it."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_BLOCKS: dict[str, tuple[str, ...]] = {
    "user": ("text", "image", "tool_result", "document", "search_result"),
    "assistant": ("text", "tool_use", "thinking", "redacted_thinking"),
    "system": ("text",),
}
"""What the messages of a role are made of."""
_MORE = ("cache_control", "type")
_KEYS: dict[str, frozenset[str]] = {
    "text": frozenset(("text", "citations", *_MORE)),
    "image": frozenset(("source", "transformations", *_MORE)),
    "tool_use": frozenset(("id", "name", "input", "caller", *_MORE)),
    "tool_result": frozenset(("tool_use_id", "content", "is_error", *_MORE)),
    "thinking": frozenset(("thinking", "signature", "type")),
    "redacted_thinking": frozenset(("data", "type")),
}
_Block = tuple[dict[str, object], str]


def bad(message: str) -> RequestRefused:
    """A refusal with the status 400."""
    return RequestRefused(status=400, message=message)


def check_keys(value: dict[str, object], known: Collection[str], path: str) -> None:
    """Refuses what the vendor does not know. Raises `RequestRefused`."""
    for name in value:
        if name not in known:
            raise bad(f"{path}{'.' if path else ''}{name[:100]}: Extra inputs are not permitted")


def blocks_of(content: object, path: str) -> Iterator[_Block]:
    """The blocks of a content that is a list, each with its path. Raises `RequestRefused`."""
    if not is_array(content):
        raise bad(f"{path}: Input should be a valid string or a valid list")
    for index, block in enumerate(content):
        if not is_object(block):
            raise bad(f"{path}.{index}: Input should be an object")
        yield block, f"{path}.{index}"


def text_of(block: dict[str, object], path: str, others: Collection[str]) -> str:
    """The text of a text block. Raises `RequestRefused`, also for any other kind of block."""
    if block.get("type") != "text":
        listed = ", ".join(f"'{kind}'" for kind in ("text", *others))
        raise bad(f"{path}: Input tag '{block.get('type')}' found using 'type' does not match any of: {listed}")
    check_keys(block, _KEYS["text"], f"{path}.text")
    text = block.get("text")
    if not isinstance(text, str):
        raise bad(
            f"{path}.text.text: Field required" if text is None else f"{path}.text.text: Input should be a valid string"
        )
    if not text:
        raise bad("messages: text content blocks must be non-empty")
    return text


def messages_of(values: object, *, thinking: str) -> tuple[Message, ...]:
    """All messages; the results of calls, their order and the thinking that is given back are checked.

    Args:
        values: What stands under `messages`.
        thinking: The kind of thinking that the request asks for, empty for none.

    Raises:
        RequestRefused: The vendor would refuse it.
    """
    if values is None:
        raise bad("messages: Field required")
    if not is_array(values):
        raise bad("messages: Input should be a valid list")
    if not values:
        raise bad("messages: at least one message is required")
    roles: list[str] = []
    contents: list[list[_Block]] = []
    for index, value in enumerate(values):
        role, blocks = _message(value, f"messages.{index}", is_last=index == len(values) - 1)
        roles.append(role)
        contents.append(blocks)
    _check_roles(roles)
    _check_results(roles, contents)
    _check_thinking(roles, contents, thinking)
    read = {"user": _user, "assistant": _assistant, "system": _system}
    return tuple(message for role, blocks in zip(roles, contents, strict=True) for message in read[role](blocks))


def _message(value: object, path: str, *, is_last: bool) -> tuple[str, list[_Block]]:
    if not is_object(value):
        raise bad(f"{path}: Input should be an object")
    check_keys(value, ("role", "content"), path)
    role, content = value.get("role"), value.get("content")
    if not isinstance(role, str) or role not in _BLOCKS:
        raise bad(f'messages: Unexpected role {json.dumps(role)[:60]}. Allowed roles are "user" or "assistant".')
    if content is None:
        raise bad(f"{path}.content: Field required")
    if content in ("", []) and not (is_last and role == "assistant"):
        raise bad(f"{path}: {role} messages must have non-empty content")
    if isinstance(content, str):
        return role, [({"type": "text", "text": content}, f"{path}.content.0")]
    blocks = list(blocks_of(content, f"{path}.content"))
    for block, place in blocks:
        _check_block(block, place, _BLOCKS[role])
    return role, blocks


def _check_roles(roles: list[str]) -> None:
    """The first is the user's, the last is one to answer, and what the system says follows what the user said."""
    if roles[0] == "system":
        raise bad('messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter.')
    if roles[0] != "user":
        raise bad('messages: first message must use the "user" role')
    for before, role in itertools.pairwise(roles):
        if (role == "system" and before != "user") or (before == "system" and role == "user"):
            raise bad(
                "messages: a system message must follow a user message, and be the last or come before an assistant message."
            )
    if roles[-1] == "assistant":
        raise bad(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _check_block(block: dict[str, object], path: str, kinds: tuple[str, ...]) -> None:
    match block.get("type"):
        case "image" if "image" in kinds:
            check_keys(block, _KEYS["image"], f"{path}.image")
            _check_picture(block.get("source"), f"{path}.image.source")
        case "tool_use" if "tool_use" in kinds:
            _check_call(block, f"{path}.tool_use")
        case "tool_result" if "tool_result" in kinds:
            _check_result(block, f"{path}.tool_result")
        case "thinking" if "thinking" in kinds:
            _check_thought(block, path)
        case "redacted_thinking" if "redacted_thinking" in kinds:
            raise bad(f"{path}: Invalid `data` in `redacted_thinking` block")
        case "document" | "search_result" if "document" in kinds:
            return
        case _:
            text_of(block, path, kinds[1:])


def _check_picture(source: object, path: str) -> None:
    kind = source.get("type") if is_object(source) else None
    if not is_object(source) or kind not in ("base64", "url", "file"):
        raise bad(f"{path}: Input tag found using 'type' does not match any of: 'base64', 'url', 'file'")
    if kind != "base64":
        return
    if source.get("media_type") not in _PICTURES:
        listed = ", ".join(f"'{name}'" for name in _PICTURES)
        raise bad(f"{path}.base64.media_type: Input should be {listed}")
    if not is_base64(source.get("data")):
        raise bad(f"{path}.base64.data: Invalid base64 data")


def _check_call(block: dict[str, object], path: str) -> None:
    check_keys(block, _KEYS["tool_use"], path)
    identity, name = block.get("id"), block.get("name")
    if not isinstance(identity, str) or not _ID.fullmatch(identity):
        raise bad(f"{path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise bad(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'")
    if not is_object(block.get("input")):
        raise bad(f"{path}.input: Input should be an object" if "input" in block else f"{path}.input: Field required")


def _check_result(block: dict[str, object], path: str) -> None:
    check_keys(block, _KEYS["tool_result"], path)
    if not isinstance(block.get("tool_use_id"), str):
        raise bad(f"{path}.tool_use_id: Field required")
    if not isinstance(block.get("is_error", False), bool):
        raise bad(f"{path}.is_error: Input should be a valid boolean")
    content = block.get("content")
    if content is not None and not isinstance(content, str):
        for inner, place in blocks_of(content, f"{path}.content"):
            _check_block(inner, place, ("text", "image", "document", "search_result"))


def _check_thought(block: dict[str, object], path: str) -> None:
    check_keys(block, _KEYS["thinking"], f"{path}.thinking")
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str):
        raise bad(f"{path}.thinking.thinking: Field required")
    if not isinstance(signature, str):
        raise bad(f"{path}.thinking.signature: Field required")
    # Shown or not, a signature is the same one: without the words only its form can be checked.
    if signature != seal(SIGNED, text) if text else not could_be_seal(signature):
        raise bad(f"{path}: Invalid `signature` in `thinking` block")


def _ids(blocks: list[_Block], kind: str, name: str) -> list[str]:
    return [str(block[name]) for block, _ in blocks if block.get("type") == kind]


def _check_results(roles: list[str], contents: list[list[_Block]]) -> None:
    """All results of a message's calls open the next one, and nothing else does."""
    seen: set[str] = set()
    waiting: list[str] = []
    for index, (role, blocks) in enumerate(zip(roles, contents, strict=True)):
        first = _leading_results(blocks) if role == "user" else []
        missing = [identity for identity in waiting if identity not in first]
        if missing:
            raise bad(
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
                "message."
            )
        for block, path in blocks:
            identity = block.get("tool_use_id")
            if block.get("type") == "tool_result" and identity not in waiting:
                raise bad(
                    f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {identity}. Each `tool_result` block "
                    "must have a corresponding `tool_use` block in the previous message."
                )
        if len(first) != len(set(first)):
            raise bad(f"messages.{index}.content: each `tool_use` must have a single result. Found multiple.")
        waiting = _ids(blocks, "tool_use", "id")
        if len(waiting) != len(set(waiting)) or seen & set(waiting):
            raise bad(f"messages.{index}.content: `tool_use` ids must be unique")
        seen |= set(waiting)


def _leading_results(blocks: list[_Block]) -> list[str]:
    found: list[str] = []
    for block, _ in blocks:
        if block.get("type") != "tool_result":
            break
        found.append(str(block["tool_use_id"]))
    return found


def _check_thinking(roles: list[str], contents: list[list[_Block]], thinking: str) -> None:
    """In the running turn a message that asked for tools begins with what was thought, if it was."""
    if thinking == "disabled":
        return
    for index in range(len(roles) - 1, -1, -1):
        blocks = contents[index]
        if roles[index] == "system":
            continue
        if roles[index] == "user":
            if any(block.get("type") != "tool_result" for block, _ in blocks):
                return
            continue
        ids = _ids(blocks, "tool_use", "id")
        is_wanted = thinking == "enabled" or any(identity.startswith(THOUGHT_ID) for identity in ids)
        if ids and is_wanted and blocks[0][0].get("type") != "thinking":
            raise bad(
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{blocks[0][0].get('type')}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks)."
            )


def _assistant(blocks: list[_Block]) -> Iterator[Message]:
    calls = tuple(
        Call(
            id=str(block["id"]),
            name=str(block["name"]),
            arguments=json.dumps(block["input"], ensure_ascii=False, separators=(",", ":")),
        )
        for block, _ in blocks
        if block.get("type") == "tool_use"
    )
    yield AssistantSaid(text="\n".join(_texts(blocks)), calls=calls)


def _user(blocks: list[_Block]) -> Iterator[Message]:
    for block, path in blocks:
        if block.get("type") != "tool_result":
            continue
        content = block.get("content")
        inner = [] if content is None or isinstance(content, str) else list(blocks_of(content, path))
        yield ToolSaid(
            call_id=str(block["tool_use_id"]),
            text=content if isinstance(content, str) else "\n".join(_texts(inner)),
            images=_pictures(inner),
            is_error=block.get("is_error") is True,
        )
    texts, images = _texts(blocks), _pictures(blocks)
    if texts or images:
        yield UserSaid(text="\n".join(texts), images=images)


def _system(blocks: list[_Block]) -> Iterator[Message]:
    yield SystemSaid(text="\n".join(_texts(blocks)))


def _texts(blocks: list[_Block]) -> list[str]:
    return [str(block["text"]) for block, _ in blocks if block.get("type") == "text"]


def _pictures(blocks: list[_Block]) -> tuple[str, ...]:
    sources = [block.get("source") for block, _ in blocks if block.get("type") == "image"]
    return tuple(
        picture(source["data"], source.get("media_type")) if is_object(source) and "data" in source else "at a URL"
        for source in sources
    )
