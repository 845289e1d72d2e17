"""Agentic retrieval over the whole program: what is asked, who may read it, and every error."""

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gateway.demo.company import AGENT
from tests.simulators.retrieval_spec import RetrievalSpec
from tests.simulators.shared import shared
from tests.surfaces.serving import Person, World, serving

VERSION = "?api-version=2025-08-01-preview"
LEAVE, PRICE = "到職滿一年的特休有幾天？", "可以用哪些方式付款？"
PAY = "薪資核定多久一次？"
THRESHOLD_ALL = 0.0


def asked(*texts: str, **params: Any) -> dict[str, Any]:
    """A request of user messages; with params, one source's."""
    content = [[{"type": "text", "text": text}] for text in texts]
    body: dict[str, Any] = {"messages": [{"role": "user", "content": each} for each in content]}
    if params:
        body["knowledgeSourceParams"] = [source(**params)]
    return body


def source(name: str = "handbook", **params: Any) -> dict[str, Any]:
    return {"knowledgeSourceName": name, "kind": "searchIndex", **params}


@dataclass
class Client:
    """A program with a key at the agent's door."""

    world: World
    session: aiohttp.ClientSession
    key: str

    async def post(self, body: Any, **options: Any) -> tuple[int, Any, Any]:
        path = options.pop("path", f"/agents('{AGENT}')/retrieve{VERSION}")
        headers = {"api-key": self.key} | options.pop("headers", {})
        method = options.pop("method", "POST")
        sent: Any = {"json": body} if "data" not in options else {}
        sent |= options
        async with self.session.request(
            method, self.world.url + path, headers=headers, **sent
        ) as got:
            return got.status, await got.json(), got.headers

    async def retrieve(self, body: Any, **options: Any) -> Any:
        status, answer, _ = await self.post(body, **options)
        assert status == 200, answer
        return answer


async def key_of(admin: Person) -> str:
    made = await admin.rpc("agents.keys.create", {"agent_id": AGENT, "label": "test"})
    secret: str = made["secret"]
    return secret


@asynccontextmanager
async def client(template: Path, home: Path, **options: Any) -> AsyncIterator[Client]:
    async with (
        serving(template, home, **options) as world,
        world.person("admin") as admin,
        aiohttp.ClientSession() as session,
    ):
        yield Client(world, session, await key_of(admin))


def searches(answer: Any) -> list[Any]:
    return [each for each in answer["activity"] if each["type"] == "searchIndex"]


def titles(answer: Any) -> set[str]:
    return {each["sourceData"]["title"] for each in answer["references"]}


async def test_a_compound_question_is_planned_searched_and_told_of(
    template: Path, home: Path
) -> None:
    spec = RetrievalSpec(
        shared("platform-specs", "azure-search", "knowledgeagent-2025-08-01-preview.json")
    )
    async with client(template, home) as here:
        body = asked(f"{LEAVE}另外，{PRICE}")
        assert spec.violations("KnowledgeAgentRetrievalRequest", body) == []
        answer = await here.retrieve(body)
        assert spec.violations("KnowledgeAgentRetrievalResponse", answer) == []
        types = [each["type"] for each in answer["activity"]]
        assert (types[0], types[-1]) == ("modelQueryPlanning", "semanticReranker")
        assert [each["id"] for each in answer["activity"]] == list(range(len(types)))
        assert answer["activity"][0]["inputTokens"] >= len(LEAVE)
        found = searches(answer)
        assert {each["searchIndexArguments"]["search"] for each in found} == {LEAVE, PRICE}
        assert {"handbook", "products"} <= {each["knowledgeSourceName"] for each in found}
        assert all(datetime.fromisoformat(each["queryTime"]).tzinfo for each in found)
        by_id = {each["id"]: each for each in found}
        for each in answer["references"]:
            activity = by_id[each["activitySource"]]
            assert activity["count"] >= 1
            assert 0 < each["rerankerScore"] <= 4
            assert each["docKey"] == each["sourceData"]["id"]
        (message,) = answer["response"]
        grounds = json.loads(message["content"][0]["text"])
        texts = {each["id"]: each["sourceData"]["content"] for each in answer["references"]}
        assert {str(each["ref_id"]): each["content"] for each in grounds} == texts
        other = await here.retrieve(body, path=f"/agents/{AGENT}/retrieve{VERSION}")
        assert other["references"] == answer["references"]


