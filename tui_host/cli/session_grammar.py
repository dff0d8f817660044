"""The grammar of the command `sessions`, and of the files that it and `open` read."""

from __future__ import annotations

import argparse

from tui_host.cli.answers_grammar import add_answers
from tui_host.cli.shared_options import AddParser, common, json_too, name_of
from tui_host.settings.table_reader import duration_of, size_of

READ_FROM_FILES = """\
The format is recognised by a file's content:
  JSON lines, as written by `sessions export` and `tap --log`
  HTTP archives (HAR) from browsers and mitmproxy, of any size
  one request to a model, or one response: an event stream, JSON lines, or JSON; a list of messages, as kept by Cline
  logs: a JSON object on each line; JSON-RPC lines with or without a prefix and a direction, as written by Claude Desktop,
    VS Code and `tee`; request lines followed by `data:` lines
Files may be compressed with gzip. Several files are read as one capture: requests and responses, the log in front of a
model and the log in front of a server, a server's input and output."""

_SEARCH = """\
List the sessions that have all words and "quoted texts" in the title, in the conversation, or in the bodies of requests,
answers and frames; or those with rows that match a filter, such as server:math status:failed (see the document usage)."""
_NAMES = "an id, its beginning, or «last»; a story's id stands for all of its taps, a tap's id for that tap alone"


def add_sessions(add: AddParser) -> None:
    """Add the command."""
    sessions = add(
        "sessions",
        help="list, show, search, export, import, join, part, delete or prune recordings",
        description="List, show, search, export, import, join, part, delete or prune recordings.",
    )
    common(sessions)
    actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=type(sessions))
    listed = actions.add_parser(
        "list",
        help="list all sessions, newest first",
        description="List all sessions, newest first. Taps of one host that form a story are listed below it.",
    )
    shown = actions.add_parser("show", help="print the conversation", description="Print a session's conversation.")
    add_answers(shown)
    searched = actions.add_parser("search", help="search titles, conversations and records", description=_SEARCH)
    searched.add_argument("words", nargs="+", metavar="TEXT", help="words, or a filter as in the inspector")
    searched.add_argument("--all", action="store_true", help="look at all records, however many there are")
    exported = actions.add_parser(
        "export",
        help="export a session, a turn or a call in one of several formats",
        description="Export a session, or one turn or call of it.",
    )
    joined = actions.add_parser(
        "join",
        help="join two stories",
        description="Join two stories of taps that did not overlap in time, or whose hosts have different names.",
    )
    parted = actions.add_parser(
        "part", help="take a tap out of its story", description="Take a tap out of its story, to be a story of its own."
    )
    deleted = actions.add_parser(
        "delete",
        help="delete sessions for good",
        description="Delete sessions for good. A story is deleted with all of its taps.",
    )
    imported = actions.add_parser(
        "import", help="store files captured elsewhere", description="Store files captured elsewhere as a session."
    )
    imported.epilog = READ_FROM_FILES
    common(imported)
    json_too(imported)
    files_of(imported, "file to read, - for standard input")
    pruned = actions.add_parser(
        "prune",
        help="delete old sessions",
        description="Delete the oldest sessions for good, by the limits keep and max of [store] or the limits given here. Sessions in use stay.",
    )
    for action in (listed, shown, searched, exported, joined, parted, deleted, pruned):
        common(action)
    for action in (listed, shown, searched, joined, parted, deleted, pruned):
        json_too(action)
    for action in (shown, exported, parted):
        action.add_argument("words", nargs=1, metavar="ID", help=_NAMES)
    joined.add_argument("words", nargs=2, metavar="ID", help=_NAMES)
    deleted.add_argument("words", nargs="+", metavar="ID", help=_NAMES)
    pruned.add_argument(
        "--older-than", type=_duration, metavar="TIME", help="delete sessions unchanged for this long, such as 90d"
    )
    pruned.add_argument(
        "--max", type=_size, metavar="SIZE", help="delete until the rest takes no more than this, such as 5GB"
    )
    pruned.add_argument("--dry-run", action="store_true", help="only list what would be deleted")
    from tui_host.cli.export_grammar import export_options  # its formats are imported by none but the command line

    export_options(exported)


def add_mcp(add: AddParser) -> None:
    """Add the command that serves what was recorded to other programs."""
    served = add(
        "mcp",
        help="serve what was recorded as an MCP server over stdio",
        description="Serve what was recorded, read only, as an MCP server over stdio: to Claude Code, tui-host, or another host.",
    )
    served.epilog = "To add it to Claude Code:\n  claude mcp add recorded -- tui-host mcp"
    common(served)
    served.add_argument(
        "--session",
        dest="words",
        action="append",
        default=[],
        metavar="ID",
        help="serve this session only: an id, its beginning, or «last»; repeatable",
    )


def files_of(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the files to read."""
    parser.add_argument(
        "words",
        nargs="+",
        type=name_of,
        metavar="FILE",
        help=f"{what}; several files are read as one capture",
    )


def _duration(text: str) -> float:
    if (seconds := duration_of(text)) is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a duration, such as 90d, 12h or 30m")
    return seconds


def _size(text: str) -> int:
    if (size := size_of(text)) is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a size, such as 5GB or 500MB")
    return size
