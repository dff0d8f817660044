"""Decodes one image to pixels, in a process of its own: `python -m tui_host.host.image_pixels COLUMNS ROWS RRGGBB`.

Reads the file from standard input. Writes a line of JSON, then the pixels as RGB bytes; or a line with an `error`. Decoders are
large and take foreign bytes, so memory and time are limited by the system, and only the formats that models take are tried.
"""

from __future__ import annotations

import io
import json
import resource
import sys

MEMORY = 1 << 30
"""Bytes of address space that the process may use; the interpreter itself takes a third of them."""
CPU_SECONDS = 5
MOST_PIXELS = 40_000_000
"""Pixels of an image beyond which it is not decoded; its head tells them."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
NO_DECODER = "no decoder"
"""The error if the library that decodes images is not installed."""


def limit_resources() -> None:
    """Limit memory and time of this process. Where the system has no such limit, the parent's time limit is left."""
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            continue


def pixels(data: bytes, columns: int, rows: int, background: str) -> tuple[dict[str, object], bytes]:
    """Return facts and pixels of an image, made to fit: one pixel a column, two a row."""
    try:
        from PIL import Image, ImageFile, ImageOps
    except ImportError:
        return {"error": NO_DECODER}, b""
    Image.MAX_IMAGE_PIXELS = None  # the limit is ours, told in words
    ImageFile.LOAD_TRUNCATED_IMAGES = True  # draw what there is, of files with wrong checksums too
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            facts: dict[str, object] = {"format": image.format, "from": [width, height]}
            if width * height > MOST_PIXELS:
                return {
                    "error": f"it has {width:,} × {height:,} pixels; the limit is {MOST_PIXELS // 1_000_000} million"
                }, b""
            image.draft("RGB", (columns, rows * 2))  # a JPEG is decoded small
            upright = ImageOps.exif_transpose(image).convert("RGBA")
            upright.thumbnail((columns, rows * 2))
            ground = Image.new("RGBA", upright.size, f"#{background}")
            ground.alpha_composite(upright)
            return {**facts, "size": list(ground.size)}, ground.convert("RGB").tobytes()
    except MemoryError:
        return {"error": "decoding needs too much memory"}, b""
    except Exception as error:  # noqa: BLE001 - decoders raise errors of all kinds for broken files
        return {"error": f"it cannot be decoded ({type(error).__name__})"}, b""


def main() -> None:
    """Decode standard input."""
    limit_resources()
    columns, rows, background = sys.argv[1:4]
    facts, rgb = pixels(sys.stdin.buffer.read(), int(columns), int(rows), background)
    sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n" + rgb)


if __name__ == "__main__":
    main()
