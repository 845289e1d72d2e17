"""The error tree: what can go wrong, each with one stable code that every surface renders."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """One row of the error table (DESIGN section 8.11).

    `code` is also the key of the sentence in the catalogues. `rpc_code` is JSON-RPC's number;
    everything that JSON-RPC itself does not name is -32000 with `data.code`.
    """

    code: str
    http_status: int
    rpc_code: int = -32000


TABLE: dict[str, ErrorCode] = {
    row.code: row
    for row in (
        ErrorCode("internal", 500),
        ErrorCode("invalid_request", 400, -32602),
        ErrorCode("parse_error", 400, -32700),
        ErrorCode("not_an_rpc_request", 400, -32600),
        ErrorCode("unknown_method", 404, -32601),
        ErrorCode("not_signed_in", 401),
        ErrorCode("wrong_credentials", 401),
        ErrorCode("bad_signature", 401),
        ErrorCode("origin_refused", 403),
        ErrorCode("session_needed", 403),
        ErrorCode("not_found", 404),
        ErrorCode("conflict", 409),
        ErrorCode("last_owner", 409),
        ErrorCode("last_admin", 409),
        ErrorCode("login_taken", 409),
        ErrorCode("agent_exists", 409),
        ErrorCode("agent_archived", 409),
        ErrorCode("too_many_tokens", 409),
        ErrorCode("agent_file_broken", 409),
        ErrorCode("slug_taken", 409),
        ErrorCode("folder_not_empty", 409),
        ErrorCode("not_shareable", 400),
        ErrorCode("outcome_unknown", 409),
        ErrorCode("not_approved", 409),
        ErrorCode("too_many_requests", 429),
        ErrorCode("method_not_allowed", 405),
        ErrorCode("unsupported_media_type", 415),
        ErrorCode("request_timeout", 504),
        ErrorCode("idempotency_reused", 409),
        ErrorCode("idempotency_running", 409),
        ErrorCode("idempotency_unknown", 409),
        ErrorCode("payload_too_large", 413),
        ErrorCode("unavailable", 503),
        ErrorCode("knowledge_disabled", 503),
        ErrorCode("store_unavailable", 503),
        ErrorCode("store_broken", 500),
        ErrorCode("store_full", 507),
        ErrorCode("home_missing", 400),
        ErrorCode("home_in_use", 409),
        ErrorCode("home_unusable", 500),
        ErrorCode("config_invalid", 400),
        ErrorCode("model_unavailable", 503),
        ErrorCode("embedding_cloud_failed", 502),
        ErrorCode("cloud_disclosure_needed", 409),
        ErrorCode("llm_failed", 502),
        ErrorCode("llm_timeout", 504),
        ErrorCode("channel_failed", 502),
        ErrorCode("attachment_unavailable", 502),
        # ingestion (FEATURES A9); the sentence is shown to the uploader
        ErrorCode("too_large", 413),
        ErrorCode("too_many_chars", 413),
        ErrorCode("quota_sources", 409),
        ErrorCode("quota_chunks", 409),
        ErrorCode("quota_collections", 409),
        ErrorCode("quota_bytes", 409),
        ErrorCode("unsupported_format", 415),
        ErrorCode("legacy_office", 415),
        ErrorCode("encrypted", 415),
        ErrorCode("no_text_layer", 415),
        ErrorCode("empty_text", 415),
        ErrorCode("encoding_unknown", 415),
        ErrorCode("document_limits", 415),
        ErrorCode("extract_timeout", 422),
        ErrorCode("extract_crashed", 422),
        ErrorCode("extract_oom", 422),
        ErrorCode("url_wrong", 400, -32602),
        ErrorCode("url_blocked", 400),
        ErrorCode("url_fetch_failed", 502),
        ErrorCode("url_too_large", 413),
        ErrorCode("sandbox_unavailable", 503),
        ErrorCode("ocr_unavailable", 503),
        ErrorCode("pages_busy", 503),
        ErrorCode("vision_failed", 502),
        ErrorCode("retry_exhausted", 500),
        # proposals (FEATURES A22)
        ErrorCode("proposal_limit", 409),
        ErrorCode("proposal_changed", 409),
        ErrorCode("proposal_expired", 409),
        ErrorCode("proposal_decided", 409),
        # search_knowledge (FEATURES C3)
        ErrorCode("knowledge_runtime_disabled", 503),
        ErrorCode("knowledge_invalid_request", 400, -32602),
        ErrorCode("knowledge_query_required", 400, -32602),
        ErrorCode("knowledge_item_required", 400, -32602),
        ErrorCode("knowledge_resource_unavailable", 404),
        # model files (FEATURES A13)
        ErrorCode("model_missing", 404),
        ErrorCode("model_verification_failed", 409),
        ErrorCode("model_download_failed", 502),
        ErrorCode("model_unsupported_platform", 501),
        ErrorCode("model_install_cancelled", 409),
        ErrorCode("bundle_refused", 409),
    )
}


class GatewayError(Exception):
    """Any failure we can name. Only its code may reach a sender; the detail goes to the log."""

    default_code = "internal"

    def __init__(self, detail: str = "", *, code: str | None = None, **params: str | int) -> None:
        """`detail` is for the log; `params` fill the braces of the public sentence."""
        super().__init__(detail or code or self.default_code)
        self.code = TABLE[code or self.default_code].code
        self.params = params


class InvalidRequestError(GatewayError):
    """The caller's input does not fit the request's type or limits."""

    default_code = "invalid_request"


class NotFoundError(GatewayError):
    """Absent, or forbidden: the two look the same from outside (invariant 1)."""

    default_code = "not_found"


class NotSignedInError(GatewayError):
    """No valid session or token came with the request."""

    default_code = "not_signed_in"


class ConflictError(GatewayError):
    """Somebody else changed it meanwhile, or the change would break a rule."""

    default_code = "conflict"


class SignatureError(GatewayError):
    """A webhook was not signed by the platform it claims to come from."""

    default_code = "bad_signature"


class ConfigError(GatewayError):
    """The configuration names something that does not exist or has the wrong type."""

    default_code = "config_invalid"


class HomeError(GatewayError):
    """The home folder is missing, broken or in use by another gateway."""

    default_code = "home_missing"


class StoreError(GatewayError):
    """The database refused: full, broken or locked."""

    default_code = "store_unavailable"


class ExtractionError(GatewayError):
    """A document could not be read; the code says why (FEATURES A9)."""

    default_code = "extract_crashed"


class ModelError(GatewayError):
    """The embedding model is missing, damaged or not to be had here."""

    default_code = "model_missing"


class UpstreamError(GatewayError):
    """A system we depend on failed; trying again may help."""

    default_code = "unavailable"


class LanguageModelError(UpstreamError):
    """The language model failed or answered nonsense."""

    default_code = "llm_failed"


class ChannelError(UpstreamError):
    """A chat platform refused or could not be reached."""

    default_code = "channel_failed"
