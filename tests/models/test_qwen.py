"""The language model's form: a cache of its past goes in empty, the last token's state comes out.

The stand-in has the inputs and outputs of the pinned export, and its kind of tokenizer.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tokenizers
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from gateway.interfaces import Encoder
from models.catalogue import QWEN3, HubSource, Model, get
from models.files import BPE_FILE, MODEL_FILE, Manifest, write_manifest
from models.frames import PASSAGE, QUERY
from models.recipe import Recipe
from models.session import EmbeddingSession
from models.worker_client import LocalEncoder
from tests.fakes.times import RealClock
from tests.models.records import record

HEADS, SIZE, WIDTH, DIMENSIONS = 2, 4, 8, 5
END = "<|endoftext|>"
ALPHABET = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
MERGES = [("a", "b"), (":", "a")]
VOCABULARY = [*ALPHABET, *("".join(pair) for pair in MERGES)]
TABLE = np.random.default_rng(0).normal(size=(len(VOCABULARY) + 2, WIDTH)).astype(np.float32)
INSTRUCTION = get(QWEN3).recipe.prefixes[0]


def tokenizer_file(path: Path) -> tokenizers.Tokenizer:
    """Byte-level BPE that splits as Qwen's does, and marks the end by its post-processor."""
    words = {word: number for number, word in enumerate(VOCABULARY)}
    found = tokenizers.Tokenizer(tokenizers.models.BPE(words, MERGES))
    found.normalizer = tokenizers.normalizers.NFC()
    pattern = tokenizers.Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+")
    found.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(pattern, "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    found.add_special_tokens([END, "<|im_start|>"])
    found.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, found.token_to_id(END))]
    )
    found.save(str(path))
    return found


def model_file(path: Path) -> None:
    """state(t) = (table[id] + sin position) · mask, plus the sum of a past that must be empty."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["position_ids"], ["places"], to=TensorProto.FLOAT),
        helper.make_node("Sin", ["places"], ["turned"]),
        helper.make_node("Unsqueeze", ["turned", "last"], ["place"]),
        helper.make_node("Add", ["rows", "place"], ["placed"]),
        helper.make_node("Cast", ["attention_mask"], ["masks"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["masks", "last"], ["mask"]),
        helper.make_node("Mul", ["placed", "mask"], ["masked"]),
        helper.make_node("ReduceSum", ["past_key_values.0.key"], ["before"], keepdims=0),
        helper.make_node("Add", ["masked", "before"], ["last_hidden_state"]),
        helper.make_node("Identity", ["past_key_values.0.key"], ["present.0.key"]),
        helper.make_node("Identity", ["past_key_values.0.value"], ["present.0.value"]),
    ]
    past: list[str | int | None] = ["batch_size", HEADS, "past_sequence_length", SIZE]
    value = helper.make_tensor_value_info
    inputs = [
        value(name, TensorProto.INT64, ["batch_size", "sequence_length"])
        for name in ("input_ids", "attention_mask", "position_ids")
    ] + [value(f"past_key_values.0.{k}", TensorProto.FLOAT, past) for k in ("key", "value")]
    outputs = [  # the states are not the first of them
        value("present.0.key", TensorProto.FLOAT, None),
        value("present.0.value", TensorProto.FLOAT, None),
        value("last_hidden_state", TensorProto.FLOAT, None),
    ]
    constants = [
        numpy_helper.from_array(TABLE, "table"),
        numpy_helper.from_array(np.array([-1], np.int64), "last"),
    ]
    graph = helper.make_graph(nodes, "export", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=opset), path)


RECIPE = Recipe(BPE_FILE, (INSTRUCTION, ""), "last", DIMENSIONS, window=512)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tokenizers.Tokenizer]:
    folder = tmp_path_factory.mktemp("models") / "stand-in"
    folder.mkdir()
    model_file(folder / MODEL_FILE)
    return folder, tokenizer_file(folder / BPE_FILE)


def end_of(tokenizer: tokenizers.Tokenizer) -> int:
    end = tokenizer.token_to_id(END)
    assert end is not None
    return end


def expected(ids: list[int]) -> NDArray[np.float32]:
    """By the last token's state: its first values, brought to length one."""
    state = (TABLE[ids[-1]] + np.sin(np.float32(len(ids) - 1)))[:DIMENSIONS]
    return np.asarray(state / np.linalg.norm(state), np.float32)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PASSAGE, "ab"),
        (PASSAGE, ""),
        (PASSAGE, "特別休假：到職滿半年三日。"),
        (QUERY, "ab"),
        (QUERY, "有給休暇は？"),
    ],
)
def test_the_last_state_of_the_marked_text_is_cut_and_normalised(
    stand_in: tuple[Path, tokenizers.Tokenizer], kind: int, text: str
) -> None:
    folder, tokenizer = stand_in
    whole = (INSTRUCTION if kind == QUERY else "") + text
    ids = tokenizer.encode(whole).ids  # the tokenizer's own end mark
    assert ids[-1] == tokenizer.token_to_id(END)
    vector = EmbeddingSession(folder, RECIPE).embed(kind, text)
    assert vector.shape == (DIMENSIONS,)
    np.testing.assert_allclose(vector, expected(ids), rtol=1e-5, atol=1e-6)


