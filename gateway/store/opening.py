"""Opens a home's two databases and blobs as one store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path

from gateway.interfaces import Clock, Ids
from gateway.store import counters
from gateway.store.account_changes import SqliteAccountChanges
from gateway.store.agent_changes import SqliteAgentChanges
from gateway.store.agent_keys import SqliteAgentKeys
from gateway.store.agents import SqliteAgents, SqliteLinks
from gateway.store.audit import SqliteAudit
from gateway.store.blobs import BlobFolder
from gateway.store.collections import SqliteCollections
from gateway.store.coverage import SqliteCoverage
from gateway.store.database import Database
from gateway.store.forgetting import SqliteForgetting
from gateway.store.generation import Generation
from gateway.store.grants import SqliteGrants
from gateway.store.inbox import SqliteInbox
from gateway.store.jobs import SqliteJobs
from gateway.store.kept_files import SqliteAnswerRecords, SqlitePictureRecords
from gateway.store.link_codes import SqliteLinkCodes
from gateway.store.links import SqliteLinkRequests
from gateway.store.maintenance import Maintenance
from gateway.store.metadata import SqliteSourceMetadata
from gateway.store.outbox import SqliteOutbox
from gateway.store.outlines import SqliteOutlines
from gateway.store.own_documents import SqliteOwnCollections
from gateway.store.passages import SqlitePassages
from gateway.store.people import SqliteAccounts
from gateway.store.principals import SqlitePrincipals
from gateway.store.proposals import SqliteProposals
from gateway.store.repeats import SqliteRepeats
from gateway.store.revision_texts import SqliteRevisionTexts
from gateway.store.sessions import SqliteSessions
from gateway.store.sources import SqliteSources
from gateway.store.turns import SqliteTurns
from gateway.store.vectors import SqliteVectors

_ABANDONED = timedelta(days=1)  # no upload takes that long


class Store:
    """Everything that is kept, by domain; each attribute fits a protocol of interfaces.py."""

    def __init__(
        self,
        home: Path,
        databases: tuple[Database, Database],
        access: Generation,
        clock: Clock,
        ids: Ids,
    ):
        """`databases` are those of inbox.db and knowledge.db, open; `access` looks at the latter's
        commits.
        """
        inbox, knowledge = databases
        self.access = access
        self._knowledge = knowledge
        self.accounts = SqliteAccounts(knowledge)
        self.account_changes = SqliteAccountChanges(knowledge)
        self.sessions, self.agent_keys = SqliteSessions(knowledge), SqliteAgentKeys(knowledge)
        self.agents = SqliteAgents(knowledge)
        self.agent_changes = SqliteAgentChanges(knowledge)
        self.links = SqliteLinks(knowledge)
        self.link_codes = SqliteLinkCodes(knowledge)
        self.link_requests = SqliteLinkRequests(knowledge)
        self.collections = SqliteCollections(knowledge, clock, ids)
        self.grants = SqliteGrants(knowledge)
        self.own_collections = SqliteOwnCollections(knowledge)
        self.principals = SqlitePrincipals(knowledge)
        self.inbox = SqliteInbox(inbox, clock)
        self.outbox = SqliteOutbox(inbox)
        self.sources = SqliteSources(knowledge, self.outbox, clock, ids)
        self.proposals = SqliteProposals(knowledge, ids)
        self.passages = SqlitePassages(knowledge, clock, ids)
        self.vectors = SqliteVectors(knowledge)
        self.coverage = SqliteCoverage(knowledge)
        self.jobs = SqliteJobs(knowledge, clock, ids)
        self.turns = SqliteTurns(knowledge, self.outbox, self.inbox)
        self.audit = SqliteAudit(knowledge)
        self.repeats = SqliteRepeats(knowledge)
        self.forgetting = SqliteForgetting(knowledge, self.sources, ids)
        self.blobs = BlobFolder(home / "knowledge" / "blobs")
        self.maintenance = Maintenance(knowledge, inbox, self.sources)

    @property
    def revision_texts(self) -> SqliteRevisionTexts:
        """What documents say as a whole."""
        return SqliteRevisionTexts(self._knowledge)

    @property
    def metadata(self) -> SqliteSourceMetadata:
        """What people noted down about documents."""
        return SqliteSourceMetadata(self._knowledge)

    @property
    def outlines(self) -> SqliteOutlines:
        """How documents are divided."""
        return SqliteOutlines(self._knowledge)

    @property
    def page_files(self) -> SqlitePictureRecords:
        """Pictures of pages in agents' workspaces."""
        return SqlitePictureRecords(self._knowledge)

    @property
    def answer_files(self) -> SqliteAnswerRecords:
        """Kept answers of programs' searches."""
        return SqliteAnswerRecords(self._knowledge)

    async def check(self) -> tuple[str, ...]:
        """What is wrong with the files, for `doctor`; empty when all is well."""
        return await self.maintenance.check()

    async def generation(self) -> int:
        """Counts every change of grants, accounts, agents, links and collections."""
        return await self._knowledge.read(lambda c: counters.value(c, counters.GENERATION))


@asynccontextmanager
async def open_store(home: Path, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """Create or migrate the databases of `home`; StoreError when a file is broken or full."""
    async with AsyncExitStack() as opened:
        inbox = await Database.open(home / "inbox.db", "inbox", "FULL")
        opened.push_async_callback(inbox.close)
        access = Generation()
        path = home / "knowledge" / "knowledge.db"
        knowledge = await Database.open(path, "knowledge", "NORMAL", access.look)
        opened.push_async_callback(knowledge.close)
        await knowledge.alone(access.look)
        store = Store(home, (inbox, knowledge), access, clock, ids)
        await store.maintenance.reindex()
        await store.blobs.sweep_partial(clock.now() - _ABANDONED)
        yield store
