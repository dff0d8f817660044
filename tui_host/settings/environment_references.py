"""Fills in references to environment variables, and collects the secret values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from typing_extensions import override

from tui_host.errors import JSON, SettingsError
from tui_host.settings.model_options import Options
from tui_host.settings.schema import REFERENCE, Provider, ServerSpec, Settings, Template

CHILD_VARIABLES = (
    "HOME",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
)
"""Variables of this program's environment that are passed to stdio servers. Their values are never secret."""


@final
class Secret:
    """A credential's value, hidden in repr, str and format.

    Attributes:
        name: Name shown in place of the value: the environment variable, or the configuration key.
    """

    __slots__ = ("_text", "name")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def reveal(self) -> str:
        """Return the value. Use it only in a request's header, in a child's environment, or in the redactor."""
        return self._text

    @override
    def __repr__(self) -> str:
        return f"Secret({self.name}, {len(self._text)} characters)"

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self.name, self._text) == (other.name, other._text)

    @override
    def __hash__(self) -> int:
        return hash((self.name, self._text))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Resolved:
    """A template with its references filled in.

    Attributes:
        text: The text to use.
        secrets: Secret values that came from the environment.
    """

    text: str
    secrets: tuple[Secret, ...] = ()

    @override
    def __repr__(self) -> str:
        return f"Resolved({len(self.text)} characters, {self.secrets})" if self.secrets else f"Resolved({self.text!r})"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResolvedJSON:
    """JSON whose strings have their references filled in; keys stay unchanged.

    Attributes:
        value: The value to use.
        secrets: Secret values that came from the environment.
    """

    value: JSON
    secrets: tuple[Secret, ...] = ()

    @override
    def __repr__(self) -> str:
        return f"ResolvedJSON({self.secrets})"


def references(template: Template) -> tuple[str, ...]:
    """Return the names of the variables that a template refers to, in order, without repetition."""
    if template.literal:
        return ()
    return tuple(dict.fromkeys(match.group(1) for match in REFERENCE.finditer(template.text)))


def resolve(template: Template, environment: Mapping[str, str], *, where: str) -> Resolved:
    """Fill in a template's references. References inside a variable's value are not filled in.

    Args:
        template: The text as configured.
        environment: The environment variables in the settings.
        where: The provider's or server's key in the configuration, for the error.

    Raises:
        SettingsError: A variable is not set and has no default.
    """
    if template.literal:
        return Resolved(text=template.text)
    pieces: list[str] = []
    secrets: list[Secret] = []
    end = 0
    for match in REFERENCE.finditer(template.text):
        name, default = match.group(1), match.group(2)
        value = environment.get(name)
        pieces.append(template.text[end : match.start()])
        end = match.end()
        if value or (value is not None and default is None):
            pieces.append(value)
            if value and name not in CHILD_VARIABLES:
                secrets.append(Secret(name, value))
        elif default is None:
            raise SettingsError(f"{name} is not set", where, f"set the environment variable {name} and start again")
        else:
            pieces.append(default)
    pieces.append(template.text[end:])
    return Resolved(text="".join(pieces), secrets=tuple(dict.fromkeys(secrets)))


def resolve_json(value: JSON, environment: Mapping[str, str], *, where: str) -> ResolvedJSON:
    """Fill in the references in every string of a JSON value.

    Raises:
        SettingsError: A variable is not set and has no default.
    """
    if isinstance(value, str):
        text = resolve(Template(text=value), environment, where=where)
        return ResolvedJSON(value=text.text, secrets=text.secrets)
    if isinstance(value, Mapping):
        members = {key: resolve_json(item, environment, where=f"{where}.{key}") for key, item in value.items()}
        return ResolvedJSON(
            value={key: member.value for key, member in members.items()},
            secrets=tuple(secret for member in members.values() for secret in member.secrets),
        )
    if isinstance(value, Sequence):
        items = [resolve_json(item, environment, where=where) for item in value]
        return ResolvedJSON(
            value=[item.value for item in items], secrets=tuple(secret for item in items for secret in item.secrets)
        )
    return ResolvedJSON(value=value)


def resolve_options(options: Options, environment: Mapping[str, str], *, where: str) -> Options:
    """Fill in the references in the `extra_body` of model options.

    Args:
        options: The options as configured.
        environment: The snapshot in the settings.
        where: The provider or the profile, for the error.

    Raises:
        SettingsError: A variable is not set and has no default.
    """
    filled = {
        name: resolve_json(value, environment, where=f"{where}.extra_body.{name}").value
        for name, value in options.extra_body.items()
    }
    return replace(options, extra_body=filled)


