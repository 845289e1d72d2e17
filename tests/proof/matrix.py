"""One row or more for each operation: how it is asked, and who gets what, by the document."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.core.access import Role
from gateway.core.forgetting import PlanState
from gateway.operations.table import Permission
from tests.contract.world import IDS
from tests.proof.premises_of_calls import (
    ACTING,
    ADMIN,
    BELOW,
    FOREIGN,
    MANAGER,
    MEMBER,
    MISSING,
    NOBODY,
    OPERATOR,
    OWN,
    PASSWORD,
    Place,
)

Params = Callable[[Place], Awaitable[Mapping[str, Any]]]
DONE, NOT_FOUND, NOT_SIGNED_IN = "done", "not_found", "not_signed_in"
EVERYBODY = frozenset({NOBODY, MEMBER, MANAGER, ADMIN, OPERATOR, ACTING})
SIGNED_IN = frozenset({MEMBER, MANAGER, ADMIN, ACTING})
KEEPERS = frozenset({ADMIN, OPERATOR})  # see everybody's, where anybody does
ENTER: Mapping[Permission, frozenset[str]] = {
    Permission.ANYONE: EVERYBODY,
    Permission.SIGNED_IN: SIGNED_IN,
    Permission.SIGNED_IN_OR_LOCAL: SIGNED_IN | {OPERATOR},
    Permission.MANAGER: frozenset({MANAGER, ADMIN, OPERATOR}),
    Permission.ADMIN: KEEPERS,
    Permission.LOCAL: frozenset({OPERATOR, ACTING}),
}


@dataclass(frozen=True)
class Row:
    """`blank` is what a thing that is missing, or not one's own, looks like."""

    params: Params
    names: bool = True  # the request names a thing; false: nothing to be foreign or missing
    least: Role | None = None  # on the collection
    over: frozenset[str] = KEEPERS  # roles for whom a foreign thing is like their own
    blank: str = NOT_FOUND
    own: str = DONE
    logged: bool = False  # refusals stand in the access log
    person: bool = False  # needs an account, at this machine too
    but: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (role, case)

    def expected(self, needs: Permission, role: str, case: str) -> str:
        """The code, or "done"."""
        if role not in ENTER[needs]:
            return NOT_SIGNED_IN if role in (NOBODY, OPERATOR) else NOT_FOUND
        if self.person and role == OPERATOR:
            return NOT_SIGNED_IN
        if (role, case) in self.but:
            return self.but[role, case]
        if not self.names:
            return self.own
        return self._of_thing(role, case)

    def cases(self, role: str) -> Sequence[str]:
        """What can be asked: one role less than is needed only where there is one."""
        if not self.names:
            return (OWN,)
        has_less = self.least not in (None, Role.VIEWER)
        is_less = has_less and role in SIGNED_IN and role not in self.over
        return (OWN, BELOW, FOREIGN, MISSING) if is_less else (OWN, FOREIGN, MISSING)

    def _of_thing(self, role: str, case: str) -> str:
        if case == MISSING:
            return self.blank
        has_own = case == OWN and role not in (NOBODY, OPERATOR)
        return self.own if has_own or role in self.over else self.blank


def bare(**params: Any) -> Params:
    async def made(_: Place) -> Mapping[str, Any]:
        return {key: value() if callable(value) else value for key, value in params.items()}

    return made


def named(key: str, make: Callable[[Place], Awaitable[Any]], **others: Any) -> Params:
    async def made(place: Place) -> Mapping[str, Any]:
        found = {name: value(place) if callable(value) else value for name, value in others.items()}
        return {key: await make(place), **found}

    return made


def free(**params: Any) -> Row:
    return Row(bare(**params), names=False)


def no_model() -> Row:
    """Of a model that no catalogue has: who may ask at all is what matters here."""
    return Row(bare(model="x"), names=False, own=NOT_FOUND)


def on_shelf(least: Role, key: str = "collection", make: Any = None, **others: Any) -> Row:
    """What is looked for through a collection: only admins see others', refusals are logged."""
    make = make or Place.collection
    over = frozenset({ADMIN})
    return Row(named(key, make, **others), least=least, over=over, logged=True, person=True)


def of_agent(**others: Any) -> Row:
    return Row(named("agent_id", Place.agent, **others))


def any_admins(make: Params, **over: Any) -> Row:
    """For administrators and the operator; a thing has no owner."""
    return Row(make, **over)


async def login(place: Place) -> Mapping[str, Any]:
    if place.is_missing:
        return {"login": IDS.new(), "password": PASSWORD}
    word = PASSWORD if place.case == OWN else "wrong one, surely"
    return {"login": place.owner.login, "password": word}


