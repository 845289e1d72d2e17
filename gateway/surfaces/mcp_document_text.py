"""What the tools of the document service answer: words as people fixed them, and raw fields."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gateway.catalogue import error_text, text
from gateway.core.documents import Source
from gateway.core.found_sections import FoundSection, one_word, pages_of, section_lines
from gateway.core.workspace_files import media_type_of
from gateway.errors import GatewayError
from gateway.operations.document_intake import Followed, Status, Taken
from gateway.operations.document_service import Found, Namespace, Seen
from gateway.surfaces.mcp_tools import ImageContent, TextContent, ToolAnswer

MOST_ANSWER_BYTES = 6 * 2**20  # of the pictures in one answer
SHOWN_CHARS = 300  # of a description in the list


def not_configured() -> ToolAnswer:
    """The library is switched off."""
    said = text("docservice.not_configured")
    told = {"error": {"code": "knowledge_disabled", "message": said}}
    return ToolAnswer([TextContent(said)], told, is_error=True)


def namespaces(found: Sequence[Namespace], language: str | None) -> ToolAnswer:
    """`- slug: name (3)`, a line each."""
    head = text("docservice.namespaces" if found else "docservice.no_namespaces", language)
    lines = [
        f"- {each.collection.slug}: {one_word(each.collection.name)} ({each.documents})"
        for each in found
    ]
    told = [
        {
            "namespace": each.collection.slug,
            "name": each.collection.name,
            "description": each.collection.description[:SHOWN_CHARS],
            "documents": each.documents,
        }
        for each in found
    ]
    return _said([head, *lines], {"namespaces": told})


def documents(
    namespace: str, found: Sequence[Source], total: int, language: str | None
) -> ToolAnswer:
    """`- title (doc_id: …, status)`, a line each."""
    key = "docservice.documents" if found else "docservice.no_documents"
    lines = [text(key, language, namespace=namespace)]
    told = []
    for each in found:
        status = status_of(each)
        lines.append(f"- {one_word(each.title)} (doc_id: {each.id}, {status})")
        told.append(
            {
                "doc_id": each.id,
                "title": each.title,
                "status": status,
                "media_type": each.media_type,
                "added_at": _time(each.created_at),
            }
        )
    if total > len(found):
        lines.append(text("docservice.more_documents", language, total=total, count=len(found)))
    return _said(lines, {"namespace": namespace, "documents": told, "total": total})


def found_sections(namespace: str, found: Found, base_url: str, language: str | None) -> ToolAnswer:
    """Sections, then where the pictures of their pages lie; the pictures themselves after it."""
    if not found.sections:
        lines = [text("mcp.nothing_found", language)]
    else:
        lines = "\n\n".join("\n".join(section_lines(each)) for each in found.sections).split("\n")
    paths = {(each.source_id, each.page): each.path for each in found.pictures}
    saved = [each.path for each in found.pictures if each.path is not None]
    if saved:
        lines += ["", text("docservice.pictures"), *(f"- {path}" for path in saved)]
    images = [
        {"doc_id": source_id, "page": page, "url": url, "path": paths.get((source_id, page))}
        for source_id, page in found.wanted
        for url in [f"{base_url}/api/knowledge/sources/{source_id}/pages/{page}.png"]
    ]
    told = {
        "namespace": namespace,
        "sections": [_section(each) for each in found.sections],
        "page_image_urls": [each["url"] for each in images],
        "page_images": images,
    }
    shown: list[TextContent | ImageContent] = [TextContent("\n".join(lines))]
    room = MOST_ANSWER_BYTES
    for picture in found.pictures:
        room -= len(picture.data)
        if room >= 0:
            shown.append(ImageContent(picture.data))
    return ToolAnswer(shown, told)


def image(file_path: str, seen: Seen) -> ToolAnswer:
    """The picture itself. GatewayError `unsupported_format` for what is neither PNG nor JPEG."""
    media_type = media_type_of(seen.data)
    if media_type is None:
        raise GatewayError("image", code="unsupported_format")
    told = {"file_path": file_path, "media_type": media_type, "bytes": len(seen.data)}
    return ToolAnswer([ImageContent(seen.data, media_type)], told)


def taken(found: Taken, language: str | None) -> ToolAnswer:
    """That the work has begun, or waits for somebody."""
    key = "docservice.started"
    if found.status is Status.AWAITING_APPROVAL:
        key = "docservice.proposed"
    elif not found.is_new and found.status is not Status.PROCESSING:
        return _said([text("docservice.existing", language, job=found.job_id)], _taken(found))
    if found.pages is None:
        said = text(f"{key}_unpaged", language, job=found.job_id)
    else:
        said = text(key, language, job=found.job_id, pages=found.pages)
    return _said([said], _taken(found))


def followed(job_id: str, found: Followed, language: str | None) -> ToolAnswer:
    """How far it is, in words and in fields."""
    error = None
    if found.error_code is not None and found.status is Status.FAILED:
        error = {"code": found.error_code, "message": error_text(found.error_code, language)}
    told = {
        "job_id": job_id,
        "status": found.status.value,
        "title": found.title,
        "doc_id": found.source_id,
        "pages_read": found.read,
        "pages": found.pages,
        "has_tree": found.has_tree,
        "error": error,
    }
    return _said([_words(job_id, found, error, language)], told)


def _words(job_id: str, found: Followed, error: dict[str, str] | None, language: str | None) -> str:
    title = one_word(found.title)
    if found.status is Status.COMPLETED:
        return text("docservice.completed", title=title)
    if found.status is Status.AWAITING_APPROVAL:
        return text("docservice.awaiting", language, job=job_id, title=title)
    if found.status is not Status.PROCESSING:
        kept = {Status.REJECTED: "docservice.rejected", Status.EXPIRED: "docservice.expired"}
        key = kept.get(found.status)
        reason = text(key, language) if key else (error or {}).get("message", "")
        return text("docservice.failed", reason=reason)
    tree = text("docservice.tree_done" if found.has_tree else "docservice.tree_open")
    if found.pages is None:
        return text("docservice.working_unpaged", job=job_id, tree=tree)
    return text(
        "docservice.working", job=job_id, read=found.read or 0, pages=found.pages, tree=tree
    )


def status_of(source: Source) -> str:
    """One of the three words that programs wait for."""
    return {"ready": "completed", "failed": "failed"}.get(source.state.value, "processing")


def _taken(found: Taken) -> dict[str, Any]:
    return {
        "job_id": found.job_id,
        "status": found.status.value,
        "pages": found.pages,
        "is_new": found.is_new,
    }


def _section(section: FoundSection) -> dict[str, Any]:
    return {
        "title": section.title,
        "summary": section.summary,
        "path": list(section.path),
        "pages": list(section.pages),
        "first_page": section.first_page,
        "last_page": section.last_page,
        "doc_id": section.source_id,
        "document": section.document,
        "passages": [
            {"chunk_id": str(each.id), "pages": list(pages_of(each)), "text": each.text}
            for each in section.passages
        ],
    }


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _said(lines: Sequence[str], told: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer([TextContent("\n".join(lines))], told)
