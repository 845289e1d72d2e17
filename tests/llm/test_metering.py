"""What a model's calls leave in the figures: outcomes, seconds, tokens, cost; few names."""

from dataclasses import replace

import pytest

from gateway.config import section
from gateway.core.secrets import Secret
from gateway.errors import ConfigError, LanguageModelError
from gateway.llm.metered import MOST_NAMES
from gateway.llm.registry import ModelRegistry
from gateway.llm.settings import ProviderKind, ProviderSettings, checked
from gateway.surfaces.meter import PrometheusMeter
from tests.llm.asking import APIS, ASK, SETTINGS, Api, Shown
from tests.simulators.scripted import Say, Trouble


def value(meter: PrometheusMeter, name: str, **labels: str) -> float | None:
    return meter.registry.get_sample_value(f"shutten_{name}", labels)


@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
async def test_calls_tokens_and_cost_are_counted_by_model(api: Api) -> None:
    meter = PrometheusMeter()
    prices = {"dear": (10.0, 50.0)}
    priced = replace(
        SETTINGS,
        max_retries=0,
        price_in_per_million=1.0,
        price_out_per_million=2.0,
        prices=prices,
    )
    script = (Say("好", tokens=(1_000, 100)), Say("好", tokens=(2_000, 200)), Trouble.SERVER_ERROR)
    async with api.simulate(*script) as server:
        models = ModelRegistry({"house": api.settings(server, priced)}, meter)
        await models.find("house/cheap").complete(ASK, (), Shown())
        await models.find("house/dear").complete(ASK, (), Shown())
        with pytest.raises(LanguageModelError):
            await models.find("house/dear").complete(ASK, (), Shown())
        await models.close()
    cheap = {"provider": "house", "model": "cheap"}
    dear = {"provider": "house", "model": "dear"}
    assert value(meter, "llm_tokens_total", kind="in", **cheap) == 1_000
    assert value(meter, "llm_tokens_total", kind="out", **dear) == 200
    assert value(meter, "llm_cost_total", **cheap) == pytest.approx(0.0012)
    assert value(meter, "llm_cost_total", **dear) == pytest.approx(0.03)
    assert value(meter, "llm_calls_total", outcome="ok", **dear) == 1
    assert value(meter, "llm_calls_total", outcome="llm_failed", **dear) == 1
    assert value(meter, "llm_seconds_count", **dear) == 2


async def test_any_number_of_models_makes_a_bounded_number_of_names() -> None:
    meter = PrometheusMeter()
    async with APIS["openai"].simulate(Say("好")) as server:
        models = ModelRegistry({"house": APIS["openai"].settings(server)}, meter)
        for number in range(MOST_NAMES + 7):
            await models.find(f"house/m{number}").complete(ASK, (), Shown())
        await models.close()
    samples = [
        sample
        for family in meter.registry.collect()
        for sample in family.samples
        if sample.name == "shutten_llm_calls_total"
    ]
    assert len(samples) == MOST_NAMES + 1
    assert value(meter, "llm_calls_total", provider="house", model="other", outcome="ok") == 7


def test_settings_are_read_with_their_prices() -> None:
    table = {"kind": "anthropic", "api_key": "k", "prices": {"claude-x": [3, 15.0]}}
    settings = checked("cloud", section(ProviderSettings, table, "providers.cloud"))
    assert settings.prices == {"claude-x": (3.0, 15.0)}
    assert settings.url == "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({}, "providers.cloud.api_key"),
        ({"kind": "anthropic", "api_key": ""}, "providers.cloud.api_key"),
        ({"kind": "telepathy"}, "providers.cloud.kind"),
        ({"api_key": "k", "prices": {"m": [1.0]}}, "providers.cloud.prices.m"),
        ({"api_key": "k", "prices": {"m": [1.0, -1.0]}}, "providers.cloud.prices.m"),
        ({"api_key": "k", "prices": {"m": ["1"]}}, "providers.cloud.prices.m"),
        ({"api_key": "k", "prices": 3}, "providers.cloud.prices"),
    ],
)
def test_settings_that_cannot_work_are_named(table: dict[str, object], path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked("cloud", section(ProviderSettings, table, "providers.cloud"))
    assert caught.value.params["path"] == path


def test_a_server_of_ones_own_needs_no_key() -> None:
    own = ProviderSettings(base_url="http://127.0.0.1:8000/v1")
    assert checked("house", own) == own
    keyed = ProviderSettings(kind=ProviderKind.ANTHROPIC, api_key=Secret("k"))
    assert checked("cloud", keyed) == keyed
