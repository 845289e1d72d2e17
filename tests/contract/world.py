"""Small builders for the store's suite; scopes come from the rule, never from a constructor."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.documents import Chunk, NewRevision, Section, Source, SourceKind, SourceState
from gateway.core.matching import match_text, query_terms
from gateway.core.messages import (
    Conversation,
    InboundMessage,
    OutboundCall,
    ReplyHandle,
    Sender,
)
from gateway.core.passages import Locator, Passage
from gateway.core.scope import Scope, decide
from gateway.core.turns import TurnCitation, TurnRecord
from gateway.store import Store
from tests.fakes.times import RealIds
from tests.fakes.wound_clock import WoundClock

IDS = RealIds()


@dataclass
class World:
    """What tests put into a store, in a word each."""

    store: Store
    clock: WoundClock
    collections: dict[str, Collection] = field(default_factory=dict)

    async def account(self, name: str = "", role: AccountRole = AccountRole.MEMBER) -> Account:
        account_id = IDS.new()
        account = Account(account_id, name or account_id, name, role, department="HR")
        await self.store.accounts.put(account)
        return account

    async def collection(self, owner: Account, slug: str = "") -> Collection:
        new_id = IDS.new()
        draft = Collection(new_id, 0, slug or new_id, slug, Sensitivity.INTERNAL)
        return await self.store.collections.create(draft, owner.id)

    async def source(self, collection: Collection, title: str = "手冊", data: str = "") -> Source:
        source, _ = await self.store.sources.add(self.new_source(collection, title, data))
        return source

    def new_source(self, collection: Collection, title: str = "手冊", data: str = "") -> Source:
        source_id = IDS.new()
        content = (data or source_id).encode()
        return Source(
            id=source_id,
            collection_id=collection.id,
            title=title,
            kind=SourceKind.FILE,
            sha256=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            state=SourceState.QUEUED,
            created_at=self.clock.now(),
        )

    async def text(self, collection: Collection, *texts: str, title: str = "手冊") -> Source:
        """A source with one passage a text."""
        source = await self.source(collection, title)
        assert await self.read(source, *texts)
        return source

    async def read(self, source: Source, *texts: str) -> bool:
        return await self.store.passages.replace(revision(source, *texts))

    async def scope(self, account: Account) -> Scope:
        """What the account may read in the dashboard."""
        audience = Audience(AudienceKind.DASHBOARD, account)
        facts = await self.store.grants.facts(audience, None, everything=account.is_admin)
        return decide(audience, None, facts)

    async def share(self, collection: Collection, owner: Account, *readers: Account) -> None:
        grants = [Grant(collection.id, SubjectKind.USER, owner.id, Role.OWNER)]
        grants += [Grant(collection.id, SubjectKind.USER, each.id, Role.VIEWER) for each in readers]
        now = await self.store.collections.find(collection.id)
        assert now is not None
        await self.store.grants.replace(collection.id, grants, version=now.version)

    async def found(self, scope: Scope, question: str, limit: int = 50) -> list[Passage]:
        terms = query_terms(question)
        hits = await self.store.passages.lexical(scope, terms.terms, limit, terms.phrases)
        return list(await self.store.passages.load(scope, [hit[0] for hit in hits.hits]))

    def turn(
        self, conversation: str = "line/main/U1", citations: Sequence[TurnCitation] = ()
    ) -> TurnRecord:
        return TurnRecord(
            id=IDS.new(),
            agent_id="hana",
            conversation=conversation,
            is_direct=True,
            audience=AudienceKind.LINKED,
            account_id=None,
            sender="U1",
            question="問",
            answer="答 [1]",
            asked_at=self.clock.now(),
            answered_at=self.clock.now(),
            citations=tuple(citations),
        )

    def message(self, text: str = "你好", chat: str = "U1", key: str = "") -> InboundMessage:
        new_key = key or IDS.new()
        return InboundMessage(
            conversation=Conversation("line", "main", chat, is_direct=True),
            delivery_id=f"delivery {new_key}",
            message_key=f"message {new_key}",
            text=text,
            received_at=self.clock.now(),
            sender=Sender("line", "main", chat),
            reply_handle=ReplyHandle("token", self.clock.now()),
        )

    def call(self, turn_id: str, seq: int = 0, chat: str = "U1", text: str = "答") -> OutboundCall:
        return OutboundCall(
            id=f"{turn_id}/{seq}",
            turn_id=turn_id,
            seq=seq,
            conversation=Conversation("line", "main", chat, is_direct=True),
            parts=(text,),
            idempotency_key=f"key {turn_id}/{seq}",
            created_at=self.clock.now(),
            reply_handle=ReplyHandle("token", self.clock.now()),
            extra={"text": text},
        )


def revision(source: Source, *texts: str) -> NewRevision:
    """Passages in order, the second of each pair flagged, under one section."""
    chunks = tuple(
        Chunk(n, text, match_text(text), Locator(page=n + 1), section=0, is_flagged=n % 2 == 1)
        for n, text in enumerate(texts)
    )
    section = Section(0, None, 1, source.title, Locator(page=1))
    return NewRevision(IDS.new(), source.id, chunks, (section,))


def citation(source: Source, n: int = 1, excerpt: str = "摘錄") -> TurnCitation:
    return TurnCitation(
        n=n,
        passage_id=n,
        source_id=source.id,
        collection_id=source.collection_id,
        title=source.title,
        locator="p. 1",
        excerpt=excerpt,
        is_cited=True,
    )
