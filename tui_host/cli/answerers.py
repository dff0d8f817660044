"""Answers in a person's place: the person on the terminal, or the flags of a command, which never wait for somebody."""

from __future__ import annotations

import os
import sys
import termios
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import override

from tui_host.capture.visible import line, tool_name, visible
from tui_host.chat.call_arguments import pretty, read_arguments
from tui_host.chat.policy import Refuse
from tui_host.chat.schema_form import FormField, content_of, fields_of
from tui_host.cli import diagnostics, options
from tui_host.errors import JSON, SettingsError, TuiHostError
from tui_host.servers.catalog import claims_of
from tui_host.servers.server_questions import Declines, ElicitationAnswer
from tui_host.settings.mistakes import closest

if TYPE_CHECKING:
    from tui_host.chat.policy import Question
    from tui_host.servers.server_questions import Elicitation, Login, Reviewed, SamplingRequest
    from tui_host.settings.schema import Settings

_DESCRIPTION_CHARACTERS = 600


def can_ask() -> bool:
    """Whether standard input and standard error are both terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def given_text(word: str, command: str, most_bytes: int) -> str:
    """Return a typed text, or standard input for `-`. Raises SettingsError if it is too long or not UTF-8."""
    where = command
    data = word.encode(errors="surrogateescape")  # back to the bytes that were typed
    if word == "-":
        where = f"{command} -"
        if sys.stdin is None:
            raise SettingsError("standard input is closed", where, "pipe the text into it")
        data = sys.stdin.buffer.read(most_bytes + 1)  # one more than allowed: a longer text is refused, not cut
    if len(data) > most_bytes:
        raise SettingsError(f"the text is longer than {most_bytes:,} bytes", where, "send less")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        what = f"the text is not UTF-8: byte {error.start + 1:,} is 0x{data[error.start]:02x}"
        raise SettingsError(what, where, "send text") from None


def given_arguments(text: str, where: str) -> dict[str, JSON]:
    """Parse the arguments of a call; raises SettingsError if they are no JSON object."""
    try:
        return read_arguments(text)
    except TuiHostError as error:
        raise SettingsError(error.what, where, error.remedy or "write a JSON object") from error


async def read_line() -> str | None:
    """Read from standard input, None at its end. Uses no thread, so that a signal can end the wait."""
    import anyio

    if sys.stdin is None:
        return None
    try:
        await anyio.wait_readable(sys.stdin.fileno())
        data = os.read(sys.stdin.fileno(), 1 << 16)
    except OSError:  # a file, which cannot be waited for
        return None
    return data.decode(errors="replace").strip() if data else None


@dataclass(frozen=True, slots=True)
class TerminalApprover(Refuse):
    """Asks on standard error to approve calls. `redacted` removes secrets from shown text.

    A turn still ends at its limit of steps, which `--max-steps` sets.
    """

    redacted: Callable[[str], str]

    @override
    async def decide(self, questions: Sequence[Question]) -> None:
        """Ask the questions one after the other. At the end of the input, open questions stay undecided."""
        for number, question in enumerate(questions, start=1):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # keys typed before the question do not count
            request, tool = question.request, question.request.tool
            arguments = visible(self.redacted(pretty(read_arguments(request.arguments.decode()))))
            asides = {
                "does not fit the tool's schema": "; ".join(request.misfits or ()),
                "described by the server": self.redacted(tool.description),
                "server claims": claims_of(tool),
            }
            count = f" ({number} of {len(questions)})" if len(questions) > 1 else ""
            rows = [f"Approve {tool_name(tool.server, tool.name)}?{count}"]
            rows += [f"  | {row}" for row in arguments.split("\n")]
            if request.changed:  # never cut: it decides whether a call is still the one that was approved
                rows.append(f"  changed since it was last approved: {visible(request.changed, newlines=False)}")
            rows += [f"  {name}: {line(words, _DESCRIPTION_CHARACTERS)}" for name, words in asides.items() if words]
            diagnostics.write("\n".join(rows) + "\n")
            question.appear()  # the time to decide begins now
            while question.open:
                diagnostics.write("  y approve once, n reject, n REASON reject with a reason: ")
                words = await read_line()
                if words is None:
                    diagnostics.write("\n")  # the shell's prompt would stand behind the question
                    return
                verb, _, reason = words.partition(" ")
                if verb.lower() in {"y", "yes"} and not reason:  # «y but only if…» is no approval
                    question.approve()
                elif verb.lower() in {"n", "no"}:
                    question.reject(reason.strip())


class TerminalAnswerer(Declines):
    """Shows a login's address on standard error, and reads from standard input what to do. Declines everything else."""

    @override
    async def log_in(self, login: Login) -> str | None:
        """Show the address; a pasted address is the answer, enter opens the browser."""
        import anyio

        words = (urlsplit(login.url).netloc, login.reason, login.url)
        host, reason, url = (visible(text, newlines=False) for text in words)
        diagnostics.write(
            f"{login.server} asks for a login at {host} ({reason}):\n\n  {url}\n\n"
            f"Open this address, or press enter to open it in the browser. It returns to {login.redirect};\n"
            "where that cannot be reached, paste the address that the browser was sent to. q gives up.\n"
        )
        while (typed := await read_line()) is not None:
            if "://" in typed:
                return typed
            if typed in {"q", "quit"}:
                return None
            if not typed and not await anyio.to_thread.run_sync(webbrowser.open, login.url):
                diagnostics.tell("there is no browser to open; open the address elsewhere")
        await anyio.sleep_forever()  # standard input has ended: the browser returns by itself
        return None


