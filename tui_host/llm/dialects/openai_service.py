"""What OpenAI's two dialects share: how a service is addressed and paid, and the form of an image."""

from __future__ import annotations

from tui_host.llm.dialects.dialect import Target
from tui_host.llm.messages import Image
from tui_host.settings.secrets import Secret

LONGEST_ID = 64
"""Characters of a call's id."""
AZURE = "azure"
HEADERS = (("Content-Type", "application/json"), ("Accept", "application/json"))


def path_of(path: str, target: Target) -> str:
    """A path below the base URL; Azure wants its version in the query."""
    return f"{path}?api-version={target.api_version}" if target.service == AZURE and target.api_version else path


def credential_headers(secret: Secret | None, target: Target) -> tuple[tuple[str, str], ...]:
    """A bearer token; Azure has a header of its own for its keys."""
    if secret is None:
        return ()
    if target.service == AZURE:
        return (("api-key", secret.reveal()),)
    return (("Authorization", f"Bearer {secret.reveal()}"),)


def image_url(image: Image) -> str:
    """An image as a URL that holds it."""
    return f"data:{image.media_type};base64,{image.data}"
