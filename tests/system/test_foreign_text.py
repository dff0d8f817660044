"""What servers and models say never acts on the terminal: every byte that the program writes is read, and known."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from tests.kit.bodies import DONE, asks, calls, chunk, fragment, text
from tests.kit.mcp_server import mcp_server, tool
from tests.kit.peer import head, peer_in_thread
from tests.system.terminal import Terminal, program

MARK = "EVIL"
"""Stands in every sequence, so that none can be taken for one of Textual's."""

NOISE = (
    f"\x1b]52;c;{MARK}\x07",
    f"\x1b]52;c;{MARK}\x1b\\",
    f"\x1b]8;;http://{MARK}.example\x1b\\here\x1b]8;;\x1b\\",
    f"\x1b]0;{MARK}\x07\x1b]2;{MARK}\x1b\\",
    f"\x1bP$q{MARK}\x1b\\\x1b_{MARK}\x1b\\\x1b^{MARK}\x1b\\\x1bX{MARK}\x1b\\",
    "\x1b[2J\x1b[?1049l\x1b[6n\x1b[c\x1b[21t\x1bc\x1b[5;5H",
    f"\x9b2J\x9d0;{MARK}\x9c\x90{MARK}\x9c\x85\x8d",
    "\x07\x08\x0b\x0c\x0e\x0f\x7f\x00",
    "\u202e\u2066\u2069\u200f\u200b\u2060\ufeff\U000e0041\u2028\u061c",
    "[red]ink[/red][@click=app.quit]press[/][/nope][link='file:///etc/passwd']x[/link]",
)
WORDS = "begin " + " ".join(NOISE) + " end"


def said(place: str) -> str:
    """The noise, with the name of where it is said, to find it on the screen."""
    return f"{place} {WORDS}"


KNOWN = re.compile(
    r"csi:[0-9;]*m|csi:[0-9]+;[0-9]+H"  # ink, and places
    r"|csi:\?(?:7|25|1000|1003|1004|1006|1015|1049|2004)[hl]|csi:>25u|csi:<u"  # modes, keyboard
    r"|csi:\?(?:1004|2026|2048)\$p|osc:11;\?"  # what the terminal can do, and its ground
    r"|osc:22;[a-z]+"  # the pointer's shape
    r"|control:0[ad]"
)
ACTING = re.compile(
    "[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)
"""But BEL ends our own OSC 11 and 22, which are taken out first."""
MARKDOWN = f"""{said("answer")}

# {said("heading")}

```{said("fence")}
{said("code")}
```

| a | b |
|---|---|
| {said("cell")} | `{said("inline")}` |

[{said("label")}](http://x/{said("target")})

> {said("quote")}

1. {said("item")}
"""
REFUSAL = json.dumps(
    {"error": {"message": said("refusal"), "type": said("kind"), "code": said("code")}}, ensure_ascii=False
)
READY = re.compile(r" (?:ready|\S+ came too early and was ignored; press it again) ─+╯")
F2, RIGHT, BACK = "\x1bOQ", "\x1b[C", "\x1b[Z"
LOOK = fragment(
    index=0, wire_id="c", name="noisy__look", arguments=json.dumps({"what": said("argument")}, ensure_ascii=False)
)


def complaint(place: str) -> dict[str, str]:
    return {"stderr": "\n".join(f"{line}\udc9b2J\udcff" for line in said(place).split("\n"))}


LOOKS = tool(
    "look",
    title=said("title"),
    description=said("description"),
    inputSchema={"type": "object", "title": said("schema"),
        "properties": {"what": {"type": "string", "description": said("property")}}},
    annotations={"title": said("hint"), "readOnlyHint": True},
)  # fmt: skip
LINK = {"type": "resource_link", "uri": "http://x/" + said("uri"), "name": said("link")}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": False}, "logging": dict[str, str]()},
    "serverInfo": {"name": said("server"), "version": said("version"), "title": said("server title")},
    "instructions": said("instructions"),
}
SEEN = {"content": [{"type": "text", "text": said("result")}, LINK], "structuredContent": {said("key"): said("value")}}
NOISY: Mapping[str, object] = {
    "at start": [complaint("starting")],
    "on": {
        "initialize": [{"result": HELLO}],
        "tools/list": [
            complaint("listing"),
            {"result": {"tools": [LOOKS, tool(said("name"), description="named badly")]}},
        ],
        "tools/call": [complaint("calling"), {"log": said("log")}, {"line": said("junk")}, {"result": SEEN}],
        "server/discover": [{"error": {"code": -32601, "message": said("error"), "data": said("data")}}],
    },
}
"""An MCP server that says noise wherever it may say anything."""
ANSWERS = (
    head(more=f"x-noise: \x1b]0;{MARK}\r\n")
    + chunk({"role": "assistant", "reasoning_content": said("thinking")}, model=said("model"))
    + calls(LOOK)
    + chunk(finish="tool_calls")
    + DONE,
    text(MARKDOWN),
    asks((said("unknown"), said("unreadable"))),
    head("400 Bad", kind="application/json") + REFUSAL.encode(),
)


