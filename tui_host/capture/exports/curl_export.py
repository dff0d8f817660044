"""Exports the requests to models of a session as a shell script for curl.

A body goes to curl through a pipe: an argument may not be longer than 128 kB on Linux. Credentials are taken from the environment,
under the names that the configuration gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui_host.capture.content_codings import decode_records
from tui_host.capture.exports.parts import Records, keyless, keyless_record
from tui_host.capture.record import MISSING, Head
from tui_host.capture.redact.known_secrets import mark
from tui_host.capture.session_summary import SessionInfo
from tui_host.capture.visible import line, visible

# Headers that curl writes itself, or that belong to a coding that the script does not repeat.
_OF_CURL = re.compile(r"(?i)host|content-length|transfer-encoding|connection|accept-encoding|expect|content-encoding")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # source: RFC 9110, section 5.6.2
_NOT_OF_NAMES = re.compile(r"\W|^(?=\d)", re.ASCII)
_NOT_PLAIN = re.compile(rb"[^\n\t\x20-\x7e]|[\\%']")


def pieces(session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    """Yield a script that sends each request to a model again, in order."""
    yield _line(f"#!/bin/sh\n# {line(keyless(session.title), 200)}")
    yield _line(f"# The requests to models of session {session.id}, as they were sent.\nset -u")
    asked: set[str] = set()
    number = 0
    for record, _ in records:
        if record.wire != "llm" or record.kind != "request":
            continue
        head, place = record.head or Head(), record.place
        number += head.method != "GET"
        name = "lists models" if head.method == "GET" else f"LLM {number}"
        where = f" · turn {place.turn}, step {place.step or 1}" if place.turn else ""
        yield _line(f"\n# {name}{where} · {line(record.peer, 80)}")
        if record.malformed == MISSING or not (head.url or "").startswith(("http://", "https://")):
            yield _line("# left out: this request, or its address, was not captured")
            continue
        names = [secret.name for secret in record.redacted if not secret.coding]
        marks = {mark(name): _NOT_OF_NAMES.sub("_", name) for name in names}
        for variable in sorted({*marks.values()} - asked):
            asked.add(variable)
            yield _line(f': "${{{variable}:?is not set: it was taken out of the recording}}"')
        body = decode_records([keyless_record(record)])[0]  # a vendor's key has no variable: its mark is sent
        words = ["curl --silent --show-error --no-buffer --globoff"]
        if head.method not in {"POST" if body else "GET", None}:
            words.append(f"--request {_quoted(head.method or '', {})}")
        for header, value in head.headers:
            if _HEADER_NAME.fullmatch(header) and not _OF_CURL.fullmatch(header):
                words.append(f"--header {_quoted(f'{header}: {value}' if value else f'{header};', marks)}")
        if body and not head.value("content-type"):
            words.append("--header 'Content-Type:'")
        if body:
            # Bytes that a terminal obeys or hides, or that are no text, become escapes.
            text = body.decode("utf-8", "replace")
            if text.encode() == body and visible(text) == text:
                yield f"printf %s {_quoted(text, marks)} | ".encode()
            else:
                yield b"printf '%s' | " % _NOT_PLAIN.sub(
                    lambda at: b"%%" if at[0] == b"%" else b"\\%03o" % at[0][0], body
                )
            words.append("--data-binary @-")
        words.append(f"--url {_quoted(head.url or '', marks)}")
        yield _line(" \\\n  ".join(words))


def _quoted(text: str, marks: Mapping[str, str]) -> str:
    """Quote a text for the shell, with a variable in place of each mark."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    for written, variable in marks.items():
        quoted = quoted.replace(written, f"'\"${{{variable}}}\"'")
    return quoted


def _line(text: str) -> bytes:
    return f"{text}\n".encode("utf-8", "backslashreplace")
