"""What of Slack's events is used, typed; everything is optional but what names it."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Authorization(msgspec.Struct):
    """One installation that sees the event."""

    team_id: str | None = None
    user_id: str | None = None
    is_bot: bool | None = None


class Profile(msgspec.Struct):
    """Of whoever wrote; sent with messages from other workspaces at least."""

    team: str | None = None
    display_name: str | None = None
    real_name: str | None = None


class Past(msgspec.Struct):
    """The message an event is about: a deleted one, or the stone in its place."""

    ts: str | None = None
    thread_ts: str | None = None
    subtype: str | None = None


class File(msgspec.Struct):
    """A file of a message; with `file_access` of check_file_info there is its id alone."""

    id: str
    name: str | None = None
    filetype: str | None = None
    mimetype: str | None = None
    size: int | None = None
    mode: str | None = None
    url_private: str | None = None
    url_private_download: str | None = None


class Event(msgspec.Struct):
    """The fields of `message` and `app_mention`; those typed Any are looked at one by one."""

    type: str
    subtype: str | None = None
    channel: str | None = None
    channel_type: str | None = None
    user: str | None = None
    text: str | None = None
    ts: str | None = None
    thread_ts: str | None = None
    parent_user_id: str | None = None
    team: str | None = None
    user_team: str | None = None
    source_team: str | None = None
    user_profile: Any = None
    bot_id: Any = None
    bot_profile: Any = None
    hidden: bool | None = None
    is_ephemeral: bool | None = None
    blocks: Any = None
    files: Any = None
    deleted_ts: str | None = None
    message: Any = None
    previous_message: Any = None


class Envelope(msgspec.Struct):
    """What stands around an event."""

    type: str | None = None
    api_app_id: str | None = None
    team_id: str | None = None
    event_id: str | None = None
    event: Any = None
    authorizations: Any = None
    is_ext_shared_channel: bool | None = None

    @property
    def installation(self) -> Authorization:
        """Whose installation the event is for: our bot user, as Slack signed it."""
        found = (read(Authorization, each) for each in listed(self.authorizations))
        return next((each for each in found if each is not None and each.is_bot), Authorization())


def read(kind: type[T], value: Any) -> T | None:
    """The value as what it should be; None where Slack sent something else."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None


def listed(value: Any) -> list[Any]:
    """The value, if it is a list."""
    return value if isinstance(value, list) else []
