"""What a result is told as, to the model in words and images, to the user as a line for each content; and files that go with a message."""

import base64
import json
import math
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chat.bench import asks, refuses, says, text_output
from tests.chat.conftest import Make
from tests.servers.rich_server import CONTENTS, png
from tui_host.chat.attachments import MOST_TEXT, read_attached, unmarked
from tui_host.chat.conversation import NoteItem
from tui_host.chat.images import LARGEST_IMAGE_BYTES, image_of
from tui_host.chat.result_words import content_lines, result_of, shortened, structured_text, text_of
from tui_host.chat.session import message_parts
from tui_host.errors import JSON, TuiHostError
from tui_host.llm.messages import Image, Text, ToolCall
from tui_host.servers.catalog import ContentBlock, ToolOutput
from tui_host.servers.tool_output import read_contents, read_output

CALL = ToolCall(id="1.1.1", wire_id="", name="case__shot", arguments="{}")
NAN = ToolOutput(content=(ContentBlock(kind="text", text=" "),), structured={"a": math.nan}, has_structured=True)
RESULTS: list[tuple[ToolOutput | ContentBlock, str]] = [
    (ToolOutput(content=()), "(no content)"),
    (NAN, '{"a": NaN}'),
    (ContentBlock(kind="audio", media_type="audio/wav", data="AAAA"), "[audio: audio/wav, 3 bytes]"),
    (ContentBlock(kind="resource_link", text="a file", uri="file:///a"), "[link: a file (file:///a)]"),
    (ContentBlock(kind="resource", text="words", uri="file:///a"), "words"),
    (ContentBlock(kind="resource", uri="file:///a", data="AAAA"), "[resource: unknown type, 3 bytes, file:///a]"),
    (text_output("x" * 60_000), "x" * 25_000 + "\n[... 10,000 characters left out ...]\n" + "x" * 25_000),
]


def test_a_result_is_told_as_text() -> None:
    for output, text in RESULTS:
        given = output if isinstance(output, ToolOutput) else ToolOutput(content=(output,))
        assert text_of(result_of(CALL, given)) == text


LINES = f"""\
image: image/png, {len(png(4, 4))} B, for user, priority 0.5
audio: audio/wav, 12 B · the model is told only this
resource: text/plain, 14 B, note://one
link: 15 B, two, note://two · not read
«hologram», of a kind that is not known here, as JSON: 32 B
structured content: 11 B · the model is told only the text"""


def test_every_kind_of_content_is_named_with_type_and_size() -> None:
    output = read_output({"content": CONTENTS, "structuredContent": {"count": 1}})
    assert content_lines(output) == LINES
    told = result_of(CALL, output)
    assert [type(part).__name__ for part in told.content] == ["Text", "Image"]
    assert '{"type": "hologram", "depth": 3}' in text_of(told)
    bitmap = read_contents({"contents": [{"uri": "a://b", "mimeType": "image/bmp", "blob": "AAAA"}]})
    why = "no PNG, JPEG, GIF or WebP; the model is told only this"
    assert content_lines(bitmap) == f"resource: image/bmp, 3 B, a://b · {why}"


SHOWN: list[tuple[list[str], JSON, str]] = [
    (["30"], {"result": 30}, ""),
    (["a", "b"], {"result": ["a", "b"]}, ""),
    (['{\n "a": 1}'], {"a": 1}, ""),
    (["null"], None, ""),
    (["nothing"], None, "null"),
    (["one"], {"a": 1}, '{"a":1}'),
    ([], [1], ""),
]


def test_structured_content_is_shown_where_the_text_does_not_say_it() -> None:
    for texts, value, shown in SHOWN:
        output = read_output({"content": [{"type": "text", "text": t} for t in texts], "structuredContent": value})
        assert structured_text(output) == shown


# Images go to the model as what their bytes say.


def head_of_png(width: int = 2, height: int = 2) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


def jpeg(width: int, height: int) -> bytes:
    return b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\xff\xc0\0\x0b\x08" + struct.pack(">HH", height, width)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = text(head_of_png())