def test_the_instruction_and_the_question_are_one_text(
    stand_in: tuple[Path, tokenizers.Tokenizer],
) -> None:
    folder, tokenizer = stand_in
    apart = [*tokenizer.encode(INSTRUCTION).ids[:-1], *tokenizer.encode("a").ids]
    assert len(apart) > len(tokenizer.encode(INSTRUCTION + "a").ids)  # ":a" is one token
    vector = EmbeddingSession(folder, RECIPE).embed(QUERY, "a")
    assert not np.allclose(vector, expected(apart), atol=1e-4)


def test_a_mark_typed_in_a_document_is_text(
    stand_in: tuple[Path, tokenizers.Tokenizer],
) -> None:
    folder, tokenizer = stand_in
    tokenizer.encode_special_tokens = True
    ids = tokenizer.encode(f"a{END}b", add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    assert len(ids) > len("aXb")
    vector = EmbeddingSession(folder, RECIPE).embed(PASSAGE, f"a{END}b")
    np.testing.assert_allclose(vector, expected([*ids, end_of(tokenizer)]), rtol=1e-5, atol=1e-6)


def test_a_long_text_is_the_weighted_mean_of_its_windows(
    stand_in: tuple[Path, tokenizers.Tokenizer],
) -> None:
    folder, tokenizer = stand_in
    ids = tokenizer.encode("1" * 25, add_special_tokens=False).ids
    end = end_of(tokenizer)
    parts = [[*ids[:8], end], [*ids[8:16], end], [*ids[16:], end]]
    total = np.sum([expected(part) * len(part) for part in parts], axis=0)
    short = Recipe(BPE_FILE, ("", ""), "last", DIMENSIONS, window=10)
    vector = EmbeddingSession(folder, short).embed(PASSAGE, "1" * 25)
    np.testing.assert_allclose(vector, total / np.linalg.norm(total), rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------- through the worker


@pytest.fixture
async def encoder(stand_in: tuple[Path, tokenizers.Tokenizer]) -> AsyncIterator[LocalEncoder]:
    folder, _ = stand_in
    installs = {name: record((folder / name).read_bytes()) for name in (MODEL_FILE, BPE_FILE)}
    source = HubSource("hub", "stand-in @ 1", "", {}, installs)
    model = Model("stand-in", "Apache-2.0", RECIPE, (source,))
    write_manifest(folder, Manifest("stand-in", "hub", installs))
    encoder = LocalEncoder(folder.parent, model, idle_unload_s=60, clock=RealClock())
    yield encoder
    await encoder.close()


async def test_the_same_worker_serves_it(
    encoder: Encoder, stand_in: tuple[Path, tokenizers.Tokenizer]
) -> None:
    _, tokenizer = stand_in
    assert await encoder.unavailable() is None
    question = await encoder.embed_query("ab")
    (passage,) = await encoder.embed_passages(["ab"])
    np.testing.assert_allclose(
        question, expected(tokenizer.encode(INSTRUCTION + "ab").ids), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(passage, expected(tokenizer.encode("ab").ids), rtol=1e-5, atol=1e-6)


def test_the_catalogue_reads_it_as_its_makers_do() -> None:
    recipe = get(QWEN3).recipe
    assert (recipe.pooling, recipe.dimensions, recipe.tokenizer) == ("last", 512, BPE_FILE)
    assert recipe.prefixes[0].startswith("Instruct: ")
    assert recipe.prefixes[0].endswith("\nQuery:")
    assert not recipe.prefixes[1]
    assert get(QWEN3).key(get(QWEN3).source).startswith("local:qwen3-embedding-0.6b@6d0ea863f78b/")


def test_the_key_changes_with_all_that_changes_vectors() -> None:
    model = get(QWEN3)
    others: list[dict[str, Any]] = [
        {"pooling": "mean"},
        {"dimensions": 256},
        {"prefixes": ("", "")},
        {"prefixes": (INSTRUCTION + " ", "")},
        {"window": 512},
    ]
    keys = {model.key(model.source)}
    for other in others:
        values = {name: getattr(model.recipe, name) for name in model.recipe.__struct_fields__}
        changed = Model(model.name, model.licence, Recipe(**values | other), model.sources)
        keys.add(changed.key(model.source))
    assert len(keys) == 1 + len(others)
    assert json.dumps(sorted(keys)).isascii()
