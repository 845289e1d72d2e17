"""Who may read what, written a second time from the document, one collection after the other.

It knows nothing of the program: its world is made of strings, and it asks of each collection by
itself whether a turn may read it, in the order in which the document tells it.
"""

from dataclasses import dataclass, field

Chat = tuple[str, str, str, str | None]  # platform, our account there, chat, the chat's parent

MAY_BE = {
    "user": ("viewer", "editor", "owner"),
    "department": ("viewer", "editor"),
    "agent": ("viewer",),
    "channel": ("viewer",),
}


@dataclass(frozen=True)
class Person:
    id: str
    department: str
    role: str = "member"
    is_active: bool = True


@dataclass(frozen=True)
class Employee:
    """An AI employee; `slugs` None without a list, "broken" where it cannot be parsed."""

    id: str
    department: str
    slugs: frozenset[str] | str | None = None
    is_archived: bool = False


@dataclass(frozen=True)
class Shelf:
    id: str
    slug: str
    sensitivity: str


@dataclass(frozen=True)
class Share:
    shelf: str
    kind: str
    subject: str
    role: str


@dataclass(frozen=True)
class Turn:
    """`door`: dashboard, webchat, key, chat, visitor, system, unregistered or dispatch.

    `person` is who is signed in, or to whom the sender was linked when the turn began. Of a
    dispatch `upstream` is the turn it comes from; `record` tells whether that is known: "none"
    (there was none), "kept", "lost" or "old".
    """

    door: str
    employee: str | None = None
    person: str | None = None
    chat: Chat | None = None
    is_private: bool = False
    is_link_whole: bool = True
    upstream: "Turn | None" = None
    record: str = "kept"


@dataclass
class World:
    people: dict[str, Person] = field(default_factory=dict)
    employees: dict[str, Employee] = field(default_factory=dict)
    shelves: list[Shelf] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)


def readable(world: World, turn: Turn) -> set[str]:
    """The ids of all that the turn may read."""
    return {shelf.id for shelf in world.shelves if may_read(world, turn, shelf)}


def may_read(world: World, turn: Turn, shelf: Shelf) -> bool:
    if turn.employee is None:
        if turn.door != "dashboard":
            return False
    elif not employee_has(world, turn.employee, shelf):
        return False
    return person_has(world, turn, shelf)


def employee_has(world: World, employee_id: str, shelf: Shelf) -> bool:
    """The employee's side: shared with it or its department, then narrowed by its own list."""
    employee = world.employees.get(employee_id)
    if employee is None or employee.is_archived:
        return False
    if employee.slugs == "broken":
        return False
    if employee.slugs is not None and shelf.slug not in employee.slugs:
        return False
    return is_shared(world, shelf, "agent", employee.id) or is_shared(
        world, shelf, "department", employee.department
    )


def person_has(world: World, turn: Turn, shelf: Shelf) -> bool:
    """The person's side: that of the first turn of a chain of dispatches."""
    first = turn
    while first.door == "dispatch" and first.record == "kept" and first.upstream is not None:
        first = first.upstream
    is_dispatched = first is not turn
    if first.door == "system" or (first.door == "dispatch" and first.record == "none"):
        return shelf.sensitivity in ("public", "internal")
    if first.door == "visitor":
        return shelf.sensitivity == "public" and chat_has(world, first.chat, shelf, websites=True)
    is_delicate = shelf.sensitivity in ("personal", "restricted")
    if is_delicate and (is_dispatched or not is_one_to_one(first)):
        return False
    if first.door in ("dashboard", "webchat", "key"):
        return account_has(world, first, shelf, is_dispatched)
    return first.door == "chat" and sender_has(world, first, shelf)


def is_one_to_one(turn: Turn) -> bool:
    if turn.door == "dashboard":
        return turn.employee is None
    return turn.door in ("webchat", "chat") and turn.is_private


def account_has(world: World, turn: Turn, shelf: Shelf, is_dispatched: bool) -> bool:
    person = world.people.get(turn.person or "")
    if person is None or not person.is_active:
        return False
    is_own_door = turn.door == "webchat" or (turn.door == "dashboard" and turn.employee is None)
    if person.role == "admin" and is_own_door and not is_dispatched:
        return True
    return person_is_named(world, person, shelf)


def sender_has(world: World, turn: Turn, shelf: Shelf) -> bool:
    if turn.person is None:
        return chat_has(world, turn.chat, shelf, websites=False)
    person = world.people.get(turn.person)
    if person is None or not person.is_active or not turn.is_link_whole:
        return False
    return person_is_named(world, person, shelf) or chat_has(
        world, turn.chat, shelf, websites=False
    )


def person_is_named(world: World, person: Person, shelf: Shelf) -> bool:
    return is_shared(world, shelf, "user", person.id) or is_shared(
        world, shelf, "department", person.department
    )


def chat_has(world: World, chat: Chat | None, shelf: Shelf, *, websites: bool) -> bool:
    """Shared with the platform, our account there, the chat, or the chat it belongs to."""
    if chat is None:
        return False
    platform, account, conversation, parent = chat
    if (platform in ("widget", "odoolivechat")) != websites:
        return False
    names = [platform, f"{platform}/{account}", f"{platform}:{conversation}"]
    if parent is not None:
        names.append(f"{platform}:{parent}")
    return any(is_shared(world, shelf, "channel", name) for name in names)


def is_shared(world: World, shelf: Shelf, kind: str, subject: str) -> bool:
    """By a share that is not broken: its kind may have this role, and it names somebody."""
    for share in world.shares:
        if share.shelf != shelf.id or share.kind != kind or share.subject != subject:
            continue
        if share.subject.strip() and share.role in MAY_BE.get(share.kind, ()):
            return True
    return False
