"""What is remembered of files that hold documents' text or pictures beside the library."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from gateway.core.proposals import Proposal
from gateway.core.workspace_files import KeptPicture


class PictureRecords(Protocol):
    """Pictures of pages in agents' workspaces, and of which document each is."""

    async def put(
        self, agent_id: str, namespace: str, source_id: str, page: int, sha256: str, at: datetime
    ) -> str | None:
        """The path within the workspace; None where the document is gone.

        The first document with pictures in a namespace has `page_NNN.png`, others a folder each;
        a document keeps its form as long as it has pictures there.
        """
        ...

    async def of(self, agent_id: str, path: str, sha256: str) -> Sequence[KeptPicture]:
        """At this path, or with these bytes; the document's collection as it is now."""
        ...

    async def list(self) -> Sequence[KeptPicture]:
        """All whose file is to be there."""
        ...

    async def gone(self, pictures: Collection[KeptPicture]) -> None:
        """Their files are no more; what they showed is remembered until `forget`."""
        ...

    async def forget(self, before: datetime) -> None:
        """Rows without a file that are older."""
        ...


class AnswerRecords(Protocol):
    """Which documents the answers kept in `logs/raw` quote."""

    async def put(self, name: str, source_ids: Collection[str], at: datetime) -> bool:
        """False, and nothing is kept: one of the documents is gone."""
        ...

    async def names(self) -> frozenset[str]:
        """Of all that are known."""
        ...

    async def lost(self) -> Sequence[str]:
        """Names of answers that quote a document which is gone."""
        ...

    async def drop(self, names: Collection[str]) -> None:
        """Their files are no more."""
        ...

    async def forget(self, before: datetime) -> None:
        """Rows that are older: their files go by their age."""
        ...


class ProposalStates(Protocol):
    """Cards as their proposers follow them; whose a card is decides `may_follow`."""

    async def state_of(self, proposal_id: str) -> Proposal | None: ...
