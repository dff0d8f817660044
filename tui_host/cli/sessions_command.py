"""`sessions`: what was recorded, listed, shown, exported, deleted."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.exports import EXPORTS, Exported
from tui_host.capture.redact.redaction import redactor_of
from tui_host.capture.store.deletion import set_aside_beside
from tui_host.capture.store.retention import Limits, prune
from tui_host.capture.store.schema_version import OlderFormError
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import NOTHING, passed_in_all
from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.session_list import Listed, counted, in_words, listing, sessions_of
from tui_host.errors import JSON, SettingsError, StoreError, TuiHostError
from tui_host.infer.taps.stories import Known, story_with
from tui_host.infer.whole_story import Whole
from tui_host.settings.paths import DATABASE

if TYPE_CHECKING:
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings

_ELSEWHERE = "choose another file with -o"


def sessions(arguments: Arguments, settings: Settings) -> int:
    """Do the command's action."""
    path = settings.data_dir / DATABASE
    if arguments.action == "import":
        return _import(path, arguments, settings)
    with _opened(path, settings, write=arguments.action in {"delete", "prune"} and not arguments.dry_run) as store:
        for notice in (*settings.notices, *(store.notices if store is not None else ())):
            diagnostics.tell(notice)
        if arguments.action == "list":
            _list(store, as_json=arguments.json)
            return diagnostics.DONE
        if store is None:
            raise StoreError("nothing has been recorded here yet", str(path), 'tui-host ask "hello" records something')
        match arguments.action:
            case "show":
                _show(store, arguments)
            case "export":
                _export(store, arguments)
            case "prune":
                _prune(store, arguments, settings)
            case _:
                return _delete(store, arguments)
    return diagnostics.DONE


@contextmanager
def _opened(path: Path, settings: Settings, *, write: bool) -> Generator[Store | None]:
    """The store, None where there is none yet: looking at it makes none."""
    if not path.exists():
        yield None
        return
    try:
        store = Store.open(path) if write else Store.open_to_read(path)
    except OlderFormError:
        store = Store.open(path)  # as the app would: brought up to date, with a copy of how it was
    store.redactor = redactor_of(settings)
    try:
        yield store
    finally:
        store.close()


def _info(info: SessionInfo) -> dict[str, JSON]:
    return {
        "id": info.id,
        "title": info.title,
        "created": info.created,
        "updated": info.updated,
        "turns": info.turns,
        "source": info.listed_source,
        "live": info.live,
        "model": info.model,
        "protocol": info.protocol,
        "profile": info.profile,
    }


def _list(store: Store | None, *, as_json: bool) -> None:
    listed: Sequence[Listed] = () if store is None else listing(store)
    if as_json:
        output.value({"sessions": [{**_info(each.info), **_tapped(each)} for each in sessions_of(listed)]})
    elif not listed:
        diagnostics.tell("no session has been recorded here yet")
    else:
        rows = [row for each in listed for row in (_row(each), *(_row(tap, "  ") for tap in each.taps))]
        output.table([("ID", "UPDATED", "LENGTH", "SOURCE", "MODEL", "PROTOCOL", "TITLE"), *rows])


def _row(listed: Listed, indent: str = "") -> tuple[str, ...]:
    info = listed.info
    source = f"{info.listed_source}{', live' if info.live else ''}"
    when = _local(info.updated_ns)
    return f"{indent}{info.id}", when, listed.length, source, info.model, info.protocol, info.title


def _tapped(listed: Listed) -> dict[str, JSON]:
    """What only a tap has."""
    if not listed.story:
        return {}
    passed = listed.passed
    return {
        "hosts": list(listed.hosts),
        "exchanges": passed.exchanges,
        "frames": passed.frames,
        "story": listed.story,
    }


def _local(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1_000_000_000))


def _show(store: Store, arguments: Arguments) -> None:
    info, source = _chosen(store, arguments)
    items = [_read(text) for text in source.session_items(info.id)]
    taps = [tap.id for tap in source.taps] if isinstance(source, Whole) else []
    counts = passed_in_all(store, taps) if taps else NOTHING
    if arguments.json:
        more: dict[str, JSON] = {"exchanges": counts.exchanges, "frames": counts.frames, "taps": [*taps]}
        output.value({"session": {**_info(info), **(more if taps else {})}, "items": items})
        return
    turns = counted(info.turns, "turn") if info.turns or not taps else ""
    told = (info.id, info.model, info.protocol, turns, in_words(counts, live=info.live) if taps else "")
    words = [f"{info.title}\n{' · '.join(filter(None, (*told, 'live' * info.live)))}"]
    if len(taps) > 1:
        words[0] += f"\n{len(taps)} taps: {', '.join(taps)}"
    if taps and not items:
        words.append("No conversation was tapped: what passed is in the inspector, and in `sessions export`.")
    words += ["\n".join(_item_words(item, info.user)) for item in items if isinstance(item, dict)]
    output.text(visible("\n\n".join(filter(None, words))))


