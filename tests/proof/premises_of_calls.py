"""What requests name: a thing of one's own, another's, or none; and what a request costs."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy import Engine, event

from gateway.accounts.agent_files import AgentFolder
from gateway.accounts.linking import Linking
from gateway.app import App, open_app
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    AudienceKind,
    BindingRole,
    Collection,
    Grant,
    Role,
    SubjectKind,
)
from gateway.core.agents import AgentSettings
from gateway.core.documents import Source
from gateway.core.forgetting import PlanState
from gateway.core.messages import Conversation, InboundMessage, Sender, web_chat
from gateway.core.turns import TurnRecord
from gateway.errors import GatewayError
from gateway.interfaces import Act
from gateway.store.statements import raw
from gateway.surfaces.local import LocalCall, local_caller
from gateway.surfaces.session import COOKIE, CSRF_HEADER, csrf_of
from tests.contract.test_forgetting import delete
from tests.contract.test_proposals import card_like
from tests.contract.world import IDS, World, citation
from tests.fakes.wound_clock import WoundClock

NOBODY, MEMBER, MANAGER, ADMIN = "nobody", "member", "manager", "admin"
OPERATOR, ACTING = "operator", "operator as a member"
ROLES = (NOBODY, MEMBER, MANAGER, ADMIN, OPERATOR, ACTING)
OWN, BELOW, FOREIGN, MISSING = "own", "below", "foreign", "missing"
PASSWORD = "correct horse battery"
TEXT = "停車位每月租金為八百元。"
_LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_ID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BELOW = {Role.OWNER: Role.EDITOR, Role.EDITOR: Role.VIEWER}


class Statements:
    """All that SQLite ran since `clear`, without the values, in order."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def note(self, sql: str) -> None:
        self.ran.append(_LITERAL.sub("?", sql))

    @classmethod
    @contextmanager
    def of_new_connections(cls) -> Iterator["Statements"]:
        """Of the databases that are opened within the block."""
        statements = cls()

        def trace(driver: Any, _record: object) -> None:
            driver.set_trace_callback(statements.note)

        event.listen(Engine, "connect", trace)
        try:
            yield statements
        finally:
            event.remove(Engine, "connect", trace)


@dataclass(frozen=True)
class Answer:
    """`code` is "done" or that of the error; `body` without what differs by ids alone."""

    code: str
    body: bytes
    statements: tuple[str, ...]
    denials: int  # rows of the access log that say so of whoever asked


@dataclass
class Premises:
    """A gateway that serves nobody else, so that what runs was asked for."""

    app: App
    client: TestClient[web.Request, web.Application]
    statements: Statements
    password_hash: str
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.app.store, WoundClock())

    @property
    def now(self) -> Act:
        return Act(None, self.app.clock.now())

    async def person(self, role: str) -> Account:
        """Somebody new, who has nothing yet."""
        name = f"{role}-{IDS.new()}"
        account = Account(IDS.new(), name, name, AccountRole(role), "R&D")
        await self.app.store.account_changes.add(account, self.password_hash, self.now)
        return account

    async def ask(self, role: str, me: Account | None, method: str, params: Any) -> Answer:
        """One call at the door of that role."""
        headers = await self.headers(me) if role not in (OPERATOR, ACTING) else {}
        before = len(self.statements.ran)
        if role in (OPERATOR, ACTING):
            answer = await self._locally(me, method, params)
        else:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            response = await self.client.post("/rpc", json=body, headers=headers)
            answer = await response.json(content_type=None)
            self.client.session.cookie_jar.clear()
        ran = tuple(self.statements.ran[before:])
        code = answer["error"]["data"]["code"] if "error" in answer else "done"
        denials = 0 if me is None else await self._denials(me)
        return Answer(code, _without_ids(answer, params), ran, denials)

    async def headers(self, me: Account | None) -> dict[str, str]:
        if me is None:
            return {}
        hour = timedelta(hours=1)
        issued = await self.app.sign_in.issue(me, kind="session", label="", valid_for=hour)
        return {"Cookie": f"{COOKIE}={issued.secret}", CSRF_HEADER: csrf_of(issued.secret)}

    async def _locally(self, me: Account | None, method: str, params: Any) -> dict[str, Any]:
        call = LocalCall(method, params, None if me is None else me.id)
        try:
            caller = await local_caller(self.app.store.accounts, call)
            return {"result": await self.app.registry.call(caller, method, params)}
        except GatewayError as error:
            return {"error": {"data": {"code": error.code}}}

    async def _denials(self, me: Account) -> int:
        entries = await self.app.store.audit.entries(None, 100)
        return sum(each.action == "denied" and each.account_id == me.id for each in entries)


