"""Opens files captured elsewhere: maps them into memory, unpacks them, and decodes them to UTF-8."""

from __future__ import annotations

import codecs
import gzip
import mmap
import os
import re
import stat
import time
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from tui_host.capture.json.reading import VALUE_LIMIT
from tui_host.capture.json.spans import Data
from tui_host.errors import SettingsError, TuiHostError

REMEDY = "export a HAR, write one JSON value a line, put one body in a file, or record with tui-host tap"

_PIPE_LIMIT = 64 << 20
_PIECE = 1 << 20
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedFile:
    """A file to read, in UTF-8."""

    name: str  # to show; never used as a path
    data: Data  # if it is mapped, only what is read takes memory
    time_ns: int = 0  # for records that have none: that of the file's last change
    coding: str = ""  # what a person should know of how the text was decoded

    @property
    def head(self) -> bytes:
        """The beginning, by which a format is recognised."""
        return self.data[: 1 << 16]

    @property
    def peer(self) -> str:
        """A name for a server or provider that the file does not name."""
        return _NOT_IN_A_NAME.sub("_", Path(self.name).stem)[:40].strip("_") or "log"

    def line_at(self, at: int) -> str:
        """Return the place of a byte in words: `line 3`."""
        number, end = 1, self.data.find(b"\n")
        while 0 <= end < at:
            number, end = number + 1, self.data.find(b"\n", end + 1)
        return f"line {number}"

    def unreadable(self, what: str, where: str = "", remedy: str = REMEDY) -> TuiHostError:
        """Return the error for what cannot be read, with its place."""
        return TuiHostError(what, f"{self.name}, {where}" if where else self.name, remedy)


def open_file(path: Path, stack: ExitStack) -> CapturedFile:
    """Open a file and decode it; `stack` keeps it mapped. `-` is standard input.

    Raises:
        SettingsError: The file cannot be opened.
        TuiHostError: The file cannot be unpacked or decoded.
    """
    try:
        descriptor = 0 if str(path) == "-" else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        file = stack.enter_context(os.fdopen(descriptor, "rb", closefd=descriptor > 0))
        status = os.fstat(descriptor)
        data: Data = b""
        if not stat.S_ISREG(status.st_mode):
            data = file.read(_PIPE_LIMIT + 1)
        elif status.st_size:  # an empty file cannot be mapped
            data = stack.enter_context(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    except OSError as error:
        remedy = "name a file in it" if isinstance(error, IsADirectoryError) else "name a file that you can read"
        raise SettingsError(f"cannot be read: {error.strerror}", str(path), remedy) from error
    if len(data) > _PIPE_LIMIT and isinstance(data, bytes):
        what = f"more than {_PIPE_LIMIT >> 20} MiB come out of it"
        raise SettingsError(what, str(path), "put it into a file, and name that")
    return in_utf_8(path.name or str(path), data, max(status.st_mtime_ns, 0) or time.time_ns())


def in_utf_8(name: str, data: Data, time_ns: int = 0) -> CapturedFile:
    """Unpack and decode a file's content, and remove its byte order mark.

    What is not UTF-8 is read as GB18030 (Chinese Windows, GBK included) if all of it fits. Otherwise wrong bytes stay, and
    what stands around them is read.

    Raises:
        TuiHostError: The content is broken, or too large to be decoded in memory.
    """
    coding = ""
    if data[:2] == b"\x1f\x8b":
        try:
            unpacked = gzip.GzipFile(fileobj=BytesIO(data[: VALUE_LIMIT + 1])).read(VALUE_LIMIT + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise TuiHostError(f"gzip cannot unpack it: {error}", name, "copy the file again") from error
        if len(unpacked) > VALUE_LIMIT:
            raise TuiHostError(f"it unpacks to more than {VALUE_LIMIT >> 20} MiB", name, "unpack it, and name that")
        name, data = name.removesuffix(".gz"), unpacked
    form = "utf-16" if data[:2] in _UTF_16 else "utf-8"
    if data[:3] == codecs.BOM_UTF8:
        data = data[3:]
    elif form == "utf-8" and not _fits(data, form):
        coding = f"{name} has bytes that are no UTF-8: what stands around them is read."
        # a NUL stands in no text, so that GB18030 would only decode what is none
        if b"\0" not in data[:_PIECE] and _fits(data, "gb18030"):
            form, coding = "gb18030", f"{name} is in GBK: the bytes shown are those of its text in UTF-8."
    if form != "utf-8":
        if len(data) > VALUE_LIMIT:
            raise TuiHostError(f"this is {form} of more than {VALUE_LIMIT >> 20} MiB", name, "save it as UTF-8")
        data = data[:].decode(form, "replace").encode()
    return CapturedFile(name=name, data=data, time_ns=time_ns, coding=coding)


def _fits(data: Data, coding: str) -> bool:
    """Whether a content is text in a coding; of a large one, the beginning is looked at alone."""
    decoder = codecs.getincrementaldecoder(coding)()  # which takes a character that the end cuts
    try:
        for at in range(0, len(data) if len(data) <= VALUE_LIMIT else _PIECE, _PIECE):
            decoder.decode(data[at : at + _PIECE])
    except UnicodeDecodeError:
        return False
    return True
