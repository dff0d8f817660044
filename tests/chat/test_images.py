"""An image goes to the model as what its bytes say, or the reason why not; one that is refused ends no conversation."""

from __future__ import annotations

import base64
import json
import struct

import pytest

from tests.chat.bench import asks, says
from tests.chat.conftest import Make
from tests.kit.peer import head
from tui_host.chat.conversation import NoteItem
from tui_host.chat.images import LARGEST_IMAGE_BYTES, read_image
from tui_host.chat.result_words import content_lines, result_of, text_of
from tui_host.llm.messages import Image, ToolCall
from tui_host.servers.catalog import Content, ToolOutput


def png(width: int = 2, height: int = 2) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


def jpeg(width: int, height: int) -> bytes:
    return b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\xff\xc0\0\x0b\x08" + struct.pack(">HH", height, width)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = text(png())
LINES = "\n".join(PNG[place : place + 20] for place in range(0, len(PNG), 20))
CALL = ToolCall(id="1.1.1", wire_id="", name="case__shot", arguments="{}")


@pytest.mark.parametrize(
    ("declared", "data", "media_type"),
    [
        ("image/jpeg", PNG, "image/png"),
        ("image/jpg", text(jpeg(3, 4)), "image/jpeg"),
        ("IMAGE/PNG", PNG, "image/png"),
        ("image/png; charset=binary", PNG, "image/png"),
        ("", PNG, "image/png"),
        ("image/png", LINES, "image/png"),
        ("image/png", f"data:image/png;base64,{PNG}", "image/png"),
        ("image/gif", text(b"GIF89a\x02\0\x02\0"), "image/gif"),
        ("image/webp", text(b"RIFF\0\0\0\0WEBPVP8 "), "image/webp"),
    ],
)
def test_the_bytes_say_what_an_image_is(declared: str, data: str, media_type: str) -> None:
    output = ToolOutput(content=(Content(kind="image", media_type=declared, data=data, size=24),))
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
        (text(png(8001, 10)), "8,001 × 10 pixels, more than 8,000 on a side"),
        (text(jpeg(10, 9000)), "10 × 9,000 pixels, more than 8,000 on a side"),
        (text(png() + bytes(LARGEST_IMAGE_BYTES)), "larger than 20 MB"),
    ],
)
def test_what_no_model_takes_is_left_out_with_its_reason(data: str, reason: str) -> None:
    assert read_image(data) == reason
    output = ToolOutput(content=(Content(kind="image", media_type="image/x", data=data, size=3),))
    result = result_of(CALL, output)
    assert len(result.content) == 1
    assert text_of(result).endswith(f", {reason}]")
    assert content_lines(output) == f"image: image/x, 3 B · {reason}; the model is told only this"


REFUSAL = [
    head("400 Bad Request", kind="application/json"),
    b'{"error":{"message":"messages.2.image_url: Could not process image"}}',
]


async def test_after_an_image_was_refused_the_same_question_goes_on_without_it(bench: Make) -> None:
    shot = ToolOutput(content=(Content(kind="image", media_type="image/png", data=PNG, size=24),))
    answers = (asks(("math__add", '{"a":1,"b":2}')), REFUSAL, says("I see."), says("Still."))
    async with bench.hearing(*answers, yes=True) as at:
        at.pool.gives = shot
        refused = await at.ask("take a picture")
        assert refused.error is not None
        assert refused.error.to_json() == {
            "what": "400: messages.2.image_url: Could not process image",
            "where": refused.error.where,
            "remedy": "try again: the next request leaves out the image from call 1.1.1 of math__add (image/png, 24 B)",
        }
        assert at.items(NoteItem)[-1].again
        assert (await at.again()).answer == "I see."
        assert (await at.ask("and now?")).answer == "Still."
    bodies = [body.decode() for body in at.requests()]
    assert [PNG in body for body in bodies] == [False, True, False, False]
    left_out = "[image/png, 24 B: left out, because the provider refused it]"
    assert all(left_out in json.dumps(json.loads(body), ensure_ascii=False) for body in bodies[2:])
    at.session.model = type(at.session.model)(provider="demo", model="another")
    assert at.session.refused_images == {"demo/openai": 1}


async def test_a_refusal_that_names_no_image_leaves_none_out(bench: Make) -> None:
    other = [head("400 Bad Request", kind="application/json"), b'{"error":{"message":"no such model"}}']
    async with bench.hearing(asks(("math__add", '{"a":1,"b":2}')), other, yes=True) as at:
        at.pool.gives = ToolOutput(content=(Content(kind="image", media_type="image/png", data=PNG, size=24),))
        result = await at.ask("take a picture")
    assert result.error is not None
    assert (at.session.refused_images, "leaves out" in result.error.remedy) == ({}, False)
