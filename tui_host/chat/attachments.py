"""Files and servers' resources attached to a message. Each is read once, when the user chooses it: the model gets what was shown."""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.visible import line
from tui_host.chat.images import LARGEST_IMAGE_BYTES, image_of, media_type_of
from tui_host.errors import TuiHostError
from tui_host.llm.messages import Image, Text
from tui_host.llm.outline import size_words

if TYPE_CHECKING:
    from tui_host.llm.messages import Part
    from tui_host.servers.catalog import ToolOutput

MOST_TEXT = 1_000_000
"""Largest text file to attach, in bytes: few context windows hold more."""
LINKED = "address only"
"""The kind of a resource of which the message contains only the address."""
_NAME_CHARACTERS = 80
_URI_CHARACTERS = 120
_MARK = re.compile(
    r"\[([^\[\]\n]{1,200}): (?:(image/(?:png|jpeg|gif|webp)|text), [\d.]+ k?M?B|(address only))(?:, \d+)?\]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """An attached file, or a resource of a server: `image/png` and the like, `text`, or `address only`; its name is safe to show."""

    name: str
    kind: str
    size: int
    part: Image | Text
    server: str = ""

    @property
    def words(self) -> str:
        """Description on screen: «photo.png: image/png, 12.3 kB». In brackets, this is the file's mark in a message."""
        size = "" if self.kind == LINKED else f", {size_words(self.size)}"
        return f"{self.name}: {self.kind}{size}"


def read_attached(path: str) -> Attached:
    """Read a file to attach; `~` is the home folder. Blocks on the disk. Raises TuiHostError with why it cannot be sent."""
    name = _safe(os.path.basename(path.rstrip("/")) or path, _NAME_CHARACTERS)  # noqa: PTH119 - a text, as it was typed
    try:
        # One byte beyond the limit, and without a wait for a pipe's writer.
        descriptor = os.open(Path(path).expanduser(), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise TuiHostError(f"{name} is not a file", remedy="choose a file")
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(LARGEST_IMAGE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be read: {reason}", remedy="choose another file") from error
    return attached_data(name, data)


def attached_data(name: str, data: bytes) -> Attached:
    """Return an image or a text as an attachment. Raises TuiHostError with why it cannot be sent."""
    kind = media_type_of(data)
    if kind:
        _check_size(name, kind, len(data), "make it smaller")
        part = Image(media_type=kind, data=base64.b64encode(data).decode())
        return Attached(name=name, kind=kind, size=len(data), part=part)
    _check_size(name, "text", len(data), "make it smaller")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        what = f"{name} is neither a supported image (PNG, JPEG, GIF, WebP) nor UTF-8 text"
        raise TuiHostError(what, remedy="convert it")
    framed = _framed("file", f'name="{name}"', text)
    return Attached(name=name, kind="text", size=len(data), part=Text(text=framed))


def attached_resource(server: str, uri: str, output: ToolOutput) -> tuple[Attached, ...]:
    """Return the contents of a resource as attachments, in order. Raises TuiHostError with why it cannot be sent."""
    attached: list[Attached] = []
    for content in output.content:
        address, size, image = _safe(content.uri or uri, _URI_CHARACTERS), content.size or 0, image_of(content)
        name, instead = f"{address} of {server}", "link it: then only its address is sent"
        if isinstance(image, Image):
            kind, part = image.media_type, image
        elif content.data:
            what = f"{name} is {content.media_type or 'data of an unknown type'}, which no model is given"
            raise TuiHostError(what, remedy=instead)
        else:
            framed = _framed("resource", f'server="{server}" uri="{address}"', content.text)
            kind, part = "text", Text(text=framed, origin=f"the resource {name}")
        _check_size(name, kind, size, instead)
        attached.append(Attached(name=name, kind=kind, size=size, part=part, server=server))
    if not attached:
        raise TuiHostError(f"{line(uri, _URI_CHARACTERS)} has no content", server)
    return tuple(attached)


def _check_size(name: str, kind: str, size: int, remedy: str) -> None:
    most, words = (MOST_TEXT, "a text") if kind == "text" else (LARGEST_IMAGE_BYTES, "an image")
    if size > most:
        limit = size_words(most).replace(".0", "")
        raise TuiHostError(f"{name} is larger than {limit}, the limit for {words}", remedy=remedy)


def linked_resource(server: str, uri: str, about: str = "") -> Attached:
    """Return a resource as an attachment that names only its address; `about` is the server's own name for it."""
    name = f"{_safe(uri, _URI_CHARACTERS)} of {server}"
    words = f" ({line(about, _NAME_CHARACTERS)})" if about else ""
    text = f"\n\n[A resource of the server {server}: {uri}{words}. Its content is not included.]"
    part = Text(text=text, origin=f"the address of {name}")
    return Attached(name=name, kind=LINKED, size=len(text), part=part, server=server)


def _safe(name: str, limit: int) -> str:
    """Return a name without characters that would end a mark or an attribute."""
    return line(name, limit).translate({91: "(", 93: ")", 34: "'"})


def _framed(kind: str, attributes: str, text: str) -> str:
    """Wrap a text in tags whose closing tag does not occur in the text."""
    tags = chain((kind,), (f"{kind}-{number}" for number in count(2)))
    tag = next(tag for tag in tags if f"</{tag}>" not in text)
    return f"\n\n<{tag} {attributes}>\n{text.rstrip()}\n</{tag}>"


def unmarked(text: str, known: Sequence[str] = ()) -> str:
    """Replace marks that have no file by `@name`, so that a typed mark is not mistaken for an attachment."""
    return _MARK.sub(lambda mark: mark[0] if mark[0] in known else f"@{mark[1]}", text)


def attached_by_marks(text: str, parts: Sequence[Part]) -> Mapping[str, Attached]:
    """Return the files of a message that was sent, by their marks in its text, which stand in the files' order."""
    by_mark: dict[str, Attached] = {}
    files = [part for part in parts if isinstance(part, Image | Text)]
    for mark in _MARK.finditer(text):
        name, kind, part = mark[1], mark[2] or mark[3], next(iter(files), None)
        if isinstance(part, Image):
            is_its = kind == part.media_type
        else:  # the text begins with the file's name, or with the URI
            is_its = part is not None and (name.rpartition(" of ")[0] or name) in part.text
        if part is None or mark[0] in by_mark or not is_its:
            continue  # a mark that stands there again, or that was typed
        del files[0]
        size = len(base64.b64decode(part.data)) if isinstance(part, Image) else len(part.text.encode(errors="replace"))
        server = name.rpartition(" of ")[2] if ":" in name else ""  # of a resource, whose name begins with its URI
        by_mark[mark[0]] = Attached(name=name, kind=kind, size=size, part=part, server=server)
    return by_mark
