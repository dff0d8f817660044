"""Calls between tags, shared by `cline`, `cherry` and `hermes`: the grammar, where a block ends, and its elements.

Values are taken as they are: entities are not decoded, and values may contain markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import CUT, Broken, Ending, Found, Parsed, ReadText, Syntax, end_outside_strings

Read = Callable[[str, str, Sequence[ToolSpec]], Found]
"""Reads a block from its tag, the text between the tags, and the offered tools."""
_OPENING = re.compile(r"<(\w+)>")
_BEGINS = re.compile(r"<\w{0,30}(?:>\s*(?:<[\w=]{0,20})?)?|<\w+>\s*<\w+=")


def tag_grammar(
    tags: Mapping[str, Sequence[str]],
    read: Read,
    *,
    json_after: str,
    json_before: str = "",
    results: str = "",
    several: bool = True,
    thinking_with_calls: tuple[str, ...] = (),
) -> Syntax:
    """Make a grammar from the tags of blocks, each with the texts of which one must follow, else the tag is mere text.

    A block's JSON stands between `json_after` and `json_before`; the closing tag may stand in its strings. Only the host
    writes `results`, so one in a model's answer is made up.
    """
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
        end = text.find(closing) + len(closing) if end < 0 and closing in text else end  # in a string that never ends
        if end >= 0:
            return Parsed(size=end, found=(read(tag, text[start : end - len(closing)], tools),))
        found = read(tag, text[start:], tools)  # the closing tag may be a stop sequence
        if ending == "length" and not isinstance(found, ReadText):
            found = Broken(reason=CUT)
        elif isinstance(found, Broken):
            found = Broken(reason=f"there is no {closing} ({found.reason})")
        return Parsed(size=len(text), found=(found,), closing=closing)

    return Syntax(
        signs=re.compile(rf"<(?P<thinking>thinking|think)>|(?P<call>{blocks}){made_up}"),
        begins=_BEGINS,
        parse=parse,
        has_tags=True,
        several=several,
        thinking_with_calls=thinking_with_calls,
    )


def _end_of_block(text: str, closing: str, json_after: str, json_before: str) -> int:
    """Return the end of a block with its closing tag, which does not count in the strings of the block's JSON."""
    start, end = text.find(json_after), text.find(closing)
    if 0 <= start < end:
        end = end_outside_strings(text, json_before, start)
        if json_before == closing or end < 0:
            return end
        end = text.find(closing, end)
    return -1 if end < 0 else end + len(closing)


def elements(text: str, *names: str, json_in: str = "", is_last: bool = False) -> dict[str, str]:
    """Return the contents of several elements in any order; nested tags do not count.

    A closing tag in a string of JSON belongs to the value; the last one of several ends a value that may hold anything.
    """
    values: dict[str, str] = {}
    opening = re.compile(f"<({'|'.join(names)})>")
    found = opening.search(text)
    while found is not None:
        start, closing = found.end(), f"</{found[1]}>"
        end = end_outside_strings(text, closing, start) - len(closing) if found[1] == json_in else -1
        if end < 0:
            end = text.rfind(closing, start) if is_last else text.find(closing, start)
        if end < 0:
            break
        values.setdefault(found[1], text[start:end].strip())
        found = opening.search(text, end + len(closing))
    return values
