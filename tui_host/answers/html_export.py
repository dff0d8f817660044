"""Exports a session as one HTML file: the chat, the ladder with all that was said, and the pages of answers.

Nothing is loaded from elsewhere, and only the file's own script may run: the policy in the head says so to the browser.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from itertools import chain, count, groupby

from markdown_it import MarkdownIt

from tui_host.answers.pages import sheet_of, tabs_for, tabs_of_row
from tui_host.answers.said_texts import SIGNS, RowText, RowTexts
from tui_host.answers.sheet import Sheet, SheetLine
from tui_host.answers.values import parsed
from tui_host.answers.wires import Section, Wires, session_wires
from tui_host.capture.exports.parts import Records, keyless
from tui_host.capture.json.narrowing import number_or_zero
from tui_host.capture.json.reading import read_object
from tui_host.capture.session_summary import SessionInfo, rfc3339
from tui_host.capture.visible import line, visible

_WIDE = 200
_INDENTED = 20_000  # characters of JSON up to which each member stands on a line of its own
_OF_SECTIONS, _OF_ROWS = 4000, 300
"""Characters of a text on the pages of a turn and of a row that are shown: the ladder has all of them."""
_IMAGE = re.compile(
    r"(?<![A-Za-z0-9+/])(?:(?P<png>iVBORw0KGgo)|(?P<jpeg>/9j/[24])|(?P<gif>R0lGOD)|(?P<webp>UklGR))[A-Za-z0-9+/]{50,}={0,2}"
)
"""An image in base64, as results of tools and requests of all dialects have them."""
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "reference"])
)
_OF_SESSION = ("Servers",)  # the pages that are the same from every heading
_STYLE = """
:root{color-scheme:light dark;--b:#fff;--f:#1d2126;--m:#5f6873;--l:#dfe3e8;--p:#f4f6f8;--a:#0b62c4;--llm:#8250df;--mcp:#1a7f37;--put:#fff3d1;--e:#c62828}
@media(prefers-color-scheme:dark){:root{--b:#15181c;--f:#dde2e8;--m:#96a0ab;--l:#333a42;--p:#1e2329;--a:#6cb2ff;--llm:#c297ff;--mcp:#6fd08a;--put:#3d3317;--e:#ff8a80}}
*{box-sizing:border-box}body{margin:0;background:var(--b);color:var(--f);font:15px/1.5 system-ui,sans-serif}
header,section{padding:0 1.2rem;max-width:110rem}header{border-bottom:1px solid var(--l)}h1{font-size:1.3rem;margin:1rem 0 0}h2{font-size:1.05rem;margin:1.2rem 0 .4rem}
nav a{margin-right:1rem}a{color:var(--a)}p{margin:.3rem 0}.m{color:var(--m)}.e{color:var(--e)}
@media(min-width:75rem){main{display:grid;grid-template-columns:minmax(20rem,2fr) 3fr}#chat{border-right:1px solid var(--l);position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto}#answers{grid-column:1/-1}}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;padding:.4rem .6rem;background:var(--p);border-radius:4px;max-height:32rem;overflow:auto;font:13px/1.45 ui-monospace,monospace}
.say{white-space:pre-wrap;overflow-wrap:anywhere;padding:.4rem .7rem;margin:.5rem 0;border-left:3px solid var(--llm)}.you{border-color:var(--a);background:var(--p)}
summary{cursor:pointer;overflow-wrap:anywhere;padding:.08rem .2rem}summary:hover{background:var(--p)}details>div{margin-left:1.2rem;padding-left:.6rem;border-left:1px solid var(--l)}
.row>summary{font:13px/1.5 ui-monospace,monospace;display:grid;grid-template-columns:4rem 4rem 4.2rem 8rem 1fr;gap:0 .6rem}.row time{text-align:right;color:var(--m)}
.row b{font-weight:600}.row span{grid-column:4/-1}.row.mcp span{grid-column:5}i{font-style:normal}.llm i{color:var(--llm)}.mcp i{color:var(--mcp);text-align:right}.host i{text-align:center}
.put{background:var(--put);border-radius:4px;padding:0 .4rem;font-size:.85em;display:inline-block}:target>summary{outline:2px solid var(--a)}
.md{white-space:normal}.md :is(p,ul,ol,pre,table,h1,h2,h3,h4){margin:.3rem 0}.md :is(h1,h2,h3,h4){font-size:1.05rem}.md :is(td,th){border:1px solid var(--l);padding:.1rem .5rem}.md code{font-family:ui-monospace,monospace}
img{display:block;max-width:100%;max-height:24rem;margin:.3rem 0;border:1px solid var(--l)}
.f{float:right;color:var(--m);font-variant-numeric:tabular-nums;margin-left:1rem}.l{white-space:pre-wrap}
"""
_SCRIPT = """
function show(){let e=document.getElementById(decodeURIComponent(location.hash.slice(1)));for(let d=e;d;d=d.parentElement)if(d.tagName=="DETAILS")d.open=true;if(e)e.scrollIntoView({block:"nearest"})}
addEventListener("hashchange",show);show();
document.getElementById("all").onclick=function(){let o=this.dataset.o!="1";this.dataset.o=o?"1":"";this.textContent=o?"close all rows":"open all rows";document.querySelectorAll(".row").forEach(d=>d.open=o)}
"""


def pieces(session: SessionInfo, records: Records, items: Iterable[str]) -> Iterator[bytes]:
    """Yield the file piece by piece."""
    wires = session_wires(session, records)
    title = _text(" ".join(session.title.split())[:_WIDE]) or "untitled"
    digest = base64.b64encode(sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    parent = "" if session.parent is None else session.parent.words()
    facts = (session.id, session.model, session.protocol, rfc3339(session.created_ns), parent)
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><header><h1>{title}</h1>",
        f'<p class="m">{" · ".join(_text(fact) for fact in facts if fact)} · tui-host</p>',
        '<nav><a href="#chat">Chat</a><a href="#ladder">Ladder</a><a href="#answers">Answers</a>',
        '<button id="all">open all rows</button></nav></header>\n<main><section id="chat"><h2>Chat</h2>',
    )
    ladder = '</section>\n<section id="ladder"><h2>LLM │ MCP</h2>'
    answers = '</section>\n<section id="answers"><h2>Answers about the session</h2>'
    chat, pages = _chat(wires, session, items), _section_pages(wires, Section(is_session=True))
    end = f"</section></main><script>{_SCRIPT}</script></body></html>\n"
    for piece in chain(head, chat, (ladder,), _ladder(wires), (answers,), pages, (end,)):
        yield piece.encode("utf-8", "backslashreplace")


def _text(text: str) -> str:
    """Return foreign text for HTML: nothing in it is markup, and nothing is hidden."""
    return escape(visible(keyless(text)), quote=False)


def _line(text: str) -> str:
    return escape(line(keyless(text), _WIDE), quote=False)


def _pre(text: str, most: int = 0) -> str:
    """Return a text, or its beginning, with its images below it, JSON indented."""
    images = [f'<img alt="" src="data:image/{match.lastgroup};base64,{match[0]}">' for match in _IMAGE.finditer(text)]
    numbers = count(1)
    text = _IMAGE.sub(lambda match: f"(image {next(numbers)} below, {len(match[0]):,} characters)", text)
    is_json = len(text) <= _INDENTED and text.lstrip().startswith(("{", "["))
    if is_json and (value := parsed(text)) is not None:
        text = json.dumps(value, ensure_ascii=False, indent=1)
    if most and len(text) > most:
        text = f"{text[:most]}… ({len(text) - most:,} more characters)"
    return f"<pre>{_text(text)}</pre>{''.join(images)}"


# The chat.


def _chat(wires: Wires, session: SessionInfo, items: Iterable[str]) -> Iterator[str]:
    rows: dict[str, int] = {}
    for row in wires.ladder.rows:
        if row.lane != "llm":
            rows |= {call: row.number for call in row.calls if call not in rows}
    turn = 0
    for text in items:
        item = read_object(text.encode("utf-8", "surrogatepass"))
        if (number := number_or_zero(item.get("turn"))) > turn:
            turn = number
            yield f'<p class="m"><a href="#t{turn}">turn {turn}</a></p>'
        words = defaultdict(str, {name: value for name, value in item.items() if isinstance(value, str)})
        match words["item"]:
            case "user":
                yield f'<div class="say you"><b>{session.user}</b>\n{_text(words["text"])}</div>\n'
            case "answer":
                if words["thinking"]:
                    yield f'<details><summary class="m">thinking</summary>{_pre(words["thinking"])}</details>\n'
                if words["text"].strip():
                    # Links and images stay as they are written, and what hides is shown.
                    yield f'<div class="say md">{_MARKDOWN.render(visible(keyless(words["text"])))}</div>\n'
            case "call":
                name, number = ".".join(filter(None, (words["server"], words["tool"]))), rows.get(words["call"])
                called, decided = _line(f"{name} {words['sent'] or words['asked']}"), _line(words["words"])
                yield f'<details><summary>{called} <span class="m">{decided}</span></summary><div>'
                yield "" if number is None else f'<p><a href="#r{number}">in the ladder</a></p>'
                asked, sent = words["asked"], words["sent"] if words["sent"] != words["asked"] else ""
                said = (("asked", asked), ("sent", sent), ("result", words["result"]))
                yield "".join(f'<p class="m">{label}</p>{_pre(text)}' for label, text in said if text)
                yield "</div></details>\n"
            case "note" if words["what"]:
                note = " · ".join(words[name] for name in ("where", "what", "remedy") if words[name])
                yield f'<p class="m">{_text(note)}</p>\n'
            case _:
                pass


# The ladder.


def _ladder(wires: Wires) -> Iterator[str]:
    groups: dict[int, list[str]] = {0: []}
    pages: dict[int, str] = {}
    starts: dict[tuple[str, int], int] = {}
    turn_of = wires.ladder.sections.turn_of
    for turn, texts in groupby(RowTexts(wires).all(), lambda text: turn_of(text.row.number)):
        clock = ""
        for text in texts:
            clock = text.row.clock
            start = starts.setdefault((text.row.clock, turn), text.row.mono_ns or 0)
            groups.setdefault(turn, []).append("".join(_row(wires, text, start)))
        if turn:  # while its requests are at hand
            pages[turn] = "".join(_section_pages(wires, Section(clock=clock, turn=turn)))
    if rows := groups.pop(0):
        yield f'<details><summary class="m">connections, {len(rows)} rows</summary><div>{"".join(rows)}</div></details>'
    for turn, rows in groups.items():
        yield f'<h2 id="t{turn}">turn {turn}</h2>{pages.get(turn, "")}'
        yield from rows


def _row(wires: Wires, text: RowText, start_ns: int) -> Iterator[str]:
    row, rows = text.row, wires.ladder.rows
    seconds = "" if row.mono_ns is None else f"{(row.mono_ns - start_ns) / 1e9:.2f}"
    name = _line(text.name) if row.lane != "host" else ""
    before, behind = ("<b></b>", f"<b>{name}</b>") if row.lane == "mcp" else (f"<b>{name}</b>", "")
    sign = escape(SIGNS.get((row.lane, row.outward), "●"))
    yield f'<details class="row {row.lane}{" e" if row.error else ""}" id="r{row.number}"><summary>'
    yield f"<time>{seconds}</time>{before}<i>{sign}</i>{behind}<span>{_line(text.words)}</span></summary><div>"
    relatives = [rows[number] for number in sorted(wires.ladder.relatives(row.number)[:8])]
    if relatives:
        named = ((relative.number, _line(f"{relative.peer} {relative.words}"[:60])) for relative in relatives)
        belongs = " · ".join(f'<a href="#r{number}">{name}</a>' for number, name in named)
        yield f'<p class="m">belongs to: {belongs}</p>'
    for piece in text.pieces:
        label = f'{_line(piece.label)} <span class="m">{piece.size:,} bytes</span>'
        links = [f'<a href="#p{passage.at}">{_line(passage.same_as)}</a>' for passage in piece.passages]
        if all(passage.same_as for passage in piece.passages):
            yield f'<p id="p{piece.number}">{label} = {", ".join(links)}</p>'
            continue
        opened = " open" if len(text.pieces) == 1 else ""
        yield f'<details id="p{piece.number}"{opened}><summary>{label}</summary><div>'
        for passage, link in zip(piece.passages, links, strict=True):
            if passage.by:
                yield f'<p class="put">{_line(passage.by)}</p>'
            yield f"<p>= {link}</p>" if passage.same_as else _pre(passage.text)
        yield "</div></details>"
    for name in tabs_of_row(row):
        if name != "Bill":  # that of its turn stands above
            yield from _sheet(wires, name, sheet_of(name, wires, row), _OF_ROWS)
    yield "</div></details>\n"


# The answers.


def _section_pages(wires: Wires, section: Section) -> Iterator[str]:
    for name in tabs_for("session" if section.is_session else "turn"):
        if section.is_session or name not in _OF_SESSION:
            yield from _sheet(wires, name, sheet_of(name, wires, section), _OF_SECTIONS)


def _sheet(wires: Wires, name: str, sheet: Sheet, most: int) -> Iterator[str]:
    if not sheet.lines:
        return
    yield f"<details><summary>{_line(name)} · {_line(sheet.what)}</summary><div>"
    for note in sheet.notes:
        yield f'<p class="m">{_line(note)}</p>'
    for entry in sheet.lines:
        yield from _sheet_line(wires, entry, most)
    yield "</div></details>\n"


def _sheet_line(wires: Wires, entry: SheetLine, most: int) -> Iterator[str]:
    number = wires.ladder.row_of(entry.target) if entry.target is not None else None
    label = f'<span class="l">{_line(entry.label)}</span>'
    label = label if number is None else f'<a href="#r{number}">{label}</a>'
    more = " · ".join(filter(None, (entry.mark, entry.note)))
    figures = "".join(f'<span class="f">{_line(figure)}</span>' for figure in reversed(entry.figures))
    words = f'{figures}{label} <span class="m">{_line(more)}</span>'
    text = entry.text() if entry.text is not None else ""
    if not text and not entry.children:
        yield f"<p>{words}</p>"
        return
    yield f"<details{' open' if entry.opened else ''}><summary>{words}</summary><div>"
    if text:
        yield _pre(text, most)
    for child in entry.children:
        yield from _sheet_line(wires, child, most)
    yield "</div></details>"
