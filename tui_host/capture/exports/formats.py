"""The formats that are made of records and the chat's items alone, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_host.capture.exports import curl_export, har_export, jsonl_export, markdown_export, mermaid_export
from tui_host.capture.exports.parts import Exported, Records, keyless_record
from tui_host.capture.session_summary import SessionInfo


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a session, from its records and the items of its chat as JSON."""

    suffix: str  # the end of its files' names
    words: str  # what it contains
    pieces: Callable[[SessionInfo, Records, Sequence[str]], Iterator[bytes]]

    def export(self, source: Exported, session: SessionInfo) -> Iterator[bytes]:
        """Yield the bytes of a session."""
        return self.pieces(session, source.session_records(session.id), source.session_items(session.id))


def _raw(_session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    """Yield the bytes of bodies and frames in order. Frames of HTTP stand in the bodies that carried them."""
    for record, _ in records:
        if record.kind in {"request", "chunk"} or (record.kind == "frame" and record.exchange is None):
            yield keyless_record(record).data


_LINES = "every record with its exact bytes, an object on each line; `sessions import` reads it"
_SCRIPT = "a shell script with each request to a model; credentials come from the environment"
_DOCUMENT = "the conversation, and under each step its requests, responses and frames"
FORMATS: Mapping[str, Format] = {
    "jsonl": Format(".jsonl", _LINES, jsonl_export.pieces),
    "har": Format(".har", "the HTTP exchanges of both lanes, for browsers and proxies (HAR 1.2)", har_export.pieces),
    "curl": Format(".sh", _SCRIPT, curl_export.pieces),
    "markdown": Format(".md", _DOCUMENT, markdown_export.pieces),
    "mermaid": Format(".mmd", "a sequence diagram", mermaid_export.pieces),
    "raw": Format(".bin", "the bytes of bodies and frames, nothing added", _raw),
}