async def deletion(place: Place) -> Mapping[str, Any]:
    shelf = await place.shelf()
    return {
        "collection": IDS.new() if shelf is None else shelf.id,
        "confirm_name": "" if shelf is None else shelf.name,
    }


async def into_a_folder(place: Place) -> Mapping[str, Any]:
    """A collection of one's own, into one that is named."""
    mine = Place(place.here, place.role, OWN, place.me, place.stranger, None)
    return {
        "collection": await mine.collection(),
        "version": 1,
        "parent_id": await place.collection(),
    }


async def new_password(place: Place) -> Mapping[str, Any]:
    return {
        "account": await place.person(),
        "password": "another long one",
        "old_password": PASSWORD,
    }


async def looking_for_somebody(place: Place) -> Mapping[str, Any]:
    if place.case == OWN:
        await place.collection()
    return {"query": "小"}


async def turn_alone(place: Place) -> Mapping[str, Any]:
    """Whoever has a collection of their own may ask about a turn."""
    if place.case == OWN:
        await place.collection()
    return {"turn_id": await place.turn_id()}


async def in_a_list(place: Place) -> list[str]:
    return [await place.collection()]


async def shelf_and_turn(place: Place) -> Mapping[str, Any]:
    other = Place(place.here, place.role, FOREIGN, place.me, place.stranger, None)
    return {"turn_id": await other.turn_id(), "collection": await place.collection()}


async def grants_of_owner(place: Place) -> Mapping[str, Any]:
    line = {"subject_kind": "user", "subject_id": place.owner.id, "role": "owner"}
    return {"collection": await place.collection(), "version": 1, "grants": [line]}


async def upstream(place: Place) -> Mapping[str, Any]:
    mine = Place(place.here, place.role, OWN, place.me, place.stranger, None)
    return {"agent_id": await mine.agent(), "text": "停車", "turn_id": await place.turn_id()}


def stranger(place: Place) -> str:
    return place.stranger.id


def fresh_agent() -> str:
    return f"a{IDS.new()[-12:]}"


VIEWER, EDITOR, OWNER = Role.VIEWER, Role.EDITOR, Role.OWNER
LINE = {"channel": "line", "account_name": "main"}
NOT_MINE = frozenset[str]()

