"""Files as they come: packed, in other codings, or of no format that can be read."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.opening.captured import ASK, CHAT, PIECE, TELL, read, seen, told
from tui_host.errors import SettingsError, TuiHostError
from tui_host.opening import files
from tui_host.opening.files import in_utf_8, open_file

ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"2026-11-20 10:00:00 请求 {ASKED}\n2026-11-20 10:00:01 响应 data: {json.dumps(PIECE)}\n2026-11-20 10:00:01 响应 data: [DONE]\n"
FRAMES = f"-> {json.dumps(ASK)}\n<- {json.dumps(TELL)}\n"


@pytest.mark.parametrize("coding", ["gbk", "gb18030"])
def test_a_log_in_gbk_is_read_as_its_text_is(coding: str) -> None:
    assert [each.data for each in seen(LOG.encode(coding))] == [each.data for each in seen(LOG)]
    assert in_utf_8("a.log", LOG.encode(coding)).coding.startswith("a.log is in GBK")


@pytest.mark.parametrize("lead", [b"", b"2026-11-20 10:00:00 POST /v1/chat/completions "])
def test_bytes_that_are_no_utf_8_stay_as_they_are(lead: bytes) -> None:
    data = b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}'
    found, wires = read(lead + data + b"\n")
    assert (found[0].data, wires.left_out) == (data, "")
    assert "no UTF-8" in in_utf_8("a.log", data).coding


def test_what_is_utf_8_is_read_without_a_word_on_it() -> None:
    for data in (LOG.encode(), FRAMES.encode(), LOG.encode()[:-1], b"\xef\xbb\xbf" + FRAMES.encode()):
        assert not in_utf_8("a.log", data).coding


def test_to_know_the_coding_of_a_large_file_takes_no_memory_as_large() -> None:
    line = f"10:00:00 {json.dumps(ASK)} 你好\n".encode()
    data = line * (24 * (1 << 20) // len(line))
    tracemalloc.start()
    try:
        assert in_utf_8("a.log", data).data is data
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(data) / 2


def test_a_file_that_is_packed_or_in_utf_16_is_read_as_its_text_is() -> None:
    plain = f"{json.dumps(CHAT)}\ndata: {json.dumps(PIECE)}\n"
    packed = gzip.compress(plain.encode())
    kinds = [told(seen(data)) for data in (plain, packed, plain.encode("utf-16"))]
    assert kinds[0] == kinds[1] == kinds[2] != []
    assert told(seen(packed + packed)) == told(seen(plain * 2))
    with pytest.raises(TuiHostError, match="gzip cannot unpack it"):
        seen(packed[:-9])


def test_a_file_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        with pytest.raises(SettingsError, match=r"No such file.*name a file that you can read"):
            open_file(tmp_path / "none", stack)
        with pytest.raises(SettingsError, match=r"Is a directory.*name a file in it"):
            open_file(tmp_path, stack)
        monkeypatch.setattr(files, "_PIPE_LIMIT", 5)
        with pytest.raises(SettingsError, match="put it into a file"):
            open_file(Path("/dev/zero"), stack)
