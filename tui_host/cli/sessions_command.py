"""The command `sessions`: list, show, search, export, import, join, part, delete and prune sessions."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.capture.exports.exported import Exported, keys_in_words
from tui_host.capture.exports.part_of_session import PartOfSession
from tui_host.capture.redact.redaction import redactor_of
from tui_host.capture.store.deletion import set_aside_beside
from tui_host.capture.store.retention import Limits, prune
from tui_host.capture.store.row_marks import RowMarks
from tui_host.capture.store.schema_version import OlderFormError
from tui_host.capture.store.store import Store
from tui_host.capture.store.tap_summary import passed
from tui_host.capture.visible import visible
from tui_host.cli import diagnostics
from tui_host.cli import standard_output as output
from tui_host.cli.session_list import Listed, counted, listing, story_line
from tui_host.cli.session_search import search_sessions
from tui_host.errors import JSON, SettingsError, StoreError, TuiHostError
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.whole_story import WholeStory
from tui_host.settings.paths import DATABASE

if TYPE_CHECKING:
    from tui_host.answers.recorded_wires import RecordedWires
    from tui_host.capture.session_summary import SessionInfo
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings

_ELSEWHERE = "choose another file with -o"


def sessions(arguments: Arguments, settings: Settings) -> int:
    """Run the subcommand and return the exit code."""
    path = settings.data_dir / DATABASE
    if arguments.action == "import":
        return _import(path, arguments, settings)
    write = arguments.action in {"delete", "prune", "join", "part"} and not arguments.dry_run
    with opened(path, settings, write=write) as store:
        for notice in (*settings.notices, *(store.notices if store is not None else ())):
            diagnostics.tell(notice)
        if arguments.action == "list":
            _list(store, as_json=arguments.json)
            return diagnostics.DONE
        if store is None:
            raise StoreError("nothing has been recorded yet", str(path), 'record a session with tui-host ask "hello"')
        match arguments.action:
            case "show":
                _show(store, arguments, settings)
            case "search":
                search_sessions(store, arguments)
            case "export":
                _export(store, arguments)
            case "prune":
                _prune(store, arguments, settings)
            case "join" | "part":
                _link(store, arguments)
            case _:
                return _delete(store, arguments)
    return diagnostics.DONE


@contextmanager
def opened(path: Path, settings: Settings, *, write: bool) -> Generator[Store | None]:
    """Open the store; None if the file does not exist, since reading must not create one."""
    if not path.exists():
        yield None
        return
    try:
        store = Store.open(path) if write else Store.open_to_read(path)
    except OlderFormError:
        store = Store.open(path)  # upgrades an older file as the app does, with a copy of the old file
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
        "model": info.listed_model,
        "protocol": info.listed_protocol,
        "profile": info.profile,
    }


def _list(store: Store | None, *, as_json: bool) -> None:
    listed: Sequence[Listed] = () if store is None else listing(store)
    if as_json:
        output.value({"sessions": [{**_info(line.info), **_tapped(line)} for line in listed]})
    elif not listed:
        diagnostics.tell("no session has been recorded yet")
    else:
        rows = [row for line in listed for row in (_row(line), *(_row(half, "  ") for half in line.halves))]
        output.table([("ID", "UPDATED", "LENGTH", "SOURCE", "MODEL", "PROTOCOL", "TITLE"), *rows])


def _row(listed: Listed, indent: str = "") -> tuple[str, ...]:
    info = listed.info
    source = f"{info.listed_source}{', live' if info.live else ''}"
    when = _local(info.updated_ns)
    return f"{indent}{info.id}", when, listed.length, source, info.listed_model, info.listed_protocol, info.title


def _tapped(line: Listed) -> dict[str, JSON]:
    """Return the members of `list --json` that only stories of taps have."""
    story = line.story
    if story is None:
        return {}
    counts = {"exchanges": line.passed.exchanges, "frames": line.passed.frames}
    return {"hosts": list(story.hosts), **counts, "taps": [tap.id for tap in story.taps]}


def _local(time_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_ns / 1_000_000_000))


def _show(store: Store, arguments: Arguments, settings: Settings) -> None:
    line, source = chosen(store, arguments.words[0])
    info, story = line.info, line.story
    if arguments.answer:
        from tui_host.cli.answers_command import answer, wires_of

        def other(name: str) -> tuple[RecordedWires, SessionInfo]:
            listed, its_source = chosen(store, name)
            return wires_of(its_source, listed.info, settings), listed.info

        answer(wires_of(source, info, settings), info, arguments, other)
        return
    items = [_read(text) for text in source.session_items(info.id)]
    if arguments.json:
        output.value({"session": {**_info(info), **_tapped(line)}, "items": items})
        return
    turns = counted(info.turns, "turn") if info.turns or story is None else ""
    figures = (info.id, info.listed_model, info.listed_protocol, turns, "" if story is None else line.length)
    words = [f"{info.title}\n{' · '.join(filter(None, (*figures, 'live' * info.live)))}"]
    if line.halves:
        words[0] += f"\n{len(line.halves)} taps: {', '.join(half.info.id for half in line.halves)}"
    if story is not None and not items:
        words.append("No conversation was tapped; the inspector and `sessions export` have the traffic.")
    words += ["\n".join(_item_words(item, info.user)) for item in items if isinstance(item, dict)]
    output.text(visible("\n\n".join(filter(None, words))))


def _read(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return {"item": "note", "what": "this item is damaged in the database"}
    return value


def chosen(store: Store, name: str) -> tuple[Listed, Exported]:
    """Find a session by its name. For a story or a tap, its calls and frames are joined."""
    named = Stories(store).find(name)
    if not isinstance(named, TapStory):
        return Listed(info=named), store
    whole = WholeStory(store, named, store.redactor.text)
    return replace(story_line(named, passed(store)), info=whole.info), whole


def _item_words(item: dict[str, JSON], user: str) -> Iterator[str]:
    """Yield a chat item as plain lines."""
    match item.get("item"):
        case "user":
            yield f"{user}: {item.get('text')}"
        case "answer":
            if str(item.get("text") or "").strip():  # an answer may have tool calls and no text
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
    from tui_host.answers.session_exports import SESSION_EXPORTS  # takes requests of all dialects apart

    line, source = chosen(store, arguments.words[0])
    marks = frozenset(RowMarks(store, line.info.id).newest_first if arguments.marked else ())
    if arguments.marked and not marks:
        raise StoreError("has no marked rows", line.info.id, "m marks a row in the app")
    source = PartOfSession(source, turn=arguments.turn, call=arguments.of_call, keys=marks)
    if words := keys_in_words(source, line.info.id):
        diagnostics.tell(words)
    pieces = SESSION_EXPORTS[arguments.format](source, line.info)
    if arguments.output is None or str(arguments.output) == "-":
        output.raw(pieces)
    elif store.owns(arguments.output):
        raise StoreError("cannot be written: this is the database itself", str(arguments.output), _ELSEWHERE)
    else:
        _write(arguments.output, pieces)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        # Only the owner may read a conversation; an existing file keeps its mode.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.writelines(pieces)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", str(path), _ELSEWHERE) from error


def _import(path: Path, arguments: Arguments, settings: Settings) -> int:
    """Import files that other programs captured, or another tui-host exported, into the store."""
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


def _link(store: Store, arguments: Arguments) -> None:
    """Join two stories, or part a tap from a story, and print the taps of the resulting story."""
    stories = Stories(store)
    story = stories.join(*arguments.words) if arguments.action == "join" else stories.part(*arguments.words)
    taps = [tap.id for tap in story.taps]
    if arguments.json:
        output.value({"id": story.id, "taps": [*taps]})
    else:
        output.text(f"{story.id}  {counted(len(taps), 'tap')}: {', '.join(taps)}")


def _delete(store: Store, arguments: Arguments) -> int:
    """Delete sessions, and stories with all their taps. Reports each failure and continues with the rest."""
    stories = Stories(store)
    named_by_id = {named.id: named for named in map(stories.find, arguments.words)}
    around = {
        named.id: [tap.id for tap in stories.around(named.id)]
        for named in named_by_id.values()
        if isinstance(named, TapStory)
    }
    gone: set[str] = set()
    deleted: list[str] = []
    for named in named_by_id.values():
        sessions = named.taps if isinstance(named, TapStory) else (named,)
        done = [info.id for info in sessions if info.id in gone or _is_deleted(store, info.id)]
        gone.update(done)
        if len(done) < len(sessions):
            deleted += [tap for tap in done if tap not in named_by_id]
            continue
        deleted.append(named.id)
        if left := [tap for tap in around.get(named.id, ()) if tap not in gone and tap not in named_by_id]:
            diagnostics.tell(f"{named.id}: the other taps of its story stay: {', '.join(left)}")
        if not arguments.json:
            taps = f"{counted(len(sessions), 'tap')}: " if len(sessions) > 1 else ""
            output.text(f"deleted {named.id}  {taps}{visible(named.title, newlines=False)}")
    if gone:
        _tell_set_aside(store)
    if arguments.json:
        output.value({"deleted": [*deleted]})
    return diagnostics.DONE if named_by_id.keys() <= {*deleted} else diagnostics.FAILED


def _is_deleted(store: Store, session: str) -> bool:
    """Delete a session, and report failures and possible remains. Returns False if the session could not be deleted."""
    try:
        is_whole = store.sessions.delete(session)
    except TuiHostError as error:
        diagnostics.report(error)
        return False
    if not is_whole:
        diagnostics.tell(f"{session}: deleted; another process still reads the file, so traces may stay until it ends")
    return True


def _tell_set_aside(store: Store) -> None:
    for path in set_aside_beside(store.path):
        diagnostics.tell(
            f"{path.name}, a damaged database set aside earlier, may still hold the data: delete it if you no longer need it"
        )


def _prune(store: Store, arguments: Arguments, settings: Settings) -> None:
    """Delete sessions that exceed the typed limits, or else the configured limits."""
    is_typed = arguments.older_than is not None or arguments.max is not None
    keep, most = (arguments.older_than, arguments.max) if is_typed else (settings.store.keep, settings.store.max)
    if keep is None and most is None:
        raise SettingsError(
            "no limit given",
            "sessions prune",
            "use --older-than 90d or --max 5GB, or set keep and max in [store]",
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
        output.text(f"{'would delete' if arguments.dry_run else 'deleted'} {words}")
    freed = f"{'about ' if arguments.dry_run else ''}{pruned.freed / 1_000_000:.1f} MB"
    diagnostics.tell(f"{len(pruned.gone) or 'nothing'} {'to delete' if arguments.dry_run else 'deleted'}, {freed}")
