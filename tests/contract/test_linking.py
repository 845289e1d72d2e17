"""Link codes over the real store: single use, lock-out, no code wasted on or by the wrong one."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.accounts.linking import Linking
from gateway.core.access import Account
from gateway.core.link_codes import MOST_OPEN, LinkOutcome
from gateway.core.messages import Conversation, InboundMessage, Notice, NoticeKind, Sender
from gateway.errors import ConflictError, NotFoundError
from gateway.store import Store
from tests.contract.world import IDS, World
from tests.fakes.wound_clock import WoundClock

WRONG_CODE = "AAAAA-BBBBB"


@pytest.fixture
def linking(store: Store, clock: WoundClock) -> Linking:
    return Linking(store.link_codes, store.link_requests, clock)


def sent(
    who: str = "U1", *, channel: str = "line", name: str = "main", **over: object
) -> InboundMessage:
    """A message in a proven 1:1 of a platform."""
    message = InboundMessage(
        conversation=Conversation(channel, name, who, is_direct=True),
        delivery_id=IDS.new(),
        message_key=IDS.new(),
        text="",
        received_at=WoundClock().now(),
        sender=Sender(channel, name, who),
        sender_name="小林\u202e\n",
    )
    return replace(message, **over)  # type: ignore[arg-type]


def in_group(who: str = "U1") -> InboundMessage:
    return sent(who, conversation=Conversation("line", "main", "C1"))


async def redeem(linking: Linking, code: str, message: InboundMessage) -> LinkOutcome:
    return await linking.redeem(IDS.new(), message, code)


async def new_code(linking: Linking, account: Account) -> str:
    return (await linking.make_code(account)).code


async def events(home: Path, store: Store) -> list[str]:
    file = home / "audit.jsonl"
    await store.audit.export(file)
    lines = file.read_text("utf-8") if file.exists() else ""
    return [line.split('"event":"')[1].split('"')[0] for line in lines.splitlines()]


async def test_a_code_asks_and_the_account_decides(
    world: World, linking: Linking, store: Store, home: Path
) -> None:
    ken = await world.account("ken")
    code = await new_code(linking, ken)
    assert await redeem(linking, f" {code.lower().replace('-', ' ')} ", sent()) == "requested"
    assert await store.links.find(Sender("line", "main", "U1")) is None
    (request,) = await linking.pending(ken)
    assert (request.sender, request.sender_name) == (Sender("line", "main", "U1"), "小林")
    await linking.confirm(ken, request.id)
    assert await store.links.find(Sender("line", "main", "U1")) == ken.id
    assert [link.sender_name for link in await linking.bound(ken)] == ["小林"]
    assert await linking.pending(ken) == []
    assert await linking.remove(Sender("line", "main", "U1"), ken, ken.id)
    told = await events(home, store)
    assert told == ["link_code_created", "link_requested", "link_confirmed", "link_removed"]
    kept = b"".join(file.read_bytes() for file in (home / "knowledge").glob("*.db*"))
    assert b"link_requested" in kept
    assert not [form for form in (code, code.replace("-", "")) if form.encode() in kept]


async def test_nobody_else_confirms_or_rejects_and_a_rejected_request_is_gone(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    assert await redeem(linking, await new_code(linking, ken), sent()) == "requested"
    (request,) = await linking.pending(ken)
    assert await linking.pending(eve) == []
    for refused in (linking.confirm(eve, request.id), linking.reject(eve, request.id)):
        with pytest.raises(NotFoundError):
            await refused
    await linking.reject(ken, request.id)
    with pytest.raises(NotFoundError):
        await linking.confirm(ken, request.id)
    assert await store.links.list() == []


@pytest.mark.parametrize("spoil", ["used", "expired", "replaced", "nobody's", "other channel"])
async def test_a_code_that_is_not_good_any_more_is_wrong_whatever_the_reason(
    world: World, linking: Linking, clock: WoundClock, spoil: str
) -> None:
    ken = await world.account("ken")
    code = await new_code(linking, ken)
    if spoil == "used":
        assert await redeem(linking, code, sent("U9")) == "requested"
    elif spoil == "expired":
        clock.wind(minutes=10)
    elif spoil == "replaced":
        for _ in range(MOST_OPEN):
            clock.wind(seconds=1)
            await new_code(linking, ken)
    elif spoil == "nobody's":
        await world.store.accounts.put(replace(ken, is_active=False))
    else:
        code = (await linking.make_code(ken, "telegram", "main")).code
    assert await redeem(linking, code, sent()) == "wrong"
    assert await linking.pending(ken) == [] or spoil == "used"


async def test_a_code_for_one_channel_is_good_there_after_it_was_tried_elsewhere(
    world: World, linking: Linking
) -> None:
    ken = await world.account("ken")
    code = (await linking.make_code(ken, "telegram", "main")).code
    assert await redeem(linking, code, sent()) == "wrong"
    assert await redeem(linking, code, sent(channel="telegram", name="other")) == "wrong"
    assert await redeem(linking, code, sent(channel="telegram")) == "requested"


async def test_an_unconfirmed_request_expires(
    world: World, linking: Linking, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    await redeem(linking, await new_code(linking, ken), sent())
    (request,) = await linking.pending(ken)
    clock.wind(minutes=10)
    assert await linking.pending(ken) == []
    with pytest.raises(NotFoundError):
        await linking.confirm(ken, request.id)


async def test_twenty_guesses_are_five_and_a_lock_that_holds_against_the_right_code(
    world: World, linking: Linking, clock: WoundClock, store: Store, home: Path
) -> None:
    ken = await world.account("ken")
    said = [await redeem(linking, f"AAAAA-BBBB{n % 10}", sent()) for n in range(20)]
    assert said == ["wrong"] * 5 + ["locked"] * 15
    code = await new_code(linking, ken)
    assert await redeem(linking, code, sent()) == "locked"
    assert await redeem(linking, code, sent(name="second")) == "requested"  # another sender
    assert (await events(home, store)).count("link_guess_locked") == 1
    clock.wind(hours=1)
    assert await redeem(linking, await new_code(linking, ken), sent()) == "requested"


async def test_guesses_spread_over_hours_still_lock(linking: Linking, clock: WoundClock) -> None:
    for _ in range(5):
        assert await redeem(linking, WRONG_CODE, sent()) == "wrong"
        clock.wind(hours=2)
    clock.wind(hours=-2, minutes=1)
    assert await redeem(linking, WRONG_CODE, sent()) == "locked"


async def test_many_guessers_stop_all_guessing_for_a_minute(
    world: World, linking: Linking, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    for n in range(100):
        assert await redeem(linking, WRONG_CODE, sent(f"U{n}")) == "wrong"
    code = await new_code(linking, ken)
    assert await redeem(linking, code, sent("fresh")) == "busy"
    clock.wind(minutes=1)
    assert await redeem(linking, code, sent("fresh")) == "requested"


@pytest.mark.parametrize(
    "message",
    [
        in_group(),
        sent(sender=None),
        sent(is_visitor=True),
        sent(sender=None, conversation=Conversation("line", "main", "C1")),
    ],
    ids=["group", "direct without identity", "visitor", "group without identity"],
)
async def test_a_code_shown_outside_a_proven_direct_chat_is_void(
    world: World, linking: Linking, message: InboundMessage
) -> None:
    ken = await world.account("ken")
    code = await new_code(linking, ken)
    assert await redeem(linking, code, message) == "not_direct"
    assert await linking.pending(ken) == []
    assert await redeem(linking, code, sent("U2")) == "wrong"


async def test_guesses_in_a_group_count_and_answer_alike(linking: Linking) -> None:
    for _ in range(6):
        assert await redeem(linking, WRONG_CODE, in_group()) == "not_direct"
    assert await redeem(linking, WRONG_CODE, sent()) == "locked"


async def test_a_linked_sender_does_not_use_up_anothers_code(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    await linking.bind(Sender("line", "main", "U1"), eve, "operator")
    code = await new_code(linking, ken)
    assert await redeem(linking, code, sent()) == "linked"
    assert await store.links.find(Sender("line", "main", "U1")) == eve.id
    assert await redeem(linking, code, sent("U2")) == "requested"


async def test_whoever_confirms_first_has_the_sender(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    for account in (ken, eve):
        assert await redeem(linking, await new_code(linking, account), sent()) == "requested"
    ((of_ken,), (of_eve,)) = await linking.pending(ken), await linking.pending(eve)
    await linking.confirm(ken, of_ken.id)
    with pytest.raises(NotFoundError):
        await linking.confirm(eve, of_eve.id)
    assert await store.links.list() == [(Sender("line", "main", "U1"), ken.id)]


async def test_a_turn_run_again_has_the_same_outcome(world: World, linking: Linking) -> None:
    ken = await world.account("ken")
    code, turn_id = await new_code(linking, ken), IDS.new()
    for _ in range(3):
        assert await linking.redeem(turn_id, sent(), code) == "requested"
    (request,) = await linking.pending(ken)
    await linking.confirm(ken, request.id)
    assert await linking.redeem(turn_id, sent(), code) == "requested"
    assert await linking.pending(ken) == []
    wrong = IDS.new()
    for _ in range(9):
        assert await linking.redeem(wrong, sent("U2"), WRONG_CODE) == "wrong"
    assert await redeem(linking, WRONG_CODE, sent("U2")) == "wrong"  # the second that counts


async def test_a_hundred_at_once_with_one_code_are_one_request(
    world: World, linking: Linking
) -> None:
    ken = await world.account("ken")
    code = await new_code(linking, ken)
    said = await asyncio.gather(*(redeem(linking, code, sent(f"U{n}")) for n in range(100)))
    assert Counter(said) == {"requested": 1, "wrong": 99}
    assert len(await linking.pending(ken)) == 1


async def test_a_link_ends_by_its_account_or_the_operator_only(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    sender = Sender("line", "main", "U1")
    await linking.bind(sender, ken, "operator")
    assert not await linking.remove(sender, eve, eve.id)
    assert await store.links.find(sender) == ken.id
    assert await linking.remove(sender, None, "operator")
    assert not await linking.remove(sender, None, "operator")


def linked(nonce: str, message: InboundMessage) -> InboundMessage:
    return replace(message, notice=Notice(NoticeKind.ACCOUNT_LINKED, nonce=nonce))


async def test_the_platforms_own_flow_binds_once_the_sender_it_names(
    world: World, linking: Linking, store: Store, clock: WoundClock
) -> None:
    ken = await world.account("ken")
    nonce = await linking.make_nonce(ken, "line", "main")
    assert 10 <= len(nonce) <= 255
    for refused in (
        linked("unknown", sent()),
        linked("", sent()),
        linked(nonce, in_group()),
        linked(nonce, sent(sender=None)),
        linked(nonce, sent(name="second")),
        replace(sent(), notice=Notice(NoticeKind.RETRACTED, nonce=nonce)),
    ):
        await linking.line_linked(refused)
        assert await store.links.list() == []
    assert await redeem(linking, nonce, sent()) == "wrong"  # a nonce is no code
    for who in ("U1", "U1", "U2"):
        await linking.line_linked(linked(nonce, sent(who)))
    assert await store.links.list() == [(Sender("line", "main", "U1"), ken.id)]
    late = await linking.make_nonce(ken, "line", "main")
    clock.wind(minutes=10)
    await linking.line_linked(linked(late, sent("U3")))
    assert len(await store.links.list()) == 1


async def test_the_platforms_own_flow_takes_no_sender_from_its_account(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    await linking.bind(Sender("line", "main", "U1"), ken, "operator")
    await linking.line_linked(linked(await linking.make_nonce(eve, "line", "main"), sent()))
    assert await store.links.find(Sender("line", "main", "U1")) == ken.id


async def test_a_sender_whose_account_was_closed_can_be_linked_anew(
    world: World, linking: Linking, store: Store
) -> None:
    ken, new = await world.account("ken"), await world.account("new")
    await linking.bind(Sender("line", "main", "U1"), ken, "operator")
    await store.accounts.put(replace(ken, is_active=False))
    assert await redeem(linking, await new_code(linking, new), sent()) == "requested"
    (request,) = await linking.pending(new)
    await linking.confirm(new, request.id)
    assert await store.links.find(Sender("line", "main", "U1")) == new.id


async def test_a_request_cannot_take_a_sender_that_was_linked_meanwhile(
    world: World, linking: Linking, store: Store
) -> None:
    ken, eve = await world.account("ken"), await world.account("eve")
    await redeem(linking, await new_code(linking, ken), sent())
    (request,) = await linking.pending(ken)
    await store.links.bind(Sender("line", "main", "U1"), eve.id, world.clock.now())
    with pytest.raises(ConflictError):
        await linking.confirm(ken, request.id)
    assert await store.links.find(Sender("line", "main", "U1")) == eve.id
