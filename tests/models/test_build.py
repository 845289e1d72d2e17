"""The built files: right by the format's own checker, and the same on every processor."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from gateway.errors import ModelError
from models.catalogue import E5_SMALL
from models.e5 import weights
from models.e5.wire import Message
from models.files import MODEL_FILE

LARGEST_ACTIVATION = 255
INT16 = 2**15 - 1


@pytest.fixture(scope="module")
def built(models_dir: Path) -> onnx.ModelProto:
    return onnx.load(models_dir / E5_SMALL / MODEL_FILE)


@pytest.mark.model
def test_the_graph_is_valid_onnx(built: onnx.ModelProto) -> None:
    onnx.checker.check_model(built)
    assert {entry.domain for entry in built.opset_import} == {"", "com.microsoft"}
    names = [node.name for node in built.graph.node]
    assert len(set(names)) == len(names)


@pytest.mark.model
def test_no_two_neighbouring_products_leave_16_bits(built: onnx.ModelProto) -> None:
    """Or processors without VNNI would saturate and compute other vectors."""
    matrices = [
        numpy_helper.to_array(tensor).astype(np.int32)
        for tensor in built.graph.initializer
        if tensor.data_type == onnx.TensorProto.INT8
    ]
    assert len(matrices) == 4 * 12
    for matrix in matrices:
        first, second = matrix[0::2], matrix[1::2]
        high = np.maximum(first, 0) + np.maximum(second, 0)
        low = np.minimum(first, 0) + np.minimum(second, 0)
        assert high.max() * LARGEST_ACTIVATION <= INT16
        assert low.min() * LARGEST_ACTIVATION >= -INT16 - 1


@given(st.lists(st.integers(-128, 127), min_size=1, max_size=4), st.floats(-4, 4, width=16))
def test_the_4_bit_reader_and_the_repacking_agree(seed: list[int], scale: float) -> None:
    records = np.zeros((2, 3), weights._BLOCK_RECORD)
    records["scale"] = scale
    records["nibbles"] = np.resize(np.array(seed, np.int8).view(np.uint8), (2, 3, 16))
    matrix = weights.Quantised(records)
    packed = matrix.repacked().reshape(2, -1)
    halves = np.stack([packed & 15, packed >> 4], axis=-1).reshape(2, -1).astype(np.int32)
    signed = np.where(halves > 7, halves - 16, halves)
    np.testing.assert_array_equal(signed * np.float32(scale), matrix.values())


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_are_written_as_the_format_says(value: int) -> None:
    ours = tuple(Message().integer(3, value).pieces)
    assert b"".join(ours) == onnx.AttributeProto(i=value).SerializeToString()


@pytest.mark.parametrize("damage", [b"", b"E5S1", b"nope" + bytes(64), b"E5S1" + bytes(40)])
def test_another_file_is_refused_with_a_code(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "e5-small-q4.bin"
    path.write_bytes(damage)
    with pytest.raises(ModelError) as caught:
        weights.load(path)
    assert caught.value.code == "model_verification_failed"
