"""Cloud embeddings: what leaves, where to, and everything that keeps it here."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from structlog.testing import capture_logs

from gateway.core.passages import NoVectors
from gateway.core.redaction import RedactionSettings, Rule
from gateway.core.secrets import Secret
from gateway.errors import ModelError
from models.cloud.encoder import CloudEncoder
from models.cloud.settings import VENDORS, CloudSettings, Consent, address_of, problem_of
from tests.fakes.knowledge import FakeClock
from tests.simulators.embeddings import Embeddings, Trouble, embeddings

KEY = "sk-the-secret-key"
EMAIL = Rule("email", r"[\w.+-]+@[\w.-]+\.\w+")
REDACTION = RedactionSettings(enabled=True, rules=(EMAIL,))


@pytest.fixture
async def server() -> AsyncIterator[Embeddings]:
    async with embeddings() as here:
        yield here


def agreed(settings: CloudSettings) -> CloudSettings:
    host, port = address_of(settings)
    record = Consent(
        "ann", "2026-01-01T00:00:00Z", settings.vendor.name, host, port, settings.model
    )
    return replace(settings, consent=record)


def settings_for(server: Embeddings, vendor: str = "openai") -> CloudSettings:
    kind = VENDORS[vendor]
    local = CloudSettings(kind, kind.model, server.url, True, Secret(KEY), None, REDACTION)
    return agreed(local)


class Paused:
    """Waits for nothing and knows how long it should have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def encoder(settings: CloudSettings, pause: Paused | None = None) -> CloudEncoder:
    return CloudEncoder(settings, FakeClock(), pause=pause or Paused())


@pytest.mark.parametrize("vendor", VENDORS)
async def test_texts_come_back_as_unit_vectors_in_their_order(
    server: Embeddings, vendor: str
) -> None:
    it = encoder(settings_for(server, vendor))
    one, two = await it.embed_passages(["特休七日", "病假三十日"])
    assert np.allclose(await it.embed_query("特休七日"), one, atol=1e-6)
    assert one.shape == (VENDORS[vendor].dimensions,)
    assert np.isclose(np.linalg.norm(one), 1, atol=1e-5)
    assert not np.allclose(one, two)
    assert server.keys == [KEY, KEY]
    assert VENDORS[vendor].model.encode() in server.arrived


async def test_what_a_rule_finds_never_arrives_neither_whole_nor_in_pieces(
    server: Embeddings,
) -> None:
    it = encoder(settings_for(server))
    whole = "請把申請表寄給 amy.lin@example.com 並副本給主管。"
    pieces = [whole[:18], whole[12:]]
    with capture_logs() as logs:
        await it.embed_passages([whole, *pieces])
        await it.embed_query("amy.lin@example.com 是誰？")
        await it.embed_query("長" * 485 + " amy.lin@example.com"[:15])
    for part in (b"amy", b"lin@", b"example.com", b"@exam"):
        assert part not in server.arrived
    assert b"[EMAIL]" in server.arrived
    assert [each["rule_email"] for each in logs if each["event"] == "redacted"] == [3, 1]
    assert KEY not in repr(logs) + repr(it) + repr(settings_for(server))


REFUSED = {
    "no consent": ({"consent": None}, NoVectors.NO_CONSENT),
    "another model was agreed to": ({"model": "text-embedding-3-large"}, NoVectors.NO_CONSENT),
    "redaction off": ({"redaction": RedactionSettings(rules=(EMAIL,))}, NoVectors.REDACTION_OFF),
    "no rule": ({"redaction": RedactionSettings(enabled=True)}, NoVectors.REDACTION_OFF),
    "forced off": (
        {"redaction": replace(REDACTION, is_forced_off=True)},
        NoVectors.REDACTION_OFF,
    ),
    "a rule that does not compile": (
        {"redaction": replace(REDACTION, rules=(EMAIL, Rule("bad", "(")))},
        NoVectors.REDACTION_OFF,
    ),
    "no key": ({"key": Secret(" ")}, NoVectors.NO_KEY),
    "a private endpoint": ({"allow_private_endpoint": False}, NoVectors.CLOUD_ERROR),
}


@pytest.mark.parametrize("why", REFUSED)
async def test_nothing_is_sent_and_the_reason_is_told(server: Embeddings, why: str) -> None:
    changed, reason = REFUSED[why]
    it = encoder(replace(settings_for(server), **changed))  # type: ignore[arg-type]
    assert await it.unavailable() is reason
    with pytest.raises(ModelError):
        await it.embed_query("特休")
    with pytest.raises(ModelError):
        await it.embed_passages(["特休七日"])
    assert not server.arrived


