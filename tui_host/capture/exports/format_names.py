"""The formats of exports, in words, for those who choose one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        suffix: The end of its files' names.
        words: What it contains.
    """

    suffix: str
    words: str


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "jsonl": Format(
            ".jsonl", "every record with its exact bytes, an object on each line; `sessions import` reads it"
        ),
        "har": Format(".har", "the HTTP exchanges of both lanes, for browsers and proxies (HAR 1.2)"),
        "curl": Format(".sh", "a shell script with each request to a model; credentials come from the environment"),
        "markdown": Format(".md", "the conversation, and under each step its requests, responses and frames"),
        "mermaid": Format(".mmd", "a sequence diagram"),
        "article": Format(
            ".txt", "the ladder as text for an article: each message once, long texts cut, additions labelled"
        ),
        "html": Format(".html", "one file for browsers: the chat, the ladder and the answers to click through"),
        "raw": Format(".bin", "the bytes of bodies and frames, nothing added"),
    }
)
