"""Search within a scope: what it finds, what it says of it, what it writes down."""

from dataclasses import replace

import pytest
import structlog

from gateway.core.access import (
    Account,
    AccountRole,
    Audience,
    AudienceKind,
    Collection,
    Grant,
    Role,
    ScopeFacts,
    Sensitivity,
    SubjectKind,
)
from gateway.core.audit import AccessAction, AccessEntry
from gateway.core.calibration import Calibration, Logistic
from gateway.core.passages import NoVectors, SearchMode
from gateway.core.relevance import FEW_WORDS
from gateway.core.scope import Scope, decide
from gateway.errors import ModelError, NotFoundError, StoreError
from gateway.knowledge.search import Search
from tests.fakes.knowledge import FakeAudit, FakeClock, FakeEncoder, FakeLibrary

NEVER = Logistic(bias=-9.0, weights={}, cut=0.5)
BY_WORDS = Logistic(bias=-1.0, weights={"coverage": 4.0}, cut=0.5)
LETTERS = Calibration("letters", BY_WORDS, NEVER, BY_WORDS, cosine_weight=0.45)
WORDS = Calibration("keyword", BY_WORDS, NEVER, NEVER)
CALIBRATIONS = {FakeEncoder.KEY: LETTERS, "keyword": WORDS}
PERSON = Account("lin", "lin", "Lin", AccountRole.MEMBER)


def scope_of(*slugs: str) -> Scope:
    audience = Audience(AudienceKind.DASHBOARD, PERSON)
    facts = ScopeFacts(
        collections=tuple(
            Collection(slug, no, slug, slug, Sensitivity.INTERNAL)
            for no, slug in enumerate(slugs, start=1)
        ),
        grants=tuple(Grant(slug, SubjectKind.USER, PERSON.id, Role.VIEWER) for slug in slugs),
        generation=1,
        account=PERSON,
    )
    scope = decide(audience, None, facts)
    assert scope.collections == frozenset(slugs)
    return scope


class World:
    """A search over a small library, with everything it writes to in reach."""

    def __init__(self) -> None:
        self.library = FakeLibrary()
        self.encoder = FakeEncoder()
        self.audit = FakeAudit()
        self.clock = FakeClock()
        self.calibrations: dict[str, Calibration] = dict(CALIBRATIONS)
        self.search = Search(
            self.library,
            self.library,
            self.encoder,
            self.audit,
            self.clock,
            self.calibrations.get,
        )
        self.entry = AccessEntry(AccessAction.SEARCH, self.clock.now(), account_id="lin")
        self.faq = scope_of("faq")

    async def ids(self, query: str, scope: Scope | None = None, limit: int = 5) -> list[int]:
        scope = self.faq if scope is None else scope
        result = await self.search.search(query, scope, limit, entry=self.entry)
        return [hit.passage.id for hit in result.hits]


@pytest.fixture
async def world() -> World:
    world = World()
    world.library.add(1, "到職滿一年的特別休假有七日。")
    world.library.add(2, "病假一年內不得超過三十日。")
    world.library.add(3, "The part AB-1203 has a warranty of two years.")
    world.library.add(4, "薪資表：經理月薪九萬。", collection="payroll")
    await world.library.embed_all()
    return world


async def test_words_and_vectors_together(world: World) -> None:
    result = await world.search.search("特別休假有幾天？", world.faq, 2, entry=world.entry)
    assert result.mode is SearchMode.HYBRID
    assert (result.coverage, result.vector_unavailable, result.scan_capped) == (1.0, None, False)
    best = result.hits[0]
    assert (best.passage.id, best.lexical_rank, best.vector_rank) == (1, 1, 1)
    assert best.lexical_score is not None
    assert best.lexical_score > 0
    assert best.cosine is not None
    assert 0 < best.cosine <= 1
    assert result.relevance.is_relevant
    assert len(result.hits) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [("AB-1203", 3), ("1203", 3), ("假", 1), ("病假", 2), ("特别休假", 1), ("「病假一年」", 2)],
)
async def test_exact_words_are_found(world: World, query: str, expected: int) -> None:
    world.encoder.reason = NoVectors.MODEL_MISSING
    assert expected in await world.ids(query)


async def test_what_lies_outside_the_scope_does_not_exist(world: World) -> None:
    assert 4 not in await world.ids("經理月薪九萬")
    assert (await world.ids("經理月薪九萬", scope_of("payroll")))[0] == 4
    assert await world.ids("經理月薪九萬", scope_of()) == []


