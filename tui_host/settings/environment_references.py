"""Fills in references to environment variables, and collects the secret values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from typing_extensions import override

from tui_host.errors import SettingsError
from tui_host.settings.schema import REFERENCE, Provider, Settings, Template

_PASSED = (
    "HOME LOGNAME PATH SHELL TERM USER LANG LC_ALL TZ TMPDIR "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS"
)
CHILD_VARIABLES = tuple(_PASSED.split())  # passed to stdio servers; never secret
SET_VARIABLE = "set the environment variable {} and start again"
_HEADER_VALUE = re.compile(r"[ -~\t]*")  # visible ASCII, with spaces and tabs inside


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A credential's value, hidden in repr, str and format; `name` is shown in its place."""

    name: str
    _text: str

    def reveal(self) -> str:
        """Return the value, for a request's header, a child's environment, or the redactor alone."""
        return self._text

    @override
    def __repr__(self) -> str:
        return f"Secret({self.name}, {len(self._text)} characters)"


def resolve(template: Template, environment: Mapping[str, str], *, where: str) -> Template:
    """Fill in a template's references, once; a variable that is not set and has no default is an error at `where`."""
    if template.literal:
        return template
    for match in REFERENCE.finditer(template.text):
        if match[2] is None and match[1] not in environment:
            raise SettingsError(f"{match[1]} is not set", where, SET_VARIABLE.format(match[1]))
    # As in a shell, `:-` also stands in for an empty variable.
    text = REFERENCE.sub(lambda match: environment.get(match[1]) or match[2] or "", template.text)
    return Template(text=text, literal=True)


def resolve_headers(headers: Mapping[str, Template], environment: Mapping[str, str], *, where: str) -> dict[str, str]:
    """Fill in the references of configured headers; an error, as where a variable is not set, does not show the value."""
    filled: dict[str, str] = {}
    for name, template in headers.items():
        text = resolve(template, environment, where=f"{where}.{name}").text.strip(" \t")
        if not _HEADER_VALUE.fullmatch(text):
            what = "the value has a character that is invalid in a header"
            raise SettingsError(what, f"{where}.{name}", _check(template.references))
        filled[name] = text
    return filled


def credential(provider: Provider, environment: Mapping[str, str]) -> Secret | None:
    """Return a provider's key: its `api_key`, or else the value of the preset's variable; None for a server without keys."""
    where = f"providers.{provider.name}.api_key"
    template = provider.api_key
    if template is None:
        template = Template(text=f"${{{provider.key_variable}:-}}" if provider.key_variable else "")
    names = template.references
    text = resolve(template, environment, where=where).text.strip()  # a variable read from a file ends with its line
    if not text and provider.api_key is not None and any(name in environment for name in names):
        raise SettingsError(f"{names[0]} is empty", where, SET_VARIABLE.format(names[0]))
    if not _HEADER_VALUE.fullmatch(text):
        raise SettingsError("the key has a character that is invalid in a header", where, _check(names[:1]))
    name = names[0] if names else f"{provider.name}.api_key"
    return Secret(name, text) if text else None


def secrets_of(settings: Settings) -> tuple[Secret, ...]:
    """Return all secret values that the redactor removes. Variables that are not set are skipped."""
    from tui_host.settings.credential_places import in_variables, in_words  # imported late, after the first frame

    secrets: list[Secret | None] = []
    templates: list[Template | None] = []
    for provider in settings.providers.values():
        with suppress(SettingsError):  # users of the provider get this error; the redactor goes on
            secrets.append(credential(provider, settings.environment))
        templates += [*provider.headers.values(), provider.base_url, provider.api_key]
    for spec in settings.servers.values():
        templates += [*spec.headers.values(), *spec.env.values(), *spec.args, spec.url, spec.client_secret]
        # Credentials may stand literally in a server's command line, environment or URL.
        if spec.client_secret is not None and not spec.client_secret.references:
            secrets.append(Secret(f"servers.{spec.name}.client_secret", spec.client_secret.text))
        words = [template.text for template in (*spec.args, spec.url) if template is not None]
        variables = {name: template.text for name, template in spec.env.items()}
        secrets += [Secret(name, value) for name, value in (*in_words(words), *in_variables(variables))]
    for owner in (*settings.providers.values(), *settings.profiles.values()):
        templates.append(Template(text=json.dumps(dict(owner.options.extra_body))))
    secrets += _given(templates, settings.environment)
    return tuple(dict.fromkeys(secret for secret in secrets if secret is not None))


def secret_headers(settings: Settings) -> tuple[str, ...]:
    """Return the names of configured headers that contain a secret from the environment, for the redactor."""
    owners = (*settings.providers.values(), *settings.servers.values())
    headers = [header for owner in owners for header in owner.headers.items()]
    return tuple(name for name, template in headers if any(_given([template], settings.environment)))


def listed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables passed to every child process; none of them holds a credential."""
    return {name: environment[name] for name in CHILD_VARIABLES if name in environment}


def _given(templates: Iterable[Template | None], environment: Mapping[str, str]) -> Iterator[Secret]:
    for template in templates:
        for name in template.references if template is not None else ():
            if environment.get(name) and name not in CHILD_VARIABLES:
                yield Secret(name, environment[name])


def _check(variables: Sequence[str]) -> str:
    return f"check the environment variable {' or '.join(variables)}" if variables else "write it again, in ASCII"
