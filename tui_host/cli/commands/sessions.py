"""`sessions`: lists, shows, searches, exports, imports, joins, parts, deletes and prunes what was recorded."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_host.answers.pages import PAGES
from tui_host.answers.session_exports import SESSION_EXPORTS
from tui_host.answers.sheet import as_json
from tui_host.answers.values import parsed
from tui_host.capture.exports.markdown_export import pieces as markdown_pieces
from tui_host.capture.exports.parts import PartOfSession, keys_in_words
from tui_host.capture.redact.redaction import redactor_of
from tui_host.capture.session_summary import rfc3339
from tui_host.capture.store.database import SET_ASIDE
from tui_host.capture.store.deletion import delete_session, prune
from tui_host.capture.store.notes_of_people import RowMarks
from tui_host.capture.store.store import Store
from tui_host.capture.visible import visible
from tui_host.cli import diagnostics, options, output
from tui_host.cli.recorded import (
    ListedSession,
    counted,
    found_text,
    list_text,
    listing,
    matching,
    page,
    recorded,
    sheet_text,
    wires_of,
)
from tui_host.errors import JSON, SettingsError, StoreError, TuiHostError
from tui_host.infer.stories import Stories, TapStory
from tui_host.infer.story_reader import WholeStory, exported_session, link_by_hand
from tui_host.opening.importing import import_files
from tui_host.settings.paths import DATABASE
from tui_host.settings.table_reader import amount_of

if TYPE_CHECKING:
    from tui_host.settings.schema import Settings

_DESCRIPTIONS = {
    "list": "List all sessions, newest first. Taps of one host that form a story are listed below it.",
    "search": """\
List the sessions that have all words and "quoted texts" in the title, in the conversation, or in the bodies of requests,
answers and frames; or those with rows that match a filter, such as server:math status:failed (see the document usage).""",
    "join": "Join two stories of taps that did not overlap in time, or whose hosts have different names.",
    "part": "Take a tap out of its story, to be a story of its own.",
    "link": "Join a call with a frame by hand, or part them again: the session, a call as 1.1.2, a frame as math#4.",
    "delete": "Delete sessions for good. A story is deleted with all of its taps.",
    "prune": """\
