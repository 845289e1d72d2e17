"""Files in and out over HTTP."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import aiohttp
import pytest

from gateway.core.audit import AccessAction
from gateway.errors import GatewayError, InvalidRequestError
from gateway.surfaces.upload_form import TolerantBody
from tests.surfaces.serving import Person, ready, serving

PATH = "/api/knowledge/upload"
MIB = 2**20


def form(collection: str, *files: tuple[str, bytes]) -> aiohttp.FormData:
    made = aiohttp.FormData()
    made.add_field("collection_id", collection)
    for name, content in files:
        made.add_field("file", io.BytesIO(content), filename=name)
    return made


async def sent(person: Person, data: Any, **headers: str) -> tuple[int, Any]:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    async with person.post(PATH, data=data, headers=named) as response:
        return response.status, await response.json()


async def test_each_file_has_an_answer_of_its_own(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        bike = "# 單車\n\n單車棚在地下二樓。".encode()
        status, answer = await sent(
            person,
            form("handbook", ("單車.md", bike), ("again.md", bike), ("big.txt", b"x" * (MIB + 1))),
        )
        assert status == 200
        added, existing, refused = answer["files"]
        assert (added["status"], added["source"]["title"]) == ("added", "單車.md")
        assert existing["status"] == "existing"
        assert existing["source"]["id"] == added["source"]["id"]
        assert (refused["status"], refused["code"]) == ("refused", "too_large")
        assert refused["message"]
        await ready(world.app, added["source"]["id"])
        found = await person.rpc("knowledge.search", {"query": "單車棚在哪裡"})
        assert found["hits"][0]["title"] == "單車.md"
        assert list((home / "run").glob("tmp*")) == []


async def test_at_most_twenty_files_are_taken(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        files = [(f"{n}.txt", f"文件 {n}".encode()) for n in range(22)]
        _, answer = await sent(person, form("handbook", *files))
        states = [each["status"] for each in answer["files"]]
        assert states == ["added"] * 20 + ["refused"]


ODD: list[tuple[str, Any, int, str]] = [
    ("JSON", b"{}", 400, "invalid_request"),
    ("no file", form("handbook"), 400, "invalid_request"),
    ("of nobody's", form("nope", ("a.txt", b"a")), 404, "not_found"),
    ("of another", form("salary", ("a.txt", b"a")), 404, "not_found"),
    ("viewers only", form("products", ("a.txt", b"a")), 404, "not_found"),
]


@pytest.mark.parametrize(("name", "data", "status", "code"), ODD, ids=[row[0] for row in ODD])
async def test_what_is_refused_as_a_whole(
    template: Path, home: Path, name: str, data: Any, status: int, code: str
) -> None:
    login = "hr" if name in ("JSON", "no file") else "member"
    if isinstance(data, aiohttp.FormData):  # a form can be sent once
        files = () if name == "no file" else (("a.txt", b"a"),)
        data = form({"of nobody's": "nope", "of another": "salary"}.get(name, "handbook"), *files)
    async with serving(template, home) as world, world.person(login) as person:
        found, answer = await sent(person, data)
        assert (found, answer["error"]["code"]) == (status, code)


@pytest.mark.parametrize("cut", [10, 30, 180, 400])
async def test_a_truncated_form_adds_nothing(template: Path, home: Path, cut: int) -> None:
    lines = (
        b'--B\r\nContent-Disposition: form-data; name="collection_id"\r\n\r\nhandbook\r\n',
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n',
        b"x" * 300,
        b"\r\n--B--\r\n",
    )
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    async with serving(template, home) as world, world.person("hr") as person:
        body = b"".join(lines)[:cut]
        async with person.post(PATH, data=body, headers=headers) as response:
            assert response.status == 400
            assert (await response.json())["error"]["code"] == "invalid_request"


async def test_the_collection_comes_first(template: Path, home: Path) -> None:
    made = aiohttp.FormData()
    made.add_field("file", b"a", filename="a.txt")
    made.add_field("collection_id", "handbook")
    async with serving(template, home) as world, world.person("hr") as person:
        assert (await sent(person, made))[0] == 400


async def test_uploads_need_a_session_and_our_own_page(template: Path, home: Path) -> None:
    async with serving(template, home) as world:
        async with world.nobody() as person:
            assert (await sent(person, form("handbook", ("a.txt", b"a"))))[0] == 401
        async with world.person("hr") as person:
            person.csrf = ""
            assert (await sent(person, form("handbook", ("a.txt", b"a"))))[0] == 403


async def test_a_page_that_was_never_fetched_has_no_original(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        page = {"collection": "salary", "kind": "url", "url": "https://127.0.0.1/"}
        added = await person.rpc("knowledge.sources.add", page)
        answers = []
        for source_id in (added["source"]["id"], "nope"):
            address = f"{world.url}/api/knowledge/sources/{source_id}/original"
            async with person.session.get(address) as response:
                answers.append((response.status, await response.text()))
        assert answers[0] == answers[1]
        assert answers[0][0] == 404


async def test_an_original_is_downloaded_never_shown(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        sources = await person.rpc("knowledge.sources.list", {"collection": "salary"})
        address = f"{world.url}/api/knowledge/sources/{sources[0]['id']}/original"
        async with person.session.get(address) as response:
            body, headers = await response.read(), response.headers
        assert "薪資" in body.decode()
        assert headers["Content-Type"] == "application/octet-stream"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"].startswith("sandbox")
        kind, _, name = headers["Content-Disposition"].partition("; ")
        assert kind == "attachment"
        assert unquote(name.partition("''")[2]) == "薪資與考核辦法.md"
        log = await world.app.store.audit.entries(None, 20)
        assert any(
            entry.action is AccessAction.DOWNLOAD and entry.results == (sources[0]["id"],)
            for entry in log
        )
        async with world.person("member") as member:  # forbidden and missing look alike
            answers = []
            missing = f"{world.url}/api/knowledge/sources/nope/original"
            for url in (address, missing):
                async with member.session.get(url) as response:
                    answers.append((response.status, await response.text()))
            assert answers[0] == answers[1]
            assert answers[0][0] == 404
        async with world.nobody() as nobody, nobody.session.get(address) as response:
            assert response.status == 401


async def test_uploads_side_by_side_keep_apart(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        forms = [form("handbook", (f"{n}.txt", f"第 {n} 份".encode() * 5000)) for n in range(8)]
        answers = await asyncio.gather(*(sent(person, each) for each in forms))
        ids = {answer["files"][0]["source"]["id"] for _, answer in answers}
        assert len(ids) == 8


def raw_form(*names: bytes) -> bytes:
    """As a program would send it that knows no rules: each name as it is after `filename`."""
    lines = [b'--B\r\nContent-Disposition: form-data; name="collection_id"\r\n\r\nhandbook\r\n']
    for n, name in enumerate(names):
        lines.append(b'--B\r\nContent-Disposition: form-data; name="file"; filename' + name)
        lines.append(b"\r\nContent-Type: text/plain\r\n\r\nodd name %d \0\r\n--A\r\n\r\n" % n)
    return b"".join(lines) + b"--B--\r\n"


ODD_NAMES = (
    (b'="nul\0byte.txt"', "nulbyte.txt"),
    (b'="bell\x07\x1b[31m\x7f.txt"', "bell[31m.txt"),
    (b'="two\r\nlines.txt"', "two"),
    (b'="carriage\rreturn.txt"', "carriagereturn.txt"),
    (b'="\xa4\xa4\xa4\xe5.txt"', "????.txt"),
    ('="年假😀.txt"'.encode(), "年假😀.txt"),
    (f'="{"年" * 90}.txt"'.encode(), "年" * 90 + ".txt"),
    ('="a\u202efdp.txt"'.encode(), "afdp.txt"),
    (b'="..\\..\\windows\\x.txt"', "x.txt"),
    (b'="../../etc/passwd"', "passwd"),
    (b'="say \\"hi\\"; name=.txt"', 'say "hi"; name=.txt'),
    (b'="unfinished', "unfinished"),
    (b"=bare.txt", "bare.txt"),
    (b'=""', "document"),
    (b"*=UTF-8''%E4%BC%91%E5%81%87.txt", "休假.txt"),
    (b"=\"x.txt\"; filename*=utf-8'zh'%E5%81%87.txt", "假.txt"),
    (b"*=big5''%A4%A4.txt", "中.txt"),
    (b"*=no-such''%E5%81%87.txt", "假.txt"),
)


async def test_no_name_refuses_its_file_or_those_beside_it(template: Path, home: Path) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    async with serving(template, home) as world, world.person("hr") as person:
        body = raw_form(*(name for name, _ in ODD_NAMES))
        async with person.post(PATH, data=body, headers=headers) as response:
            answers = (await response.json())["files"]
        assert [each["name"] for each in answers] == [shown for _, shown in ODD_NAMES]
        assert {each["status"] for each in answers} == {"added"}
        stored = await world.app.store.sources.find(answers[0]["source"]["id"])
        assert stored is not None
        data = world.app.store.blobs.path(stored.sha256).read_bytes()
        assert data == b"odd name 0 \0\r\n--A\r\n"  # bytes of files are nobody's headers
        for stray in (b'="' + b"x\r\n" * 200, b'="' + b"x" * 9_000):  # endless headers end
            async with person.post(PATH, data=raw_form(stray), headers=headers) as response:
                assert response.status == 400


async def test_an_upload_that_is_sent_again_with_its_key_is_done_once(
    template: Path, home: Path
) -> None:
    def files(text: bytes = b"a", name: str = "a.txt") -> aiohttp.FormData:
        return form("handbook", (name, text), ("b.txt", b"b"), ("big.txt", b"x" * (MIB + 1)))

    async with serving(template, home) as world, world.person("hr") as hr:
        before = await hr.rpc("knowledge.sources.list", {"collection": "handbook"})
        status, first = await sent(hr, files(), Idempotency_Key="k")
        assert status == 200
        assert [each["status"] for each in first["files"]] == ["added", "added", "refused"]
        assert await sent(hr, files(), Idempotency_Key="k") == (200, first)
        unkeyed = (await sent(hr, files()))[1]
        assert [each["status"] for each in unkeyed["files"]] == ["existing", "existing", "refused"]
        for other in (files(b"other"), files(name="other.txt"), form("handbook", ("a.txt", b"a"))):
            status, answer = await sent(hr, other, Idempotency_Key="k")
            assert (status, answer["error"]["code"]) == (409, "idempotency_reused")
        status, answer = await sent(hr, form("salary", ("a.txt", b"a")), Idempotency_Key="k")
        assert answer["error"]["code"] == "idempotency_reused"
        for odd in ("", "k" * 201):
            assert (await sent(hr, files(b"odd"), Idempotency_Key=odd))[0] == 400
        many = form("handbook", *((f"{n}.txt", b"m%d" % n) for n in range(21)))
        assert (await sent(hr, many, Idempotency_Key="many"))[0] == 400
        after = await hr.rpc("knowledge.sources.list", {"collection": "handbook"})
        assert len(after) == len(before) + 2
        assert list((home / "run").glob("tmp*")) == []
    async with serving(home, home.with_name("again")) as world, world.person("hr") as hr:
        assert await sent(hr, files(), Idempotency_Key="k") == (200, first)
        async with world.person("member") as member:
            assert (await sent(member, files(), Idempotency_Key="k"))[0] == 404


async def test_of_equal_uploads_at_once_one_is_done(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as hr:
        asked = [
            sent(hr, form("handbook", ("same.txt", b"same")), Idempotency_Key="k") for _ in range(6)
        ]
        answers = await asyncio.gather(*asked)
    statuses = [body["files"][0]["status"] for status, body in answers if status == 200]
    codes = {body["error"]["code"] for status, body in answers if status != 200}
    assert set(statuses) == {"added"}  # never "existing": whoever gets an answer gets the first's
    assert codes <= {"idempotency_running"}


async def test_an_upload_that_breaks_off_leaves_nothing(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        before = await person.rpc("knowledge.sources.list", {"collection": "handbook"})
        blobs = await world.app.store.blobs.list()
        sent_some = asyncio.Event()

        async def body() -> AsyncIterator[bytes]:
            yield raw_form(b'="a.txt"')[:-20] + b"x" * 200_000
            sent_some.set()
            await asyncio.Event().wait()

        headers = {"Content-Type": "multipart/form-data; boundary=B"}

        async def send() -> None:
            async with person.post(PATH, data=body(), headers=headers):
                pass

        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(send())
            await sent_some.wait()
            sending.cancel()
        assert await person.rpc("knowledge.sources.list", {"collection": "handbook"}) == before
        assert await world.app.store.blobs.list() == blobs
        assert list((home / "run").glob("tmp*")) == []


async def test_a_body_that_drips_or_does_not_end_is_cut_off() -> None:
    content = asyncio.StreamReader()
    slow = TolerantBody(content, b"--B", 100, patience_s=0.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequestError):
        await slow.read(10)
    content.feed_data(b"x" * 101)
    content.feed_eof()
    with pytest.raises(GatewayError) as refused:
        await TolerantBody(content, b"--B", 100).read()  # type: ignore[arg-type]
    assert refused.value.code == "payload_too_large"


async def test_twenty_posts_of_the_same_bytes_are_one_document(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:
        same = "同一份文件。".encode() * 2_000
        forms = [
            form("handbook", (f"{n}.txt", same), (f"own {n}.txt", b"%d" % n)) for n in range(20)
        ]
        answers = await asyncio.gather(*(sent(person, each) for each in forms))
        firsts = [answer["files"][0] for _, answer in answers]
        assert sorted(each["status"] for each in firsts) == ["added"] + ["existing"] * 19
        assert len({each["source"]["id"] for each in firsts}) == 1
        assert {answer["files"][1]["status"] for _, answer in answers} == {"added"}


async def test_files_come_with_metadata_before_them(template: Path, home: Path) -> None:
    async with serving(template, home) as world, world.person("hr") as person:

        def noted(metadata: str, *files: tuple[str, bytes]) -> aiohttp.FormData:
            made = aiohttp.FormData()
            made.add_field("collection_id", "handbook")
            made.add_field("metadata", io.BytesIO(metadata.encode()))
            for name, content in files:
                made.add_field("file", io.BytesIO(content), filename=name)
            return made

        files = ("單車.md", "# 單車\n\n單車棚在地下二樓。".encode()), ("b.txt", b"bicycles, too")
        status, answer = await sent(person, noted('{"類別": "交通", "year": 2026}', *files))
        assert status == 200
        assert [each["status"] for each in answer["files"]] == ["added", "added"]
        sources = [each["source"] for each in answer["files"]]
        assert [each["metadata"] for each in sources] == [{"類別": "交通", "year": 2026}] * 2
        _, again = await sent(person, noted('{"year": 1}', files[0]))
        assert again["files"][0]["status"] == "existing"
        assert again["files"][0]["source"]["metadata"] == sources[0]["metadata"]

        for wrong, named in (
            ("[1]", "metadata"),
            ("{", "metadata"),
            ('{"a": [1]}', "metadata.a"),
            ('{"a": "' + "x" * 2**20 + '"}', "metadata"),
        ):
            status, refused = await sent(person, noted(wrong, ("c.txt", b"never kept")))
            assert (status, refused["error"]["code"]) == (400, "invalid_request")
            assert named in refused["error"]["message"]
        late = form("handbook", ("d.txt", b"never kept"))
        late.add_field("metadata", "{}")
        assert (await sent(person, late))[0] == 400
        listed = await person.rpc("knowledge.sources.list", {"collection": "handbook"})
        assert "c.txt" not in {each["title"] for each in listed}


async def test_an_upload_with_a_key_and_other_metadata_is_another_request(
    template: Path, home: Path
) -> None:
    async with serving(template, home) as world, world.person("hr") as person:

        async def once(metadata: str) -> tuple[int, Any]:
            made = aiohttp.FormData()
            made.add_field("collection_id", "handbook")
            made.add_field("metadata", metadata)
            made.add_field("file", io.BytesIO(b"one and the same"), filename="same.txt")
            return await sent(person, made, Idempotency_Key="k1")

        first, again = await once('{"a": 1}'), await once('{"a": 1}')
        assert first[0] == 200
        assert again == first
        assert (await once('{"a": 2}'))[0] == 409
