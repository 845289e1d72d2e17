"""How a model is fed and read: all that must be known to make the same vectors again."""

import hashlib

import msgspec

WHOLE_WINDOW = 512  # all positions that multilingual-e5-small has
LABEL_CHARS = 16  # longer prefixes are named by their hash


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Told to the worker beside the model's folder; every value changes the vectors."""

    tokenizer: str  # file of the folder: tokenizer.model (sentencepiece) or tokenizer.json (BPE)
    prefixes: tuple[str, str]  # of questions, of passages
    pooling: str  # "mean" or "last" of the tokens' vectors
    dimensions: int  # the first so many that the model gives, brought to length 1 again
    window: int  # tokens of one run, marks included; longer texts are averaged over windows

    @property
    def label(self) -> str:
        """What of it a model key has to tell; that of a model read whole stays as it always was."""
        prefixes = ",".join(_named(prefix) for prefix in self.prefixes)
        if self.pooling == "mean" and self.window == WHOLE_WINDOW:
            return f"mean/{prefixes}"
        return f"{self.pooling}-{self.dimensions}-{self.window}/{prefixes}"


def _named(prefix: str) -> str:
    plain = prefix.strip(": ")
    if len(plain) <= LABEL_CHARS:
        return plain
    return hashlib.sha256(prefix.encode()).hexdigest()[:8]
