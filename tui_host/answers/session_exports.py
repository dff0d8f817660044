"""All formats in which a session is exported: those of records alone, and those that take requests and answers apart."""

from __future__ import annotations

from collections.abc import Mapping

from tui_host.answers import article_export, html_export
from tui_host.capture.exports.formats import FORMATS, Format

SESSION_EXPORTS: Mapping[str, Format] = {
    **{name: form for name, form in FORMATS.items() if name != "raw"},
    "article": Format(
        ".txt",
        "the ladder as text for an article: each message once, long texts cut, additions labelled",
        article_export.pieces,
    ),
    "html": Format(
        ".html", "one file for browsers: the chat, the ladder and the answers to click through", html_export.pieces
    ),
    "raw": FORMATS["raw"],
}
