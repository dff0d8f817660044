"""Files that a person sends along with a message: read once, when they are chosen; what was shown then is what is sent."""

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
"""Bytes of one image; no provider takes more."""
MOST_TEXT = 1_000_000
"""Bytes of one text: a model's whole memory is hardly larger."""
MOST_TOGETHER = 32_000_000
"""Bytes of all that goes with one message."""
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
    """A file as it goes along.

    Attributes:
        name: Its own name, fit to be shown.
        kind: `image/png` and the like, or `text`.
        size: In bytes.
        part: What the model gets.
    """

    name: str
    kind: str
    size: int
    part: Image | Text

    @property
    def words(self) -> str:
        """What is shown of it: «photo.png: image/png, 12.3 kB»; in brackets it stands in the message for the file."""
        return f"{self.name}: {self.kind}, {_size(self.size)}"


def read_attached(path: str) -> Attached:
    """The file as it can be sent. Blocks on the disk.

    Args:
        path: As the person gave it; `~` is their home.

    Raises:
        TuiHostError: It cannot be read, or cannot be sent, and why.
    """
    name = line(os.path.basename(path.rstrip("/")) or path, _LONGEST_NAME).translate({91: "(", 93: ")", 34: "'"})  # noqa: PTH119 - a text, as it was typed
    data = _bytes(Path(path).expanduser(), name)
    kind = next((kind for sign, kind in _SIGNS if sign.match(data)), "text")
    most = MOST_TEXT if kind == "text" else MOST_IMAGE
    if len(data) > most:
        what = f"{name} is larger than {_size(most).replace('.0', '')}, the most that is sent of {_a(kind)}"
        raise TuiHostError(what, remedy="make it smaller")
    if kind != "text":
        part = Image(media_type=kind, data=base64.b64encode(data).decode())
        return Attached(name=name, kind=kind, size=len(data), part=part)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        what = f"{name} is neither an image that models take (PNG, JPEG, GIF, WebP) nor a text in UTF-8"
        raise TuiHostError(what, remedy="convert it")
    return Attached(name=name, kind=kind, size=len(data), part=Text(text=_framed(name, text.rstrip())))


def _framed(name: str, text: str) -> str:
    """A file's text between tags, of which the closing one stands nowhere in it."""
    tags = chain(("file",), (f"file-{number}" for number in count(2)))
    tag = next(tag for tag in tags if f"</{tag}>" not in text)
    return f'\n\n<{tag} name="{name}">\n{text}\n</{tag}>'


def _size(size: int) -> str:
    from tui_host.llm.outline import size_words  # late: the prompt needs it only where there is a file

    return size_words(size)


def _a(kind: str) -> str:
    return "a text" if kind == "text" else "an image"


def _bytes(path: Path, name: str) -> bytes:
    """The file's bytes, one more than can be sent at most.

    Raises:
        TuiHostError: There is none, it cannot be read, or it is no file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would be waited for
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise TuiHostError(f"{name} is no file", remedy="choose a file")
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MOST_IMAGE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be read: {reason}", remedy="choose another file") from error


def check_together(attached: Sequence[Attached]) -> None:
    """Refuse more than goes with one message.

    Raises:
        TuiHostError: It is too much.
    """
    size = sum(each.size for each in attached)
    if size > MOST_TOGETHER:
        what = f"the files have {_size(size)} together; {_size(MOST_TOGETHER).replace('.0', '')} go with one message"
        raise TuiHostError(what, remedy="leave some out")


def said(text: str, attached: Sequence[Attached] = ()) -> tuple[Part, ...]:
    """A person's message: the words, in which marks stand for the files, then the files."""
    return (Text(text=text), *(each.part for each in attached))


def with_marks(text: str, attached: Sequence[Attached]) -> str:
    """The words with a mark for each file below them, where nobody has put one into them."""
    return "\n\n".join((text, "\n".join(f"[{each.words}]" for each in attached))) if attached else text


def unmarked(text: str, known: Sequence[str] = ()) -> str:
    """The text with each mark that stands for no file any more as `@name`, so that nobody takes it for one that does."""
    return _MARK.sub(lambda found: found[0] if found[0] in known else f"@{found[1]}", text)
