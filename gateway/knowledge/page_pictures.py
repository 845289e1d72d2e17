"""Pictures of pages in agents' workspaces: put there, seen by readers alone, taken away again."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

import structlog

from gateway.core.access import Audience, AudienceKind
from gateway.core.documents import Source
from gateway.core.workspace_files import PICTURES, KeptPicture, may_show, parts_of
from gateway.errors import GatewayError
from gateway.interfaces import AgentFiles, Clock, PageImages, Scopes
from gateway.interfaces.workspace import PictureRecords
from gateway.knowledge.beneath import opened_beneath, removed_beneath, written_beneath

log = structlog.get_logger()
WORKSPACE = "workspace"
CHUNK_BYTES = 2**20
MOST_IMAGE_BYTES = 8 * 2**20
FOR_NOBODY = Audience(AudienceKind.SYSTEM)  # what is left of a scope is the agent's own side
PDF = "application/pdf"


class PagePictures:
    """What a workspace holds is a copy: whether it may be seen is decided at each look."""

    def __init__(
        self,
        images: PageImages,
        records: PictureRecords,
        files: AgentFiles,
        scopes: Scopes,
        clock: Clock,
        agents: Path,
    ) -> None:
        """`agents` is the folder of all agents."""
        self._images = images
        self._records = records
        self._files = files
        self._scopes = scopes
        self._clock = clock
        self._agents = agents
        self._writing = asyncio.Lock()  # no sweep between a row and its file

    async def drawn(self, source: Source, page: int) -> bytes | None:
        """The page as PNG; None where the document has none, or none can be had now."""
        if not source.sha256 or not has_pages(source):
            return None
        try:
            return await self._images.png(source.sha256, page)
        except GatewayError as error:
            log.warning("page not drawn", source=source.id, page=page, code=error.code)
            return None

    async def save(
        self, agent_id: str, namespace: str, source_id: str, page: int, data: bytes
    ) -> str | None:
        """Where it lies within the agent's workspace; None where it could not be put there."""
        digest = await asyncio.to_thread(_digest, data)
        async with self._writing:
            path = await self._records.put(
                agent_id, namespace, source_id, page, digest, self._clock.now()
            )
            parts = None if path is None else parts_of(path)
            if parts is None:
                return None
            try:
                await asyncio.to_thread(
                    written_beneath, self._agents, [agent_id, WORKSPACE, *parts], data
                )
            except OSError as error:  # full, or something of the agent's is in the way
                log.warning("page not saved", agent=agent_id, reason=error.strerror)
                return None
        return path

    async def seen(
        self, agent_id: str, file_path: str, readable: Collection[str]
    ) -> tuple[bytes, tuple[str, ...]] | None:
        """The file, and the ids of the documents it is known to show; None for what is not there
        and for what a reader of these collections may not see, alike. `too_large` only for what
        may be seen.
        """
        parts = parts_of(file_path)
        data, digest = await asyncio.to_thread(self._read, agent_id, parts)
        kept = await self._records.of(agent_id, "" if parts is None else file_path, digest)
        if parts is None or data is None or not may_show(parts, digest, kept, readable):
            return None
        if len(data) > MOST_IMAGE_BYTES:
            raise GatewayError("image", code="too_large", limit_mb=MOST_IMAGE_BYTES // 1_000_000)
        shown = {
            each.source_id
            for each in kept
            if each.sha256 == digest and each.collection_id in readable
        }
        return data, tuple(sorted(shown))

    async def may_propose(self, agent_id: str, file_path: str, readable: Collection[str]) -> bool:
        """Whether a file of the workspace is there, and shows no document that a reader of these
        collections may not see: a page proposed elsewhere would be read by others.
        """
        parts = parts_of(file_path)
        digest = None if parts is None else await asyncio.to_thread(self._hash, agent_id, parts)
        kept = await self._records.of(agent_id, "" if parts is None else file_path, digest or "")
        return parts is not None and digest is not None and may_show(parts, digest, kept, readable)

    async def sweep(self, before: datetime) -> None:
        """Take away what is older than `before`, of documents that are gone, and what the agent
        itself does not read any more.
        """
        async with self._writing:
            by_agent: dict[str, list[KeptPicture]] = defaultdict(list)
            for each in await self._records.list():
                by_agent[each.agent_id].append(each)
            for agent_id, pictures in by_agent.items():
                readable = await self._readable(agent_id)
                over = [
                    each
                    for each in pictures
                    if each.at < before or each.collection_id not in readable
                ]
                await self._remove(over, pictures)
            await self._records.forget(before)

    async def _remove(self, over: Sequence[KeptPicture], pictures: Sequence[KeptPicture]) -> None:
        staying = {each.path for each in pictures if each not in over}
        removed = []
        for each in over:
            parts = parts_of(each.path)
            if parts is not None and each.path not in staying:
                try:
                    await asyncio.to_thread(self._unlink, each.agent_id, parts)
                except OSError as error:  # the next sweep tries again
                    log.warning("page not removed", agent=each.agent_id, reason=error.strerror)
                    continue
            removed.append(each)
        if removed:
            await self._records.gone(removed)
            log.info("pages removed", agent=removed[0].agent_id, pages=len(removed))

    async def _readable(self, agent_id: str) -> Collection[str]:
        settings = await self._files.load(agent_id)
        if settings is None or settings.is_archived:
            return frozenset()
        return (await self._scopes.scope(FOR_NOBODY, settings.side)).collections

    def _read(self, agent_id: str, parts: Sequence[str] | None) -> tuple[bytes | None, str]:
        """With its hash. One byte more than may be shown tells that it is too large."""
        if parts is None:
            return None, ""
        try:
            with opened_beneath(self._agents, [agent_id, WORKSPACE, *parts]) as file:
                data = file.read(MOST_IMAGE_BYTES + 1)
        except (OSError, ValueError):
            return None, ""
        return data, _digest(data)

    def _hash(self, agent_id: str, parts: Sequence[str]) -> str | None:
        try:
            with opened_beneath(self._agents, [agent_id, WORKSPACE, *parts]) as file:
                digest = hashlib.sha256()
                while chunk := file.read(CHUNK_BYTES):
                    digest.update(chunk)
        except (OSError, ValueError):
            return None
        return digest.hexdigest()

    def _unlink(self, agent_id: str, parts: Sequence[str]) -> None:
        kept_folders = 2 + len(PICTURES)
        removed_beneath(self._agents, [agent_id, WORKSPACE, *parts], keeping=kept_folders)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def has_pages(source: Source) -> bool:
    """Whether its pages can be drawn: a PDF, or a picture."""
    return source.media_type == PDF or source.media_type.startswith("image/")
