"""Calls between tags, shared by `cline`, `cherry` and `hermes`: the grammar, where a block ends, and its elements.

Values are taken as they are: entities are not decoded, and values may contain markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import CUT, Broken, Ending, Found, Grammar, Parsed, ReadText, end_outside_strings

Read = Callable[[str, str, Sequence[ToolSpec]], Found]
"""Reads a block from its tag, the text between the tags, and the offered tools."""

_OPENING = re.compile(r"<(\w+)>")
_BEGINS = re.compile(r"<\w{0,30}(?:>\s*(?:<[\w=]{0,20})?)?|<\w+>\s*<\w+=")


def tag_grammar(
    tags: Mapping[str, Sequence[str]],
    read: Read,
    *,
    json_after: str = "",
    json_before: str = "",
    results: str = "",
    several: bool = True,
    thinking_with_calls: tuple[str, ...] = (),
) -> Grammar:
    """Make a grammar of tags.

    Args:
        tags: The tags of blocks, each with the texts of which one must follow; without them the tag is mere text.
        read: Reads a block.
        json_after: The text before a block's JSON, in whose strings the closing tag may stand; empty if there is none.
        json_before: The text that ends the JSON.
        results: The tag of results. Only the host writes results, so one in a model's answer is made up.
        several: Whether an answer may hold several calls.
        thinking_with_calls: As in `Grammar`.
    """
    thinking = "|".join(tag for tag in ("thinking", "think") if tag not in tags)
    blocks = "|".join(rf"<(?:{tag})>\s*(?:{'|'.join(map(re.escape, begun))}|\Z)" for tag, begun in tags.items())
    made_up = rf"|(?P<made_up><{results}>)" if results else ""

    def parse(text: str, tools: Sequence[ToolSpec], ending: Ending) -> Parsed | None:
        opening = _OPENING.match(text)
        if opening is None:
            return Parsed(size=1)
        tag, closing, start = opening[1], f"</{opening[1]}>", opening.end()
        end = _end_of_block(text, closing, json_after, json_before or closing)
        if end < 0 and ending == "open":
            return None
        if end < 0 and closing in text:  # it stands in a string that never ends
            end = text.index(closing) + len(closing)
        if end >= 0:
            return Parsed(size=end, found=(read(tag, text[start : end - len(closing)], tools),))
        found = read(tag, text[start:], tools)  # the closing tag may be a stop sequence
        if ending == "length" and not isinstance(found, ReadText):
            found = Broken(reason=CUT)
        elif isinstance(found, Broken):
            found = Broken(reason=f"there is no {closing} ({found.reason})")
        return Parsed(size=len(text), found=(found,), closing=closing)

    return Grammar(
        signs=re.compile(rf"<(?P<thinking>{thinking})>|(?P<call>{blocks}){made_up}"),
        begins=_BEGINS,
        closes=">",
        parse=parse,
        has_tags=True,
        several=several,
        thinking_with_calls=thinking_with_calls,
    )


def _end_of_block(text: str, closing: str, json_after: str, json_before: str) -> int:
    """Return the end of a block with its closing tag, which does not count in the strings of the block's JSON."""
    start = text.find(json_after) if json_after else -1
    end = text.find(closing)
    if 0 <= start < end:
        after_json = end_outside_strings(text, json_before, start)
        if json_before == closing or after_json < 0:
            return after_json
        end = text.find(closing, after_json)
    return -1 if end < 0 else end + len(closing)


def element(text: str, name: str, *, holds_json: bool = False, is_last: bool = False) -> tuple[str, int] | None:
    """Return an element's content and the position after the element. None if absent.

    A closing tag in a string of JSON belongs to the value; the last one of several ends a value that may hold anything.
    """
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    if start < 0:
        return None
    start += len(opening)
    end = text.rfind(closing, start) if is_last else text.find(closing, start)
    outside = end_outside_strings(text, closing, start) if holds_json else -1
    if outside >= 0:
        end = outside - len(closing)
    return None if end < 0 else (text[start:end].strip(), end + len(closing))


def elements(text: str, *names: str, json_in: str = "") -> dict[str, str]:
    """Return the contents of several elements in any order; nested tags do not count."""
    values: dict[str, str] = {}
    while starts := [(at, name) for name in names if name not in values and (at := text.find(f"<{name}>")) >= 0]:
        _, name = min(starts)
        value = element(text, name, holds_json=name == json_in)
        if value is None:
            break
        values[name], text = value[0], text[value[1] :]
    return values
