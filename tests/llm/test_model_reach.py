"""Which machines are reached, and how: keys, addresses, proxies, certificates."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.kit.peer import head, peer
from tests.llm.asking import RECORDED, asked, recorder, refused
from tui_host.settings.model_options import Options
from tui_host.settings.schema import Template


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"api_key": Template(text="${DEEPSEEK_API_KEY}")}, "DEEPSEEK_API_KEY is not set"),
        ({"headers": {"X": Template(text="${TOKEN}")}}, "TOKEN is not set"),
        ({"options": Options(extra_body={"a": ["${TOKEN}"]})}, "TOKEN is not set"),
        ({"dialect": "smtp"}, "no dialect 'smtp'"),
    ],
)
async def test_what_cannot_be_resolved_is_told_and_nothing_is_sent(more: dict[str, object], what: str) -> None:
    kept = recorder()
    async with peer([head(), RECORDED]) as there:
        error = await refused(there.url, kept=kept, **more)

    assert error.what == what
    assert there.requests == []
    assert kept.since(0) == []


@pytest.mark.parametrize(
    ("url", "what"), [("http://192.0.2.1/v1", "unencrypted"), ("ftp://127.0.0.1", "not an http or https URL")]
)
async def test_an_address_that_a_key_must_not_travel_to_is_refused(url: str, what: str) -> None:
    kept = recorder()
    assert what in (await refused(url, kept=kept)).what
    assert kept.since(0) == []


async def test_a_preset_without_its_key_is_not_asked() -> None:
    error = await refused("https://api.deepseek.example/v1", key_variable="DEEPSEEK_API_KEY")
    assert error.what == "DEEPSEEK_API_KEY is not set"
    assert "set the environment variable DEEPSEEK_API_KEY" in error.remedy


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
