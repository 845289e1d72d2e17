"""The preview of a draft: the same words, never half a mark, a foreign link or a lost passage."""

import asyncio
import re
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.grounds import Grounds
from gateway.core.passages import Locator, Passage
from gateway.core.turns import PresentedPassage
from gateway.draft_stream import CHECKED_EVERY_S, DraftStream
from tests.fakes.wound_clock import WoundClock

OURS = "https://hr.example/leave"
PASSAGE = Passage(1, "c1", "s1", "r1", 0, "t", f"請到 {OURS} 申請。", Locator())
GROUNDS = Grounds((PresentedPassage(1, PASSAGE),))


class Watched:
    """A stream onto a list, over a library that may be closed."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.checks = 0
        self.is_open = True
        self.clock = WoundClock()
        self.stream = DraftStream(self.show, self.is_readable, self.clock)
        self.stream.rest_on(GROUNDS)

    async def show(self, text: str) -> None:
        self.shown.append(text)

    async def is_readable(self, grounds: Grounds) -> bool:
        assert grounds == GROUNDS
        self.checks += 1
        return self.is_open

    async def play(self, pieces: Sequence[str]) -> list[str]:
        for piece in pieces:
            await self.stream(piece)
        await self.stream.close()
        return self.shown


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


PLACES = st.lists(st.integers(0, 200), max_size=40)
WORDS = st.text(st.sampled_from("特休七日。 word.[1]【2】-/\n"), max_size=80)


@given(WORDS, PLACES)
@settings(deadline=None)
def test_however_it_is_cut_the_words_are_the_same(text: str, places: list[int]) -> None:
    shown = asyncio.run(Watched().play(cut(text, places)))
    assert re.sub(r"[\[\]]", "", "".join(shown)) == re.sub(r"[\[\]]", "", text)


@given(PLACES, st.sampled_from(["", "中文", " "]), st.sampled_from(["。", " ", "，再看", ""]))
@settings(deadline=None)
def test_a_foreign_link_is_never_shown_live_however_it_is_cut(
    places: list[int], before: str, after: str
) -> None:
    text = f"見{before}https://evil.example/?q=秘密{after}"
    shown = "".join(asyncio.run(Watched().play(cut(text, places))))
    assert "evil" in shown
    assert "https://" not in shown
    assert "evil.example" not in shown


@given(PLACES)
@settings(deadline=None)
def test_a_link_of_a_passage_stays(places: list[int]) -> None:
    shown = "".join(asyncio.run(Watched().play(cut(f"請到 {OURS} 申請。", places))))
    assert OURS in shown


@given(PLACES)
@settings(deadline=None)
def test_half_a_mark_is_never_shown(places: list[int]) -> None:
    text = "特休七日[1]，另見【2】與［12］。[3"
    so_far = ""
    for piece in asyncio.run(Watched().play(cut(text, places)))[:-1]:
        so_far += piece
        assert not re.search(r"[\[【［][0-9]*\Z", so_far)


async def test_it_stops_within_a_second_after_a_passage_is_lost() -> None:
    it = Watched()
    await it.stream("滿一年。")
    it.is_open = False
    await it.stream("七日。")  # checked a moment ago
    it.clock.wind(seconds=CHECKED_EVERY_S)
    await it.stream("三十日。")
    await it.stream("九十日。")
    await it.stream.close()
    assert it.shown == ["滿一年。", "七日。"]
    assert it.checks == 2


async def test_new_passages_are_checked_before_the_next_word() -> None:
    it = Watched()
    await it.stream("滿一年。")
    it.is_open = False
    it.stream.rest_on(GROUNDS)
    await it.stream("七日。")
    assert it.shown == ["滿一年。"]
