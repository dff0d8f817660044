"""The items of Responses: what they say, and what of them has to go back. Source: llm-dialects.md, section 4."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.errors import JSON
from tui_host.llm.body_framing import count_of
from tui_host.llm.messages import Stop, Usage

_ANSWERED = ("custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call")
"""Calls of kinds that are never offered: they would have to be answered before they could go back."""
_OVER = ("completed", "incomplete", "failed", "cancelled")
_OWN: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content"),
    "function_call": ("call_id", "name", "arguments"),
}
"""What of an item stands in our own form of it."""


def echo_of_item(item: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """What of an item goes back beside our own form of it; the whole of one that has none. None if nothing does."""
    kind = item.get("type")
    if not isinstance(kind, str) or kind in _ANSWERED:
        return None
    own = _OWN.get(kind, ())
    if kind == "message" and refuses(item):
        own = ()  # its content is no text of ours
    return {name: value for name, value in item.items() if name not in own and value is not None}


def text_in(item: Mapping[str, JSON]) -> str:
    """What a message says, be it a refusal."""
    return "".join(_string(part, "text") or _string(part, "refusal") for part in _list(item.get("content")))


def refuses(item: Mapping[str, JSON]) -> bool:
    """Whether a message is, or holds, a refusal."""
    return any(_string(part, "refusal") for part in _list(item.get("content")))


def thought_in(item: Mapping[str, JSON]) -> str:
    """What a thought says: its summary, or the thinking itself where open models give it."""
    for name in ("summary", "content"):
        texts = [text for part in _list(item.get(name)) if (text := _string(part, "text"))]
        if texts:
            return "\n\n".join(texts)
    return ""


def arguments_in(item: Mapping[str, JSON]) -> str:
    """A call's arguments as the model wrote them."""
    return _string(item, "arguments")


def tool_called(name: str, namespace: str) -> str:
    """The tool that a call is for: hosts may put the tools of a server into a namespace, which a call names beside the tool."""
    return f"{namespace}.{name}" if namespace else name


def tool_in(item: Mapping[str, JSON]) -> str:
    """The tool that an item calls; empty if it names none yet."""
    name = _string(item, "name")
    return tool_called(name, _string(item, "namespace")) if name else ""


def usage_of(response: Mapping[str, JSON]) -> Usage | None:
    """The tokens that a response reports; None if it reports none."""
    usage = response.get("usage")
    found = Usage(
        input_total=count_of(usage, "input_tokens"),
        input_cached=count_of(usage, "input_tokens_details", "cached_tokens"),
        cache_written=count_of(usage, "input_tokens_details", "cache_write_tokens"),
        output_total=count_of(usage, "output_tokens"),
        reasoning=count_of(usage, "output_tokens_details", "reasoning_tokens"),
    )
    return found if found != Usage() else None


def word_of(response: Mapping[str, JSON], told: str) -> str:
    """Why a response ended: the reason for which it is incomplete, or its status.

    Args:
        response: The response; not all services say in the event's name what they say in here.
        told: What the event's name says.
    """
    status = response.get("status")
    word = status if isinstance(status, str) and status in _OVER else told
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return reason if word == "incomplete" and isinstance(reason, str) and reason else word


def stop_of(word: str, *, has_calls: bool, refused: bool) -> Stop:
    """The same as ours."""
    if word in {"", "queued", "in_progress"}:
        return "cut"
    if word in {"failed", "cancelled"}:
        return "failed"
    if word == "content_filter":
        return "refused"
    if word not in {"completed", "[DONE]"}:
        return "length"  # incomplete, for the reason that is given, or for none
    if has_calls:
        return "tools"
    return "refused" if refused else "end"


def _list(value: JSON) -> list[Mapping[str, JSON]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _string(value: Mapping[str, JSON], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