def test_nothing_that_a_server_or_a_model_says_acts_on_the_terminal(tmp_path: Path) -> None:
    with peer_in_thread(*ANSWERS) as peer:
        mine = f'model = "mine/m"\n[providers.mine]\ndialect = "openai"\nbase_url = "{peer.url}"\n'
        with program(tmp_path, config=mine + mcp_server(NOISY).table("noisy"), size=(140, 40)) as terminal:
            terminal.until_shown("● noisy", "▸ connections")
            for key in (F2, "g", "j", "\r"):
                terminal.type(key)
            terminal.until_shown("▾ connections", "starting begin ␛]52;c;EVIL")
            press(terminal, "\r", "G")
            terminal.type(F2, "Ask anything")
            terminal.type(F2)
            paste(terminal, said("pasted"))
            terminal.until_shown("k='file:///etc/passwd']x[/link] end")
            terminal.type("\r", "Approve 1 call?", "104 hidden characters", "title begin ␛]52")
            terminal.type("d", "link] end: description begin", "d shows the arguments")  # the whole description
            terminal.type("d")
            decide(terminal, "y")
            terminal.until_shown(
                "item begin", "[red]ink[/red][@click=app.quit]press[/]", "⟨202e⟩⟨2066⟩", "result begin"
            )
            paste(terminal, "again")
            terminal.until_shown("again")
            terminal.type("\r", "refusal begin")
            show_all(terminal)
            read_the_servers_screen(terminal)
            terminal.type("\x1b[15~", "Sessions", "pasted begin")
            assert terminal.end("\x11") == (0, True)
            is_harmless(terminal)


def read_the_servers_screen(terminal: Terminal) -> None:
    """Open what `f3` says of the server: its instructions, and its standard error."""
    terminal.type("\x1bOR", "Servers", "introduced as", "▸ stderr")
    terminal.type("\t")
    while ">▸ instructions" not in terminal.screen.text:
        terminal.type("j")
        terminal.settle(0.1)
    terminal.type("\r", "instructions begin")
    terminal.type("\x1b[F", ">▸ stderr")
    terminal.type("\r\x1b[F", "calling begin")


def is_harmless(terminal: Terminal) -> None:
    """Everything that was written is text, or one of the sequences that the program itself has use for."""
    assert {sequence for sequence in terminal.screen.sequences if KNOWN.fullmatch(sequence) is None} == set()
    drawn = re.sub("\x1b\\](?:22;[a-z]+|11;\\?)\x07", "", bytes(terminal.written).decode())
    assert sorted(set(ACTING.findall(drawn))) == []


def paste(terminal: Terminal, text: str) -> None:
    """As a terminal hands over what is pasted; one that does not filter."""
    terminal.type(f"\x1b[200~{text}\x1b[201~")


def decide(terminal: Terminal, key: str) -> None:
    """Press the key that decides until it does: within the quiet period it is swallowed."""
    while "Approve" in terminal.screen.text:
        terminal.until(lambda: READY.search(terminal.screen.text) or "Approve" not in terminal.screen.text)
        terminal.type(key)
        terminal.settle(0.6)


def show_all(terminal: Terminal) -> None:
    """The inspector alone: rows with their relatives, their bytes, the other tabs; and back."""
    terminal.type(F2)
    terminal.until(lambda: "Ask anything" not in terminal.screen.text)
    # The refusal, what it refuses, which repeats all, and a frame.
    for keys, row, tabs in (("Gh", "LLM 4 response", 1), ("k", "LLM 4 request", 1), ("Gl", "noisy #4 result", 2)):
        press(terminal, *keys)
        terminal.until_shown(f"{row} │")  # its details, to which a key goes
        terminal.type("\r")
        terminal.until(lambda: is_in_details(terminal))
        press(terminal, *[RIGHT] * tabs)
        terminal.type(BACK)
        terminal.until(lambda: not is_in_details(terminal))
    press(terminal, *"kkkkkk")
    terminal.type(F2, "Ask anything")
    terminal.type(F2, "Ask anything", " MCP ──")


def press(terminal: Terminal, *keys: str) -> None:
    for key in keys:
        terminal.type(key)
        terminal.settle(0.06)


def is_in_details(terminal: Terminal) -> bool:
    """Whether the detail has the focus: its line of tabs is marked."""
    return re.search(r"^> ?\[?(?:Parts|Frame|Decision|Raw)\b", terminal.screen.text, re.MULTILINE) is not None