ROWS: Mapping[str, tuple[Row, ...]] = {
    "accounts.activate": (any_admins(named("account", Place.another)),),
    "accounts.create": (free(login=IDS.new, display_name="新人", password="a long password"),),
    "accounts.deactivate": (any_admins(named("account", Place.another)),),
    "accounts.departments": (free(),),
    "accounts.get": (
        Row(named("account", Place.person)),
        Row(bare(account=None), names=False, person=True),
    ),
    "accounts.list": (free(),),
    "accounts.set_password": (Row(new_password),),
    "accounts.update": (Row(named("account", Place.person, language="ja")),),
    "agents.archive": (of_agent(),),
    "agents.bind": (of_agent(account=stranger, role="viewer"),),
    "agents.create": (free(id=fresh_agent, display_name="新"),),
    "agents.dispatch": (
        Row(named("agent_id", Place.agent, text="停車"), over=frozenset({ADMIN})),
        Row(upstream, over=NOT_MINE, blank=DONE),
    ),
    "agents.get": (of_agent(),),
    "agents.hand_over": (of_agent(to=stranger),),
    "agents.keys.create": (of_agent(label="x"),),
    "agents.keys.list": (of_agent(),),
    "agents.keys.revoke": (Row(named("id", Place.key)),),
    "agents.knowledge.get": (of_agent(),),
    "agents.knowledge.set": (of_agent(collections=[]),),
    "agents.list": (free(),),
    "agents.list_all": (free(),),
    "agents.restore": (of_agent(),),
    "agents.update": (of_agent(display_name="改"),),
    "auth.login": (
        Row(
            login,
            over=NOT_MINE,
            blank="wrong_credentials",
            but={(role, OWN): DONE for role in (NOBODY, OPERATOR)},
        ),
    ),
    "auth.logout": (free(),),
    "auth.me": (free(),),
    "auth.sessions.list": (Row(named("account", Place.person)),),
    "auth.sessions.revoke": (Row(named("id", lambda place: place.session("session"))),),
    "auth.tokens.create": (free(label="x"),),
    "auth.tokens.list": (Row(named("account", Place.person)),),
    "auth.tokens.revoke": (Row(named("id", lambda place: place.session("token"))),),
    "chat.agents": (free(),),
    "chat.ask": (free(text="停車"), Row(named("agent", Place.agent, text="停車"))),
    "chat.conversations": (free(),),
    "chat.history": (Row(named("conversation_id", Place.conversation), over=NOT_MINE, blank=DONE),),
    "gateway.check": (free(),),
    "knowledge.access_log.denied": (free(),),
    "knowledge.access_log.list": (on_shelf(OWNER),),
    "knowledge.agent.collections": (of_agent(),),
    "knowledge.agent.data_sources": (of_agent(),),
    "knowledge.agent.own.ensure": (of_agent(),),
    "knowledge.citations.for_session": (
        Row(named("conversation_id", Place.conversation), over=NOT_MINE, blank=DONE),
    ),
    "knowledge.collections.create": (
        Row(bare(name="新書架"), names=False, person=True),
        on_shelf(EDITOR, "parent_id", name="新書架"),
    ),
    "knowledge.collections.delete": (Row(deletion, least=OWNER, logged=True),),
    "knowledge.collections.list": (free(),),
    "knowledge.collections.update": (
        on_shelf(OWNER, version=1, name="改"),
        Row(into_a_folder, least=EDITOR, over=frozenset({ADMIN}), logged=True, person=True),
    ),
    "knowledge.embedding.cancel": (no_model(),),
    "knowledge.embedding.disclosure": (free(provider="openai"),),
    "knowledge.embedding.install": (no_model(),),
    "knowledge.embedding.rebuild": (free(),),
    "knowledge.embedding.remove": (no_model(),),
    "knowledge.embedding.select": (free(provider="none"),),
    "knowledge.embedding.settings": (free(),),
    "knowledge.embedding.status": (free(),),
    "knowledge.embedding.verify_offline": (no_model(),),
    "knowledge.grants.list": (on_shelf(OWNER),),
    "knowledge.grants.replace": (Row(grants_of_owner, least=OWNER, logged=True),),
    "knowledge.limits": (free(),),
    "knowledge.passages.get": (on_shelf(VIEWER, "chunk_id", Place.passage),),
    "knowledge.principals.resolve": (on_shelf(OWNER, ids=[]),),
    "knowledge.principals.search": (
        Row(
            looking_for_somebody,
            over=frozenset({MANAGER, ADMIN}),
            but={(role, MISSING): DONE for role in (MANAGER, ADMIN)},
        ),
    ),
    "knowledge.proposals.decide": (
        on_shelf(EDITOR, "id", Place.proposal, approve=False),
        Row(
            named("id", Place.proposal, approve=True),
            least=EDITOR,
            logged=True,
            own="proposal_changed",  # whoever may decide learns that its file is gone
        ),
    ),
    "knowledge.proposals.list": (free(),),
    "knowledge.scope.explain": (
        Row(shelf_and_turn, least=OWNER, logged=True),
        Row(turn_alone),
    ),
    "knowledge.search": (
        Row(
            named("collections", in_a_list, query="停車"),
            least=VIEWER,
            blank=DONE,
            logged=True,
        ),
    ),
    "knowledge.sources.add": (on_shelf(EDITOR, title="t", text=lambda _: IDS.new()),),
    "knowledge.sources.add_file": (
        Row(
            named("collection", Place.collection, path="/dev/null/none"),
            least=EDITOR,
            logged=True,
            person=True,
            own="invalid_request",  # whoever may add learns that there is no such file
        ),
    ),
    "knowledge.sources.delete": (on_shelf(EDITOR, "source_id", Place.source),),
    "knowledge.sources.get": (on_shelf(VIEWER, "source_id", Place.source),),
    "knowledge.sources.list": (on_shelf(VIEWER),),
    "knowledge.sources.outline": (on_shelf(VIEWER, "source_id", Place.source),),
    "knowledge.sources.reindex": (on_shelf(EDITOR, "source_id", Place.source),),
    "knowledge.sources.set_metadata": (
        on_shelf(EDITOR, "source_id", Place.source, metadata=lambda _: {"category": "policy"}),
    ),
    "links.add": (any_admins(named("account", Place.another, sender=lambda _: IDS.new(), **LINE)),),
    "links.code": (free(),),
    "links.confirm": (Row(named("request_id", Place.request), over=NOT_MINE),),
    "links.list": (free(),),
    "links.pending": (free(),),
    "links.reject": (Row(named("request_id", Place.request), over=NOT_MINE),),
    "links.remove": (Row(Place.sender),),
    "memory.forget.apply": (any_admins(named("id", lambda place: place.plan(PlanState.APPROVED))),),
    "memory.plans.decide": (
        any_admins(
            named("id", lambda place: place.plan(PlanState.PENDING), approve=False), person=True
        ),
    ),
    "memory.plans.list": (free(),),
    "outbox.list": (free(states=[]),),
    "outbox.replay": (any_admins(named("id", Place.dead_call)),),
    "scope.explain": (
        any_admins(named("account", Place.another)),
        any_admins(named("agent", Place.agent, channel="line", sender="U1")),
    ),
}