async def test_whoever_asks_reads_what_agent_and_asker_both_may(template: Path, home: Path) -> None:
    async with client(template, home) as here:
        body = asked(PAY, LEAVE)
        body["knowledgeSourceParams"] = [
            source(name, rerankerThreshold=THRESHOLD_ALL)
            for name in ("handbook", "products", "salary")
        ]
        system = await here.retrieve(body)
        assert all(
            each["count"] == 0
            for each in searches(system)
            if each["knowledgeSourceName"] == "salary"
        )
        asker = {"x-ms-query-source-authorization": await here.world.token("member")}
        of_member = titles(await here.retrieve(body, headers=asker))
        assert of_member
        assert not any("薪資" in title for title in of_member | titles(system))
        here.key = await here.world.token("member")
        assert titles(await here.retrieve(body)) == of_member
        stranger = {"x-ms-query-source-authorization": "nonsense"}
        status, answer, _ = await here.post(body, headers=stranger)
        assert (status, answer["error"]["code"]) == (401, "not_signed_in")


async def test_a_source_that_is_missing_looks_like_one_that_is_forbidden(
    template: Path, home: Path
) -> None:
    async with client(template, home) as here:
        told = []
        for name in ("salary", "no-such"):
            answer = await here.retrieve(
                asked(PAY, name=name, rerankerThreshold=THRESHOLD_ALL, filterAddOn="kind eq file")
            )
            text = json.dumps(answer["references"]) + answer["response"][0]["content"][0]["text"]
            shown = [
                (each["type"], each.get("count"), each.get("inputTokens"))
                for each in answer["activity"]
            ]
            told.append((text, shown))
        assert told[0] == told[1]
        assert told[0][0] == "[][]"


async def test_a_filter_is_of_its_source_and_where_it_is_none_its_place_is_told(
    template: Path, home: Path
) -> None:
    async with client(template, home) as here:
        body = asked(LEAVE)
        body["knowledgeSourceParams"] = [
            source(rerankerThreshold=THRESHOLD_ALL, filterAddOn="title eq '員工手冊.docx'"),
            source("products", rerankerThreshold=THRESHOLD_ALL, filterAddOn="kind eq url"),
        ]
        answer = await here.retrieve(body)
        assert titles(answer) == {"員工手冊.docx"}
        assert [each["searchIndexArguments"].get("filter") for each in searches(answer)] == [
            "title eq '員工手冊.docx'",
            "kind eq url",
        ]
        status, refused, _ = await here.post(asked(LEAVE, filterAddOn="kind eq 'file"))
        assert (status, refused["error"]["code"]) == (400, "invalid_request")
        assert "knowledgeSourceParams[0].filterAddOn" in refused["error"]["message"]
        assert "9" in refused["error"]["message"]


async def test_thresholds_and_what_of_a_reference_is_told_are_the_requests(
    template: Path, home: Path
) -> None:
    async with client(template, home) as here:
        loose = await here.retrieve(asked(LEAVE, rerankerThreshold=THRESHOLD_ALL))
        strict = await here.retrieve(asked(LEAVE, rerankerThreshold=4))
        usual = await here.retrieve(asked(LEAVE, alwaysQuerySource=True, somethingNew=1))
        counts = [searches(each)[0]["count"] for each in (strict, usual, loose)]
        assert counts == sorted(counts)
        assert 0 < counts[1] <= len(loose["references"]) == counts[2]
        bare = await here.retrieve(asked(LEAVE, includeReferenceSourceData=False))
        assert [each["docKey"] for each in bare["references"]] == [
            each["docKey"] for each in usual["references"]
        ]
        assert not any("sourceData" in each for each in bare["references"])
        none = await here.retrieve(asked(LEAVE, includeReferences=False))
        assert none["references"] == []
        assert searches(none)[0]["count"] == counts[1]
        few = await here.retrieve(
            asked(LEAVE, rerankerThreshold=THRESHOLD_ALL, maxDocsForReranker=1)
        )
        assert searches(few)[0]["count"] == 1


async def test_images_are_accepted_and_a_follow_up_is_read_in_its_conversation(
    template: Path, home: Path
) -> None:
    async with client(template, home) as here:
        picture = {"type": "image", "image": {"url": "http://127.0.0.1:1/never.png"}}
        only = {"messages": [{"role": "user", "content": [picture]}]}
        answer = await here.retrieve(only)
        assert searches(answer) == []
        assert answer["response"][0]["content"][0]["text"] == "[]"
        talk = {
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                {"role": "user", "content": [{"type": "text", "text": "特休有幾天？"}]},
                {"role": "assistant", "content": [{"type": "text", "text": "七天。"}]},
                {"content": [picture, {"type": "text", "text": "那病假呢？"}]},
            ]
        }
        (search,) = searches(await here.retrieve(talk))
        assert "病假" in search["searchIndexArguments"]["search"]
        assert "特休" in search["searchIndexArguments"]["search"]


