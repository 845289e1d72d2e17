"""Whatever JSON comes to `/rpc`, what goes back is JSON-RPC 2.0, and never a bug of ours."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import home as homes
from gateway.errors import TABLE
from gateway.operations.table import Operation
from tests.proof.premises_of_calls import ADMIN, Premises, premises
from tests.surfaces.serving import CONFIG, World, serving

WAIT_S = 30


@dataclass
class Door:
    """A gateway on a loop of its own, so that hypothesis may ask it from outside."""

    here: Premises
    loop: asyncio.AbstractEventLoop
    token: str

    def post(self, body: Any) -> tuple[int, Any]:
        return asyncio.run_coroutine_threadsafe(self._post(body), self.loop).result(WAIT_S)

    async def _post(self, body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.here.client.post("/rpc", json=body, headers=headers) as response:
            raw = await response.read()
        return response.status, json.loads(raw) if raw else None


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("odd") / "home") as door:
        yield door


@contextmanager
def opened(home: Path) -> Iterator[Door]:
    homes.make(home)
    (home / "config.toml").write_text(CONFIG, "utf-8")
    ready: Future[Door] = Future()
    stop = asyncio.Event()

    async def live() -> None:
        async with premises(home) as here:
            admin = await here.person(ADMIN)
            issued = await here.app.sign_in.issue(
                admin, kind="token", label="", valid_for=timedelta(hours=1)
            )
            ready.set_result(Door(here, asyncio.get_running_loop(), issued.secret))
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(live(),))
    thread.start()
    door = ready.result(WAIT_S)
    try:
        yield door
    finally:
        door.loop.call_soon_threadsafe(stop.set)
        thread.join()


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["", "\0", "admin", "-1", "' OR 1=1 --", "../../etc", "\u202e", "9" * 19])
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


def params_of(row: Operation) -> st.SearchStrategy[Any]:
    """What fits by name at least, or does not fit at all."""
    names = [field.name for field in dataclasses.fields(row.request)]
    texts = st.fixed_dictionaries({name: st.text(max_size=8) for name in names})
    odd = st.fixed_dictionaries({}, optional=dict.fromkeys(names, anything))
    return texts | odd | st.lists(scalars, max_size=4) | anything


def calls(rows: tuple[Operation, ...]) -> st.SearchStrategy[Any]:
    known = st.sampled_from(rows).flatmap(
        lambda row: st.fixed_dictionaries(
            {"jsonrpc": st.just("2.0"), "method": st.just(row.name), "params": params_of(row)},
            optional={"id": scalars},
        )
    )
    unknown = st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("jsonrpc", "method", "params", "id", "result"), anything)
    )
    return known | unknown


def check_answer(answer: Any) -> None:
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer["id"] is None or type(answer["id"]) in (str, int, float)
    if "error" in answer:
        error = answer["error"]
        assert set(error) == {"code", "message", "data"}
        assert TABLE[error["data"]["code"]].rpc_code == error["code"]
        assert TABLE[error["data"]["code"]].http_status != 500
        assert error["message"]
        assert error["data"]["message"]


@given(data=st.data())
def test_one_call_has_one_answer_with_its_id(door: Door, data: st.DataObject) -> None:
    call = data.draw(calls(door.here.app.registry.rows()))
    status, answer = door.post(call)
    if status == 204:
        assert answer is None
        assert "id" not in call
        return
    assert status == 200
    check_answer(answer)
    is_request = answer.get("error", {}).get("code") != -32600
    assert answer["id"] == (call.get("id") if is_request else None)


@given(data=st.data())
def test_a_batch_answers_each_call_that_asks_for_an_answer(door: Door, data: st.DataObject) -> None:
    batch = data.draw(st.lists(calls(door.here.app.registry.rows()) | anything, max_size=5))
    status, answers = door.post(batch)
    if answers is None:
        assert status == 204
        return
    assert status == 200
    if not batch:
        check_answer(answers)
        return
    for answer in answers:
        check_answer(answer)
    asked = [
        each
        for each in batch
        if not (isinstance(each, dict) and "id" not in each and each.get("jsonrpc") == "2.0")
    ]
    assert len(answers) >= len(asked)


@given(body=anything)
def test_any_json_is_answered(door: Door, body: Any) -> None:
    status, answer = door.post(body)
    assert (status, answer is None) in ((200, False), (204, True))
    for each in answer if isinstance(answer, list) else [answer]:
        check_answer(each)


async def test_a_save_upon_what_another_saved_is_told_the_version_that_is_there(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        for method, params in (
            ("knowledge.collections.update", {"name": "薪資"}),
            ("knowledge.grants.replace", {"grants": await grants(world)}),
        ):
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": method,
                "params": {"collection": "salary", "version": 1_000, **params},
            }
            async with hr.post("/rpc", json=body) as response:
                error = (await response.json())["error"]
            assert error["data"]["code"] == "conflict"
            now = await hr.rpc("knowledge.grants.list", {"collection": "salary"})
            assert error["data"]["version"] == now["version"]


async def grants(world: World) -> Any:
    async with world.person("hr") as hr:
        return (await hr.rpc("knowledge.grants.list", {"collection": "salary"}))["grants"]
