"""What a reply offered is opened again: each opening asks anew; old answers are withheld."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from channels.sockets import Frame
from gateway.catalogue import text
from gateway.core.messages import web_chat
from gateway.errors import NotFoundError
from tests.proof.revoking import LEAVE, Scene, scene
from tests.surfaces.serving import World, answer, operate, serving

LOST = text("chat.no_passage", "zh-TW")
ASK = "到職滿一年的特休有幾天？"
TITLE = "員工手冊.docx"
Act = Callable[[Scene], Awaitable[Any]]
ENDS: dict[str, Act] = {
    "grant": lambda it: it.share(),
    "department": lambda it: it.do("accounts.update", account="lin", department="HR"),
    "document": lambda it: it.do("knowledge.sources.delete", source_id=it.source_id),
    "collection": lambda it: it.do(
        "knowledge.collections.delete", collection=it.shelf.id, confirm_name="Handbook"
    ),
    "account": lambda it: it.do("accounts.deactivate", account="lin"),
}


async def as_person(it: Scene, method: str, **params: Any) -> Any:
    return await operate(it.app, method, params, it.person.id)


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_a_number_already_offered_opens_only_what_may_be_read_now(
    tmp_path: Path, end: Act
) -> None:
    async with scene(tmp_path) as it:
        await it.share(("department", "Sales"))
        [hit] = (await as_person(it, "knowledge.search", query="特別休假"))["hits"]
        passage = {"chunk_id": hit["chunk_id"], "context": 2}
        opened = await as_person(it, "knowledge.passages.get", **passage)
        assert [each["text"] for each in opened] == [LEAVE]
        assert await as_person(it, "knowledge.sources.get", source_id=it.source_id)
        await end(it)
        with pytest.raises(NotFoundError):
            await as_person(it, "knowledge.passages.get", **passage)
        with pytest.raises(NotFoundError):
            await as_person(it, "knowledge.sources.get", source_id=it.source_id)


# ---------------------------------------------------------------- web chat, over HTTP


async def keep_owners(world: World, collection: str) -> None:
    """Every other grant goes."""
    now = await operate(world.app, "knowledge.grants.list", {"collection": collection}, "admin")
    kept = [line for line in now["grants"] if line["role"] == "owner"]
    change = {"collection": collection, "version": now["version"], "grants": kept}
    await operate(world.app, "knowledge.grants.replace", change, "admin")


async def slug_of(world: World, source_id: str) -> tuple[str, str]:
    source = await world.app.store.sources.find(source_id)
    assert source is not None
    collection = await world.app.store.collections.find(source.collection_id)
    assert collection is not None
    return collection.slug, collection.name


@pytest.mark.parametrize("end", ["nothing", "grant", "document", "collection"])
async def test_old_answers_citations_and_originals_follow_the_access_of_now(
    template: Path, tmp_path: Path, end: str
) -> None:
    async with serving(template, tmp_path / "home") as world, world.person("member") as person:
        async with person.chat() as socket:
            done = (await answer(socket, ASK))[-1]
        source_id = done["citations"][0]["source_id"]
        slug, name = await slug_of(world, source_id)
        account = await world.app.store.accounts.find_by_login("member")
        assert account is not None
        # one more frame of the same turn that found nobody connected
        waiting = Frame(json.dumps({"late": done["text"]}), turn_id=done["turn_id"])
        world.app.web_chat.hub.publish(web_chat(account.id, "c1").id, waiting)
        params = {
            "grant": ("", {}),
            "document": ("knowledge.sources.delete", {"source_id": source_id}),
            "collection": (
                "knowledge.collections.delete",
                {"collection": slug, "confirm_name": name},
            ),
        }
        if end == "grant":
            await keep_owners(world, slug)
        elif end != "nothing":
            await operate(world.app, *params[end], "admin")
        is_lost = end != "nothing"
        [turn] = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert turn["text"] == (LOST if is_lost else done["text"])
        restored = await person.rpc("knowledge.citations.for_session", {"conversation_id": "c1"})
        titles = {"nothing": TITLE, "document": TITLE}
        of_it = [each for each in restored if each["n"] == done["citations"][0]["n"]]
        assert [each["title"] for each in of_it] == [titles.get(end)]
        assert [each["is_deleted"] for each in of_it] == [end == "document"]
        assert [each["excerpt"] is None for each in of_it] == [is_lost]
        async with person.chat() as socket:
            late = await socket.receive_json()
        assert late == (
            {"type": "assistant_done", "turn_id": done["turn_id"], "text": LOST, "citations": []}
            if is_lost
            else {"late": done["text"]}
        )
        url = f"{person.url}/api/knowledge/sources/{source_id}/original"
        async with person.session.get(url) as response:
            assert response.status == (404 if is_lost else 200)


async def test_a_chat_is_still_there_when_the_library_is_switched_off(
    template: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with (
        serving(template, home) as world,
        world.person("member") as person,
        person.chat() as socket,
    ):
        done = (await answer(socket, ASK))[-1]
    config = (home / "config.toml").read_text("utf-8")
    (home / "config.toml").write_text(
        config.replace("[knowledge]\n", "[knowledge]\nenabled = false\n"), "utf-8"
    )
    async with serving(home, tmp_path / "again") as world, world.person("member") as person:
        [turn] = await person.rpc("chat.history", {"conversation_id": "c1"})
        assert (turn["turn_id"], turn["text"]) == (done["turn_id"], LOST)
        assert all(each["title"] is None for each in turn["citations"])
        async with person.chat(after="") as socket:
            again = await socket.receive_json()
        assert (again["text"], again["citations"]) == (LOST, [])
