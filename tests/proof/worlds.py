"""Random companies, small enough that chance finds what is rare, and their turns."""

import random
from dataclasses import replace

from tests.proof.reference import Chat, Employee, Person, Share, Shelf, Turn, World

SENSITIVITIES = ("public", "internal", "personal", "restricted")
DEPARTMENTS = ("HR", "Sales", "sales", "")
PLATFORMS = ("line", "slack", "widget", "odoolivechat")
ROLES = ("viewer", "viewer", "viewer", "editor", "owner")
DOORS = ("dashboard", "webchat", "key", "chat", "chat", "chat", "visitor", "system", "dispatch")


class Chance:
    """Draws everything from one seed; `prefix` makes a world's ids its own."""

    def __init__(self, seed: int, prefix: str = "") -> None:
        self.random = random.Random(seed)
        self.prefix = prefix

    def ids(self, *names: str) -> list[str]:
        return [self.prefix + name for name in names]

    def is_so(self, share: float) -> bool:
        return self.random.random() < share

    def world(self) -> World:
        pick = self.random.choice
        world = World()
        for n in range(3):
            role = pick(("admin", "manager", "member", "member"))
            person = Person(f"{self.prefix}u{n}", pick(DEPARTMENTS), role, not self.is_so(0.15))
            world.people[person.id] = person
        for n in range(self.random.randint(1, 6)):
            world.shelves.append(
                Shelf(f"{self.prefix}c{n}", f"{self.prefix}s{n}", pick(SENSITIVITIES))
            )
        for n in range(2):
            employee = Employee(
                f"{self.prefix}a{n}", pick(DEPARTMENTS), self.slugs(world), self.is_so(0.08)
            )
            world.employees[employee.id] = employee
        for shelf in world.shelves:
            world.shares += self.shares(shelf)
        return world

    def slugs(self, world: World) -> frozenset[str] | str | None:
        if self.is_so(0.6):
            return None
        if self.is_so(0.15):
            return "broken"
        named = [each.slug for each in world.shelves if self.is_so(0.7)]
        return frozenset([*named, "unknown"] if self.is_so(0.5) else named)

    def shares(self, shelf: Shelf) -> list[Share]:
        """About half of what could be shared, some of it broken."""
        shares = [self.share(shelf) for _ in range(self.random.randint(0, 8))]
        if self.is_so(0.8):
            shares.append(
                Share(shelf.id, "agent", self.random.choice(self.ids("a0", "a0", "a1")), "viewer")
            )
        return shares

    def share(self, shelf: Shelf) -> Share:
        kind = self.random.choice(("user", "department", "agent", "channel", "channel"))
        return Share(shelf.id, kind, self.subject(kind), self.random.choice(ROLES))

    def subject(self, kind: str) -> str:
        pick = self.random.choice
        if self.is_so(0.04):
            return pick(("", " ", "line", *self.ids("u0"), "HR"))
        if kind == "user":
            return pick(self.ids("u0", "u1", "u2"))
        if kind == "department":
            return pick(DEPARTMENTS)
        if kind == "agent":
            return pick(self.ids("a0", "a1"))
        platform = pick(PLATFORMS)
        return pick((platform, platform, f"{platform}/{pick('xy')}", f"{platform}:{pick('CDP')}"))

    def chat(self, door: str) -> Chat:
        """Mostly on a platform where such a turn can come from."""
        pick = self.random.choice
        likely = PLATFORMS[2:] if door == "visitor" else PLATFORMS[:2]
        platform = pick(likely if self.is_so(0.9) else PLATFORMS)
        return platform, pick("xy"), pick("CD"), pick((None, None, "P"))

    def turn(self, depth: int = 0) -> Turn:
        pick = self.random.choice
        door = pick(DOORS) if not self.is_so(0.03) else "unregistered"
        turn = Turn(
            door,
            employee=pick((*self.ids("a0", "a0", "a0", "a0", "a1", "a1"), None)),
            person=pick((*self.ids("u0", "u1", "u2"), None)),
            chat=self.chat(door),
            is_private=self.is_so(0.6),
            is_link_whole=not self.is_so(0.15),
        )
        if door == "dashboard":
            return replace(turn, employee=None if self.is_so(0.7) else turn.employee)
        if door != "dispatch":
            return turn
        record = pick(("kept", "kept", "kept", "kept", "none", "lost", "old"))
        if record == "kept" and depth == 4:
            record = "lost"
        upstream = self.turn(depth + 1) if record == "kept" else None
        return replace(turn, upstream=upstream, record=record)
