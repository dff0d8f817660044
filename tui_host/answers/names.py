"""What people and programs call things: `LLM 4`, `llm:4`, `lab #4`, `call 1.1.2`, a tool, `turn 2`. One reader for all commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from tui_host.answers.outlines import taken
from tui_host.answers.pages import AnswerPage, Subject
from tui_host.answers.wires import Section, Wires
from tui_host.capture.ladder.row import Row
from tui_host.capture.visible import line
from tui_host.errors import SettingsError, TuiHostError

_NAME = re.compile(r"(?:(?:llm|turn|call|row)\b[ :]*)?\S+(?:\s+#\S+)?", re.IGNORECASE)  # `LLM 3 lab #4` are two
_NUMBER = re.compile(r"(?:(?P<what>llm|turn|row)[ :]*)?(?P<number>\d{1,9})", re.IGNORECASE)
_MOST = {"": 0, "REQUESTS": 2}  # names that a page takes; all others take one
_SHOWN = 400


class UnknownNameError(TuiHostError):
    """Nothing in a session is called so."""


def _number(name: str, what: str) -> int | None:
    match = _NUMBER.fullmatch(name)
    is_meant = match is not None and (match["what"] or what).lower() == what
    return int(match["number"]) if match is not None and is_meant else None


def turn_named(wires: Wires, name: str) -> Section:
    """Return the turn that is called `2` or `turn 2`."""
    number = _number(name, "turn")
    row = next((row for row in wires.ladder.rows if row.turn == number), None)
    if row is None:
        turns = max(wires.ladder.sections.turns.values(), default=0)
        raise _unknown("turn", name, f"its turns are 1 to {turns}" if turns else "it has no turns")
    return Section(clock=row.clock, turn=row.turn)


def request_named(wires: Wires, name: str) -> Row:
    """Return the request to a model that is called `4`, `LLM 4`, `llm:4`, or by the id of its exchange."""
    rows, requests, number = wires.ladder.rows, wires.ladder.numbers.requests, _number(name, "llm")
    row = rows[requests[number - 1]] if number is not None and 1 <= number <= len(requests) else None
    row = row or next((row for row in rows if row.kind == "request" and row.exchange == name), None)
    if row is None:
        count = len(requests)
        raise _unknown("request", name, f"its requests are LLM 1 to LLM {count}" if count else "it asked no model")
    return row


def row_named(wires: Wires, name: str) -> Row:
    """Return a row by its number in the list (`17`, `row 17`), or by the name that pages print: `LLM 4`, `lab #4`."""
    number = _number(name, "row")
    if number is not None and number < len(wires.ladder.rows):
        return wires.ladder.rows[number]
    if _number(name, "llm") is not None and number is None:
        return request_named(wires, name)
    row = next(_rows_called(wires, name), None)
    if row is None:
        raise _unknown("row", name, f"rows are called LLM 1, lab #4, or 0 to {len(wires.ladder.rows) - 1}")
    return row


def call_named(wires: Wires, name: str) -> Row:
    """Return a row of the call that is called `1.1.2`, `call 1.1.2`, `lab #4` or `LLM 4`; of a tool's calls the last one."""
    ladder, key = wires.ladder, re.sub(r"(?i)^call[ :]+", "", name)
    rows, answer = ladder.rows, None
    if (number := None if key.isdecimal() else _number(key, "llm")) is not None:
        answer = ladder.partner(request_named(wires, f"{number}").number)
    places = (  # of another host's calls, which have keys of their own: turn, step and place in an answer
        row.number
        for row in rows
        for place in (call.rpartition(".")[2] for call in row.calls if row.kind == "response")
        if place.isdecimal() and key == f"{row.turn}.{row.step}.{int(place) + 1}"
    )
    tools = (
        at for at in reversed(range(len(rows))) if rows.calls[at] and rows.text("tool", at) == key.rpartition(".")[2]
    )
    of_tool = (at for at in tools if key in {rows[at].tool, f"{rows[at].peer}.{rows[at].tool}"})
    named = (row.number for row in _rows_called(wires, key) if row.calls)
    at_call = next(chain(ladder.calls.get(key, ()), filter(None, (answer,)), named, places, of_tool), None)
    if at_call is None or not rows.calls[at_call]:
        calls = ", ".join(dict.fromkeys(call for at in range(len(rows)) for call in sorted(rows.calls[at])))
        raise _unknown("call", name, f"its calls are {line(calls, _SHOWN)}" if calls else "it has no calls")
    call = key if key in rows.calls[at_call] else min(rows.calls[at_call])
    return next((rows[at] for at in ladder.calls.get(call, ()) if len(rows.calls[at]) == 1), rows[at_call])