async def test_an_empty_scope_asks_nobody_and_is_written_down(world: World) -> None:
    result = await world.search.search("特別休假", scope_of(), 5, entry=world.entry)
    assert result.hits == ()
    assert not result.relevance.is_relevant
    assert world.encoder.asked == []
    assert [entry.collections for entry in world.audit.recorded] == [()]


@pytest.mark.parametrize("query", ["", "？？？", "😀", "\0", "\ud800"])
async def test_nothing_to_look_up(world: World, query: str) -> None:
    assert await world.ids(query) == []
    assert world.encoder.asked == []
    world.audit.recorded[0].query.encode()


@pytest.mark.parametrize("query", ['a"b', "NEAR(", "特別 AND *", "x:y", "\ud800特別休假", "^C++"])
async def test_operators_and_broken_text_are_words(world: World, query: str) -> None:
    await world.ids(query)
    for sent in (*world.encoder.asked, world.audit.recorded[0].query):
        sent.encode()


async def test_a_huge_question_is_cut(world: World) -> None:
    await world.ids("特別休假" * 25_000)
    assert len(world.encoder.asked[0]) <= 2_000
    assert len(world.audit.recorded[0].query) == 500


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ModelError("x"), NoVectors.MODEL_MISSING),
        (ModelError("x", code="model_verification_failed"), NoVectors.VERIFICATION_FAILED),
        (ModelError("x", code="model_unsupported_platform"), NoVectors.UNSUPPORTED_PLATFORM),
        (ModelError("x", code="model_unavailable"), NoVectors.ENCODER_FAILED),
        (TimeoutError(), NoVectors.ENCODER_FAILED),
    ],
)
async def test_a_failing_encoder_leaves_the_words(
    world: World, failure: Exception, reason: NoVectors
) -> None:
    world.encoder.failure = failure
    result = await world.search.search("特別休假七日", world.faq, 5, entry=world.entry)
    assert (result.mode, result.vector_unavailable) == (SearchMode.KEYWORD_ONLY, reason)
    assert result.hits[0].passage.id == 1
    assert result.hits[0].cosine is None
    assert result.relevance.is_relevant


async def test_reasons_are_logged_once_an_hour_each(world: World) -> None:
    with structlog.testing.capture_logs() as logs:
        for seconds in (0, 10, 3_599, 3_600, 3_700):
            world.clock.seconds = seconds
            world.encoder.reason = NoVectors.MODEL_MISSING
            await world.ids("病假")
        world.encoder.reason = NoVectors.NO_KEY
        await world.ids("病假")
    assert [entry["reason"] for entry in logs] == ["model_missing", "model_missing", "no_key"]


async def test_before_any_vector_is_made(world: World) -> None:
    world.library.vectors.clear()
    result = await world.search.search("病假", world.faq, 5, entry=world.entry)
    assert result.mode is SearchMode.KEYWORD_ONLY
    assert result.vector_unavailable is NoVectors.NO_VECTORS_YET
    assert result.coverage == 0.0


async def test_a_passage_without_a_vector_is_found_by_its_words(world: World) -> None:
    world.library.add(5, "產假八星期，工資照給。")
    result = await world.search.search("產假八星期", world.faq, 5, entry=world.entry)
    assert result.hits[0].passage.id == 5
    assert result.coverage == 0.75
    assert result.mode is SearchMode.HYBRID


async def test_deleted_is_gone_at_the_next_search(world: World) -> None:
    assert (await world.ids("病假不得超過三十日"))[0] == 2
    world.library.remove(2)
    assert 2 not in await world.ids("病假不得超過三十日")


async def test_at_most_three_of_a_source() -> None:
    world = World()
    for passage_id in range(1, 60):
        world.library.add(passage_id, "特別休假七日", source="long")
    world.library.add(60, "特別休假", source="other")
    await world.library.embed_all()
    assert sorted(await world.ids("特別休假七日", limit=8)) == [1, 2, 3, 60]


async def test_ties_go_to_the_smaller_id() -> None:
    world = World()
    for passage_id in (9, 3, 7, 5):
        world.library.add(passage_id, "特別休假七日")
    await world.library.embed_all()
    assert await world.ids("特別休假") == [3, 5, 7, 9]


async def test_quotation_marks_for_emphasis_do_not_empty_a_search(world: World) -> None:
    assert 1 in await world.ids("「休假特別」是什麼")


async def test_a_model_that_changes_brings_its_own_vectors(world: World) -> None:
    await world.ids("病假")
    world.encoder.key = "other"
    world.calibrations.pop(FakeEncoder.KEY)
    result = await world.search.search("病假", world.faq, 5, entry=world.entry)
    assert result.hits[0].score == pytest.approx(2 / 61)  # not calibrated: by rank


