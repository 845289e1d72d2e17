"""From Slack's signed bytes to verified messages; pure, and the same for what a socket brings."""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from channels.slack import events
from channels.slack.events import Reading, Said
from channels.slack.shapes import Envelope, Event, read
from channels.text import clean, join_surrogates_in
from gateway.core.messages import InboundMessage
from gateway.errors import GatewayError, InvalidRequestError, SignatureError

MAX_BODY_BYTES = 1024 * 1024
WINDOW_S = 5 * 60  # a signed body is good for so long, whichever clock is ahead
_STAMP = re.compile(r"[0-9]{1,12}")


def parse(
    headers: Mapping[str, str], body: bytes, now: datetime, reading: Reading
) -> tuple[InboundMessage, ...]:
    """Verify the raw bytes, then decode; what is no message gives none.

    Raises SignatureError, InvalidRequestError, and `payload_too_large` over MAX_BODY_BYTES.
    """
    verify(headers, body, now, reading.signing_secret)
    if len(body) > MAX_BODY_BYTES:
        raise GatewayError("Slack body over the cap", code="payload_too_large")
    if _header(headers, "content-type").startswith("application/x-www-form-urlencoded"):
        return ()  # a slash command or a pressed button: signed, and nothing we offer
    return messages(decoded(body), reading, now)


def verify(headers: Mapping[str, str], body: bytes, now: datetime, secret: bytes) -> None:
    """SignatureError unless signed within the window, whatever the headers hold."""
    stamp = _header(headers, "x-slack-request-timestamp")
    if not secret or _STAMP.fullmatch(stamp) is None:
        raise SignatureError("Slack webhook without a usable timestamp or secret")
    if abs(now.timestamp() - int(stamp)) > WINDOW_S:
        raise SignatureError("Slack signature is too old")
    base = b"v0:" + stamp.encode() + b":" + body
    expected = "v0=" + hmac.digest(secret, base, hashlib.sha256).hex()
    given = _header(headers, "x-slack-signature").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(given, expected.encode()):
        raise SignatureError("Slack signature does not fit the body")


def decoded(body: bytes) -> Any:
    """The body's JSON object; half surrogate pairs and stray bytes become U+FFFD."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        try:
            value = join_surrogates_in(json.loads(body.decode("utf-8", "replace")))
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError("Slack body is not JSON") from error
    if not isinstance(value, dict):
        raise InvalidRequestError("Slack body is not a JSON object")
    return value


def challenge(body: bytes) -> str | None:
    """What Slack wants echoed when the address of the webhook is set; of a verified body."""
    if b"url_verification" not in body:
        return None
    try:
        value = decoded(body)
    except InvalidRequestError:
        return None
    said = value.get("challenge")
    return said if value.get("type") == "url_verification" and isinstance(said, str) else None


def pushed(payload: Any, reading: Reading) -> tuple[InboundMessage, ...]:
    """The same of what a socket brought, which the SDK decoded; never raises for an odd one."""
    try:
        value = join_surrogates_in(payload)
    except RecursionError:
        return ()  # nested deeper than any event
    return messages(value, reading)


def messages(
    value: Any, reading: Reading, now: datetime | None = None
) -> tuple[InboundMessage, ...]:
    """The message of a decoded event, or none; never raises for an odd one."""
    envelope = read(Envelope, value)
    if envelope is None or envelope.type != "event_callback":
        return ()
    event, granted = read(Event, envelope.event), envelope.installation
    if event is None or not _is_ours(envelope, granted.team_id, reading):
        return ()
    said = Said(
        event,
        envelope,
        reading,
        team=clean(reading.me.team_id or granted.team_id or envelope.team_id or ""),
        bot_user=reading.me.user_id or granted.user_id,
    )
    found = events.retraction(said, now) or events.message(said, now)
    return () if found is None else (found,)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)  # aiohttp's mapping ignores case; a plain dict does not
    if value is None:
        value = next((found for key, found in headers.items() if key.lower() == name), "")
    return value


def _is_ours(envelope: Envelope, granted_team: str | None, reading: Reading) -> bool:
    """Only events of the app and the workspace this account is for, once those are known."""
    if reading.app_id and envelope.api_app_id != reading.app_id:
        return False
    team = reading.me.team_id
    return not team or team in (envelope.team_id, granted_team)
