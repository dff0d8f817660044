"""Files attached to a message: read once, when chosen, so the model gets exactly the file that was shown."""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from tui_host.capture.visible import line
from tui_host.errors import TuiHostError
from tui_host.llm.messages import Image, Part, Text

MOST_IMAGE = 20_000_000
"""Largest image, in bytes; no provider accepts more."""
MOST_TEXT = 1_000_000
"""Largest text file, in bytes: few context windows hold more."""
MOST_TOGETHER = 32_000_000
"""Largest total of all files of a message, in bytes."""
_LONGEST_NAME = 80
_SIGNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_MARK = re.compile(r"\[([^\[\]\n]{1,100}): (?:image/(?:png|jpeg|gif|webp)|text), [\d.]+ k?M?B(?:, \d+)?\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An attached file.

    Attributes:
        name: The file name, made safe for display.
        kind: `image/png` and the like, or `text`.
        size: Size in bytes.
        part: The content for the model.
    """

    name: str
    kind: str
    size: int
    part: Image | Text

    @property
    def words(self) -> str:
        """The description on screen: «photo.png: image/png, 12.3 kB»; in brackets, a mark for the file within a message."""
        return f"{self.name}: {self.kind}, {_size(self.size)}"


def read_attached(path: str) -> Attached:
    """Read a file to attach. Blocks on the disk.

    Args:
        path: As typed; `~` is the home folder.

    Raises:
        TuiHostError: The file cannot be read or sent; says why.
    """
    name = line(os.path.basename(path.rstrip("/")) or path, _LONGEST_NAME).translate({91: "(", 93: ")", 34: "'"})  # noqa: PTH119 - a text, as it was typed
    data = _bytes(Path(path).expanduser(), name)
    kind = next((kind for sign, kind in _SIGNS if sign.match(data)), "text")
    most = MOST_TEXT if kind == "text" else MOST_IMAGE
    if len(data) > most:
        what = f"{name} is larger than {_size(most).replace('.0', '')}, the limit for {_a(kind)}"
        raise TuiHostError(what, remedy="make it smaller")
    if kind != "text":
        part = Image(media_type=kind, data=base64.b64encode(data).decode())
        return Attached(name=name, kind=kind, size=len(data), part=part)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        what = f"{name} is neither a supported image (PNG, JPEG, GIF, WebP) nor UTF-8 text"
        raise TuiHostError(what, remedy="convert it")
    return Attached(name=name, kind=kind, size=len(data), part=Text(text=_framed(name, text.rstrip())))


def _framed(name: str, text: str) -> str:
    """Wrap a file's text in tags, choosing a closing tag that the text does not contain."""
    tags = chain(("file",), (f"file-{number}" for number in count(2)))
    tag = next(tag for tag in tags if f"</{tag}>" not in text)
    return f'\n\n<{tag} name="{name}">\n{text}\n</{tag}>'


def _size(size: int) -> str:
    from tui_host.llm.outline import size_words  # late: the prompt needs it only where there is a file

    return size_words(size)


def _a(kind: str) -> str:
    return "a text" if kind == "text" else "an image"


def _bytes(path: Path, name: str) -> bytes:
    """Read a file, at most one byte more than the limit.

    Raises:
        TuiHostError: The path does not exist, cannot be read, or is not a file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would be waited for
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise TuiHostError(f"{name} is not a file", remedy="choose a file")
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MOST_IMAGE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be read: {reason}", remedy="choose another file") from error


def check_together(attached: Sequence[Attached]) -> None:
    """Refuse files that are too large together.

    Raises:
        TuiHostError: The files exceed the limit.
    """
    size = sum(file.size for file in attached)
    if size > MOST_TOGETHER:
        what = f"the files have {_size(size)} together; the limit for a message is {_size(MOST_TOGETHER).replace('.0', '')}"
        raise TuiHostError(what, remedy="leave some out")


def message_parts(text: str, attached: Sequence[Attached] = ()) -> tuple[Part, ...]:
    """Return the parts of a user message: the text, in which marks stand for the files, then the files."""
    return (Text(text=text), *(file.part for file in attached))


def with_marks(text: str, attached: Sequence[Attached]) -> str:
    """Append a mark for each file below the text."""
    return "\n\n".join((text, "\n".join(f"[{file.words}]" for file in attached))) if attached else text


def unmarked(text: str, known: Sequence[str] = ()) -> str:
    """Replace each mark without a file by `@name`, so nobody mistakes the mark for an attachment."""
    return _MARK.sub(lambda mark: mark[0] if mark[0] in known else f"@{mark[1]}", text)