class FlagAnswerer(Declines):
    """Fills in forms by `--elicit`, accepts those without fields by `--confirm`, lets requests for the model pass by `--sampling`."""

    def __init__(self, args: Namespace, say: Callable[[str], None]) -> None:
        self._say = say
        self._sampling: bool = args.sampling
        self._confirms: bool = args.confirm
        self._texts = options.pairs(args.elicit, "--elicit", "FIELD=VALUE")
        self._known: set[str] = set()

    @override
    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        asked, why_not = f"to visit {request.url}", ""
        if request.schema is not None:
            # Nobody looks before it is sent, so what does not fit is declined rather than guessed.
            fields = fields_of(request.schema)
            names = ", ".join(field.name for field in fields)
            asked = f"for {names}" if names else "to confirm"
            try:
                content = self._content(fields, request.mistake)
            except TuiHostError as error:
                why_not = f": {error}"
            else:
                return ElicitationAnswer(action="accept", content=content)
        reason = " ".join(request.message.split())
        self._say(f"{request.server} asked {asked} ({reason}): declined{why_not}")
        return ElicitationAnswer(action="decline")

    def _content(self, fields: Sequence[FormField], mistake: str) -> Mapping[str, JSON]:
        """Return the values of a form; raises TuiHostError with why it is declined."""
        names = [field.name for field in fields]
        self._known.update(names)
        if not names and self._confirms:
            return {}
        if not names:
            raise TuiHostError("--confirm accepts")
        if mistake:
            raise TuiHostError(mistake)
        for name in self._texts:
            near = closest(name, [field for field in names if field not in self._texts])
            if name not in self._known and near is not None:  # without it the answer would be another
                raise TuiHostError(f"it has no field {name}", remedy=f"did you mean {near}?")
        texts = {name: self._texts[name] for name in names if name in self._texts}
        if not texts:
            raise TuiHostError("nothing was given; --elicit FIELD=VALUE answers")
        return content_of(fields, texts)

    def unknown(self) -> Iterator[str]:
        """Name each `--elicit` whose field was in no form, if there was a form: a mistake."""
        for name in self._texts if self._known else ():
            if name not in self._known:
                yield f"--elicit {name}: no form has this field; the fields are {', '.join(sorted(self._known))}"

    @override
    async def review(self, request: SamplingRequest, shown: Reviewed) -> Reviewed | None:
        if self._sampling or shown is not request:
            return shown
        self._say(f"{request.server} asked for an answer of {request.model}: refused; --sampling permits it")
        return None


def with_flags(settings: Settings, args: Namespace) -> Settings:
    """Return the settings with what `--sampling` and `--root` permit to every server."""
    roots = [root.expanduser().absolute() for root in args.root]  # `--root=~/x` is no word that a shell expands
    for root in roots:
        if not root.is_dir():
            raise SettingsError(f"there is no folder {root}", "--root", "write the path of a folder")
    servers = {
        name: replace(spec, sampling=spec.sampling or args.sampling, roots=(*spec.roots, *map(str, roots)))
        for name, spec in settings.servers.items()
    }
    return replace(settings, servers=servers)
