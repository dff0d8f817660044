"""Results that a tool protocol tells in the words of messages, and calls that were edited: who said what in a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui_host.capture.json.narrowing import mapping
from tui_host.capture.json.reading import read_json
from tui_host.capture.ladder.row import Row
from tui_host.llm.outline import USER, Outline, Part
from tui_host.tui.sources.live import SessionSource

EDITED = "edited by the user: ran with "
"""How the result of an edited call begins."""


def result_origins(source: SessionSource, row: Row, outline: Outline) -> Mapping[str, str]:
    """Return the servers of messages that hold nothing but results, by the messages' keys.

    A result that names neither tool nor server is that of the call decided at its place, counted from the request back.
    """
    if outline.count("tools"):  # then results are messages of their own
        return {}
    from tui_host.infer.conversations.request_messages import message_of, recognise, results_of

    names = source.names(row)
    servers = {server for server, _ in names.values()}
    decided = _decided(source, row)
    messages = [(part, message_of(outline.body, part)) for part in outline.walk() if part.kind == "message"]
    taught = recognise("\n".join(message.text for _, message in messages if message.role == "host"))
    origins: dict[str, str] = {}
    for part, message in reversed([entry for entry in messages if entry[0].origin == USER]):
        owners: list[str] = []
        if taught == "native":
            continue  # an observation is a person's word there
        for told in reversed(results_of(outline.body, taught, message)):
            at_place = next(decided, "")
            server, _ = names.get(told.name, (told.name, ""))
            owners.append(server if server in servers else at_place)
        if all(owners) and owners and not message.said:
            origins[part.key] = ", ".join(dict.fromkeys(reversed(owners)))
    return origins


def _decided(source: SessionSource, row: Row) -> Iterator[str]:
    """Yield the servers of the calls decided before a request, latest first."""
    rows = source.ladder.rows
    for number in range(row.number - 1, -1, -1):
        if rows[number].kind == "decision":
            yield rows[number].peer


def edited_call(outline: Outline, part: Part) -> tuple[str, str] | None:
    """Return the model's own arguments, and those that ran; None if a result is not that of an edited call."""
    from tui_host.infer.conversations.request_messages import message_of

    text = "".join(result.text for result in message_of(outline.body, part).of("result"))
    if text.startswith("{"):
        try:
            text = "\n".join(str(value) for value in mapping(read_json(text)).values())
        except ValueError:
            return None
    if not text.startswith(EDITED):
        return None
    calls = (call for call in outline.walk() if call.kind == "call" and call.wire_id == part.wire_id)
    asked = next((call for call in calls if call.name == part.name or part.wire_id), None)
    own = "" if asked is None else "".join(call.text for call in message_of(outline.body, asked).of("call"))
    return own, text.partition("\n")[0].removeprefix(EDITED)
