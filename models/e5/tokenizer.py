"""The sentencepiece model of multilingual-e5-small, with the character map it was trained with."""

import hashlib
from pathlib import Path

from gateway.errors import ModelError
from models.e5.weights import Vocabulary
from models.e5.wire import Message

# The nmt_nfkc map of sentencepiece 0.2.0 (Apache-2.0). It travels with the model because later
# releases carry another Unicode: so any installed release gives the same ids.
CHARACTER_MAP = Path(__file__).parents[1] / "data" / "nmt_nfkc.bin"
CHARACTER_MAP_SHA256 = "51d3684747b35ef99cd4802f37cc1ee0c6bec4d060814f774efb1066d3c167f2"
BOS, PAD, EOS, UNKNOWN = 0, 1, 2, 3
_UNIGRAM = 1
_NORMAL_PIECE, _UNKNOWN_PIECE, _CONTROL_PIECE = 1, 2, 3
_CONTROL = {b"<s>", b"<pad>", b"</s>", b"<mask>"}


def build(vocabulary: Vocabulary) -> Message:
    """A sentencepiece ModelProto whose piece numbers are the model's token ids.

    Control pieces are never found in a text, so "</s>" in a document stays four characters.
    """
    model = Message()
    for number, (piece, score) in enumerate(zip(vocabulary.pieces, vocabulary.scores, strict=True)):
        entry = Message().data(1, piece).real(2, float(score)).integer(3, _kind(number, piece))
        model.message(1, entry)
    trainer = Message().integer(3, _UNIGRAM).integer(4, len(vocabulary.pieces))
    for field, token in ((40, UNKNOWN), (41, BOS), (42, EOS), (43, PAD)):
        trainer.integer(field, token)
    normaliser = Message().text(1, "nmt_nfkc").data(2, _character_map())
    return model.message(2, trainer).message(3, normaliser)


def _kind(number: int, piece: bytes) -> int:
    if number == UNKNOWN:
        return _UNKNOWN_PIECE
    return _CONTROL_PIECE if piece in _CONTROL else _NORMAL_PIECE


def _character_map() -> bytes:
    data = CHARACTER_MAP.read_bytes()
    if hashlib.sha256(data).hexdigest() != CHARACTER_MAP_SHA256:
        raise ModelError("the character map is damaged", code="model_verification_failed")
    return data
