"""Files as they come: packed, in other codings, or of no format that can be read."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.opening.captured import ASK, CHAT, PIECE, read, seen, told
from tui_host.errors import SettingsError, TuiHostError
from tui_host.opening import files
from tui_host.opening.files import in_utf_8, open_file

ASKED = '{"model": "m", "messages": [{"role": "user", "content": "六乘以五等于多少?请用工具"}]}'
LOG = f"2026-11-20 10:00:00 请求 {ASKED}\n2026-11-20 10:00:01 响应 data: {json.dumps(PIECE)}\n2026-11-20 10:00:01 响应 data: [DONE]\n"


def test_a_log_is_read_as_its_text_is_in_whatever_coding_and_packed_or_not() -> None:
    plain = f"{json.dumps(CHAT)}\ndata: {json.dumps(PIECE)}\n"
    packed = gzip.compress(plain.encode())
    for data in (packed, plain.encode("utf-16"), b"\xef\xbb\xbf" + plain.encode()):
        assert told(seen(data)) == told(seen(plain)) != []
        assert not in_utf_8("a.log", data).coding
    assert told(seen(packed + packed)) == told(seen(plain * 2))
    with pytest.raises(TuiHostError, match="gzip cannot unpack it"):
        seen(packed[:-9])
    assert [record.data for record in seen(LOG.encode("gb18030"))] == [record.data for record in seen(LOG)]
    assert in_utf_8("a.log", LOG.encode("gbk")).coding.startswith("a.log is in GBK")
    assert not in_utf_8("a.log", LOG.encode()[:-1]).coding
    wrong = b'{"model":"m","messages":[{"role":"user","content":"caf\xe9 \xff\xfe end"}]}'
    for lead in (b"", b"2026-11-20 10:00:00 POST /v1/chat/completions "):
        found, wires = read(lead + wrong + b"\n")
        assert (found[0].data, wires.left_out) == (wrong, "")
    assert "no UTF-8" in in_utf_8("a.log", wrong).coding


def test_to_know_the_coding_of_a_large_file_takes_no_memory_as_large() -> None:
    line = f"10:00:00 {json.dumps(ASK)} 你好\n".encode()
    data = line * (24 * (1 << 20) // len(line))
    tracemalloc.start()
    try:
        assert in_utf_8("a.log", data).data is data
        assert tracemalloc.get_traced_memory()[1] < len(data) / 2
    finally:
        tracemalloc.stop()


def test_a_file_that_cannot_be_opened_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:
        with pytest.raises(SettingsError, match=r"No such file.*name a file that you can read"):
            open_file(tmp_path / "none", stack)
        with pytest.raises(SettingsError, match=r"Is a directory.*name a file in it"):
            open_file(tmp_path, stack)
        monkeypatch.setattr(files, "_PIPE_LIMIT", 5)
        with pytest.raises(SettingsError, match="put it into a file"):
            open_file(Path("/dev/zero"), stack)
