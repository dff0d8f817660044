"""Exported diagrams, read by the program that draws them, whatever is said in them."""

import json
from dataclasses import replace

import pytest

from tests.capture.drafts import frame
from tests.capture.test_exports import STEP, Kept, two_turns
from tests.interop.others import DIAGRAMS_NPM, Node
from tui_host.capture.record import Record
from tui_host.errors import JSON

READ = """
import { JSDOM } from "jsdom";
import { readFileSync } from "node:fs";
globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
const text = readFileSync(0, "utf8");
await mermaid.parse(text);
const diagram = await mermaid.mermaidAPI.getDiagramFromText(text);
const said = diagram.db.getMessages().map(({ from, to, message }) => [from, to, message]);
console.log(JSON.stringify([diagram.type, [...diagram.db.getActors().keys()], said]));
"""
HOSTILE = [
    "end", "wrap: x", "nowrap:x", ";end", "#35;", "%%{init: {}}%%", "%% no", "$$x$$", "<b onclick=1>", "a->>b: c", "```",
    "Note over host: x", "participant x", "a\nb", "&lt;", "{}[]()", "\\", "天气 🌦", "\x1b[2J", "\u202e", "~|", ":", "#", "\"'",
    "loop x", "title: x", "accTitle: x", "rect rgb(0,0,0)", "---", "+x", "-x", "as as as",
]  # fmt: skip


@pytest.fixture(scope="module")
def diagrams(pytestconfig: pytest.Config) -> Node:
    return Node(pytestconfig.cache.mkdir("interop-diagrams"), DIAGRAMS_NPM)


def test_a_diagram_is_read_by_mermaid_with_every_message_of_it(diagrams: Node) -> None:
    drafts: list[Record] = [*two_turns().drafts]
    for number, text in enumerate(HOSTILE):
        call = {"jsonrpc": "2.0", "id": number, "method": text, "params": {"name": text, "arguments": {text: text}}}
        drafts.append(replace(frame(json.dumps(call).encode(), connection=f"{text}#{number}"), peer=text, place=STEP))
        decision = json.dumps({"server": text, "tool": text, "words": text}).encode()
        drafts.append(Record(wire="host", kind="decision", place=STEP, data=decision))
    items: list[dict[str, JSON]] = [{"item": "user", "turn": 1, "text": text} for text in HOSTILE]
    exported = Kept(drafts, items).told("mermaid")
    kind, actors, messages = json.loads(diagrams.run(READ, exported))
    assert (kind, len(set(actors) - {"you", "host"})) == ("sequence", len(HOSTILE) + 3)
    assert len(messages) == sum(not line.startswith("  participant ") for line in exported.decode().splitlines()[1:])
