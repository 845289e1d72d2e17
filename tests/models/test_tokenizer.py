"""Token ids: as the model was trained, whatever sentencepiece is installed or text is typed."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.catalogue import E5_SMALL
from models.e5 import tokenizer as tokenizer_file
from models.e5.weights import Vocabulary
from models.e5.wire import Message
from models.files import TOKENIZER_FILE
from models.tokenizer import BOS, EOS, MAX_TOKENS, Tokenizer

pytestmark = pytest.mark.model

SPECIAL = {0, 1, 2, 250001}  # <s>, <pad>, </s>, <mask>
KNOWN = {  # equal to the ids of the model's published tokenizer.json
    "": [],
    "特休有幾天？": [6, 2657, 22228, 465, 126639, 32],
    "請假的規定\n": [6, 5520, 14654, 43, 33029],
    "网络安全管理办法": [6, 207301, 183895],
    "有給休暇は何日ありますか": [
        *(6, 465, 5862, 22228, 108652, 128154),
        *(635, 32985, 1894),
    ],
    "How many days of leave?": [11249, 5941, 13312, 111, 31358, 32],
    "ﾊﾝｶｸ㈱½ ＡＢＣ　全形": [
        *(6, 158676, 10045, 4758, 132, 77698),
        *(16, 92759, 47457, 6, 2476, 9378),
    ],
    "A\u200dB 👨\u200d👩\u200d👧": [62, 335, 6, 244314, 6, 244785, 6, 245719],
    "𠮷野家": [6, 3, 10344, 1433],
    "</s>": [6, 42946, 7, 2740],
}


@pytest.fixture(scope="module")
def tokenizer(models_dir: Path) -> Tokenizer:
    return Tokenizer(models_dir / E5_SMALL / TOKENIZER_FILE)


@pytest.mark.parametrize("text", KNOWN)
def test_known_ids(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.ids(text) == KNOWN[text]


def test_no_text_becomes_a_control_token(tokenizer: Tokenizer) -> None:
    @settings(max_examples=100, deadline=None)
    @given(st.text(st.characters(codec="utf-8"), max_size=40))
    def holds(text: str) -> None:
        assert not SPECIAL & set(tokenizer.ids(f"<s>{text}</s><pad><mask>"))

    holds()


@pytest.mark.parametrize("repeats", [1, 80, 300, 2000])
def test_windows_hold_every_token_once_and_none_is_too_long(
    tokenizer: Tokenizer, repeats: int
) -> None:
    text = "勞工每七日中應有二日之休息，其中一日為例假。" * repeats
    windows = tokenizer.windows("passage:", text)
    head = [BOS, *tokenizer.ids("passage:")]
    assert all(len(window) <= MAX_TOKENS for window in windows)
    assert all(window[: len(head)] == head and window[-1] == EOS for window in windows)
    inner = chain.from_iterable(window[len(head) : -1] for window in windows)
    assert list(inner) == tokenizer.ids(text)
    lengths = [len(window) for window in windows]
    assert max(lengths) - min(lengths) <= 1


def test_the_hub_numbering_gives_the_same_ids(tmp_path: Path) -> None:
    """The hub's file knows no <pad> and starts with <unk>: every id is one lower there."""
    pieces = (b"<s>", b"<pad>", b"</s>", b"<unk>", "▁".encode(), b"a", b"b", b"ab", b"<mask>")
    scores = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -3.5, -4.0, 0.0]
    ours, hub = tmp_path / "ours.model", tmp_path / "hub.model"
    vocabulary = Vocabulary(pieces, np.array(scores, np.float32))
    _write(tokenizer_file.build(vocabulary), ours)
    model = Message()
    for piece, score, kind in ((b"<unk>", 0.0, 2), (b"<s>", 0.0, 3), (b"</s>", 0.0, 3)):
        model.message(1, Message().data(1, piece).real(2, score).integer(3, kind))
    for piece, score in zip(pieces[4:8], scores[4:8], strict=True):
        model.message(1, Message().data(1, piece).real(2, score).integer(3, 1))
    trainer = Message().integer(3, 1).integer(40, 0).integer(41, 1).integer(42, 2)
    _write(model.message(2, trainer).message(3, Message().text(1, "identity")), hub)
    for text in ("ab ba", "abz", "z", "", "a  b"):
        assert Tokenizer(hub).ids(text) == Tokenizer(ours).ids(text)


def _write(message: Message, path: Path) -> None:
    with path.open("wb") as file:
        message.write(file)
