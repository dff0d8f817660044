"""Which machines are reached, and how: keys, addresses, proxies, certificates."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.kit.peer import PATIENCE, hangs, head, peer
from tests.llm.asking import RECORDED, asked, recorder, refused
from tui_host.llm.probe import LocalServer, local_servers
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Template

HERE = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("url", "more", "what"),
    [
        (HERE, {"api_key": Template(text="${DEEPSEEK_API_KEY}")}, "DEEPSEEK_API_KEY is not set"),
        (HERE, {"headers": {"X": Template(text="${TOKEN}")}}, "TOKEN is not set"),
        (HERE, {"options": Options(extra_body={"a": ["${TOKEN}"]})}, "TOKEN is not set"),
        (HERE, {"dialect": "smtp"}, "no dialect 'smtp'"),
        ("http://192.0.2.1/v1", {}, "unencrypted"),
        ("ftp://127.0.0.1", {}, "not an http or https URL"),
        ("https://a.example/v1", {"key_variable": "K"}, "K is not set: set the environment variable K"),
    ],
)
async def test_what_cannot_be_resolved_or_must_not_travel_is_told_and_nothing_is_sent(
    url: str, more: dict[str, object], what: str
) -> None:
    kept = recorder()
    error = await refused(url, kept=kept, **more)
    assert (what in f"{error.what}: {error.remedy}", kept.since(0)) == (True, [])


async def test_a_proxy_of_the_environment_is_used_for_another_machine_and_never_for_this_one() -> None:
    async with peer([head(), RECORDED]) as there, peer([head(), RECORDED]) as proxy:
        address = proxy.url.removesuffix("/v1")
        await asked(there.url, environment={"HTTP_PROXY": address, "http_proxy": address, "ALL_PROXY": address})
        assert (len(there.requests), proxy.requests) == (1, [])
        fold = await asked("http://model.example/v1", environment={"http_proxy": address}, allow_http=True)

    assert fold.stop == "tools"
    assert proxy.requests[0].data.startswith(b"POST http://model.example/v1/chat/completions HTTP/1.1\r\n")


async def test_a_proxy_that_is_no_url_is_told_without_its_password() -> None:
    proxy = {"http_proxy": "http://ann:pass[word]@proxy.example:port:80"}
    error = await refused("http://model.example/v1", environment=proxy, allow_http=True)
    assert (error.what, error.remedy) == ("the proxy's address is no URL", "correct the proxy in the environment")


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 and model.example that nobody but itself has signed, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("model.example")]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "own.pem"
    private = key.private_bytes(encoding, form, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(encoding))
    return file


async def test_a_certificate_that_nobody_signed_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    own = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)

    async with peer([head(), RECORDED], tls=context) as there:
        error = await refused(there.url)
        fold = await asked(there.url, ca_file=own)

    assert error.what.startswith("its certificate cannot be verified")
    assert error.remedy == "set providers.mine.ca_file to the certificate that signed it, if you trust it"
    assert (len(there.requests), fold.stop) == (1, "tools")


async def test_a_file_that_is_no_certificate_is_told(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")

    assert (await refused("https://127.0.0.1:1/v1", ca_file=bad)).remedy == "check ca_file and the proxy"


TAGS = b'{"models":[{"name":"qwen3:8b","model":"qwen3:8b"}]}'
LIST = b'{"object":"list","data":[{"id":"qwen3:8b","object":"model"}]}'


async def test_servers_that_list_models_are_found_and_one_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_host.llm.probe._SECONDS", 1)  # a busy machine takes longer than a start has time for
    async with (
        peer([head(kind="application/json"), TAGS]) as tags,
        peer([head(kind="application/json"), LIST]) as lists,
        peer(hangs()) as hanging,
    ):
        urls = {"ollama": tags.url.removesuffix("/v1"), "llamacpp": hanging.url, "vllm": lists.url}
        with anyio.fail_after(PATIENCE):
            servers = await local_servers({**urls, "lmstudio": "http://127.0.0.1:9/v1"})

    wanted = [LocalServer(provider=name, base_url=urls[name], models=("qwen3:8b",)) for name in ("ollama", "vllm")]
    assert servers == tuple(wanted)
    assert tags.requests[0].data.startswith(b"GET /api/tags HTTP/1.1\r\n")
    assert lists.requests[0].data.startswith(b"GET /v1/models HTTP/1.1\r\n")


@pytest.mark.parametrize("pieces", [[head("404 Not Found"), LIST], [], [head(), b"x" * 3_000_000]])
async def test_what_is_no_model_server_is_left_out(pieces: list[bytes]) -> None:
    async with peer(pieces) as there:
        assert await local_servers({"llamacpp": there.url}) == ()
