"""An office in memory: people, agents, collections, grants and passages, behind the seams."""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Collection as Named
from dataclasses import dataclass, field, replace

from gateway.accounts.scopes import ScopeService
from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.agents import AgentKnowledge, AgentSettings, AnswerMode
from gateway.core.audit import AccessEntry
from gateway.core.filters import Filter
from gateway.core.followups import Wording
from gateway.core.matching import index_tokens, match_text, query_terms
from gateway.core.messages import InboundMessage, Reply, Sender
from gateway.core.passages import (
    Hit,
    Locator,
    NoVectors,
    Passage,
    Relevance,
    SearchMode,
    SearchResult,
)
from gateway.core.scope import Scope
from gateway.core.turns import Exchange, TurnRecord
from gateway.errors import NotFoundError
from gateway.interfaces import AgentFiles, Channel, FilteringRetriever, Replies, Turns

RELEVANT_SHARE = 0.5  # of the question's terms in the best passage


@dataclass
class Office:
    """All that the store would hold for a turn; change it in mid-turn to see what happens."""

    accounts: dict[str, Account] = field(default_factory=dict)
    links: dict[Sender, str] = field(default_factory=dict)
    collections: dict[str, Collection] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    passages: dict[int, Passage] = field(default_factory=dict)
    agents: dict[str, AgentSettings] = field(default_factory=dict)
    exchanges: dict[tuple[str | None, str], list[Exchange]] = field(default_factory=dict)
    records: dict[str, TurnRecord] = field(default_factory=dict)
    log: list[AccessEntry] = field(default_factory=list)
    replies: dict[str, Reply] = field(default_factory=dict)

    def hire(self, account_id: str, language: str | None = None) -> Account:
        account = Account(account_id, account_id, account_id, AccountRole.MEMBER, "", language)
        self.accounts[account_id] = account
        return account

    def shelve(
        self, collection_id: str, *readers: str, sensitivity: Sensitivity = Sensitivity.INTERNAL
    ) -> None:
        """A collection the agent `a1` and these accounts may read."""
        number = len(self.collections) + 1
        self.collections[collection_id] = Collection(
            collection_id, number, f"{collection_id}-slug", collection_id, sensitivity
        )
        self.grant(collection_id, SubjectKind.AGENT, "a1")
        for reader in readers:
            self.grant(collection_id, SubjectKind.USER, reader)

    def grant(self, collection_id: str, kind: SubjectKind, subject: str) -> None:
        self.grants.append(Grant(collection_id, kind, subject, Role.VIEWER))

    def revoke(self, collection_id: str, subject: str) -> None:
        self.grants = [
            g for g in self.grants if (g.collection_id, g.subject_id) != (collection_id, subject)
        ]

    def add(self, collection_id: str, text: str, title: str = "員工手冊.docx", **over: bool) -> int:
        number = self.collections[collection_id].no << 32 | len(self.passages) + 1
        source = f"{collection_id}/{title}"
        self.passages[number] = Passage(
            number, collection_id, source, "r1", number, title, text, Locator(page=3), **over
        )
        return number

    def employ(self, mode: AnswerMode = AnswerMode.ASSIST, **over: object) -> None:
        knowledge = AgentKnowledge(answer_mode=mode)
        settings = AgentSettings("a1", "小禾", knowledge=knowledge)
        self.agents["a1"] = replace(settings, **over)  # type: ignore[arg-type]

    @property
    def scopes(self) -> ScopeService:
        return ScopeService(FakeAccounts(self), FakeLinks(self), FakeGrants(self))  # type: ignore[arg-type]


@dataclass
class FakeAccounts:
    office: Office

    async def find(self, account_id: str) -> Account | None:
        return self.office.accounts.get(account_id)


@dataclass
class FakeLinks:
    office: Office

    async def find(self, sender: Sender) -> str | None:
        return self.office.links.get(sender)


@dataclass
class FakeGrants:
    office: Office

    async def facts(
        self, audience: Audience, agent: AgentSide | None, *, everything: bool = False
    ) -> ScopeFacts:
        expected = audience.account
        account = self.office.accounts.get(expected.id) if expected is not None else None
        return ScopeFacts(
            tuple(self.office.collections.values()), tuple(self.office.grants), 1, account
        )


@dataclass
class FakeAgentFiles:
    """Implements AgentFiles over the office."""

    office: Office

    async def load(self, agent_id: str) -> AgentSettings | None:
        return self.office.agents.get(agent_id)

    async def create(self, settings: AgentSettings) -> None:
        self.office.agents[settings.agent_id] = settings


