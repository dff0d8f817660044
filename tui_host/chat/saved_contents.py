"""Writes a content of a result to a file that the person names."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
from pathlib import Path

from tui_host.errors import TuiHostError
from tui_host.servers.catalog import Content

_UNFIT = re.compile(r"[^\w.-]+")
_NAME_CHARACTERS = 60


def content_bytes(content: Content) -> bytes:
    """Return the bytes of a content: decoded from base64, or its text as UTF-8. Raises TuiHostError for broken base64."""
    if not content.data:
        return content.text.encode("utf-8", "replace")
    try:
        return base64.b64decode("".join(content.data.split()), validate=True)
    except ValueError:
        raise TuiHostError(f"the server's data is not base64, so there is no {content.kind} to use") from None


def suggested_name(content: Content, tool: str, number: int) -> str:
    """Suggest a file name, from the resource's address or from the tool's name. Contains no folder."""
    last = content.uri.partition("?")[0].rstrip("/").rpartition("/")[2]
    stem, dot, ending = last.rpartition(".")
    if dot and stem and len(ending) <= 5:
        name, suffix = stem, f".{ending}"
    else:
        guessed = mimetypes.guess_extension(content.media_type.partition(";")[0].strip())
        name, suffix = last or f"{tool}-{number}", guessed or (".bin" if content.data else ".txt")
    return f"{_UNFIT.sub('-', name).strip('.-')[:_NAME_CHARACTERS] or 'content'}{_UNFIT.sub('-', suffix)}"


def save_content(name: str, data: bytes, *, replaces: bool) -> Path:
    """Write a file with mode 0600 where no file is, or also in place of one. Returns its whole path. Blocks on the disk.

    Raises:
        FileExistsError: There is a file already, and it is not to be replaced.
        TuiHostError: The file cannot be written; says why.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_TRUNC if replaces else os.O_EXCL)
    try:
        path = Path(name).expanduser().absolute()
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # the last for the home of an unknown user
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        raise TuiHostError(f"{name} cannot be written: {reason}", remedy="name another file") from error
    return path
