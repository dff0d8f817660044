"""What a result contains besides text is named, and what of it the model is not told is said."""

from __future__ import annotations

import pytest

from tests.servers.rich_server import CONTENTS, png
from tui_host.chat.result_words import content_lines, result_of, structured_text
from tui_host.errors import JSON
from tui_host.llm.messages import Image, ToolCall
from tui_host.servers.tool_output import read_contents, read_output

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
    told = result_of(ToolCall(id="1", wire_id="", name="x", arguments="{}"), output)
    assert [type(part).__name__ for part in told.content] == ["Text", "Image"]
    assert isinstance(told.content[1], Image)
    assert '{"type": "hologram", "depth": 3}' in getattr(told.content[0], "text", "")


@pytest.mark.parametrize(
    ("texts", "structured", "shown"),
    [
        (["30"], {"result": 30}, ""),
        (["a", "b"], {"result": ["a", "b"]}, ""),
        (['{\n "a": 1}'], {"a": 1}, ""),
        (["null"], None, ""),
        (["nothing"], None, "null"),
        (["one"], {"a": 1}, '{"a":1}'),
        ([], [1], ""),
    ],
)
def test_structured_content_is_shown_where_the_text_does_not_say_it(
    texts: list[str], structured: JSON, shown: str
) -> None:
    output = read_output({"content": [{"type": "text", "text": t} for t in texts], "structuredContent": structured})
    assert structured_text(output) == shown


def test_a_read_image_is_named_too() -> None:
    output = read_contents({"contents": [{"uri": "a://b", "mimeType": "image/bmp", "blob": "AAAA"}]})
    assert (
        content_lines(output)
        == "resource: image/bmp, 3 B, a://b · no PNG, JPEG, GIF or WebP; the model is told only this"
    )
