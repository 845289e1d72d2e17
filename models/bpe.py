"""Text to windows of token ids by a byte-level BPE `tokenizer.json`, for Qwen3."""

from pathlib import Path

import tokenizers

from models.tokenizer import cut

END = "<|endoftext|>"  # its vector is the text's: the model is read at the last token


class BpeTokenizer:
    """A prefix and its text are one text: the first word's token depends on what is before it."""

    def __init__(self, path: Path, window: int) -> None:
        """ValueError when the file lacks the mark that ends a text."""
        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # a mark typed in a document is its text
        end = self._tokenizer.token_to_id(END)
        if end is None:
            raise ValueError(f"no {END} in the vocabulary")
        self._end: int = end
        self._window = window

    def ids(self, text: str) -> list[int]:
        """Token ids of the text alone, without marks."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def windows(self, prefix: str, text: str) -> list[list[int]]:
        """At least one window; together they hold every token of the text."""
        whole = self.ids(prefix + text)
        if len(whole) < self._window:
            return [[*whole, self._end]]
        head = self.ids(prefix)
        room = self._window - len(head) - 1
        return [[*head, *part, self._end] for part in cut(self.ids(text), room)]