def rows_named(wires: Wires, name: str) -> Sequence[Row]:
    """Return the row that is called `LLM 4` (or `4`) or `lab #4` and its other half, or the rows of the call `1.1.2`, a server's first."""
    ladder, is_request = wires.ladder, _number(name, "llm") is not None
    if is_request or "#" in name or _number(name, "row") is not None:
        row = request_named(wires, name) if is_request else row_named(wires, name)
        return [row, *filter(None, (ladder.partner_of(row),))]
    call = min(call_named(wires, name).calls)
    return sorted((ladder.rows[at] for at in ladder.calls[call]), key=lambda row: row.lane != "mcp")


def call_name(wires: Wires, call: str) -> str:
    """Return what a call is called: `1.1.2`; of another host's call, whose key is long, turn, step and place in the answer."""
    rows, (key, _, place) = wires.ladder.rows, call.rpartition(".")
    asked = next((rows[at] for at in wires.ladder.calls.get(call, ()) if rows[at].kind == "response"), None)
    is_long = asked is not None and place.isdecimal() and key == f"{asked.capture}.{asked.exchange}"
    return f"{asked.turn}.{asked.step}.{int(place) + 1}" if asked is not None and is_long else line(call, 60)


def subject_named(
    wires: Wires, page: AnswerPage, text: str, elsewhere: Callable[[str], Wires] | None = None
) -> Subject:
    """Return what a page is about: what is named behind its command, else the session, or the last of its kind.

    `elsewhere` reads another session, for a request that is called `SESSION:3`.
    """
    names = _NAME.findall(text)
    most = _MOST.get(page.takes, 1)
    if len(names) > most:
        takes = f"{most} name{'s' * (most > 1)}, not {len(names)}" if most else "no names"
        raise SettingsError(f"it takes {takes}", page.command, f"write {page.command} {page.takes}".rstrip())
    match page.takes:
        case "REQUEST" if names and not names[0].lower().startswith("turn"):
            return request_named(wires, names[0])
        case "TURN" | "REQUEST" if names:
            return turn_named(wires, names[0])
        case "REQUESTS":
            requests = wires.ladder.numbers.requests
            row = request_named(wires, names[-1] if names else f"{len(requests)}")
            wires.chosen.pop(row.number, None)
            if len(names) > 1:
                session, _, number = names[0].rpartition(":")
                is_here = session.lower() in {"", "llm"} or elsewhere is None
                other = wires if is_here or elsewhere is None else elsewhere(session)
                earlier = request_named(other, names[0] if is_here else number)
                compared = earlier if is_here else taken(other, earlier, session)
                if compared is None:
                    raise _unknown(
                        "readable request", names[0], "its body is missing, too large, or of no known dialect"
                    )
                wires.chosen[row.number] = compared
            return row
        case "CALL":
            return call_named(wires, names[0] if names else next(reversed(wires.ladder.calls), "1.1.1"))
        case _:
            return Section(is_session=True)


def _rows_called(wires: Wires, name: str) -> Iterator[Row]:
    name, (_, _, number) = " ".join(name.split()).lower(), name.rpartition("#")
    rows = wires.ladder.rows
    for at in range(len(rows)) if number else ():
        if rows.own["rpc_id"][at] == number and wires.called(rows[at]).lower() == name:
            yield rows[at]


def _unknown(what: str, name: str, remedy: str) -> UnknownNameError:
    return UnknownNameError(f"has no {what} {line(re.sub(rf'(?i)^{what}[ :]+', '', name), 60)}", "this session", remedy)
