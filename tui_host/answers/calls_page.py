"""The calls of a turn or a session: who decided on each, after how long, how long it ran, and what came of it."""

from __future__ import annotations

from collections import Counter

from tui_host.answers.bodies import first_data
from tui_host.answers.names import call_name
from tui_host.answers.sheet import Sheet, SheetLine, Style, Value
from tui_host.answers.values import changes
from tui_host.answers.wires import Section, Wires
from tui_host.capture.json.narrowing import text_or_empty
from tui_host.capture.json.reading import read_object
from tui_host.capture.record import lasted
from tui_host.capture.visible import line, tool_name

EMPTY = "The calls stand here once a model asks for a tool: who decided on each, after how long, and what came of it."
_DECIDERS = {"rule": "a rule", "flag": "a flag", "default": "tui-host"}
_STYLES: dict[str, Style] = {"result": "", "not sent": "note", "waits": "what", "runs": "what"}  # all others failed


def calls_page(wires: Wires, section: Section) -> Sheet:
    """Make the page `Calls` of a heading: its calls in the order in which they were asked for."""
    ladder, own = wires.ladder, {row.number for row in section.rows(wires.ladder)}
    calls = sorted((numbers[0], call) for call, numbers in ladder.calls.items() if numbers[0] in own)
    decided, lines = Counter[str](), list[SheetLine]()
    for _, call in calls:
        rows = [ladder.rows[number] for number in ladder.calls[call]]
        decision = next((row for row in rows if row.kind == "decision"), None)
        frames = [row for row in rows if row.kind == "frame" and row.method in {"tools/call", "resources/read"}]
        sent = next((row for row in reversed(frames) if row.outward and not row.answer), None)
        answer = None if sent is None else ladder.partner_of(sent)
        words, owner = "who decided was not recorded", decision or sent
        name = ladder.tools.get(call, "")
        if owner is not None:
            name = tool_name(owner.peer, owner.tool or owner.method, is_decided=True)
        if decision is not None:
            words, value = decision.words, read_object(first_data(wires, decision))
            verdict, by = text_or_empty(value.get("decision")), text_or_empty(value.get("by"))
            edited = changes(value.get("asked"), value.get("sent")) if verdict == "edited" else ""
            words += f": {edited}" if edited else ""
            decided[f"{verdict} by {_DECIDERS.get(by, wires.user)}"] += 1
        outcome, why, ran = "waits" if decision is None else "not sent", "", None
        if answer is not None and sent is not None:
            ran = lasted(sent.mono_ns, answer.mono_ns)
            outcome, why = ("error", answer.words) if answer.error else ("result", "")
        elif sent is not None:
            outcome, why = "runs" if sent.state == "open" and not sent.ending else "no answer", sent.ending
        words = "  ".join(filter(None, (call_name(wires, call), name, " · ".join(filter(None, (words, why))))))
        label, style, row = line(wires.hide(words), 300), _STYLES.get(outcome, "failed"), owner or rows[0]
        values: dict[str, Value] = {"ran": None if ran is None else ran / 1e6, "outcome": outcome}
        target = row.capture, row.seq
        lines.append(SheetLine(key=call, label=label, values=values, style=style, is_wrapped=True, target=target))
    notes = [" · ".join(f"{count:,} {words}" for words, count in decided.most_common())] if decided else []
    return Sheet(what=f"calls of {section.words}: {len(lines)}", lines=lines, notes=notes, empty=EMPTY)
