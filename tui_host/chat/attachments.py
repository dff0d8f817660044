"""Files and servers' resources attached to a message. Each is read once, when the user chooses it: the model gets what was shown."""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.chat.result_words import is_base64
from tui_host.errors import TuiHostError
from tui_host.llm.messages import Image, Part, Text

if TYPE_CHECKING:
    from tui_host.servers.catalog import Content, ToolOutput

MOST_IMAGE = 20_000_000
"""Largest image to attach, in bytes; no provider accepts larger images."""
MOST_TEXT = 1_000_000
"""Largest text file to attach, in bytes: few context windows hold more."""
MOST_TOGETHER = 32_000_000
"""Largest total of all files of a message, in bytes."""
LINKED = "address only"
"""The kind of a resource of which the message contains only the address."""
_LONGEST_NAME = 80
_LONGEST_URI = 120
_SIGNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_MARK = re.compile(
    r"\[([^\[\]\n]{1,200}): (?:(?:image/(?:png|jpeg|gif|webp)|text), [\d.]+ k?M?B|address only)(?:, \d+)?\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An attached file or resource.

    Attributes:
        name: The file name, or the resource's address and server, made safe for display.
        kind: `image/png` and the like, `text`, or `address only` for a resource whose content is not included.
        size: Size in bytes.
        part: The content for the model.
        server: The server of a resource, empty for a file.
    """

    name: str
    kind: str
    size: int
    part: Image | Text
    server: str = ""

    @property
    def words(self) -> str:
        """Description on screen: «photo.png: image/png, 12.3 kB». In brackets, this is the file's mark in a message."""
        size = "" if self.kind == LINKED else f", {_size(self.size)}"
        return f"{self.name}: {self.kind}{size}"


def read_attached(path: str) -> Attached:
    """Read a file to attach. Blocks on the disk.

    Args:
        path: The path as typed; `~` is the home folder.

    Raises:
        TuiHostError: The file cannot be read or sent; the text says why.
    """
    name = _safe(os.path.basename(path.rstrip("/")) or path, _LONGEST_NAME)  # noqa: PTH119 - a text, as it was typed
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
    return Attached(name=name, kind=kind, size=len(data), part=Text(text=_framed("file", f'name="{name}"', text)))


def attached_resource(server: str, uri: str, output: ToolOutput) -> tuple[Attached, ...]:
    """Return the contents of a resource as attachments, in order.

    Raises:
        TuiHostError: The resource is empty, too large, or of a kind that no model is given.
    """
    attached = tuple(_attached_content(server, content.uri or uri, content) for content in output.content)
    if not attached:
        raise TuiHostError(f"{line(uri, _LONGEST_URI)} has no content", server)
    return attached


def _attached_content(server: str, uri: str, content: Content) -> Attached:
    name, size = _resource_name(server, uri), content.size or 0
    is_image = bool(content.data) and content.media_type in {kind for _, kind in _SIGNS}
    if content.data and not (is_image and is_base64(content.data)):
        what = f"{name} is {content.media_type or 'data of an unknown type'}, which no model is given"
        raise TuiHostError(what, remedy="link it: then only its address is sent")
    kind = content.media_type if is_image else "text"
    if size > (MOST_IMAGE if is_image else MOST_TEXT):
        raise TuiHostError(
            f"{name} is larger than the limit for {_a(kind)}", remedy="link it: then only its address is sent"
        )
    framed = _framed("resource", f'server="{server}" uri="{_safe(uri, _LONGEST_URI)}"', content.text)
    part = Image(media_type=kind, data=content.data) if is_image else Text(text=framed, origin=f"the resource {name}")
    return Attached(name=name, kind=kind, size=size, part=part, server=server)


def linked_resource(server: str, uri: str, about: str = "") -> Attached:
    """Return a resource as an attachment that names only its address.

    Args:
        server: The server's configured name.
        uri: The address.
        about: The server's own name for the resource.
    """
    words = f" ({line(about, _LONGEST_NAME)})" if about else ""
    text = f"\n\n[A resource of the server {server}: {uri}{words}. Its content is not included.]"
    return Attached(
        name=_resource_name(server, uri),
        kind=LINKED,
        size=len(text),
        part=Text(text=text, origin=f"the address of {_resource_name(server, uri)}"),
        server=server,
    )


def _resource_name(server: str, uri: str) -> str:
    return f"{_safe(uri, _LONGEST_URI)} of {server}"


def _safe(name: str, limit: int) -> str:
    """Return a name without characters that would end a mark or an attribute."""
    return line(name, limit).translate({91: "(", 93: ")", 34: "'"})


def _framed(kind: str, attributes: str, text: str) -> str:
    """Wrap a text in tags whose closing tag does not occur in the text."""
    tags = chain((kind,), (f"{kind}-{number}" for number in count(2)))
    tag = next(tag for tag in tags if f"</{tag}>" not in text)
    return f"\n\n<{tag} {attributes}>\n{text.rstrip()}\n</{tag}>"


def _size(size: int) -> str:
    from tui_host.llm.outline import size_words  # imported late: needed only for messages with a file

    return size_words(size)


def _a(kind: str) -> str:
    return "a text" if kind == "text" else "an image"


def _bytes(path: Path, name: str) -> bytes:
    """Read a file up to one byte beyond the size limit.

    Raises:
        TuiHostError: The path does not exist, cannot be read, or is not a file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # do not wait for a pipe's writer
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise TuiHostError(f"{name} is not a file", remedy="choose a file")
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MOST_IMAGE + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be read: {reason}", remedy="choose another file") from error


def check_together(attached: Sequence[Attached]) -> None:
    """Refuse attached files whose total size is too large.

    Raises:
        TuiHostError: The files exceed the limit together.
    """
    size = sum(file.size for file in attached)
    if size > MOST_TOGETHER:
        what = f"the files have {_size(size)} together; the limit for a message is {_size(MOST_TOGETHER).replace('.0', '')}"
        raise TuiHostError(what, remedy="leave some out")


def message_parts(text: str, attached: Sequence[Attached] = ()) -> tuple[Part, ...]:
    """Return the parts of a user message: the text, which contains a mark for each file, then the files."""
    return (Text(text=text), *(file.part for file in attached))


def with_marks(text: str, attached: Sequence[Attached]) -> str:
    """Append one line per file, the file's mark, below the text."""
    return "\n\n".join((text, "\n".join(f"[{file.words}]" for file in attached))) if attached else text


def unmarked(text: str, known: Sequence[str] = ()) -> str:
    """Replace marks that have no file by `@name`, so that a typed mark is not mistaken for an attachment."""
    return _MARK.sub(lambda mark: mark[0] if mark[0] in known else f"@{mark[1]}", text)