@dataclass
class FakeCollections:
    office: Office

    async def list(self, ids: frozenset[str]) -> Sequence[Collection]:
        return [each for key, each in self.office.collections.items() if key in ids]


@dataclass
class FakePassages:
    """The one read of PassageIndex that a turn makes itself."""

    office: Office

    async def load(self, scope: Scope, passage_ids: Sequence[int]) -> Sequence[Passage]:
        found = (self.office.passages.get(each) for each in passage_ids)
        return [each for each in found if each and each.collection_id in scope.collections]


@dataclass
class FakeRetriever:
    """Implements Retriever: shared terms, within the scope; each read is one log row."""

    office: Office
    scopes: list[frozenset[str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    wordings: list[Sequence[Wording]] = field(default_factory=list)

    async def search(
        self,
        query: str,
        scope: Scope,
        limit: int,
        *,
        entry: AccessEntry,
        wordings: Sequence[Wording] = (),
        within: Filter | None = None,
    ) -> SearchResult:
        self.queries.append(query)
        self.wordings.append(wordings)
        self.scopes.append(scope.collections)
        terms = query_terms(" ".join(each.text for each in wordings) or query).terms
        readable = [
            p
            for p in self.office.passages.values()
            if p.collection_id in scope.collections
            and (within is None or within.matches({"id": p.source_id, "title": p.title}))
        ]
        rated = [(_share(terms, p.text), p) for p in readable]
        rated = sorted((each for each in rated if each[0]), key=lambda each: (-each[0], each[1].id))
        hits = tuple(Hit(passage, share) for share, passage in rated[:limit])
        best = rated[0][0] if rated else 0.0
        results = tuple(str(hit.passage.id) for hit in hits)
        self.office.log.append(
            replace(entry, query=query, collections=tuple(scope.collections), results=results)
        )
        relevance = Relevance(best >= RELEVANT_SHARE, best)
        return SearchResult(hits, SearchMode.KEYWORD_ONLY, 0.0, relevance, NoVectors.MODEL_MISSING)

    async def around(
        self, scope: Scope, passage_id: int, context: int, *, entry: AccessEntry
    ) -> Sequence[Passage]:
        raise NotFoundError(str(passage_id))


def _share(terms: Named[str], text: str) -> float:
    tokens = index_tokens(match_text(text)).split()
    return sum(term in tokens for term in terms) / max(len(terms), 1)


@dataclass
class FakeTurns:
    """Implements Turns; every recorded turn counts as delivered at once."""

    office: Office
    on_record: Callable[[TurnRecord], Awaitable[None]] | None = None

    async def record(self, turn: TurnRecord) -> None:
        self.office.records[turn.id] = turn
        exchange = Exchange(
            turn.id,
            turn.question,
            turn.answer,
            turn.asked_at,
            (*((each.source_id, each.collection_id) for each in turn.citations), *turn.rests_on),
            is_direct=turn.is_direct,
            account_id=turn.account_id,
            sender=turn.sender,
        )
        past = self.office.exchanges.setdefault((turn.agent_id, turn.conversation), [])
        past[:] = [each for each in past if each.turn_id != turn.id] + [exchange]

    async def find(self, turn_id: str) -> TurnRecord | None:
        return self.office.records.get(turn_id)

    async def recent(
        self, agent_id: str | None, conversation: str, limit: int
    ) -> Sequence[Exchange]:
        return self.office.exchanges.get((agent_id, conversation), [])[-limit:]

    async def of_conversation(
        self, conversation: str, limit: int, after_turn_id: str | None = None
    ) -> Sequence[TurnRecord]:
        return [each for each in self.office.records.values() if each.conversation == conversation]

    async def conversations(self, account_id: str, limit: int) -> Sequence[TurnRecord]:
        return []

    async def forget_questions(self, turn_ids: Sequence[str]) -> None:
        for turn_id in turn_ids:
            if turn_id in self.office.records:
                await self.record(replace(self.office.records[turn_id], question=""))


@dataclass
class FakeReplies:
    """Implements Replies; a repeat changes nothing."""

    office: Office

    async def put(
        self, turn_id: str, message: InboundMessage, reply: Reply, channel: Channel | None = None
    ) -> None:
        self.office.replies.setdefault(turn_id, reply)


fits_files: type[AgentFiles] = FakeAgentFiles
fits_retriever: type[FilteringRetriever] = FakeRetriever
fits_turns: type[Turns] = FakeTurns
fits_replies: type[Replies] = FakeReplies
