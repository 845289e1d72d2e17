"""Access that ends while a turn runs: no text of the lost document reaches the chat after it."""

from pathlib import Path

import pytest

from gateway.core.chat import Speaker
from gateway.core.messages import SendMethod
from tests.proof.revoking import (
    LEAVE,
    LOST,
    QUESTION,
    SECRET,
    WAYS,
    Model,
    Moment,
    Scene,
    Way,
    again,
    nothing,
    scene,
)
from tests.surfaces.serving import CONFIG

STAGES = ["in the search", "before the model speaks", "in the draft", "while it waits", "restart"]
FIRST, REST = "依據員工手冊，", f"滿一年者{SECRET}。[1]"


def ending(it: Scene, way: Way) -> Moment:
    """The act, once; what the chat has seen until then does not count."""

    async def end() -> None:
        if not it.ended:
            it.ended = True
            await way.act(it)
            it.clock.wind(seconds=way.seconds)
            it.seen_before = len(it.chat.seen)

    return end


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_what_was_lost_is_not_said(tmp_path: Path, way: Way, stage: str) -> None:
    async with scene(tmp_path) as it:
        it.place = way.place
        await it.share(*way.readers(it))
        end = ending(it, way)

        def at(name: str) -> Moment:
            return end if name == stage else nothing

        async def in_the_draft() -> None:
            await it.chat.until(lambda: it.chat.seen == [FIRST])
            await at("in the draft")()

        model = Model([FIRST, REST], at("before the model speaks"), in_the_draft)
        if stage in STAGES[:2]:
            model.between = nothing
        sender = it.sender()
        turn_id = await it.run(model, at("in the search"), sender)
        if stage == "while it waits":
            it.chat.waits = 1
            await it.send(sender, end)
        else:
            if stage == "restart":
                await end()
                sender = it.sender()
            await it.send(sender)
        check(it, way, LOST if model.knows else "不知道。")
        if way.is_lost and stage in STAGES[:3]:
            record = await it.app.store.turns.find(turn_id)
            assert record is not None
            assert (record.citations, record.rests_on) == ((), ())
            assert SECRET not in record.answer


def check(it: Scene, way: Way, expected: str) -> None:
    """What the chat has seen since access ended, and what stands there in the end."""
    final = it.chat.calls[-1]
    if not way.is_lost:
        assert SECRET in final.parts[-1]
        return
    assert final.parts == (expected,)
    assert SECRET not in "".join(it.chat.seen[it.seen_before :])
    if (
        final.turn_id in it.chat.previews
    ):  # what shows the beginning of the draft now says the sentence
        assert it.chat.sent[-1][-1] is SendMethod.EDIT


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_the_next_search_of_the_same_turn_finds_nothing(tmp_path: Path, way: Way) -> None:
    async with scene(tmp_path) as it:
        it.place = way.place
        await it.share(*way.readers(it))
        model = Model(["好"], ending(it, way), nothing, searching='{"query": "特別休假"}')
        await it.run(model, question="/開始")  # nothing is injected for a command
        [result] = [each.text for each in model.prompts[-1] if each.speaker is Speaker.TOOL]
        assert (LEAVE in result) is not way.is_lost


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_an_answer_drawn_from_an_earlier_answer_alone_is_lost_with_it(
    tmp_path: Path, way: Way
) -> None:
    async with scene(tmp_path) as it:
        it.place = way.place
        await it.share(*way.readers(it))
        await it.run(Model([REST], nothing, nothing))
        await it.send(it.sender())
        sender = it.sender()
        summing_up = Model([f"簡單說：{SECRET}。"], nothing, nothing)
        await it.run(summing_up, replies=sender, question="/總結")
        assert [each.text for each in summing_up.prompts[0]].count(REST) == 1
        it.chat.waits = 1
        await it.send(sender, ending(it, way))
        assert SECRET in it.chat.calls[-1].parts[0] or way.is_lost
        assert (it.chat.calls[-1].parts == (LOST,)) is way.is_lost
        later = Model(["好"], nothing, nothing)
        await it.run(later, question="/然後")
        said = "".join(each.text for each in later.prompts[0]) if later.prompts else ""
        assert (SECRET in said) is not way.is_lost


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
async def test_a_draft_that_rests_on_an_earlier_answer_alone_is_not_shown(
    tmp_path: Path, way: Way
) -> None:
    async with scene(tmp_path) as it:
        it.place = way.place
        await it.share(*way.readers(it))
        await it.run(Model([REST], nothing, nothing))
        await it.send(it.sender())
        sender = it.sender()
        summing_up = Model([f"簡單說：{SECRET}。"], ending(it, way), nothing)
        await it.run(summing_up, replies=sender, question="/總結")
        await it.send(sender)
        check(it, way, LOST)


async def test_what_waits_when_the_library_is_switched_off_is_not_said(tmp_path: Path) -> None:
    for name, switch in (("on", "true"), ("off", "false")):
        home = tmp_path / name
        async with scene(home) as first:
            await first.share(("user", first.person.id), ("agent", "a1"))
            await first.run(Model([REST], nothing, nothing))
        config = CONFIG.replace("[knowledge]", f"[knowledge]\nenabled = {switch}")
        async with again(first, home, config) as it:
            await it.send(it.sender())
            assert (it.chat.calls[-1].parts == (LOST,)) is (name == "off")
            later = Model(["好"], nothing, nothing)
            await it.run(later, question=QUESTION)
            said = "".join(each.text for each in later.prompts[0])
            assert (SECRET in said) is (name == "on")


async def test_a_reply_in_several_calls_ends_where_access_ended(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        await it.share(("user", it.person.id), ("agent", "a1"))
        it.chat._limits = it.chat._limits.__class__(
            it.chat.limits.unit, part_units=300, parts_per_call=1, footer_units=100, max_calls=9
        )
        long = "".join(f"{n}日為{SECRET}。" for n in range(150)) + "[1]"
        sender = it.sender()
        await it.run(Model([long], nothing, nothing), replies=sender)
        assert len(await it.state()) > 2
        it.chat.waits = 1
        await it.send(sender, it.share)
        assert [call.parts for call in it.chat.calls] == [(LOST,)]
        assert set(await it.state()) == {"sent", "dead"}
