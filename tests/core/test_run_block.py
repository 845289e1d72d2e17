"""Blocks of a run: whatever a document says, its lines are told from ours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.access import Collection, Sensitivity
from gateway.core.passages import Hit, Locator, Passage
from gateway.core.run_block import collections_block, passages_block
from gateway.core.turns import PresentedPassage
from gateway.core.weighing import weighed

ODD = st.text(st.sampled_from("a│[]1 （）=chunk_id·\n\r\u2028\u0085<>資料"), max_size=40)
HEADER = re.compile(r"\[7\] ([^\n（）=│]*)（([^\n（）=│]*)） chunk_id=42")


def passage(title: str = "", text: str = "", at: int = 42, source: str = "s") -> Passage:
    return Passage(at, "c", source, "r", 0, title, text, Locator(heading=(title,)))


@given(title=ODD, text=ODD, name=ODD)
def test_nothing_in_a_document_makes_a_header_or_ends_its_block(
    title: str, text: str, name: str
) -> None:
    block = passages_block([PresentedPassage(7, passage(title, text))], {"c": name})
    header, *lines = block.split("\n")
    assert HEADER.fullmatch(header)
    assert lines
    assert all(line.startswith("│") for line in lines)


@given(name=ODD, description=ODD)
def test_names_and_descriptions_stay_behind_the_bar(name: str, description: str) -> None:
    collection = Collection("c", 1, "hr", name, Sensitivity.INTERNAL, description)
    first, *lines = collections_block([(collection, 2, 30)]).split("\n")
    assert first == "slug=hr sources=2 passages=30"
    assert all(line.startswith("│") for line in lines)


WORDS = [
    Hit(passage(at=1, source="a"), 0, lexical_rank=1, lexical_score=8.0),
    Hit(passage(at=2, source="b"), 0, lexical_rank=2, lexical_score=2.0),
]
MEANING = [
    Hit(passage(at=3, source="c"), 0, vector_rank=1, cosine=0.9),
    Hit(passage(at=2, source="b"), 0, vector_rank=2, cosine=0.8),
    Hit(passage(at=1, source="a"), 0, vector_rank=3, cosine=0.7),
]


def test_the_weight_of_words_decides_the_order() -> None:
    for alpha, order in ((1.0, [1, 2, 3]), (0.0, [3, 2, 1]), (0.6, [1, 3, 2])):
        assert [hit.passage.id for hit in weighed(WORDS, MEANING, alpha, 9)] == order
    both = {hit.passage.id: hit for hit in weighed(WORDS, MEANING, 0.5, 9)}
    assert (both[2].lexical_rank, both[2].vector_rank) == (2, 2)
    assert both[2].score == pytest.approx(0.375)


def test_with_one_list_alone_its_order_stays() -> None:
    assert [hit.passage.id for hit in weighed(WORDS, (), 0.5, 9)] == [1, 2]
    assert [hit.passage.id for hit in weighed((), MEANING, 0.5, 2)] == [3, 2]
    assert weighed((), (), 0.5, 9) == ()


def test_three_of_one_source_are_enough() -> None:
    many = [Hit(passage(at=n), 0, lexical_rank=n, lexical_score=9.0 - n) for n in range(1, 6)]
    assert len(weighed(many, (), 0.5, 9)) == 3
