"""Sessions to export and bring in again, and files of others, as tests of imports have them."""

import json
from collections.abc import Sequence
from pathlib import Path

from tests.capture.stores import record, settle
from tui_host.capture.exports.formats import FORMATS
from tui_host.capture.record import Record
from tui_host.capture.session_summary import SessionInfo, Source
from tui_host.capture.store.store import Store
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story_reader import WholeStory, exported_session

GOLDEN = Path(__file__).parent.parent / "golden" / "session.jsonl"
SESSION = "20261121-134501-x7k2q"


def exported(store: Store, session: str) -> bytes:
    return b"".join(FORMATS["jsonl"].export(store, store.sessions.find(session)))


def exported_whole(store: Store, session: str) -> bytes:
    """The lines of a session, with the turns and links that are found in it."""
    info, source = exported_session(store, session)
    return b"".join(FORMATS["jsonl"].export(source, info))


def whole(store: Store, session: str) -> WholeStory:
    named = Stories(store).find(session)
    assert isinstance(named, TapStory)
    return WholeStory(store, named)


def links(store: Store, session: str) -> list[str]:
    records = [record for record, _ in whole(store, session).session_records("") if record.kind == "link"]
    return [json.loads(record.data)["relation"] for record in records]


def chat(store: Store, session: str) -> list[tuple[str, str]]:
    info, source = exported_session(store, session)
    items = [json.loads(text) for text in source.session_items(info.id)]
    return [(each["item"], each.get("text") or each.get("what") or each.get("result")) for each in items]


def written(folder: Path, name: str, text: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def info(source: Source = "chat", identity: str = SESSION) -> SessionInfo:
    times = 1_795_268_701_000_000_000, 1_795_268_709_123_456_000
    return SessionInfo(identity, "what's 6 × 5?", source, *times, 2, "demo/openai", "native")


def made(store: Store, session: SessionInfo) -> None:
    store.sessions.save(session, is_whole=True)
    settle(store)


def recorded(store: Store, capture: str, drafts: Sequence[Record]) -> None:
    assert record(store, drafts, capture).close()
