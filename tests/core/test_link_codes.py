"""The form of link codes, what people may type for them, and how many guesses are let through."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.link_codes import (
    ALPHABET,
    CODE_CHARS,
    MOST_OPEN,
    OF_ALL,
    OF_ONE,
    Guesses,
    code_of,
    normalise,
    sha256_of,
    shown,
    shown_name,
    surplus,
    tail,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
entropy = st.integers(min_value=0, max_value=2**50 - 1)
WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in ALPHABET + "abcdefghijklmnopqrstuvwxyz-"}
noise = st.sampled_from(["", " ", "-", "–", "—", "−", "ー", "\u3000", "\u200b", "_", "」"])


def is_code(text: str) -> bool:
    return len(text) == CODE_CHARS and set(text) <= set(ALPHABET)


def test_a_code_holds_at_least_forty_bits() -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == 32
    assert CODE_CHARS * 5 >= 40


@given(entropy, entropy)
def test_each_number_has_its_own_code(one: int, other: int) -> None:
    assert is_code(code_of(one))
    assert (code_of(one) == code_of(other)) == (one == other)


@given(entropy, st.lists(noise, min_size=CODE_CHARS, max_size=CODE_CHARS), st.booleans())
def test_what_people_make_of_a_code_is_still_that_code(
    number: int, between: list[str], is_wide: bool
) -> None:
    code = code_of(number)
    typed = "".join(a + b for a, b in zip(code.lower(), between, strict=True))
    typed = typed.replace("0", "o").replace("1", "l")
    assert normalise(typed.translate(WIDE) if is_wide else typed) == code
    assert normalise(shown(code).replace("1", "I").replace("0", "O")) == code


@given(st.text(max_size=40))
def test_any_text_can_be_normalised_and_that_is_stable(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once or not is_code(once)


@given(st.lists(st.integers(0, 90_000), max_size=40))
def test_no_guess_is_let_through_after_five_until_the_hour_is_over(pauses: list[int]) -> None:
    now, guesses, wrong_at = NOW, Guesses(NOW), list[datetime]()
    for pause in pauses:
        now += timedelta(seconds=pause)
        if guesses.is_locked(now):
            continue
        guesses = guesses.and_wrong(now, OF_ONE)
        wrong_at.append(now)
    for at, fifth in zip(wrong_at, wrong_at[OF_ONE.most :], strict=False):
        assert fifth - at >= OF_ONE.locked_for


def test_the_fifth_locks_for_an_hour_and_then_counting_begins_anew() -> None:
    guesses = Guesses(NOW)
    for n in range(5):
        assert not guesses.is_locked(NOW)
        guesses = guesses.and_wrong(NOW, OF_ONE)
        assert guesses.count == n + 1
    assert guesses.is_locked(NOW + timedelta(minutes=59))
    later = NOW + timedelta(hours=1)
    assert not guesses.is_locked(later)
    assert guesses.and_wrong(later, OF_ONE) == Guesses(later, 1)


def test_all_together_have_a_hundred_a_minute() -> None:
    guesses = Guesses(NOW)
    for _ in range(99):
        guesses = guesses.and_wrong(NOW + timedelta(seconds=59), OF_ALL)
    assert guesses.and_wrong(NOW + timedelta(seconds=60), OF_ALL).count == 1
    assert guesses.and_wrong(NOW + timedelta(seconds=59), OF_ALL).is_locked(
        NOW + timedelta(seconds=60)
    )


@given(st.lists(st.integers(0, 99), max_size=8))
def test_the_newest_codes_stay(ages: list[int]) -> None:
    codes = [(str(n), NOW - timedelta(seconds=age)) for n, age in enumerate(ages)]
    gone = surplus(codes)
    kept = [at for key, at in codes if key not in gone]
    assert len(kept) == min(len(codes), MOST_OPEN - 1)
    assert all(at <= min(kept, default=NOW) for key, at in codes if key in gone)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, ""),
        ("  小林 \n 太郎 ", "小林 太郎"),
        ("a\u202eb\u200b\x07c", "abc"),
        ("x" * 500, "x" * 60),
    ],
)
def test_a_senders_name_is_one_short_visible_line(name: str | None, expected: str) -> None:
    assert shown_name(name) == expected


def test_the_tail_never_holds_more_than_the_end_of_an_id() -> None:
    assert tail("U" + "1" * 26 + "abcdef") == "abcdef"
    assert tail("42") == "42"


def test_what_is_kept_of_a_secret_fits_any_text() -> None:
    assert len({sha256_of(text) for text in ("ABCDE12345", "ABCDE12346", "\ud83d", "")}) == 4
