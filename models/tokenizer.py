"""Text to windows of token ids, for the XLM-R vocabulary of multilingual-e5-small."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import sentencepiece

MAX_TOKENS = 512  # positions the model has, the two marks at the ends included
BOS, EOS, UNKNOWN = 0, 2, 3
JOINER = "\u200d"  # the model was trained with it read as a blank; the character map keeps it


class Tokenizer:
    """Splits what does not fit into windows of even length, each with the prefix."""

    def __init__(self, path: Path) -> None:
        """Raises OSError or RuntimeError when the file cannot be read."""
        self._processor = sentencepiece.SentencePieceProcessor()
        self._processor.Load(str(path))
        # The XLM-R release numbers its pieces without <pad>; the model's ids are one higher.
        self._shift = 0 if self._processor.unk_id() == UNKNOWN else 1

    def ids(self, text: str) -> list[int]:
        """Token ids of the text alone, without marks."""
        ids: list[int] = self._processor.EncodeAsIds(text.replace(JOINER, " "))
        if not self._shift:
            return ids
        unknown = self._processor.unk_id()
        return [UNKNOWN if piece == unknown else piece + self._shift for piece in ids]

    def windows(self, prefix: str, text: str) -> list[list[int]]:
        """At least one window; together they hold every token of the text."""
        head = [BOS, *self.ids(prefix)]
        room = MAX_TOKENS - len(head) - 1
        return [[*head, *part, EOS] for part in cut(self.ids(text), room)]


def cut(ids: Sequence[int], room: int) -> list[Sequence[int]]:
    """Parts of even length, each at most `room`; one empty part of an empty text."""
    count = max(1, -(-len(ids) // room))
    cuts = [len(ids) * i // count for i in range(count + 1)]
    return [ids[start:end] for start, end in pairwise(cuts)]
