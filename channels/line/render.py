"""From the parts of a reply to the message objects of LINE's API; pure."""

from collections.abc import Sequence

from channels.text import clean
from gateway.core.messages import Limits, Unit

LIMITS = Limits(
    unit=Unit.UTF16, part_units=5000, parts_per_call=5, footer_units=1200, shows_drafts=False
)
LOADING_SECONDS = 60  # the longest LINE takes; the answer ends it sooner


def messages(parts: Sequence[str]) -> list[dict[str, str]]:
    """One text message a part, plain text; ValueError where the API would refuse the call."""
    payload = [{"type": "text", "text": clean(part)} for part in parts]
    if not 1 <= len(payload) <= LIMITS.parts_per_call:
        raise ValueError(f"{len(payload)} messages in a call")
    for message in payload:
        units = len(message["text"].encode("utf-16-le")) // 2
        if not message["text"].strip() or units > LIMITS.part_units:
            raise ValueError(f"a message of {units} units")
    return payload
