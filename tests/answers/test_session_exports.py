"""Articles and pages for browsers: each text once, labelled with who put it in, and nothing foreign acts."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser

from typing_extensions import override

from tests.capture.drafts import SESSION, llm
from tests.capture.test_exports import Kept, exchange, link, over_http, two_turns
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.capture.record import Head, Place, Record
from tui_host.capture.session_summary import SessionInfo
from tui_host.errors import JSON

HOSTILE = (
    """</pre><script>alert(1)</script>&lt; "' <img src=//e.example/x onerror=x> ``` ~~~ \x1b[2J \u202e <!-- ]]> {{x}}"""
)
INFO = SessionInfo(id=SESSION, title=HOSTILE, source="chat", model=f"m/{HOSTILE}", protocol=HOSTILE)
SYSTEM = "You are careful. Tools are called so: <use/>. " * 30
ANSWER = "The answer, in many words so that a reference to it is worth more than to say it again."
OPEN_TAGS = {"meta", "!doctype", "img", "br", "hr"}


def stream(text: str) -> bytes:
    event = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
    return b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(event).encode()


def conversation(count: int) -> list[Record]:
    """So many turns, each request with all messages before it; the system prompt was put in by the tool protocol."""
    messages: list[dict[str, str]] = [{"role": "system", "content": SYSTEM}]
    drafts: list[Record] = []
    for turn in range(1, count + 1):
        messages.append({"role": "user", "content": f"question {turn} {HOSTILE}"})
        body = json.dumps({"model": "m", "temperature": 0.5, "messages": messages}, ensure_ascii=False).encode()
        start = body.index(b"You are")
        span = {"exchange": f"x{turn}", "side": "request", "layer": "wire", "start": start, "end": start + len(SYSTEM)}
        value = {"relation": "injected", "call": "", "span": span, "known": "id", "words": f"teaches {HOSTILE}"}
        place = Place(session=SESSION, turn=turn, step=1)
        drafts += exchange(f"x{turn}", body, stream(f"{ANSWER} {turn}"), turn=turn)
        drafts.insert(-3, Record(wire="host", kind="link", place=place, data=json.dumps(value).encode()))
        messages.append({"role": "assistant", "content": f"{ANSWER} {turn}"})
    return drafts


def told(name: str, drafts: Sequence[Record], items: Sequence[dict[str, JSON]] = ()) -> str:
    return b"".join(SESSION_EXPORTS[name].export(Kept(drafts, items), INFO)).decode()


def test_an_article_says_each_message_once_and_who_put_it_in() -> None:
    text = told("article", conversation(3))
    assert text.count("\nYou are careful.") == 1
    assert re.search(r"… \([\d,]+ more characters\)", text)
    assert "[added by the tool protocol: teaches " in text
    assert len(re.findall(r"\*message 1, system\*, [\d,]+ bytes: = message 1, system of LLM 1\n", text)) == 2
    assert "*message 3, assistant*" in text
    assert text.count(f"{ANSWER} 1\n") == 1
    assert "= answer of LLM 1" in text
    assert re.search(r"^    0\.00  LLM 2 <──┤     POST v1/chat/completions\S* · 4 messages$", text, re.MULTILINE)
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Turn 1", "## Turn 2", "## Turn 3"]
    assert "stderr: working" in told("article", two_turns().drafts)


@dataclass(slots=True)
class _Page:
    ids: list[str]
    targets: list[str]
    tags: list[str]
    foreign: list[str]


class _Reader(HTMLParser):
    """Reads a page strictly: what is opened is closed, and nothing but our own names anything."""

    def __init__(self) -> None:
        super().__init__()
        self.page = _Page([], [], [], [])
        self.open: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.page.ids.append(value or "")
            elif name == "href" and (value or "").startswith("#"):
                self.page.targets.append((value or "")[1:])
            elif name == "src" and (value or "").startswith("data:image/png;base64,iVBORw0KGgo"):
                self.page.targets.append("image")
                self.page.ids.append("image")
            elif name not in {"class", "charset", "name", "content", "lang", "open", "http-equiv"}:
                self.page.foreign.append(f"{name}={value}")
        if tag not in OPEN_TAGS:
            self.open.append(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag not in OPEN_TAGS:  # Markdown closes them at once
            assert self.open.pop() == tag


def page(text: str) -> _Page:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader.page


def test_a_page_is_one_file_in_which_nothing_foreign_acts_and_every_reference_leads_somewhere() -> None:
    items: list[dict[str, JSON]] = [
        {"item": "user", "turn": 1, "text": HOSTILE},
        {"item": "answer", "turn": 1, "step": 1, "text": HOSTILE, "thinking": HOSTILE},
        {"item": "call", "turn": 1, "step": 1, "call": "1.1.1", "tool": HOSTILE, "asked": HOSTILE, "result": HOSTILE},
        {"item": "note", "turn": 1, "what": HOSTILE},
    ]
    drafts = [*conversation(2), *two_turns().drafts, *over_http()]
    text = told("html", [replace(draft, peer=HOSTILE) if draft.kind == "frame" else draft for draft in drafts], items)
    read = page(text)
    assert (read.foreign, read.tags.count("script")) == ([], 1)
    assert not {"link", "iframe", "object", "base", "form", "svg"} & {*read.tags}
    assert len({*read.ids}) == len(read.ids)
    assert {*read.targets} <= {*read.ids}
    assert not {"\x1b", "\u202e"} & {*text}


def test_images_are_drawn_and_answers_are_marked_up_without_links() -> None:
    image = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(60)).decode()
    content = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}]
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    said: dict[str, JSON] = {"item": "answer", "turn": 1, "text": "**so** [it](https://e.example) <b>is</b>\n\n- `x`"}
    text = told("html", [*exchange("x1", body, stream("it"))], [said])
    assert page(text).targets.count("image") == 1
    assert "(image 1 below, 92 characters)" in text
    assert "<p><strong>so</strong> [it](https://e.example) &lt;b&gt;is&lt;/b&gt;</p>" in text
    assert "<li><code>x</code></li>" in text


def test_a_page_has_repeated_messages_once_and_is_smaller_than_three_times_the_json_lines() -> None:
    drafts = conversation(20)
    text = told("html", drafts)
    assert text.count("You are careful.") == SYSTEM.count("You are careful.")
    assert len(text.encode()) < len(told("jsonl", drafts).encode())
    small = [llm("request", "x1", b"{}", head=Head(method="POST", url="http://x/v1/chat/completions"))]
    assert len(told("html", small)) < 12_000


def test_every_body_of_any_kind_is_in_a_page_and_an_article_and_no_vendors_key() -> None:
    """Also what no dialect reads, and what a stream said when it broke."""
    key = "ghp_0123456789abcdef0123456789abcdef"
    frames = [replace(draft, data=f"{key} {{".encode()) if draft.kind == "frame" else draft for draft in over_http()]
    said = json.dumps({"messages": [{"role": "user", "content": key}]}).encode()
    odd = [
        *exchange("x1", b"not JSON at all", b"data: not either\n\n", url="http://x/unknown"),
        *over_http(),
        link("asked", "1.1.1", 1, exchange="x1"),
    ]
    for name in ("article", "html"):
        text = told(
            name, [*exchange("x1", said, stream(f"it is {key}")), *frames], [{"item": "user", "turn": 1, "text": key}]
        )
        assert key not in text
        assert text.count("⟨secret:vendor-key⟩") >= 3
        text = told(name, odd)
        assert all(words in text for words in ("not JSON at all", "not either", "tools/call"))
