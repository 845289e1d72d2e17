"""A small company for the scope tests: one agent, one person, a collection of each kind."""

from dataclasses import replace

from gateway.core.access import (
    Account,
    AccountRole,
    AgentSide,
    Audience,
    AudienceKind,
    ChatAddress,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)

PUBLIC = Collection("c-public", 1, "public", "FAQ", Sensitivity.PUBLIC)
INTERNAL = Collection("c-internal", 2, "internal", "Handbook", Sensitivity.INTERNAL)
PERSONAL = Collection("c-personal", 3, "personal", "Notes", Sensitivity.PERSONAL)
RESTRICTED = Collection("c-restricted", 4, "restricted", "Pay", Sensitivity.RESTRICTED)
EACH = (PUBLIC, INTERNAL, PERSONAL, RESTRICTED)

MEI = Account("u-mei", "mei", "Mei", AccountRole.MEMBER, department="Sales")
ADMIN = replace(MEI, role=AccountRole.ADMIN)
BOT = AgentSide("a-bot", "Support", None)

LINE_CHAT = ChatAddress("line", "main", "C1")
WIDGET = ChatAddress("widget", "site", "v1")
LIVECHAT = ChatAddress("odoolivechat", "shop", "s1")


def grant(
    collection: Collection, kind: SubjectKind, subject: str, role: Role = Role.VIEWER
) -> Grant:
    return Grant(collection.id, kind, subject, role)


def on_each(kind: SubjectKind, subject: str, role: Role = Role.VIEWER) -> tuple[Grant, ...]:
    return tuple(grant(collection, kind, subject, role) for collection in EACH)


TO_BOT = on_each(SubjectKind.AGENT, BOT.agent_id)
TO_MEI = on_each(SubjectKind.USER, MEI.id)
TO_SALES = on_each(SubjectKind.DEPARTMENT, "Sales")
TO_LINE = on_each(SubjectKind.CHANNEL, "line")
TO_SITE = on_each(SubjectKind.CHANNEL, "widget") + on_each(SubjectKind.CHANNEL, "odoolivechat")


def facts(
    *grants: tuple[Grant, ...], account: Account | None = MEI, is_link_valid: bool = True
) -> ScopeFacts:
    every = tuple(each for group in grants for each in group)
    return ScopeFacts(EACH, every, 7, account, is_link_valid)


def audience(
    kind: AudienceKind,
    account: Account | None = None,
    address: ChatAddress | None = None,
    *,
    is_direct: bool = False,
) -> Audience:
    return Audience(kind, account, address, is_direct)


def dispatched(upstream: Audience | None) -> Audience:
    return Audience(AudienceKind.DELEGATED, is_direct=True, upstream=upstream)


DASHBOARD = audience(AudienceKind.DASHBOARD, MEI)
WEBCHAT = audience(AudienceKind.WEBCHAT, MEI, is_direct=True)
DOOR = audience(AudienceKind.ACCOUNT_DOOR, MEI, is_direct=True)
LINKED = audience(AudienceKind.LINKED, MEI, LINE_CHAT, is_direct=True)
LINKED_GROUP = replace(LINKED, is_direct=False)
UNLINKED = audience(AudienceKind.UNLINKED, None, LINE_CHAT, is_direct=True)
UNLINKED_GROUP = replace(UNLINKED, is_direct=False)
VISITOR = audience(AudienceKind.VISITOR, None, WIDGET, is_direct=True)
SYSTEM = audience(AudienceKind.SYSTEM)
NOBODY = audience(AudienceKind.NONE)
