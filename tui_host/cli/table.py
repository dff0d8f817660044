"""The commands. A new command is a module in `cli.commands` and a row here."""

from __future__ import annotations

from typing import NamedTuple


class CommandRow(NamedTuple):
    """A command, by what is typed, such as `servers check`; the app's name is empty."""

    name: str
    summary: str  # its line in the help of the program or of its group; empty where no help lists it
    module: str = ""  # in `cli.commands`; empty for the app, and for a group without words of its own
    is_group: bool = False  # its actions are rows of their own
    reads_settings: bool = True  # a tap does not, since a mistake in ours must not stop another host
    runs_command: bool = False  # the words behind `--` are another program's
    has_own_grammar: bool = False  # its module parses the words


APP = CommandRow("", "", runs_command=True)
COMMANDS = (
    CommandRow("ask", "ask one question without the app", "ask"),
    CommandRow("compare", "the same question to several models or tool protocols, side by side", "compare"),
    CommandRow("servers", "list, check, add, remove, enable, disable, import or export servers", is_group=True),
    CommandRow("servers list", "list the configured servers", "servers"),
    CommandRow("servers check", "check all that the servers offer; exit code 1 on a mistake", "server_check"),
    CommandRow("servers import", "import servers of other hosts", "server_import"),
    CommandRow("servers export", "print servers for other hosts", "servers"),
    CommandRow("servers add", "add a server", "servers", runs_command=True),
    CommandRow("servers remove", "remove servers that were added or imported", "servers"),
    CommandRow("servers enable", "switch servers, or single tools as SERVER.TOOL, on for good", "servers"),
    CommandRow("servers disable", "switch servers, or single tools as SERVER.TOOL, off for good", "servers"),
    CommandRow("servers login", "log in at servers behind URLs, in the browser", "servers"),
    CommandRow("servers logout", "forget the logins at servers", "servers"),
    CommandRow("call", "call a tool of a server", "request"),
    CommandRow("read", "read a resource of a server", "request"),
    CommandRow("prompt", "fill in a prompt of a server", "request"),
    CommandRow("models", "list the models of the providers", "models"),
    CommandRow("sessions", "list, show, search, export, import, join, part, delete or prune recordings", is_group=True),
    CommandRow("sessions list", "list all sessions, newest first", "sessions"),
    CommandRow("sessions show", "print the conversation", "sessions"),
    CommandRow("sessions search", "search titles, conversations and records", "sessions"),
    CommandRow("sessions export", "export a session, a turn or a call in one of several formats", "sessions"),
    CommandRow("sessions join", "join two stories", "sessions"),
    CommandRow("sessions part", "take a tap out of its story", "sessions"),
    CommandRow("sessions link", "join a call with a frame by hand, or part them", "sessions"),
    CommandRow("sessions delete", "delete sessions for good", "sessions"),
    CommandRow("sessions import", "store files captured elsewhere", "sessions"),
    CommandRow("sessions prune", "delete old sessions", "sessions"),
    CommandRow("mcp", "serve what was recorded as an MCP server over stdio", "mcp"),
    CommandRow("open", "open files captured elsewhere in the inspector", "open"),
    CommandRow("tap", "record another host's traffic with its model and servers", "tap", is_group=True),
    CommandRow("tap stdio", "in front of a stdio server's command", "tap", reads_settings=False, runs_command=True),
    CommandRow("tap llm", "in front of a model's API", "tap", reads_settings=False),
    CommandRow("tap http", "in front of an MCP server behind a URL", "tap", reads_settings=False),
    CommandRow(
        "tap run", "start another host behind taps, for one run", "tap_run", reads_settings=False, runs_command=True
    ),
    CommandRow("tap install", "write stdio taps into a host's configuration", "tap_install", reads_settings=False),
    CommandRow("tap uninstall", "remove the taps again", "tap_install", reads_settings=False),
    CommandRow("tap-recorder", "", "tap", reads_settings=False, runs_command=True),
    CommandRow("demo-model", "run the demo model as a server", "models", reads_settings=False, has_own_grammar=True),
    CommandRow("conformance", "", "conformance", runs_command=True),
)
