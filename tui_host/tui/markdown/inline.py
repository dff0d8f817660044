"""Inline tokens as segments: text, code, emphasis, links and images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rich.segment import Segment
from rich.style import Style

from tui_host.tui.markdown.page import PLAIN, STRONG, Inks
from tui_host.tui.text_width import clip, joint

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST_ADDRESS = 400
UNDERLINED = Style(underline=True)
_OPEN = {"strong_open": STRONG, "em_open": Style(italic=True), "s_open": Style(strike=True), "link_open": UNDERLINED}
_BREAK = re.compile(r"(<br\s*/?>)", re.IGNORECASE)


def words_of(inline: Token, inks: Inks, style: Style = PLAIN) -> list[Segment]:
    """Return an inline token's children as segments; newlines are hard breaks, addresses of links and images are written out."""
    segments: list[Segment] = []
    stack = [style]
    links: list[tuple[Token, int]] = []
    children = inline.children or []
    for number, token in enumerate(children):
        ink = stack[-1]
        match token.type:
            case "softbreak":
                before = segments[-1].text if segments else ""
                following = children[number + 1].content if number + 1 < len(children) else ""
                segments.append(Segment(joint(before, following), ink))
            case "hardbreak":
                segments.append(Segment("\n", ink))
            case "code_inline":
                segments.append(Segment(token.content, ink + inks["code"]))
            case "image":
                address = clip(str(token.attrGet("src") or ""), LONGEST_ADDRESS)
                segments += [Segment(f"[image: {token.content}]", ink), Segment(f" ({address})", inks["address"])]
            case "strong_open" | "em_open" | "s_open" | "link_open":
                stack.append(ink + _OPEN[token.type])
                if token.type == "link_open":
                    links.append((token, len(segments)))
            case "strong_close" | "em_close" | "s_close":
                stack.pop()
            case "link_close":
                stack.pop()
                link, start = links.pop()
                address = clip(str(link.attrGet("href") or ""), LONGEST_ADDRESS)
                text = "".join(segment.text for segment in segments[start:])
                same = {address, address.removeprefix("mailto:"), address.removesuffix("/"), unquote(address)}
                if link.markup != "autolink" and not address.startswith("#") and text not in same:
                    segments.append(Segment(f" ({address})", inks["address"]))
            case _:
                # `<br>` ends a line; all other HTML stays text.
                parts = filter(None, _BREAK.split(token.content))
                segments.extend(Segment("\n" if _BREAK.fullmatch(part) else part, ink) for part in parts)
    return segments
