"""What stands in a line: text, code, emphasis, links and images, as segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.inks import EMPHASIS, STRONG, STRUCK, UNDERLINED, Inks
from tui_host.tui.markdown.wrap import joint

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_ADDRESS = 400
_OPEN = {"strong_open": STRONG, "em_open": EMPHASIS, "s_open": STRUCK, "link_open": UNDERLINED}
_CLOSE = {"strong_close", "em_close", "s_close"}


def segments_of(tokens: Sequence[Token], inks: Inks, style: Style | None = None) -> list[Segment]:
    """An inline token's children as segments, newlines for hard breaks. Addresses of links and images are written out."""
    found: list[Segment] = []
    stack: list[Style] = [style or Style.null()]
    links: list[tuple[str, int]] = []
    for number, token in enumerate(tokens):
        kind = token.type
        if kind == "softbreak":
            found.append(Segment(_soft(found, tokens, number), stack[-1]))
        elif kind == "hardbreak":
            found.append(Segment("\n", stack[-1]))
        elif kind == "code_inline":
            found.append(Segment(token.content, stack[-1] + inks["code"]))
        elif kind == "image":
            found.append(Segment(f"[image: {token.content}]", stack[-1]))
            found.append(Segment(f" ({_address(token, 'src')})", inks["address"]))
        elif kind in _OPEN:
            stack.append(stack[-1] + _OPEN[kind])
            if kind == "link_open":
                links.append((_address(token, "href"), len(found)))
        elif kind in _CLOSE:
            stack.pop()
        elif kind == "link_close":
            stack.pop()
            address, start = links.pop()
            if not _says(found[start:], address):
                found.append(Segment(f" ({address})", inks["address"]))
        else:
            found.append(Segment(token.content, stack[-1]))
    return found


def _soft(found: Sequence[Segment], tokens: Sequence[Token], number: int) -> str:
    before = found[-1].text if found else ""
    after = tokens[number + 1].content if number + 1 < len(tokens) else ""
    return joint(before, after)


def _address(token: Token, name: str) -> str:
    address = str(token.attrGet(name) or "")
    if len(address) > LONGEST_ADDRESS:
        return f"{address[:LONGEST_ADDRESS]}… {len(address):,} characters"
    return address


def _says(segments: Sequence[Segment], address: str) -> bool:
    """Whether a link's text is its address."""
    text = "".join(segment.text for segment in segments)
    return text in {address, address.removeprefix("mailto:"), address.removesuffix("/")}
