"""Files that go with a message: what they are told by, what cannot be sent and why, and what the model gets."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_host.chat.attachments import MOST_TEXT, read_attached, unmarked
from tui_host.chat.images import LARGEST_IMAGE_BYTES
from tui_host.chat.session import message_parts
from tui_host.errors import TuiHostError
from tui_host.llm.messages import Image, Text

PNG = b"\x89PNG\r\n\x1a\n" + bytes(12)


KINDS = {
    PNG: "image/png",
    b"\xff\xd8\xff\xe0" + bytes(9): "image/jpeg",
    b"GIF89a" + bytes(9): "image/gif",
    b"RIFF\0\0\0\0WEBPVP8 ": "image/webp",
    "Grüße\n".encode(): "text",
    b"": "text",
}


def test_a_file_is_what_its_bytes_say_whatever_its_name(tmp_path: Path) -> None:
    for data, kind in KINDS.items():
        (tmp_path / "holiday [1].txt").write_bytes(data)
        found = read_attached(str(tmp_path / "holiday [1].txt"))
        assert (found.kind, found.size, found.name) == (kind, len(data), "holiday (1).txt")
        part = Image(media_type=kind, data=base64.b64encode(data).decode())
        text = Text(text=f'\n\n<file name="holiday (1).txt">\n{data.decode("utf-8", "replace").rstrip()}\n</file>')
        assert found.part == (text if kind == "text" else part)
        assert message_parts("look", [found]) == (Text(text="look"), found.part)


def test_a_text_that_holds_the_end_of_a_file_is_framed_by_what_does_not_stand_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<file>\n</file>\n<file-2>\n</file-2>\n")
    found = read_attached(str(tmp_path / "a.xml"))
    text = "<file>\n</file>\n<file-2>\n</file-2>"

    assert found.part == Text(text=f'\n\n<file-3 name="a.xml">\n{text}\n</file-3>')


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (b"%PDF-1.7\n\xe2\xe3", "neither a supported image"),
        (b"a\0b", "neither a supported image"),
        (PNG + bytes(LARGEST_IMAGE_BYTES), "larger than 20 MB"),
        (b"x" * (MOST_TEXT + 1), "larger than 1 MB"),
        (Path.mkdir, "is not a file"),
        (os.mkfifo, "is not a file"),
        (Path.is_file, "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_words(
    tmp_path: Path, made: bytes | Callable[[Path], object], words: str
) -> None:
    if isinstance(made, bytes):
        (tmp_path / "it").write_bytes(made)
    else:
        made(tmp_path / "it")
    with pytest.raises(TuiHostError, match=words):
        read_attached(str(tmp_path / "it"))


def test_a_mark_that_stands_for_nothing_any_more_is_a_name_again() -> None:
    text = "see [a.png: image/png, 1.2 kB], [b c.txt: text, 12 B, 2] and [pasted: 3 lines, 9 B]"

    assert unmarked(text) == "see @a.png, @b c.txt and [pasted: 3 lines, 9 B]"
    assert unmarked(text, ["[a.png: image/png, 1.2 kB]"]).startswith("see [a.png: image/png, 1.2 kB], @b c.txt")