def _read(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return {"item": "note", "what": "what stood here is damaged in the database"}
    return value


def _chosen(store: Store, arguments: Arguments) -> tuple[SessionInfo, Exported]:
    """The session that is named, and what has its chat and records: of a tap the story that it is part of."""
    info = store.find_session(arguments.words[0])
    if info.source != "tap" or arguments.alone:
        return info, store
    whole = Whole(store, story_with(store, info.id, {}), store.redactor.text)
    return whole.info, whole


def _item_words(item: dict[str, JSON], user: str) -> Iterator[str]:
    """One item of the chat as plain lines."""
    match item.get("item"):
        case "user":
            yield f"{user}: {item.get('text')}"
        case "answer":
            if str(item.get("text") or "").strip():  # else it is nothing but what asked for a tool
                yield f"Model: {item.get('text')}"
        case "call":
            name = f"{item['server']}.{item.get('tool')}" if item.get("server") else item.get("tool")
            yield f"Tool call: {name} {item.get('sent') or item.get('asked')}"
            yield f"  {item.get('words') or item.get('state')}"
            if item.get("result"):
                yield f"  {item.get('result')}"
        case "note":
            yield f"Note: {' · '.join(str(item[key]) for key in ('where', 'what', 'remedy') if item.get(key))}"
        case _:
            return


def _export(store: Store, arguments: Arguments) -> None:
    info, source = _chosen(store, arguments)
    pieces = EXPORTS[arguments.format](source, info)
    if arguments.output is None or str(arguments.output) == "-":
        output.raw(pieces)
    elif store.owns(arguments.output):
        raise StoreError("cannot be written: this is the database itself", str(arguments.output), _ELSEWHERE)
    else:
        _write(arguments.output, pieces)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        # A conversation is for its owner; a file that is there keeps the mode that its owner gave it.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.writelines(pieces)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", str(path), _ELSEWHERE) from error


def _import(path: Path, arguments: Arguments, settings: Settings) -> int:
    """Bring in what others captured, or what another tui-host exported."""
    from tui_host.opening.importing import import_files

    store = Store.open(path)
    try:
        imported = import_files(store, [Path(word) for word in arguments.words], redactor_of(settings))
    finally:
        store.close()
        for notice in (*settings.notices, *store.notices):
            diagnostics.tell(notice)
    for notice in imported.notices:
        diagnostics.tell(notice)
    if arguments.json:
        output.value({"id": imported.id})
    else:
        output.text(imported.id)
    return diagnostics.DONE


def _delete(store: Store, arguments: Arguments) -> int:
    """Remove each; one that cannot be removed is told, and the others go all the same."""
    found = {info.id: info for info in map(store.find_session, arguments.words)}
    deleted: list[JSON] = []
    known: Known = {}
    for info in found.values():
        others = [] if info.source != "tap" else [tap.id for tap in story_with(store, info.id, known).taps]
        try:
            is_whole = store.sessions.delete(info.id)
        except TuiHostError as error:
            diagnostics.report(error)
            continue
        deleted.append(info.id)
        if not is_whole:
            diagnostics.tell(
                f"{info.id}: deleted; another process still reads the file, so traces may stay until it ends"
            )
        if left := [tap for tap in others if tap not in found]:
            diagnostics.tell(f"{info.id}: what else tells its story stays: {', '.join(left)}")
        if not arguments.json:
            output.text(f"deleted {info.id}  {visible(info.title, newlines=False)}")
    if deleted:
        _tell_set_aside(store)
    if arguments.json:
        output.value({"deleted": deleted})
    return diagnostics.DONE if len(deleted) == len(found) else diagnostics.FAILED


def _tell_set_aside(store: Store) -> None:
    for path in set_aside_beside(store.path):
        diagnostics.tell(
            f"{path.name}, which was set aside damaged, may still hold it: remove it where you need it no more"
        )


def _prune(store: Store, arguments: Arguments, settings: Settings) -> None:
    """Remove what is beyond the limits typed, else beyond those configured."""
    is_typed = arguments.older_than is not None or arguments.max is not None
    keep, most = (arguments.older_than, arguments.max) if is_typed else (settings.store.keep, settings.store.max)
    if keep is None and most is None:
        raise SettingsError(
            "nothing says how much is kept",
            "sessions prune",
            "type --older-than 90d or --max 5GB, or set keep and max in [store]",
        )
    before_ns = None if keep is None else time.time_ns() - int(keep * 1_000_000_000)
    pruned = prune(store, Limits(before_ns=before_ns, max_bytes=most), dry=arguments.dry_run)
    if not pruned.is_whole:
        diagnostics.tell("another process still reads the file, so traces may stay until it ends")
    if pruned.gone and not arguments.dry_run:
        _tell_set_aside(store)
    if arguments.json:
        gone: dict[str, list[JSON]] = {"session": [], "capture": [], "copy": []}
        for old in pruned.gone:
            gone[old.thing].append(old.name)
        names = {"sessions": gone["session"], "captures": gone["capture"], "copies": gone["copy"]}
        output.value({**names, "freed": pruned.freed, "dry_run": arguments.dry_run})
        return
    for old in pruned.gone:
        words = (
            f"{old.name}  {visible(old.title, newlines=False)}" if old.thing == "session" else f"{old.thing} {old.name}"
        )
        output.text(f"{'would remove' if arguments.dry_run else 'removed'} {words}")
    freed = f"{'about ' if arguments.dry_run else ''}{pruned.freed / 1_000_000:.1f} MB"
    diagnostics.tell(f"{len(pruned.gone) or 'nothing'} {'to remove' if arguments.dry_run else 'removed'}, {freed}")