def resolve_headers(headers: Mapping[str, Template], environment: Mapping[str, str], *, where: str) -> dict[str, str]:
    """Fill in the references of configured headers.

    Raises:
        SettingsError: A variable is not set, or a value is invalid in a header. The error does not show the value.
    """
    filled: dict[str, str] = {}
    for name, template in headers.items():
        place = f"{where}.{name}"
        text = resolve(template, environment, where=place).text.strip(" \t")
        if not is_header_value(text):
            raise SettingsError(
                "the value has a character that is invalid in a header", place, _look_into(references(template))
            )
        filled[name] = text
    return filled


def is_header_value(text: str) -> bool:
    """Whether a text is a valid header value: visible ASCII, with spaces and tabs inside."""
    return all(" " <= character <= "~" or character == "\t" for character in text)


def credential(provider: Provider, environment: Mapping[str, str]) -> Secret | None:
    """Return a provider's key: its `api_key`, or else the value of the preset's variable.

    Returns:
        None if there is no key: a local server may need none.

    Raises:
        SettingsError: A variable named in `api_key` is not set or empty, or the key is invalid in a header.
    """
    where = f"providers.{provider.name}.api_key"
    if provider.api_key is None:
        name = provider.key_variable
        text = environment.get(name, "") if name is not None else ""
    else:
        names = references(provider.api_key)
        name = names[0] if names else None
        text = resolve(provider.api_key, environment, where=where).text
        if not text.strip() and any(name in environment for name in names):
            raise SettingsError(f"{name} is empty", where, f"set the environment variable {name} and start again")
    text = text.strip()
    if not text:
        return None
    if not is_header_value(text):
        raise SettingsError(
            "the key has a character that is invalid in a header", where, _look_into((name,) if name else ())
        )
    return Secret(name or f"{provider.name}.api_key", text)


def secrets_of(settings: Settings) -> tuple[Secret, ...]:
    """Return all secret values that the redactor removes. Variables that are not set are skipped."""
    secrets: dict[Secret, None] = {}
    for provider in settings.providers.values():
        secrets.update(dict.fromkeys(_secrets_of_provider(provider, settings.environment)))
    for profile in settings.profiles.values():
        secrets.update(dict.fromkeys(_given(_strings(profile.options.extra_body), settings.environment)))
    for spec in settings.servers.values():
        templates = [*spec.headers.values(), *spec.env.values(), *spec.args]
        templates += [template for template in (spec.url, spec.client_secret) if template is not None]
        secrets.update(dict.fromkeys(_given(templates, settings.environment)))
        secrets.update(dict.fromkeys(_written(spec)))
    return tuple(secrets)


def secret_headers(settings: Settings) -> tuple[str, ...]:
    """Return the names of configured headers that contain a secret from the environment, for the redactor."""
    owners = (*settings.providers.values(), *settings.servers.values())
    return tuple(
        name
        for owner in owners
        for name, template in owner.headers.items()
        if any(_given([template], settings.environment))
    )


def listed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables passed to every child process; none of them holds a credential."""
    return {name: environment[name] for name in CHILD_VARIABLES if name in environment}


def child_environment(spec: ServerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a stdio server's complete environment: `CHILD_VARIABLES`, and the server's own `env`.

    Raises:
        SettingsError: A variable that `env` refers to is not set.
    """
    variables = listed_environment(environment)
    for name, template in spec.env.items():
        variables[name] = resolve(template, environment, where=f"servers.{spec.name}.env.{name}").text
    return variables


def _secrets_of_provider(provider: Provider, environment: Mapping[str, str]) -> Iterator[Secret]:
    templates = [*provider.headers.values(), provider.base_url, *_strings(provider.options.extra_body)]
    if provider.api_key is not None:
        templates.append(provider.api_key)
    try:
        key = credential(provider, environment)
    except SettingsError:
        key = None  # users of the provider get this error; the redactor goes on
    if key is not None:
        yield key
    yield from _given(templates, environment)


def _given(templates: Iterable[Template], environment: Mapping[str, str]) -> Iterator[Secret]:
    for template in templates:
        for name in references(template):
            value = environment.get(name, "")
            if value and name not in CHILD_VARIABLES:
                yield Secret(name, value)


def _written(spec: ServerSpec) -> Iterator[Secret]:
    """Yield credentials written literally into a server's command line, environment or URL."""
    from tui_host.settings.credential_places import in_variables, in_words  # imported late, after the first frame

    if spec.client_secret is not None and not references(spec.client_secret):
        yield Secret(f"servers.{spec.name}.client_secret", spec.client_secret.text)
    words = [argument.text for argument in spec.args] + ([spec.url.text] if spec.url is not None else [])
    for name, value in (*in_words(words), *in_variables({name: template.text for name, template in spec.env.items()})):
        yield Secret(name, value)


def _strings(value: JSON) -> Iterator[Template]:
    if isinstance(value, str):
        yield Template(text=value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(item)


def _look_into(names: Sequence[str]) -> str:
    return f"check the environment variable {' or '.join(names)}" if names else "write it again, in ASCII"
