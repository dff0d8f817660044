"""A known secret that a model spells, a few characters an event: neither on the disk, nor in an export, nor shown."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.host.test_host import asked, serving
from tests.kit.bodies import DIALECTS, DONE, Answer, Call, chunk
from tests.kit.peer import head, peer
from tests.llm.asking import ASK, PLACE, body_of, provider_at
from tests.llm.recorded.case import fold_of
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.recorder import Recorder
from tui_host.capture.redact.redaction import Redactor
from tui_host.capture.redact.text_stream import BEGINNING
from tui_host.llm import answer_stream
from tui_host.llm.fold import Fold
from tui_host.llm.model_client import ModelClient, Stream
from tui_host.settings.load import Overrides, load

SECRETS = {
    "KEY": "sk-canary-0123456789",  # of the provider
    "TEAM": 'quo"te\\and/a space',  # of a header
    "TOKEN": "aabbüü工a",  # of a server: as short as one may be that is looked for everywhere
}
CONFIG = """
model = "mine/m"
[providers.mine]
dialect = "{dialect}"
base_url = "{url}"
api_key = "${{KEY}}"
headers = {{ "X-Team" = "${{TEAM}}" }}
[servers.off]
command = "true"
enabled = false
env = {{ TOKEN = "${{TOKEN}}" }}
"""


def spellings() -> Iterator[str]:
    """Every secret as models may write it."""
    for secret in SECRETS.values():
        yield from (secret, quote(secret, safe=""), secret.encode().hex())
        yield base64.b64encode(secret.encode()).decode()[: 8 * len(secret.encode()) // 6]  # what it alone decides


def spelled(dialect: str, size: int) -> list[bytes]:
    """An answer with every secret in every spelling in text and thinking, and in arguments where these are streamed."""
    words = "".join(f"it is {spelling}, I think" for spelling in spellings())
    calls = [Call("c1", "f", {}, written=words)] if dialect.startswith("openai") else []
    return DIALECTS[dialect].events(Answer(words, calls, thinking=words), size)


def said(dialect: str, body: bytes) -> str:
    """Everything that a reader of a body gets."""
    fold = fold_of(dialect, body)
    return "\n".join((fold.text, fold.thinking, *(folded.call.arguments for folded in fold.calls)))


@pytest.mark.parametrize("size", [3, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "gemini-cli"])
async def test_a_secret_that_a_model_spells_is_neither_on_the_disk_nor_in_an_export(
    tmp_path: Path, dialect: str, size: int
) -> None:
    body = b"".join(spelled(dialect, size))
    assert all(text in said(dialect, body) for text in spellings())
    async with peer(head(kind="application/x-ndjson" if dialect == "ollama" else "text/event-stream") + body) as there:
        (tmp_path / "config.toml").write_text(CONFIG.format(dialect=dialect, url=there.origin))
        variables = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **SECRETS}
        settings = load(Overrides(config=tmp_path / "config.toml", data_dir=tmp_path / "data"), variables)
        async with serving(settings) as host:
            session = host.sessions.new()
            await asked(host, session, "spell it")
            assert host.recorder is not None
            assert host.recorder.flush()
            assert host.store is not None
            (info,) = host.store.sessions.list()
            records = [record for record, _ in host.store.session_records(info.id)]
            exports = [b"".join(form.export(host.store, info)) for form in FORMATS.values()]
            files = [path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file()]
            shown = repr(session.conversation)
    kept = said(dialect, body_of(records))
    body_count = 3 if dialect.startswith("openai") else 2
    assert kept.count("⟨secret:KEY⟩") == kept.count("⟨secret:TEAM⟩") == kept.count("⟨secret:TOKEN⟩") > 0
    assert kept.count("it is ⟨") == kept.count("⟩, I think") == body_count * len(tuple(spellings()))
    for text in spellings():
        assert text not in kept
        assert text not in shown
        assert not any(text.encode() in data for data in (*exports, *files))
    lines = [json.loads(record) for record in exports[0].splitlines()]
    chunks = b"".join(base64.b64decode(record["data"]) for record in lines if record.get("kind") == "chunk")
    assert said(dialect, chunks) == kept


@pytest.mark.parametrize("hold_seconds", [20, 0])
async def test_what_may_begin_a_secret_is_shown_with_its_rest_alone(
    monkeypatch: pytest.MonkeyPatch, hold_seconds: int
) -> None:
    """Where the rest is too slow, it is shown, and no more than its beginning is kept."""
    monkeypatch.setattr(answer_stream, "HOLD_SECONDS", hold_seconds)
    key = SECRETS["KEY"]
    kept = Recorder(None, Redactor([("KEY", key)]), capture="c")
    client = ModelClient(kept, {})
    fold, texts = Fold(provider="mine", model="m", call_id=str), list[str]()
    pieces = [chunk({"content": piece}) for piece in ("so ", *key, " and ", *key[:6], "y")]
    async with peer([head(), *pieces, chunk(finish="stop"), DONE]) as served:
        async with Stream(client=client, provider=provider_at(served.url), ask=ASK, place=PLACE) as stream:
            async for events in stream.batches:
                for read in events:
                    fold.add(read)
                texts.append(fold.text)
        await client.aclose()
    recorded = said("openai", body_of(list(kept.since(0))))
    assert texts[-1] == f"so {key} and {key[:6]}y"
    if hold_seconds:
        assert recorded.strip() == f"so ⟨secret:KEY⟩ and {key[:6]}y"
        assert not [text for text in texts if text.endswith(tuple(key[:size] for size in range(1, len(key))))]
    else:
        assert key[: BEGINNING + 1] not in recorded
