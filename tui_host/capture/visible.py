"""Makes foreign text harmless for a terminal: characters that act or hide become visible.

This is the entry, where text becomes the content of a widget or of a line of output; here a picture may be wider than what it
stands for, since widths are measured afterwards.
"""

from __future__ import annotations

import re
import unicodedata

MARKS = 16  # combining marks that are drawn on one character; more would smear over the lines around it

# What a terminal obeys, what turns reading around, and what is not drawn although it is there (for a model to read). Of the
# format characters only the Arabic and Kaithi number signs, which are drawn, are left as they are.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U00013440\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Blocks in which combining marks live, with room around them: `_cut` then looks at each character.
_STACKED = (
    "\u0300-\u036f\u0483-\u0489\u0590-\u1fff\u20d0-\u20ff\u2ce0-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\uabff\ud7b0-\ud7ff"
    "\ufb1e\ufe20-\ufe2f\U00010100-\U0001efff\U000e0100-\U000e01ef"
)
_EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
# One emoji may carry a tone and a variation selector; joiners stay between such emoji, nine of them at most.
_ONE = f"[{_EMOJI}][\U0001f3fb-\U0001f3ff]?[\ufe0e\ufe0f]?"
_KEPT = f"{_ONE}(?:\u200d{_ONE}){{0,9}}|[0-9#*]\ufe0f\u20e3"

_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
# The others are texts, which `re` compiles when they are first used: most programs show nothing hidden before their first frame.
_SUSPECT = f"[{_HIDDEN}]|[{_STACKED}]{{{MARKS + 1}}}"
_PIECES = f"({_KEPT})|[{_HIDDEN}]"
_STACKS = f"[{_STACKED}]{{{MARKS + 1},}}"
_HALF = "(?:⟨[^⟩]{0,12}|[\u200d\ufe0e\ufe0f]+)$"
# Chinese, Japanese and Korean letters are twice as wide as those of ASCII, so they are not taken for them.
_TOOL_NAME = r"[A-Za-z0-9_.\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3-]{1,128}|resources/read"


def visible(text: str, *, newlines: bool = True) -> str:
    """Replace every character that a terminal obeys or hides by a visible one; newlines and tabs only if asked.

    Controls become their pictures (`␛`), all others their code point (`⟨202e⟩`). Joiners and variation selectors that
    belong to emoji stay. Of more than 16 combining marks on one character the rest is counted (`⟨+34⟩`).
    """
    if _is_suspect(text):
        text = re.sub(_STACKS, _cut, re.sub(_PIECES, _picture, text))
    return text if newlines else text.replace("\n", "␊").replace("\t", "␉")


def hidden(text: str) -> int:
    """Count the characters of a text that would be invisible, for a notice; carriage returns, as in CRLF, do not count."""
    pieces = re.finditer(_PIECES, text) if _is_suspect(text) else ()
    return sum(piece[1] is None and piece[0] != "\r" for piece in pieces)


def line(text: str, limit: int) -> str:
    """Return one line of at most `limit` characters, with `…` for the rest. Reads no more of the text."""
    shown = visible(text[: limit + 1], newlines=False)
    if len(shown) <= limit and len(text) <= limit:
        return shown
    return re.sub(_HALF, "", shown[: max(limit - 1, 0)]) + "…" if limit > 0 else ""


def decode(data: bytes) -> str:
    r"""Decode bytes for display; a byte outside of UTF-8 becomes `\xff`."""
    return data.decode("utf-8", "backslashreplace")


def _is_suspect(text: str) -> bool:
    return (_ASCII.search(text) if text.isascii() else re.search(_SUSPECT, text)) is not None


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    if match[1] is not None:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨{code:02x}⟩"


def _cut(run: re.Match[str]) -> str:
    """Remove the marks beyond the sixteenth of each character, in a run of a script with marks."""
    kept, marks = "", 0
    for character in f"{run.group()} ":
        if unicodedata.category(character) in {"Mn", "Me"} or "\u1161" <= character <= "\u11ff":
            marks += 1
            kept += character if marks <= MARKS else ""
        else:
            kept += f"⟨+{marks - MARKS}⟩" if marks > MARKS else ""
            kept, marks = kept + character, 0
    return kept[:-1]


def tool_name(server: str, tool: str, *, is_decided: bool = False) -> str:
    """Return `server.tool`. A name is quoted and escaped if it is not made of ASCII or of East Asian letters: no letter looks like another.

    In a call that is already decided letters of all scripts stay readable, in quotes. The request for a resource stands as it
    is: no tool of that name is offered. Source: MCP 2025-11-25, Tools, Tool Names.
    """
    shown = tool
    if not re.fullmatch(_TOOL_NAME, tool):
        shown = f"'{visible(tool, newlines=False)}'" if is_decided else ascii(tool)
    return f"{server}.{shown}" if server else shown