async def test_without_any_calibration_nothing_counts_as_relevant(world: World) -> None:
    world.calibrations.clear()
    result = await world.search.search("特別休假有七日", world.faq, 5, entry=world.entry)
    assert result.hits
    assert not result.relevance.is_relevant


async def test_another_language_has_its_own_cut(world: World) -> None:
    result = await world.search.search("AB-1203 的保固期限", world.faq, 1, entry=world.entry)
    assert result.hits[0].passage.id == 3
    assert not result.relevance.is_relevant  # NEVER is the rule across languages


async def test_without_shared_words_meaning_alone_decides(world: World) -> None:
    by_meaning = Logistic(bias=-1.0, weights={"cosine_rise": 0.0}, cut=0.2)
    world.calibrations[FakeEncoder.KEY] = replace(LETTERS, wordless=by_meaning)
    world.library.remove(3)  # the one in another language
    apart = await world.search.search("何時可以放鬆", world.faq, 1, entry=world.entry)
    assert apart.relevance.features["coverage"] == 0
    assert apart.relevance.rule == by_meaning
    assert apart.relevance.is_relevant
    shared = await world.search.search("特別休假有七日", world.faq, 1, entry=world.entry)
    assert shared.relevance.rule == BY_WORDS


async def test_a_word_shared_by_chance_does_not_count_against_a_passage(world: World) -> None:
    by_meaning = Logistic(bias=-1.0, weights={"cosine_rise": 0.0}, cut=0.2)
    world.calibrations[FakeEncoder.KEY] = replace(LETTERS, wordless=by_meaning)
    world.library.remove(3)  # the one in another language
    question = "日後想放鬆身心請問該找何人商量才好一年"
    found = (await world.search.search(question, world.faq, 1, entry=world.entry)).relevance
    assert 0 < found.features["coverage"] < FEW_WORDS
    assert found.is_relevant
    assert found.rule == by_meaning
    more = await world.search.search("找人商量一年", world.faq, 1, entry=world.entry)
    assert more.relevance.features["coverage"] >= FEW_WORDS
    assert more.relevance.rule == BY_WORDS
    assert not more.relevance.is_relevant


@pytest.mark.parametrize(
    ("mode", "lexical", "vector"),
    [
        (SearchMode.KEYWORD_ONLY, True, False),
        (SearchMode.VECTOR_ONLY, False, True),
        (SearchMode.HYBRID, True, True),
    ],
)
async def test_modes(world: World, mode: SearchMode, *, lexical: bool, vector: bool) -> None:
    result = await world.search.find("病假", world.faq, 5, mode=mode)
    assert result.mode is mode
    assert (result.hits[0].lexical_rank is not None) is lexical
    assert (result.hits[0].vector_rank is not None) is vector
    assert bool(world.encoder.asked) is vector
    assert world.audit.recorded == []


async def test_fusion_by_rank_when_asked(world: World) -> None:
    result = await world.search.find("病假", world.faq, 1, by_rank=True)
    assert result.hits[0].score == pytest.approx(2 / 61)


async def test_a_broken_store_is_reported_as_itself(world: World) -> None:
    world.library.failure = StoreError("disk")
    with pytest.raises(StoreError):
        await world.ids("病假")
    assert world.audit.recorded == []


async def test_the_access_log_row(world: World) -> None:
    entry = replace(world.entry, action=AccessAction.AUTO_INJECT, turn_id="t1")
    await world.search.search("病假", scope_of("payroll", "faq"), 1, entry=entry)
    assert world.audit.recorded == [
        replace(entry, query="病假", collections=("faq", "payroll"), results=("2",))
    ]


async def test_around_reads_neighbours_and_hides_what_is_forbidden(world: World) -> None:
    for passage_id in (10, 11, 12):
        world.library.add(passage_id, f"第{passage_id}條", source="law")
    entry = replace(world.entry, action=AccessAction.PASSAGE)
    near = await world.search.around(world.faq, 11, 1, entry=entry)
    assert [passage.id for passage in near] == [10, 11, 12]
    for hidden in (4, 999):
        with pytest.raises(NotFoundError):
            await world.search.around(world.faq, hidden, 1, entry=entry)
    assert [(e.action, e.results) for e in world.audit.recorded] == [
        (AccessAction.PASSAGE, ("10", "11", "12")),
        (AccessAction.DENIED, ("4",)),
        (AccessAction.DENIED, ("999",)),
    ]
