"""Fills in references to environment variables, and collects the secret values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

from typing_extensions import override

from tui_host.errors import JSON, SettingsError
from tui_host.settings.model_options import Options
from tui_host.settings.schema import REFERENCE, Provider, ServerSpec, Settings, Template

_PASSED = (
    "HOME LOGNAME PATH SHELL TERM USER LANG LC_ALL TZ TMPDIR "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS"
)
CHILD_VARIABLES = tuple(_PASSED.split())
"""Variables of this program's environment that are passed to stdio servers. Their values are never secret."""


@final
class Secret:
    """A credential's value, hidden in repr, str and format; `name` is shown in its place."""

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


def resolve(template: Template, environment: Mapping[str, str], *, where: str) -> Template:
    """Fill in a template's references; the result is literal. References inside a variable's value are not filled in.

    Raises:
        SettingsError: A variable is not set and has no default; `where` is the key in the configuration.
    """
    if template.literal:
        return template
    pieces: list[str] = []
    end = 0
    for match in REFERENCE.finditer(template.text):
        name, default = match.group(1), match.group(2)
        value = environment.get(name)
        if default is not None:  # as in a shell, `:-` also stands in for an empty variable
            value = value or default
        if value is None:
            raise SettingsError(f"{name} is not set", where, f"set the environment variable {name} and start again")
        pieces += (template.text[end : match.start()], value)
        end = match.end()
    return Template(text="".join((*pieces, template.text[end:])), literal=True)


def resolve_json(value: JSON, environment: Mapping[str, str], *, where: str) -> JSON:
    """Fill in the references in every string of a JSON value, but not in keys; raises as `resolve` does."""
    if isinstance(value, str):
        return resolve(Template(text=value), environment, where=where).text
    if isinstance(value, Mapping):
        return {key: resolve_json(item, environment, where=f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence):
        return [resolve_json(item, environment, where=where) for item in value]
    return value


def resolve_options(options: Options, environment: Mapping[str, str], *, where: str) -> Options:
    """Fill in the references in the `extra_body` of model options; raises as `resolve` does."""
    filled = {
        name: resolve_json(value, environment, where=f"{where}.extra_body.{name}")
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
        text = resolve(template, environment, where=f"{where}.{name}").text.strip(" \t")
        if not is_header_value(text):
            what = "the value has a character that is invalid in a header"
            raise SettingsError(what, f"{where}.{name}", _check(template.references))
        filled[name] = text
    return filled


def is_header_value(text: str) -> bool:
    """Whether a text is a valid header value: visible ASCII, with spaces and tabs inside."""
    return all(" " <= character <= "~" or character == "\t" for character in text)


def credential(provider: Provider, environment: Mapping[str, str]) -> Secret | None:
    """Return a provider's key: its `api_key`, or else the value of the preset's variable.

    None if there is no key: a local server may need none.

    Raises:
        SettingsError: A variable named in `api_key` is not set or empty, or the key is invalid in a header.
    """
    where = f"providers.{provider.name}.api_key"
    if provider.api_key is None:
        names = (provider.key_variable,) if provider.key_variable else ()
        text = environment.get(provider.key_variable or "", "").strip()
    else:
        names = provider.api_key.references
        text = resolve(provider.api_key, environment, where=where).text.strip()
        if not text and any(name in environment for name in names):
            remedy = f"set the environment variable {names[0]} and start again"
            raise SettingsError(f"{names[0]} is empty", where, remedy)
    if not text:
        return None
    if not is_header_value(text):
        raise SettingsError("the key has a character that is invalid in a header", where, _check(names[:1]))
    return Secret(names[0] if names else f"{provider.name}.api_key", text)


def secrets_of(settings: Settings) -> tuple[Secret, ...]:
    """Return all secret values that the redactor removes. Variables that are not set are skipped."""
    environment = settings.environment
    secrets: list[Secret] = []
    for provider in settings.providers.values():
        try:
            key = credential(provider, environment)
        except SettingsError:
            key = None  # users of the provider get this error; the redactor goes on
        secrets += [key] if key is not None else []
        templates = [*provider.headers.values(), provider.base_url, *_strings(provider.options.extra_body)]
        secrets += _given([*templates, *_configured(provider.api_key)], environment)
    for profile in settings.profiles.values():
        secrets += _given(_strings(profile.options.extra_body), environment)
    for spec in settings.servers.values():
        templates = [*spec.headers.values(), *spec.env.values(), *spec.args]
        secrets += _given([*templates, *_configured(spec.url, spec.client_secret)], environment)
        secrets += _written(spec)
    return tuple(dict.fromkeys(secrets))


def secret_headers(settings: Settings) -> tuple[str, ...]:
    """Return the names of configured headers that contain a secret from the environment, for the redactor."""
    owners = (*settings.providers.values(), *settings.servers.values())
    headers = [header for owner in owners for header in owner.headers.items()]
    return tuple(name for name, template in headers if any(_given([template], settings.environment)))


def listed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables passed to every child process; none of them holds a credential."""
    return {name: environment[name] for name in CHILD_VARIABLES if name in environment}


def child_environment(spec: ServerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a stdio server's complete environment: `CHILD_VARIABLES`, and the server's own `env`; raises as `resolve` does."""
    variables = listed_environment(environment)
    for name, template in spec.env.items():
        variables[name] = resolve(template, environment, where=f"servers.{spec.name}.env.{name}").text
    return variables


def _given(templates: Iterable[Template], environment: Mapping[str, str]) -> Iterator[Secret]:
    """Yield the values of the variables that templates refer to."""
    for template in templates:
        for name in template.references:
            value = environment.get(name, "")
            if value and name not in CHILD_VARIABLES:
                yield Secret(name, value)


def _written(spec: ServerSpec) -> Iterator[Secret]:
    """Yield credentials written literally into a server's command line, environment or URL."""
    from tui_host.settings.credential_places import in_variables, in_words  # imported late, after the first frame

    if spec.client_secret is not None and not spec.client_secret.references:
        yield Secret(f"servers.{spec.name}.client_secret", spec.client_secret.text)
    words = [template.text for template in (*spec.args, *_configured(spec.url))]
    variables = {name: template.text for name, template in spec.env.items()}
    for name, value in (*in_words(words), *in_variables(variables)):
        yield Secret(name, value)


def _configured(*templates: Template | None) -> Iterator[Template]:
    return (template for template in templates if template is not None)


def _strings(value: JSON) -> Iterator[Template]:
    if isinstance(value, str):
        yield Template(text=value)
    elif isinstance(value, Mapping | Sequence):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _check(variables: Sequence[str]) -> str:
    return f"check the environment variable {' or '.join(variables)}" if variables else "write it again, in ASCII"
