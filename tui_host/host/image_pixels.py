"""Decodes images to pixels, in a process of its own: `python -m tui_host.host.image_pixels`.

Reads lines `[BASE64, COLUMNS, ROWS, RRGGBB]` and answers each with an object: facts and pixels, or an `error`. Decoders are large
and take foreign bytes, so memory and time are limited by the system, and only the formats that models take are tried.
"""

from __future__ import annotations

import base64
import io
import json
import resource
import sys
from contextlib import suppress

from tui_host.errors import JSON
from tui_host.host.image_decoder import NO_DECODER

MEMORY = 1 << 30
"""Bytes of address space that the process may use; the interpreter itself takes a third of them."""
CPU_SECONDS = 5
MOST_PIXELS = 40_000_000
"""Pixels of an image beyond which it is not decoded; its head tells them."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


def pixels(data: bytes, columns: int, rows: int, background: str) -> dict[str, JSON]:
    """Return facts and pixels of an image, made to fit: one pixel a column, two a row."""
    try:
        from PIL import Image, ImageFile, ImageOps
    except ImportError:
        return {"error": NO_DECODER}
    Image.MAX_IMAGE_PIXELS = None  # the limit is ours, told in words
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # draw what there is, of files with wrong checksums too
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                limit = MOST_PIXELS // 1_000_000
                return {"error": f"it has {width:,} × {height:,} pixels; the limit is {limit} million"}
            facts: dict[str, JSON] = {"format": image.format, "from": [width, height]}
            image.draft("RGB", (columns, rows * 2))  # a JPEG is decoded small
            upright = ImageOps.exif_transpose(image).convert("RGBA")
            upright.thumbnail((columns, rows * 2))
            ground = Image.new("RGBA", upright.size, f"#{background}")
            ground.alpha_composite(upright)
            rgb = base64.b64encode(ground.convert("RGB").tobytes()).decode()
            return {**facts, "size": list(ground.size), "rgb": rgb}
    except MemoryError:
        return {"error": "decoding needs too much memory"}
    except Exception as error:  # noqa: BLE001 - decoders raise errors of all kinds for broken files
        return {"error": f"it cannot be decoded ({type(error).__name__})"}


def main() -> None:
    """Answer each line of standard input, with limits of memory and time."""
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):  # where the system has no such limit, the parent's time limit is left
            resource.setrlimit(kind, (most, most))
    for line in sys.stdin.buffer:
        data, columns, rows, background = json.loads(line)
        print(json.dumps(pixels(base64.b64decode(data), columns, rows, background)), flush=True)  # noqa: T201 - a program


if __name__ == "__main__":
    main()
