"""The hub's form of the model: a mask goes in, one vector per token comes out."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.catalogue import E5_SMALL, get
from models.e5 import tokenizer
from models.e5.weights import Vocabulary
from models.files import MODEL_FILE, TOKENIZER_FILE
from models.frames import PASSAGE
from models.session import EmbeddingSession
from models.tokenizer import BOS, EOS, Tokenizer

PIECES = (b"<s>", b"<pad>", b"</s>", b"<unk>", "▁".encode(), *(b"%c" % c for c in b"abpsge:"))
TABLE = np.random.default_rng(0).normal(size=(len(PIECES), 8)).astype(np.float32)


def hub_model() -> onnx.ModelProto:
    """Looks each token up and adds the mask, so that a forgotten input would be seen."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Sub", ["attention_mask", "token_type_ids"], ["ones"]),
        helper.make_node("Cast", ["ones"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["last_hidden_state"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)
    constants = [
        numpy_helper.from_array(TABLE, "table"),
        numpy_helper.from_array(np.array([-1], np.int64), "last"),
    ]
    graph = helper.make_graph(nodes, "hub", inputs, [output], constants)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def test_token_vectors_are_averaged_and_brought_to_length_one(tmp_path: Path) -> None:
    onnx.save(hub_model(), tmp_path / MODEL_FILE)
    with (tmp_path / TOKENIZER_FILE).open("wb") as file:
        scores = -np.arange(len(PIECES), dtype=np.float32)
        tokenizer.build(Vocabulary(PIECES, scores)).write(file)
    split = Tokenizer(tmp_path / TOKENIZER_FILE)
    ids = [BOS, *split.ids("passage:"), *split.ids("ab"), EOS]
    mean = TABLE[ids].mean(axis=0)
    vector = EmbeddingSession(tmp_path, get(E5_SMALL).recipe).embed(PASSAGE, "ab")
    np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), rtol=1e-5, atol=1e-6)
