"""What a dialect reads out of a body, and what a request of it says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from tests.llm.recorded.case import Case, Recorded
from tui_host.llm.dialects.table import dialect
from tui_host.llm.events import ModelEvent
from tui_host.llm.fold import Fold

PROVIDER, MODEL = "p", "m"


def events_of(name: str, pieces: Iterable[bytes], content_type: str = "") -> list[ModelEvent]:
    """All events of a response that came in these pieces."""
    decoder = dialect(name).decoder(content_type)
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return found + decoder.finish()


def fold_of(name: str, *pieces: bytes) -> Fold:
    """A response, folded."""
    fold = Fold(provider=PROVIDER, model=MODEL, call_id=lambda number: f"call-{number}")
    for found in events_of(name, pieces):
        fold.add(found)
    return fold


def said(fold: Fold) -> Case:
    """What a response said, in the form of what it should say."""
    return Case(
        body=b"",
        text=fold.text,
        thinking=fold.thinking,
        calls=tuple((found.call.name, found.call.arguments) for found in fold.calls),
        ids=tuple(found.call.wire_id for found in fold.calls),
        stop=fold.stop or "cut",
        vendor=fold.vendor_stop,
        usage=fold.usage,
        failure=fold.failure,
    )


def means(case: Case) -> Case:
    """What a recorded stream should say."""
    return replace(case, body=b"", echoes=())


def forms(recorded: Recorded, body: bytes) -> dict[str, bytes]:
    """The same body in every form in which it may be put on the wire."""
    found = {
        "CRLF": body.replace(b"\n", b"\r\n"),
        "no last newline": body.rstrip(b"\n"),
        "a byte order mark": b"\xef\xbb\xbf" + body,
        "blank lines before": b"\n\n" + body,
        "escapes": _escaped(body),
    }
    if recorded.framing == "lines":
        return found | {"blank lines between": body.replace(b"\n", b"\n\n")}
    return found | {
        "CR": body.replace(b"\n", b"\r"),
        "one last newline": body.rstrip(b"\n") + b"\n",
        "no space after the colon": body.replace(b"data: ", b"data:").replace(b"event: ", b"event:"),
        "comments": b": hello\n\n" + body.replace(b"\n\n", b"\n\n: keep-alive\n\n"),
        "ids and retries": b"retry: 100\n\n" + body.replace(b"data: {", b"id: 7\ndata: {"),
        "no names": b"\n".join(line for line in body.split(b"\n") if not line.startswith(b"event:")),
        "names after the data": _swapped(body),
    }


def _escaped(body: bytes) -> bytes:
    """All that is not ASCII written as escapes."""
    return b"".join(
        json.dumps(character)[1:-1].encode() if ord(character) > 127 else character.encode()
        for character in body.decode()
    )


def _swapped(body: bytes) -> bytes:
    blocks = [block.split(b"\n") for block in body.split(b"\n\n")]
    return b"\n\n".join(b"\n".join(sorted(block, key=_is_name)) for block in blocks)


def _is_name(line: bytes) -> bool:
    return line.startswith(b"event:")
