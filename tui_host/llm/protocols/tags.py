"""Calls between tags, shared by `cline`, `cherry` and `hermes`: the grammar, where a block ends, and its elements.

Values are taken as they are: entities are not decoded, and values may contain markup, the block's own closing tag too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from tui_host.llm.messages import ToolSpec
from tui_host.llm.protocols.grammar import CUT, BrokenCall, Ending, Found, Parsed, ReadText, Syntax

Read = Callable[[str, str, Sequence[ToolSpec]], Found]
"""Reads a block from its tag, the text between the tags, and the offered tools. Raises `BrokenCall`."""
_OPENING = re.compile(r"<(\w+)>")
_BEGINS = re.compile(r"<\w{0,30}(?:>\s*(?:<[\w=]{0,20})?)?|<\w+>\s*<\w+=")
_MOST_ENDS = 20  # closing tags of a block that are tried


def tag_grammar(tags: Mapping[str, Sequence[str]], read: Read, *, results: str = "", several: bool = True) -> Syntax:
    """Make a grammar from the tags of blocks, each with the texts of which one must follow, else the tag is mere text.

    Only the host writes `results`, so one in a model's answer is made up.
    """
    blocks = "|".join(rf"<(?:{tag})>\s*(?:{'|'.join(map(re.escape, begun))}|\Z)" for tag, begun in tags.items())
    made_up = rf"|(?P<made_up><{results}>)" if results else ""

    def parse(text: str, tools: Sequence[ToolSpec], ending: Ending) -> Parsed | None:
        opening = _OPENING.match(text)
        if opening is None:
            return Parsed(size=1)
        tag, start = opening[1], opening.end()
        first: Parsed | None = None
        # A closing tag may stand in a string of the arguments: the one with which the block can be read ends it.
        for closing in islice(re.finditer(f"</{tag}>", text), _MOST_ENDS):
            parsed = _parsed(read, tag, text[start : closing.start()], tools, closing.end())
            if not parsed.fault:
                return parsed
            first = first or parsed
        if ending == "open":
            return None
        if first is not None:
            return first
        rest = _parsed(read, tag, text[start:], tools, len(text))
        if ending == "length" and not (rest.found and isinstance(rest.found[0], ReadText)):
            return Parsed(size=rest.size, fault=CUT)
        if rest.fault:
            return Parsed(size=rest.size, fault=f"there is no </{tag}> ({rest.fault})")
        return Parsed(size=rest.size, found=rest.found, closing=f"</{tag}>")  # the tag was a stop sequence

    return Syntax(
        signs=re.compile(rf"<(?P<thinking>thinking|think)>|(?P<call>{blocks}){made_up}"),
        begins=_BEGINS,
        parse=parse,
        has_tags=True,
        several=several,
    )


def _parsed(read: Read, tag: str, inside: str, tools: Sequence[ToolSpec], size: int) -> Parsed:
    try:
        return Parsed(size=size, found=(read(tag, inside, tools),))
    except BrokenCall as broken:
        return Parsed(size=size, fault=str(broken))


def element(text: str, name: str, *, is_last: bool = False) -> str | None:
    """Return what stands in an element, None without it; `is_last` is for values that may hold the closing tag."""
    found = re.search(f"<{name}>(.*{'' if is_last else '?'})</{name}>", text, re.DOTALL)
    return found[1].strip() if found is not None else None
