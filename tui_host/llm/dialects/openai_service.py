"""Addresses, credentials and images, which are the same in OpenAI's two dialects."""

from __future__ import annotations

from tui_host.llm.dialects.dialect import Target
from tui_host.llm.messages import Image
from tui_host.settings.environment_references import Secret

LONGEST_ID = 64
"""The most characters of a call's id."""
AZURE = "azure"


def path_of(path: str, target: Target) -> str:
    """Return a path below the base URL, with the version in the query for Azure."""
    return f"{path}?api-version={target.api_version}" if target.service == AZURE and target.api_version else path


def credential_headers(secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
    """Return a bearer token, or the header for Azure's keys."""
    if secret is None:
        return ()
    if target.service == AZURE:
        return (("api-key", secret.reveal()),)
    return (("Authorization", f"Bearer {secret.reveal()}"),)


def image_url(image: Image) -> str:
    """Write an image as a `data:` URL."""
    return f"data:{image.media_type};base64,{image.data}"
