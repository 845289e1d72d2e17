"""The six tools of the document service: arguments in, an answer and a line of the call log out."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec

from gateway.catalogue import text
from gateway.core.matching import storable
from gateway.errors import GatewayError
from gateway.interfaces import Clock
from gateway.knowledge.call_log import Called, CallLog
from gateway.operations.document_intake import DocumentIntake
from gateway.operations.document_service import DocumentService, Found
from gateway.operations.table import Caller
from gateway.surfaces import mcp_document_cards as cards
from gateway.surfaces import mcp_document_text as words
from gateway.surfaces.mcp_knowledge import checked
from gateway.surfaces.mcp_tools import Progress, Tool, ToolAnswer, ToolCard

OFF = "knowledge_disabled"
Given = Mapping[str, Any]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]


class OnNamespace(msgspec.Struct, forbid_unknown_fields=True):
    """Of `ListDocuments`."""

    namespace: Name


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """Of `ListNamespaces`."""


class Search(msgspec.Struct, forbid_unknown_fields=True):
    """Of `SearchKnowledge`."""

    namespace: Name
    query: str


class Ingest(msgspec.Struct, forbid_unknown_fields=True):
    """Of `IngestDocument`."""

    namespace: Name
    file_path: Name
    content: str | None = None


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """Of `IngestStatus`."""

    namespace: Name
    job_id: Name


class File(msgspec.Struct, forbid_unknown_fields=True):
    """Of `ReadImage`."""

    file_path: Name


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer, how much it holds, and what of it is kept beside the line."""

    answer: ToolAnswer
    hits: int
    found: Found | None = None


Run = Callable[[Caller, Given, Progress], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class DocumentTools:
    """Both doors offer the same six."""

    service: DocumentService
    intake: DocumentIntake
    calls: CallLog
    clock: Clock
    base_url: str  # of this gateway as others reach it, "" where none is set
    is_open: bool  # [knowledge] enabled: without it they can be called, and are not listed

    def tools(self) -> tuple[Tool, ...]:
        """In the order of the document."""
        rows: tuple[tuple[ToolCard, Run], ...] = (
            (cards.NAMESPACES, self._namespaces),
            (cards.DOCUMENTS, self._documents),
            (cards.SEARCH, self._search),
            (cards.INGEST, self._ingest),
            (cards.STATUS, self._status),
            (cards.IMAGE, self._image),
        )
        return tuple(
            Tool(card, partial(self._noted, card.name, run), is_listed=self.is_open)
            for card, run in rows
        )

    async def _noted(
        self, name: str, run: Run, caller: Caller, given: Given, progress: Progress
    ) -> ToolAnswer:
        began = self.clock.monotonic()
        if not self.is_open:  # whatever the arguments are
            await self.calls.note(self._called(name, caller, given, began, error=OFF))
            return words.not_configured()
        try:
            outcome = await run(caller, given, progress)
        except GatewayError as error:
            await self.calls.note(self._called(name, caller, given, began, error=error.code))
            raise
        await self.calls.note(self._called(name, caller, given, began, outcome))
        return outcome.answer

    def _called(
        self,
        name: str,
        caller: Caller,
        given: Given,
        began: float,
        outcome: Outcome | None = None,
        error: str | None = None,
    ) -> Called:
        found = outcome.found if outcome is not None else None
        return Called(
            tool=name,
            namespace=_word(given, "namespace"),
            query=_word(given, "query"),
            hits=outcome.hits if outcome is not None else 0,
            duration_ms=round((self.clock.monotonic() - began) * 1000),
            error=error,
            account_id=caller.account.id if caller.account is not None else None,
            agent_id=caller.agent.agent_id if caller.agent is not None else None,
            answer=None
            if outcome is None or found is None
            else dict(outcome.answer.structured or {}),
            source_ids=() if found is None else _quoted(found),
        )

    async def _namespaces(self, caller: Caller, given: Given, _progress: Progress) -> Outcome:
        checked(given, Nothing)
        found = await self.service.namespaces(caller)
        return Outcome(words.namespaces(found, caller.language), len(found))

    async def _documents(self, caller: Caller, given: Given, _progress: Progress) -> Outcome:
        asked = checked(given, OnNamespace)
        found, total = await self.service.documents(caller, asked.namespace)
        answer = words.documents(asked.namespace, found, total, caller.language)
        return Outcome(answer, len(found))

    async def _search(self, caller: Caller, given: Given, progress: Progress) -> Outcome:
        asked = checked(given, Search)

        async def step(done: int, of: int) -> None:
            key = "docservice.step_pages" if done else "docservice.step_searched"
            said = text(key, caller.language, done=done, all=of)
            await progress(1 + done, 1 + of, said)

        found = await self.service.search(caller, asked.namespace, asked.query, step)
        answer = words.found_sections(asked.namespace, found, self.base_url, caller.language)
        return Outcome(answer, found.passages, found)

    async def _ingest(self, caller: Caller, given: Given, progress: Progress) -> Outcome:
        asked = checked(given, Ingest)

        async def received() -> None:
            await progress(1, 2, text("docservice.step_received", caller.language))

        found = await self.intake.take(
            caller, asked.namespace, asked.file_path, asked.content, received
        )
        await progress(2, 2, text("docservice.step_done", caller.language))
        return Outcome(words.taken(found, caller.language), 1)

    async def _status(self, caller: Caller, given: Given, _progress: Progress) -> Outcome:
        asked = checked(given, Job)
        found = await self.intake.follow(caller, asked.namespace, storable(asked.job_id))
        return Outcome(words.followed(asked.job_id, found, caller.language), 1)

    async def _image(self, caller: Caller, given: Given, _progress: Progress) -> Outcome:
        asked = checked(given, File)
        seen = await self.service.image(caller, asked.file_path)
        return Outcome(words.image(asked.file_path, seen), 1)


def _quoted(found: Found) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.source_id for each in found.sections))


def _word(given: Given, name: str) -> str:
    """What was given, whatever it is; a lone half of a character cannot be written down."""
    value = given.get(name)
    return storable(value)[:1_000] if isinstance(value, str) else ""
