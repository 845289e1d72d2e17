"""From the parts of a reply to the arguments of Slack's calls; pure."""

from collections.abc import Sequence

from channels.slack.markup import escape
from channels.text import clean
from gateway.core.messages import Conversation, Limits, Unit
from gateway.core.splitting import cut_to, units

LIMITS = Limits(
    unit=Unit.SLACK_ESCAPED,
    part_units=3900,
    parts_per_call=1,
    footer_units=1200,
    max_calls=10,
    has_markdown=True,  # *bold*, ~struck~, `code`: a title shows its own signs instead
)


def text(parts: Sequence[str]) -> str:
    """The one part as it goes out; ValueError where the API would refuse or cut it."""
    if len(parts) != 1:
        raise ValueError(f"{len(parts)} messages in a call")
    plain = clean(parts[0])
    size = units(plain, LIMITS.unit)
    if not plain.strip() or size > LIMITS.part_units:
        raise ValueError(f"a message of {size} units")
    return escape(plain)


def preview(draft: str) -> str:
    """As much of a draft as one message holds; empty where there is nothing to show yet."""
    return escape(cut_to(clean(draft).strip(), LIMITS.part_units, LIMITS.unit))


def address(place: Conversation) -> tuple[str, str | None]:
    """(channel, thread) as the message brought them; nothing else says where a reply goes."""
    if place.parent_id is None:
        return place.id, None
    return place.parent_id, place.id.removeprefix(f"{place.parent_id}:")


def preview_id(channel: str, ts: str) -> str:
    """Names a posted message for the inbox and the outbox."""
    return f"{channel}:{ts}"


def previewed(preview: str, channel: str) -> str | None:
    """The ts of that message, if it is in this channel."""
    where, _, ts = preview.partition(":")
    return ts if where == channel and ts else None
