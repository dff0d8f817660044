"""All formats in which a session is exported: those of records alone, and those that take requests and answers apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_host.answers import article_export, html_export
from tui_host.answers.recorded_wires import RecordedWires
from tui_host.capture.exports.formats import FORMATS, Format, Records
from tui_host.capture.session_summary import SessionInfo


def _wires(session: SessionInfo, records: Records) -> RecordedWires:
    return RecordedWires((record for record, _ in records), user="the user" if session.is_foreign else "you")


def _article(session: SessionInfo, records: Records, _items: Sequence[str]) -> Iterator[bytes]:
    return article_export.pieces(_wires(session, records), session)


def _html(session: SessionInfo, records: Records, items: Sequence[str]) -> Iterator[bytes]:
    return html_export.pieces(_wires(session, records), session, items)


SESSION_EXPORTS: Mapping[str, Format] = {
    **{name: form for name, form in FORMATS.items() if name != "raw"},
    "article": Format(
        ".txt", "the ladder as text for an article: each message once, long texts cut, additions labelled", _article
    ),
    "html": Format(".html", "one file for browsers: the chat, the ladder and the answers to click through", _html),
    "raw": FORMATS["raw"],
}