async def test_each_sub_query_is_a_row_of_the_access_log(template: Path, home: Path) -> None:
    async with client(template, home) as here, here.world.person("admin") as admin:
        asker = {"x-ms-query-source-authorization": await here.world.token("member")}
        await here.retrieve(asked(f"{LEAVE}另外，{PRICE}"), headers=asker)
        page = await admin.rpc("knowledge.access_log.list", {"collection": "handbook"})
        rows = [row for row in page["rows"] if row["channel"] == "retrieve"]
        assert {row["question"] for row in rows} == {LEAVE, PRICE}
        assert {(row["action"], row["agent_id"]) for row in rows} == {("search", AGENT)}
        assert all(row["account_id"] for row in rows)


GOOD = asked(LEAVE)
REFUSED: list[tuple[str, int, str, Any, dict[str, Any]]] = [
    ("without a key", 401, "not_signed_in", GOOD, {"headers": {"api-key": "x"}}),
    ("of no agent", 404, "not_found", GOOD, {"path": f"/agents('nobody')/retrieve{VERSION}"}),
    ("at no address", 404, "not_found", GOOD, {"path": f"/agents('{AGENT}')/other{VERSION}"}),
    ("with another method", 405, "method_not_allowed", GOOD, {"method": "PUT"}),
    ("as text", 415, "unsupported_media_type", None,
     {"data": "{}", "headers": {"Content-Type": "text/plain"}}),
    ("too large", 413, "payload_too_large", None,
     {"data": io.BytesIO(b"x" * (8 * 2**20 + 1)), "headers": {"Content-Type": "application/json"}}),
    ("without a version", 400, "invalid_request", GOOD, {"path": f"/agents/{AGENT}/retrieve"}),
    ("of another version", 400, "invalid_request", GOOD,
     {"path": f"/agents/{AGENT}/retrieve?api-version=2024-01-01"}),
    ("no JSON", 400, "parse_error", None,
     {"data": "{", "headers": {"Content-Type": "application/json"}}),
    ("no object", 400, "invalid_request", [], {}),
    ("no messages", 400, "invalid_request", {}, {}),
    ("empty messages", 400, "invalid_request", {"messages": []}, {}),
    ("odd content", 400, "invalid_request", {"messages": [{"content": [{"type": "sound"}]}]}, {}),
    ("a text that is none", 400, "invalid_request",
     {"messages": [{"content": [{"type": "text", "text": 3}]}]}, {}),
    ("a source without a kind", 400, "invalid_request",
     GOOD | {"knowledgeSourceParams": [{"knowledgeSourceName": "handbook"}]}, {}),
    ("a source of another kind", 400, "invalid_request",
     GOOD | {"knowledgeSourceParams": [source() | {"kind": "web"}]}, {}),
    ("a threshold beyond", 400, "invalid_request", asked(LEAVE, rerankerThreshold=5), {}),
]  # fmt: skip


async def test_every_error_is_an_error_response_with_the_clients_own_id(
    template: Path, home: Path
) -> None:
    mine = "00000000-0000-0000-0000-000000000000"
    async with client(template, home) as here:
        for name, wanted, code, body, options in REFUSED:
            headers = {"x-ms-client-request-id": mine} | options.get("headers", {})
            status, answer, told = await here.post(body, **(options | {"headers": headers}))
            assert (status, answer["error"]["code"]) == (wanted, code), name
            assert answer["error"]["message"], name
            if "no address" not in name:
                assert told["x-ms-client-request-id"] == mine, name
        status, _, told = await here.post(GOOD, headers={"x-ms-client-request-id": mine})
        assert (status, told["x-ms-client-request-id"]) == (200, mine)
        _, _, told = await here.post(GOOD, headers={"x-ms-client-request-id": "<script>"})
        assert "x-ms-client-request-id" not in told


@pytest.mark.parametrize("form", ["/agents('{}')/retrieve", "/agents%28%27{}%27%29/retrieve"])
async def test_an_encoded_address_is_the_same(template: Path, home: Path, form: str) -> None:
    async with client(template, home) as here:
        assert await here.retrieve(GOOD, path=form.format(AGENT) + VERSION)