@pytest.mark.parametrize(
    "part", ["provider", "host", "port", "model", "by", "at"], ids=lambda part: f"another {part}"
)
async def test_a_consent_holds_for_what_it_says_only(server: Embeddings, part: str) -> None:
    settings = settings_for(server)
    assert settings.consent is not None
    other = {"port": 443, "by": "", "at": ""}.get(part, "other")
    consent = replace(settings.consent, **{part: other})  # type: ignore[arg-type]
    assert not replace(settings, consent=consent).has_consent


ENDPOINTS = {
    "https://api.example.com/v1": True,
    "https://api.example.com:8443/v1": True,
    "http://api.example.com/v1": False,
    "https://10.0.0.8/v1": False,
    "https://127.0.0.1/v1": False,
    "https://169.254.169.254/latest": False,
    "https://[fc00::1]/v1": False,
    "https://[::1]/v1": False,
    "https://user:pass@api.example.com/v1": False,
    "https://api.example.com/v1?key=1": False,
    "ftp://api.example.com": False,
    "not a url": False,
    "": False,
}


@pytest.mark.parametrize("url", ENDPOINTS)
def test_an_endpoint_is_a_public_https_address(url: str) -> None:
    vendor = VENDORS["openai"]
    settings = CloudSettings(vendor, "m", url, False, Secret(KEY), None, REDACTION)
    assert (problem_of(settings) == "") is ENDPOINTS[url]


def test_plain_http_goes_to_127_0_0_1_only_even_where_private_endpoints_are_allowed() -> None:
    vendor = VENDORS["openai"]
    for host, is_allowed in (("127.0.0.1", True), ("10.0.0.8", False), ("localhost", False)):
        settings = CloudSettings(
            *(vendor, "m", f"http://{host}:9/v1", True, Secret(KEY), None, REDACTION)
        )
        assert (problem_of(settings) == "") is is_allowed


@pytest.mark.parametrize("addresses", [["10.0.0.8"], ["93.184.216.34", "127.0.0.1"]])
async def test_a_name_that_leads_inside_is_not_connected_to(addresses: Sequence[str]) -> None:
    vendor = VENDORS["openai"]
    base = "https://embed.example.com/v1"
    settings = agreed(CloudSettings(vendor, "m", base, False, Secret(KEY), None, REDACTION))
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return addresses

    pause = Paused()
    it = CloudEncoder(settings, FakeClock(), resolve, pause)
    with pytest.raises(ModelError) as caught:
        await it.embed_query("特休")
    assert caught.value.code == "embedding_cloud_failed"
    assert asked == [("embed.example.com", 443)]
    assert pause.seconds == []


async def test_proxies_of_the_environment_are_not_used(
    server: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert len(await encoder(settings_for(server)).embed_query("特休")) == 1536


async def test_a_server_that_is_busy_is_asked_again_when_it_says() -> None:
    async with embeddings() as server:
        server.troubles = [
            Trouble(429, {"Retry-After": "7"}),
            Trouble(503, {"Retry-After": "Thu, 01 Jan 2026 00:00:30 GMT"}),
            Trouble(500, {"Retry-After": "99999"}),
        ]
        pause = Paused()
        await encoder(settings_for(server), pause).embed_query("特休")
        assert pause.seconds == [7, 30, 60]


TROUBLES = {
    "busy for ever": [Trouble(429)] * 9,
    "refused key": [Trouble(401, body=f"bad key {KEY}")],
    "redirect": [Trouble(307, {"Location": "http://127.0.0.1:9/"})],
    "no JSON": [Trouble(200, body="<html>")],
    "no vectors": [Trouble(200, body='{"data": []}')],
    "vectors of another length": [
        Trouble(200, body='{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}')
    ],
    "no numbers": [Trouble(200, body='{"data": [{"index": 0, "embedding": "x"}]}')],
    "another shape": [Trouble(200, body="[1]")],
}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_error_is_a_reason_without_key_or_text(server: Embeddings, trouble: str) -> None:
    server.troubles = list(TROUBLES[trouble])
    with pytest.raises(ModelError) as caught:
        await encoder(settings_for(server)).embed_query("特休")
    assert caught.value.code == "embedding_cloud_failed"
    assert KEY not in f"{caught.value!r} {caught.value}"
    assert "特休" not in f"{caught.value!r} {caught.value}"


@pytest.mark.parametrize("vendor", VENDORS)
async def test_many_texts_go_in_requests_that_the_provider_takes(
    server: Embeddings, vendor: str
) -> None:
    texts = [f"第 {n} 段" for n in range(150)] + ["字" * 9_000] * 40
    found = await encoder(settings_for(server, vendor)).embed_passages(texts)
    assert len(found) == len(texts)
    assert max(map(len, server.texts)) <= VENDORS[vendor].most_texts
    assert max(sum(map(len, batch)) for batch in server.texts) <= 60_000
    assert max(len(text) for batch in server.texts for text in batch) <= 2_000