def _without_ids(answer: dict[str, Any], params: dict[str, Any]) -> bytes:
    body = _ID.sub(b"ID", msgspec.json.encode(answer))
    for value in params.values():
        if isinstance(value, str) and value:
            body = body.replace(msgspec.json.encode(value), b'"ID"')
    return body


@asynccontextmanager
async def premises(home: Path) -> AsyncIterator[Premises]:
    """Open the home with an HTTP side, and nothing that runs by itself but idle ingestion."""
    with Statements.of_new_connections() as statements:
        async with (
            open_app(home) as app,
            TestClient(TestServer(app.application())) as client,
        ):
            yield Premises(app, client, statements, await app.sign_in.hashed(PASSWORD))


@dataclass
class Place:
    """Where a request is about to be made: by whom, and whose the thing is that it names."""

    here: Premises
    role: str
    case: str
    me: Account | None
    stranger: Account
    least: Role | None

    @property
    def is_missing(self) -> bool:
        return self.case == MISSING

    @property
    def owner(self) -> Account:
        """Whose the thing is; nobody and the operator have none of their own."""
        return self.me if self.case == OWN and self.me is not None else self.stranger

    @property
    def store(self) -> Any:
        return self.here.app.store

    # ------------------------------------------------------------ people

    async def person(self) -> str:
        """Oneself, or somebody else."""
        return IDS.new() if self.is_missing else self.owner.id

    async def another(self) -> str:
        """Never oneself."""
        return IDS.new() if self.is_missing else self.stranger.id

    async def session(self, kind: str) -> str:
        if self.is_missing:
            return "0" * 32
        hour, now = timedelta(hours=1), self.here.app.clock.now()
        await self.here.app.sign_in.issue(self.owner, kind=kind, label="x", valid_for=hour)
        (found, *_) = await self.store.sessions.list(kind, self.owner.id, now)
        return str(found.id)

    async def key(self) -> str:
        if self.is_missing:
            return "0" * 32
        by = Act(self.owner.id, self.here.app.clock.now())
        key, _ = self.here.app.sign_in.agent_key(await self.agent(), "x", timedelta(hours=1), by)
        await self.store.agent_keys.add(key, 99, by)
        return key.id

    async def agent(self) -> str:
        """Owned, or with nobody of this place bound to it."""
        name = f"a{IDS.new()[-12:]}"
        if not self.is_missing:
            await AgentFolder(self.here.app.home / "agents", self.store.agents).create(
                AgentSettings(name, "小幫手")
            )
            await self.store.agents.put(Agent(name, "小幫手"))
            await self.store.agents.bind(name, self.owner.id, BindingRole.OWNER)
        return name

    # ------------------------------------------------------------ the library

    async def shelf(self) -> Collection | None:
        """One's own with the owner's role, or with one role less than is needed, or another's."""
        if self.is_missing:
            return None
        made = await self.here.world.collection(self.owner)
        lesser = _BELOW.get(self.least) if self.least is not None else None
        if self.case == BELOW and lesser is not None and self.me is not None:
            grants = [
                Grant(made.id, SubjectKind.USER, self.owner.id, Role.OWNER),
                Grant(made.id, SubjectKind.USER, self.me.id, lesser),
            ]
            await self.store.grants.replace(made.id, grants, version=made.version)
        return made

    async def collection(self) -> str:
        shelf = await self.shelf()
        return IDS.new() if shelf is None else shelf.id

    async def _source(self) -> Source | None:
        shelf = await self.shelf()
        if shelf is None:
            return None
        made = await self.here.world.text(shelf, TEXT)
        await self.store._knowledge.write(lambda c: raw(c).execute("DELETE FROM jobs").rowcount)
        return made

    async def source(self) -> str:
        found = await self._source()
        return IDS.new() if found is None else found.id

    async def passage(self) -> str:
        shelf = await self.shelf()
        if shelf is None:
            return str((1 << 50) + 1)
        await self.here.world.text(shelf, TEXT)
        await self.store._knowledge.write(lambda c: raw(c).execute("DELETE FROM jobs").rowcount)
        scope = (await self.here.world.scope(self.owner)).narrow(frozenset({shelf.id}))
        (passage,) = await self.here.world.found(scope, TEXT)
        return str(passage.id)

    async def proposal(self) -> str:
        shelf = await self.shelf()
        if shelf is None:
            return IDS.new()
        now = self.here.app.clock.now()
        card = card_like(shelf.id, self.owner.id, created_at=now, agent=IDS.new())
        await self.store.proposals.put([card])
        return card.id

    # ------------------------------------------------------------ what was said

    async def turn(self) -> TurnRecord | None:
        """In web chat, by the owner."""
        if self.is_missing:
            return None
        lane = web_chat(self.owner.id, IDS.new()).lane
        made = replace(
            self.here.world.turn(lane), account_id=self.owner.id, audience=AudienceKind.WEBCHAT
        )
        await self.store.turns.record(made)
        return made

    async def turn_id(self) -> str:
        found = await self.turn()
        return IDS.new() if found is None else found.id

    async def conversation(self) -> str:
        found = await self.turn()
        return IDS.new() if found is None else found.conversation.rpartition("/")[2].split(".")[-1]

    async def plan(self, state: PlanState) -> str:
        source = await self._source()
        if source is None:
            return IDS.new()
        await self.store.turns.record(self.here.world.turn(f"x/{IDS.new()}", [citation(source)]))
        await delete(self.here.world, source)
        plans = await self.store.forgetting.plans([PlanState.PENDING], 500)
        (plan,) = [each for each in plans if each.source_id == source.id]
        if state is PlanState.APPROVED:
            now = self.here.app.clock.now()
            await self.store.forgetting.decide(plan.id, self.owner.id, now, approve=True)
        return str(plan.id)

    async def dead_call(self) -> str:
        if self.is_missing:
            return f"{IDS.new()}/0"
        world, turn_id = self.here.world, IDS.new()
        await self.store.inbox.put([(turn_id, world.message())], 99)
        await self.store.inbox.answered(turn_id, [world.call(turn_id)], world.clock.now())
        await self.store.outbox.give_up(f"{turn_id}/0", "dead", "", world.clock.now())
        return f"{turn_id}/0"

    # ------------------------------------------------------------ links

    async def sender(self) -> dict[str, str]:
        who = {"channel": "line", "account_name": "main", "sender": f"U{IDS.new()}"}
        if not self.is_missing:
            sender = Sender("line", "main", who["sender"])
            await self.store.links.bind(sender, self.owner.id, self.here.app.clock.now())
        return who

    async def request(self) -> str:
        if self.is_missing:
            return IDS.new()
        clock, turn_id, name = self.here.app.clock, IDS.new(), f"U{IDS.new()}"
        linking = Linking(self.store.link_codes, self.store.link_requests, clock)
        code = (await linking.make_code(self.owner)).code
        chat = Conversation("line", "main", name, is_direct=True)
        sender = Sender("line", "main", name)
        message = InboundMessage(chat, IDS.new(), IDS.new(), "", clock.now(), sender)
        await linking.redeem(turn_id, message, code)
        return turn_id