Delete the oldest sessions for good, by the limits keep and max of [store] or the limits given here. Sessions in use stay.""",
}
_IDS: dict[str, str | int] = {"show": 1, "export": 1, "join": 2, "part": 1, "link": 3, "delete": "+"}
_NAMES = "an id, its beginning, or «last»; a story's id stands for all of its taps, a tap's id for that tap alone"
_TRACES = "another process still reads the file, so traces may stay until it ends"
_DAMAGED: JSON = {"item": "note", "what": "this item is damaged in the database"}
_ELSEWHERE = "choose another file with -o"


def add(parser: options.CommandParser) -> None:
    """Add the options."""
    action = parser.command.partition(" ")[2]
    parser.description = _DESCRIPTIONS.get(action)
    if action != "export":
        parser.flag("--json", options.AS_JSON)
    if action in _IDS:
        parser.words(_IDS[action], "ID", _NAMES, str)
    match action:
        case "show":
            parser.usage = "%(prog)s ID [OPTION ...]"
            pages = parser.add_argument_group("pages, in place of the conversation").add_mutually_exclusive_group()
            for shown in PAGES:
                metavar = "REQUEST" if shown.takes == "REQUESTS" else shown.takes
                if not shown.takes:
                    pages.add_argument(f"--{shown.command}", action="store_const", const=(), help=shown.help)
                else:
                    pages.add_argument(f"--{shown.command}", nargs="*", metavar=metavar, help=shown.help)
        case "search":
            parser.words("+", "TEXT", "words, or a filter as in the inspector", str)
            parser.flag("--all", "look at all records, however many there are")
        case "export":
            parser.epilog = "\n".join(
                ("The formats:", *(f"  {name:<10}{form.words}" for name, form in SESSION_EXPORTS.items()))
            )
            parser.option("--turn", "N", "only this turn", int)
            parser.option("--call", "ID", "only this call: 2.1.3 is the third call of step 1 of turn 2")
            parser.flag("--marked", "only the rows marked in the app")
            forms = tuple(SESSION_EXPORTS)
            parser.add_argument("--format", choices=forms, default="jsonl", help="the form: jsonl without this option")
            words = "the file to write; - is standard output"
            parser.add_argument("-o", "--output", type=options.path_of, metavar="FILE", help=words)
        case "import":
            options.files(parser, "file to read, - for standard input")
        case "prune":
            age = options.checked(partial(amount_of, kind="duration"), "a duration, such as 90d, 12h or 30m")
            size = options.checked(partial(amount_of, kind="size"), "a size, such as 5GB or 500MB")
            parser.option("--older-than", "TIME", "delete sessions unchanged for this long, such as 90d", age)
            parser.option("--max", "SIZE", "delete until the rest takes no more than this, such as 5GB", size)
            parser.flag("--dry-run", "only list what would be deleted")
        case _:
            pass


def run(args: Namespace, settings: Settings) -> int:
    """Carry out the action, and return the exit code."""
    action = args.command.partition(" ")[2]
    diagnostics.tell(*settings.notices)
    if action == "import":
        with closing(Store.open(settings.data_dir / DATABASE)) as store:
            diagnostics.tell(*store.notices)
            imported = import_files(store, [Path(word) for word in args.words], redactor_of(settings))
        diagnostics.tell(*imported.notices)
        output.either(imported.id, {"id": imported.id}, as_json=args.json)
        return diagnostics.DONE
    if action == "list" and not (settings.data_dir / DATABASE).exists():
        _list((), as_json=args.json)
        return diagnostics.DONE
    is_writing = action in {"join", "part", "link", "delete"} or (action == "prune" and not args.dry_run)
    with recorded(settings, write=is_writing) as store:
        diagnostics.tell(*store.notices)
        match action:
            case "list":
                _list(listing(store), as_json=args.json)
            case "show":
                _show(store, args, settings)
            case "search":
                _search(store, args)
            case "export":
                _export(store, args)
            case "prune":
                _prune(store, args, settings)
            case "link":
                output.either(*link_by_hand(store, *args.words), as_json=args.json)
            case "delete":
                return _delete(store, args)
            case _:
                stories = Stories(store)
                story = stories.join(*args.words) if action == "join" else stories.part(*args.words)
                taps = [tap.id for tap in story.taps]
                words = f"{story.id}  {counted(len(taps), 'tap')}: {', '.join(taps)}"
                output.either(words, {"id": story.id, "taps": [*taps]}, as_json=args.json)
    return diagnostics.DONE


def _list(listed: Sequence[ListedSession], *, as_json: bool) -> None:
    output.either(list_text(listed), {"sessions": [line.to_json() for line in listed]}, as_json=as_json)
    if not listed and not as_json:
        diagnostics.tell("no session has been recorded yet")


def _show(store: Store, args: Namespace, settings: Settings) -> None:
    shown = next((page for page in PAGES if getattr(args, page.command) is not None), None)
    if shown is None:
        info, source = exported_session(store, args.words[0])
        items = source.session_items(info.id)
        if args.json:
            story = source.tap_story if isinstance(source, WholeStory) else None
            listed = ListedSession(info=info, story=story, counts=store.sessions.passed())
            output.value({"session": listed.to_json(), "items": [parsed(text) or _DAMAGED for text in items]})
        else:
            output.raw(markdown_pieces(info, (), items))
        return
    text = " ".join(getattr(args, shown.command))
    sheet = page(lambda session: wires_of(store, settings, session), args.words[0], shown, text)
    output.either(sheet_text(sheet), as_json(sheet), as_json=args.json)


def _search(store: Store, args: Namespace) -> None:
    """Print the sessions that match: first by title and conversation, then by records alone; the last changed first."""
    matches, unsearched = matching(store, " ".join(args.words), is_all=args.all)
    if unsearched:
        diagnostics.tell(f"the records of {unsearched:,} older sessions were not searched: --all searches them too")
    sessions: list[JSON] = [
        {
            "id": match.session.id,
            "title": match.session.title,
            "updated": rfc3339(match.session.updated_ns),
            "in": match.where,
            "turn": match.turn,
            "rows": match.rows,
            "excerpt": match.excerpt,
        }
        for match in matches
    ]
    output.either(found_text(matches), {"sessions": sessions}, as_json=args.json)
    if not matches and not args.json:
        diagnostics.tell("no session matches")


def _export(store: Store, args: Namespace) -> None:
    path: Path | None = args.output
    info, source = exported_session(store, args.words[0])
    marks = frozenset(RowMarks(store, info.id).notes if args.marked else ())
    if args.marked and not marks:
        raise StoreError("has no marked rows", info.id, "mark a row in the app")
    source = PartOfSession(source, turn=args.turn, call=args.call, keys=marks)
    if words := keys_in_words(source, info.id):
        diagnostics.tell(words)
    pieces = SESSION_EXPORTS[args.format].export(source, info)
    if path is None or str(path) == "-":
        output.raw(pieces)
    elif store.owns(path):
        raise StoreError("cannot be written: this is the database itself", str(path), _ELSEWHERE)
    else:
        try:
            # Only the owner may read a conversation; an existing file keeps its mode.
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
                file.writelines(pieces)
        except OSError as error:
            raise StoreError(f"cannot be written: {error.strerror}", str(path), _ELSEWHERE) from error


def _delete(store: Store, args: Namespace) -> int:
    """Delete sessions, and stories with all their taps. Reports each failure and continues with the rest."""
    stories = Stories(store)
    named_by_id = {named.id: named for named in map(stories.find, args.words)}
    # Asked before anything is deleted: a story without one of its taps is another story.
    around = {
        name: dict.fromkeys(tap.id for story in stories.with_tap(name) for tap in story.taps)
        for name, named in named_by_id.items()
        if isinstance(named, TapStory)
    }
    gone: set[str] = set()  # a tap may be named beside its story
    deleted: list[str] = []
    lines: list[str] = []
    shared = {name: len(named.parent.shared) if named.parent else 0 for name, named in named_by_id.items()}
    for name, named in sorted(named_by_id.items(), key=lambda item: -shared[item[0]]):  # branches first
        sessions = [info.id for info in (named.taps if isinstance(named, TapStory) else (named,))]
        for session in (session for session in sessions if session not in gone):
            try:
                is_whole = delete_session(store, session)
            except TuiHostError as error:
                diagnostics.report(error)
                continue
            gone.add(session)
            if not is_whole:
                diagnostics.tell(f"{session}: deleted; {_TRACES}")
        if not gone.issuperset(sessions):
            deleted += [tap for tap in sessions if tap in gone and tap not in named_by_id]
            continue
        deleted.append(name)
        if left := [tap for tap in around.get(name, ()) if tap not in gone and tap not in named_by_id]:
            diagnostics.tell(f"{name}: the other taps of its story stay: {', '.join(left)}")
        taps = f"{counted(len(sessions), 'tap')}: " if len(sessions) > 1 else ""
        lines.append(f"deleted {name}  {taps}{visible(named.title, newlines=False)}")
    _tell_remains(store, is_changed=bool(gone))
    output.either("\n".join(lines), {"deleted": [*deleted]}, as_json=args.json)
    return diagnostics.DONE if named_by_id.keys() <= {*deleted} else diagnostics.FAILED


def _tell_remains(store: Store, *, is_changed: bool) -> None:
    """Name damaged databases, which may still hold what was deleted."""
    for path in sorted(store.path.parent.glob(store.path.name + SET_ASIDE)) if is_changed else ():
        what = f"{path.name}, a database set aside earlier, may still hold the data"
        diagnostics.tell(f"{what}: delete it if you no longer need it")


def _prune(store: Store, args: Namespace, settings: Settings) -> None:
    keep, most, is_dry = args.older_than, args.max, bool(args.dry_run)
    if keep is None and most is None:  # typed limits replace all configured ones
        keep, most = settings.store.keep, settings.store.max
    if keep is None and most is None:
        remedy = "use --older-than 90d or --max 5GB, or set keep and max in [store]"
        raise SettingsError("no limit given", "sessions prune", remedy)
    before_ns = None if keep is None else time.time_ns() - int(keep * 1_000_000_000)
    pruned = prune(store, before_ns=before_ns, max_bytes=most, dry=is_dry)
    if not pruned.is_whole:
        diagnostics.tell(_TRACES)
    _tell_remains(store, is_changed=bool(pruned.gone) and not is_dry)
    lines: list[str] = []
    for old in pruned.gone:
        is_session = old.thing == "session"
        words = f"{old.name}  {visible(old.title, newlines=False)}" if is_session else f"capture {old.name}"
        lines.append(f"{'would delete' if is_dry else 'deleted'} {words}")
    gone: dict[str, JSON] = {
        f"{thing}s": [old.name for old in pruned.gone if old.thing == thing] for thing in ("session", "capture")
    }
    output.either("\n".join(lines), {**gone, "freed": pruned.freed, "dry_run": is_dry}, as_json=args.json)
    freed = f"{'about ' if is_dry else ''}{pruned.freed / 1_000_000:.1f} MB"
    diagnostics.tell(f"{len(pruned.gone) or 'nothing'} {'to delete' if is_dry else 'deleted'}, {freed}")