@pytest.mark.parametrize(
    ("declared", "data", "media_type"),
    [
        ("image/jpeg", PNG, "image/png"),
        ("image/jpg", text(jpeg(3, 4)), "image/jpeg"),
        ("image/png; charset=binary", PNG, "image/png"),
        ("", PNG, "image/png"),
        ("image/png", "\n".join(PNG[place : place + 20] for place in range(0, len(PNG), 20)), "image/png"),
        ("image/png", f"data:image/png;base64,{PNG}", "image/png"),
        ("image/gif", text(b"GIF89a\x02\0\x02\0"), "image/gif"),
        ("IMAGE/WEBP", text(b"RIFF\0\0\0\0WEBPVP8 "), "image/webp"),
    ],
)
def test_the_bytes_say_what_an_image_is(declared: str, data: str, media_type: str) -> None:
    output = ToolOutput(content=(ContentBlock(kind="image", media_type=declared, data=data, size=24),))
    (_, image) = result_of(CALL, output).content
    assert isinstance(image, Image)
    assert image.media_type == media_type
    assert base64.b64decode(image.data, validate=True)
    assert content_lines(output).endswith(f"sent as {media_type}") == (declared != media_type)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("this is no base64!", "not readable"),
        (text(b"<svg/>"), "no PNG, JPEG, GIF or WebP"),
        (text(head_of_png(8001, 10)), "8,001 × 10 pixels, more than 8,000 on a side"),
        (text(jpeg(10, 9000)), "10 × 9,000 pixels, more than 8,000 on a side"),
        (text(head_of_png() + bytes(LARGEST_IMAGE_BYTES)), "larger than 20 MB"),
    ],
)
def test_what_no_model_takes_is_left_out_with_its_reason(data: str, reason: str) -> None:
    block = ContentBlock(kind="image", media_type="image/x", data=data, size=3)
    assert image_of(block) == reason
    output = ToolOutput(content=(block,))
    result = result_of(CALL, output)
    assert (len(result.content), text_of(result).endswith(f", {reason}]")) == (1, True)
    assert content_lines(output) == f"image: image/x, 3 B · {reason}; the model is told only this"


def test_an_image_goes_along_and_an_error_is_called_one() -> None:
    image = ContentBlock(kind="image", media_type="image/png", data=PNG, text="image")
    result = result_of(CALL, ToolOutput(content=(image, ContentBlock(kind="text", text="bad")), is_error=True))
    assert result.content[1] == Image(media_type="image/png", data=PNG)
    assert text_of(result) == "Error: [image: image/png, 24 bytes]\n\nbad"
    assert (result.is_error, shortened("short"), text_of(None)) == (True, "short", "")


@pytest.mark.parametrize("refusal", ["messages.2.image_url: Could not process image", "no such model"])
async def test_after_an_image_was_refused_the_same_question_goes_on_without_it(bench: Make, refusal: str) -> None:
    answers = (asks(("math__add", '{"a":1,"b":2}')), refuses("400 Bad Request", refusal), says("I see."))
    async with bench.hearing(*answers, says("Still."), yes=True) as at:
        at.pool.gives = ToolOutput(content=(ContentBlock(kind="image", media_type="image/png", data=PNG, size=24),))
        refused = await at.ask("take a picture")
        assert refused.error is not None
        assert at.items(NoteItem)[-1].again
        assert (await at.again()).answer == "I see."
        assert (await at.ask("and now?")).answer == "Still."
    is_named = "image" in refusal
    named = "try again: the next request leaves out the image from call 1.1.1 of math__add (image/png, 24 B)"
    assert (refused.error.what, refused.error.remedy == named) == (f"400: {refusal}", is_named)
    assert at.session.refused_images == ({"demo/openai": 1} if is_named else {})
    bodies = at.requests()
    assert [PNG.encode() in body for body in bodies] == [False, True, not is_named, not is_named]
    left_out = "[image/png, 24 B: left out, because the provider refused it]"
    assert [left_out in str(json.loads(body)) for body in bodies[2:]] == [is_named] * 2


PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(12)


def test_a_file_is_what_its_bytes_say_whatever_its_name(tmp_path: Path) -> None:
    for data, kind in ((PICTURE, "image/png"), ("Grüße\n".encode(), "text"), (b"", "text")):
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
        (PICTURE + bytes(LARGEST_IMAGE_BYTES), "larger than 20 MB"),
        (b"x" * (MOST_TEXT + 1), "larger than 1 MB"),
        (Path.mkdir, "is not a file"),
        (os.mkfifo, "is not a file"),
        (Path.is_file, "cannot be read: No such file"),
    ],
)
def test_what_cannot_be_sent_is_refused(tmp_path: Path, made: bytes | Callable[[Path], object], words: str) -> None:
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
