"""Answers what servers ask by the flags of a command, never by waiting for somebody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from typing_extensions import override

from tui_host.chat.schema_form import content_of, fields_of
from tui_host.errors import SettingsError, TuiHostError
from tui_host.servers.server_questions import (
    Declines,
    Elicitation,
    ElicitationAnswer,
    SamplingAnswer,
    SamplingRequest,
)

if TYPE_CHECKING:
    from tui_host.cli.arguments import Arguments
    from tui_host.settings.schema import Settings


class FlagAnswerer(Declines):
    """Fills in forms that have a field named by `--elicit`, lets requests for the model pass with `--sampling`, declines the rest.

    Args:
        arguments: The command line.
        say: Tells the person about each question.

    Raises:
        SettingsError: An `--elicit` has no field's name.
    """

    def __init__(self, arguments: Arguments, say: Callable[[str], None]) -> None:
        self._say = say
        self._sampling = arguments.sampling
        self._texts: dict[str, str] = {}
        for written in arguments.elicit:
            name, is_given, text = written.partition("=")
            if not name or not is_given:
                raise SettingsError(f"found {written!r}", "--elicit", "write FIELD=VALUE")
            self._texts[name] = text

    @override
    async def elicit(self, request: Elicitation) -> ElicitationAnswer:
        declined = ElicitationAnswer(action="decline")
        reason = " ".join(request.message.split())
        if request.schema is None:
            self._say(f"{request.server} asked to visit {request.url} ({reason}): declined")
            return declined
        fields = fields_of(request.schema)
        texts = {field.name: self._texts[field.name] for field in fields if field.name in self._texts}
        asked = f"{request.server} asked for {', '.join(field.name for field in fields)} ({reason})"
        if not texts:
            self._say(f"{asked}: declined; --elicit FIELD=VALUE answers")
            return declined
        try:
            content = content_of(fields, texts)
        except TuiHostError as error:
            self._say(f"{asked}: declined: {error}")
            return declined
        if request.mistake:
            self._say(f"{asked}: declined: {request.mistake}")
            return declined
        return ElicitationAnswer(action="accept", content=content)

    @override
    async def review_request(self, request: SamplingRequest) -> SamplingRequest | None:
        if self._sampling:
            return request
        self._say(f"{request.server} asked for an answer of {request.model}: refused; --sampling permits it")
        return None

    @override
    async def review_answer(self, request: SamplingRequest, answer: SamplingAnswer) -> SamplingAnswer | None:
        del request
        return answer


def with_flags(settings: Settings, arguments: Arguments) -> Settings:
    """Return the settings with what `--sampling` and `--root` permit to every server.

    Raises:
        SettingsError: A root is no folder.
    """
    roots = tuple(str(root.expanduser().absolute()) for root in arguments.root)
    for root in arguments.root:
        if not root.expanduser().is_dir():
            raise SettingsError(f"there is no folder {root}", "--root", "write the path of a folder")
    servers = {
        name: replace(spec, sampling=spec.sampling or arguments.sampling, roots=(*spec.roots, *roots))
        for name, spec in settings.servers.items()
    }
    return replace(settings, servers=servers)
