"""The jobs `outline` and `summarise`: sections of earlier releases, and summaries by a model."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from gateway.core.documents import Section, Source, SourceState, SourceWarning
from gateway.core.page_reading import summary_messages
from gateway.core.sectioning import with_leads
from gateway.core.summaries import acceptable, materials, with_summaries
from gateway.core.whole_text import joined_chunks
from gateway.errors import LanguageModelError
from gateway.interfaces import Clock, Job, Jobs, OutlineKeeping, Readable, Sources
from gateway.knowledge.chosen_model import ChosenModel
from gateway.knowledge.ingest_job import MAX_STOPS

log = structlog.get_logger()
EVERY = ""  # the key of the job that looks for all documents without summaries
FAILED = "summaries_by_sentences"  # the model did not answer: the document's own stand
BATCH = 100
PAUSE_S = 0.02  # between two documents, so that questions go first
AFTER_S = timedelta(seconds=5)  # until a document that is not ready yet is looked at again
MOST_SECTIONS = 40  # of one document, the outermost first; the others keep their sentences
MATERIAL_CHARS = 4_000  # of one section
CALL_S = 60.0


@dataclass(frozen=True, slots=True)
class OutlineJobs:
    """Both are repeatable: what is made is not made again."""

    keeping: OutlineKeeping
    sources: Sources
    jobs: Jobs
    clock: Clock
    model: ChosenModel | None = None  # None: the document's own sentences stay

    @property
    def handlers(self) -> Mapping[str, Callable[[Job], Awaitable[None]]]:
        """By the job's kind."""
        return {"outline": self.outline, "summarise": self.summarise}

    async def outline(self, _job: Job) -> None:
        """Give documents of earlier releases their sections and summaries, one by one."""
        after = ""
        while ids := await self.keeping.lacking(BATCH, after):
            for source_id in ids:
                await self._outline(source_id)
                await asyncio.sleep(PAUSE_S)
            after = ids[-1]

    async def _outline(self, source_id: str) -> None:
        found = await self.keeping.readable(source_id)
        if found is not None:
            sections, homes = await asyncio.to_thread(_outlined, found)
            await self.keeping.replace(found.revision_id, sections, homes)

    # ---------------------------------------------------------------- by a model

    async def follow(self, source_id: str) -> None:
        """A document was read: the model's summaries come once it is ready."""
        if self.model is not None:
            await self.jobs.put("summarise", source_id, self.clock.now())

    async def summarise(self, job: Job) -> None:
        """One section after the other; LanguageModelError, so that the job is tried again."""
        source = await self.sources.find(job.key)
        if source is None or source.revision_id is None or self.model is None:
            return
        if source.state is not SourceState.READY:
            if source.state is not SourceState.FAILED:
                await self.jobs.put("summarise", source.id, self.clock.now() + AFTER_S)
            return
        try:
            await self._summarise(source.id, self.model)
        except LanguageModelError as error:
            if job.attempts < MAX_STOPS:
                raise
            log.warning("summaries_failed", source=source.id, code=error.code)
            await self._note(source.id, has_failed=True)
        else:
            await self._note(source.id, has_failed=False)

    async def _summarise(self, source_id: str, model: ChosenModel) -> None:
        found = await self.keeping.readable(source_id)
        if found is None:
            return
        texts = await asyncio.to_thread(_texts, found)
        for section in _first(found.sections, model.name):
            text = texts.get(section.ordinal, "")
            if not text:
                continue
            if not await model.may_read(found.collection_id):
                return
            messages = summary_messages(section.title, text)
            said = acceptable(await model.ask(messages, CALL_S))
            if not said:
                continue
            if not await self.keeping.summarise(
                found.revision_id, section.ordinal, said, model.name
            ):
                return  # read again or deleted meanwhile

    async def _note(self, source_id: str, *, has_failed: bool) -> None:
        """The warning, where it is new or over; only of a document that rests."""
        now = await self.sources.find(source_id)
        if now is None or now.state is not SourceState.READY:
            return
        warnings = [each for each in now.warnings if each.code != FAILED]
        if has_failed:
            warnings.append(SourceWarning(FAILED))
        if tuple(warnings) != now.warnings:
            await _set_warnings(self.sources, now, warnings)


async def _set_warnings(
    sources: Sources, source: Source, warnings: Sequence[SourceWarning]
) -> None:
    await sources.set_state(
        source.id, source.state, error_code=source.error_code, warnings=warnings
    )


def _outlined(found: Readable) -> tuple[tuple[Section, ...], Mapping[int, int]]:
    headed = [section for section in found.sections if section.ordinal >= 0]
    chunks, sections = with_leads(found.chunks, headed)
    whole = found.whole or joined_chunks(chunks)
    homes = {chunk.ordinal: chunk.section for chunk in chunks if chunk.section is not None}
    moved = {at: home for at, home in homes.items() if home < 0}
    return with_summaries(whole, chunks, sections), moved


def _texts(found: Readable) -> Mapping[int, str]:
    whole = found.whole or joined_chunks(found.chunks)
    return materials(whole, found.chunks, found.sections, MATERIAL_CHARS)


def _first(sections: Sequence[Section], model: str) -> Sequence[Section]:
    """The outermost, in reading order, that this model has not summarised yet."""
    outermost = sorted(sections, key=lambda section: (section.level, section.ordinal))
    return [each for each in outermost[:MOST_SECTIONS] if each.summary_by != model]
