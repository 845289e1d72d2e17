"""The ONNX graph of multilingual-e5-small: int8 linears, 4-bit word table, no attention mask."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.e5.weights import BLOCK, HEADS, HIDDEN, INNER, LAYERS, POSITIONS, Weights
from models.e5.wire import Message

PRODUCER = "shutten"
CONTRIB = "com.microsoft"
OUTPUT, INPUT = "vector", "input_ids"
OPSET, CONTRIB_OPSET, IR_VERSION = 21, 1, 10
FLOAT, INT8, INT64, INT4 = 1, 3, 7, 22  # TensorProto.DataType
LEVELS = 127  # steps of an int8 weight on each side of zero
SMOOTHED = 2 * HIDDEN + INNER  # channels of a layer with a smoothing factor
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int8): INT8, np.dtype(np.int64): INT64}

Array = NDArray[np.float32]


class Graph:
    """Nodes and constants in the order they are added."""

    def __init__(self) -> None:
        self.nodes: list[Message] = []
        self.constants: dict[str, Message] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        if name not in self.constants:
            kind = _TYPES[value.dtype]
            self.tensor(name, np.ascontiguousarray(value), kind, value.shape)
        return name

    def tensor(self, name: str, value: NDArray[np.generic], kind: int, shape: Sequence[int]) -> str:
        raw = memoryview(value.reshape(-1).view(np.uint8).data)
        self.constants[name] = (
            Message().integers(1, shape).integer(2, kind).text(8, name).data(9, raw)
        )
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: str | Sequence[str],
        domain: str = "",
        **attributes: float | Sequence[int],
    ) -> str:
        """Add a node; the name of its first output."""
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        message = Message()
        for name in inputs:
            message.text(1, name)
        for name in names:
            message.text(2, name)
        message.text(3, names[0]).text(4, operator)
        for key, value in attributes.items():
            message.message(5, _attribute(key, value))
        if domain:
            message.text(7, domain)
        self.nodes.append(message)
        return names[0]

    def model(self, also: Sequence[str]) -> Message:
        graph = Message()
        for node in self.nodes:
            graph.message(1, node)
        graph.text(2, "multilingual-e5-small")
        for constant in self.constants.values():
            graph.message(5, constant)
        graph.message(11, _value(INPUT, INT64, ("batch", "tokens")))
        graph.message(12, _value(OUTPUT, FLOAT, ("batch", HIDDEN)))
        for name in also:
            graph.message(12, _value(name, FLOAT, ("batch", "tokens", "channels")))
        return (
            Message()
            .integer(1, IR_VERSION)
            .text(2, PRODUCER)
            .message(7, graph)
            .message(8, Message().text(1, "").integer(2, OPSET))
            .message(8, Message().text(1, CONTRIB).integer(2, CONTRIB_OPSET))
        )


def _attribute(name: str, value: float | Sequence[int]) -> Message:
    message = Message().text(1, name)
    if isinstance(value, float):
        return message.real(2, value).integer(20, 1)
    if isinstance(value, int):
        return message.integer(3, value).integer(20, 2)
    return message.integers(8, value).integer(20, 7)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> Message:
    dimensions = Message()
    for size in shape:
        dimension = Message()
        dimension = dimension.text(2, size) if isinstance(size, str) else dimension.integer(1, size)
        dimensions.message(1, dimension)
    tensor = Message().integer(1, kind).message(2, dimensions)
    return Message().text(1, name).message(2, Message().message(1, tensor))


def build(weights: Weights, smoothing: Array, also: Sequence[str] = ()) -> Message:
    """The whole model. `smoothing`: shape (12, 2304), per layer the factors of the channels that
    the linears of `smoothed_inputs` read. `also` are inner values to be outputs too.
    """
    graph = Graph()
    x = _embeddings(graph, weights)
    for layer in range(LAYERS):
        x = _layer(graph, weights, x, layer, smoothing[layer])
    mean = graph.node("ReduceMean", [x, graph.constant("axis_1", _ints(1))], "mean", keepdims=0)
    norm = graph.node("ReduceL2", [mean, graph.constant("axis_last", _ints(-1))], "norm")
    floor = graph.constant("tiny", np.array(1e-12, np.float32))
    graph.node("Div", [mean, graph.node("Max", [norm, floor], "norm_safe")], OUTPUT)
    return graph.model(also)


def smoothed_inputs(layer: int) -> tuple[str, str, str]:
    """What the query-key-value, the first and the second inner linear of a layer read."""
    first = "embedded" if layer == 0 else f"l{layer - 1}.out"
    return first, f"l{layer}.attended", f"l{layer}.gelu"


def smoothed_matrices(weights: Weights, layer: int) -> tuple[Array, Array, Array]:
    """Their weights, each of shape (out, in)."""
    p, quantised = f"l{layer}", weights.quantised
    qkv = np.concatenate([quantised[f"{p}.{name}.w"].values() for name in "qkv"])
    return qkv, quantised[f"{p}.fi.w"].values(), quantised[f"{p}.fo.w"].values()


def _ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def _embeddings(graph: Graph, weights: Weights) -> str:
    table = weights.quantised["emb.word"]
    words = graph.tensor("words", table.repacked(), INT4, table.shape)
    scales = graph.constant("word_scales", table.scales())
    word = graph.node(
        "GatherBlockQuantized",
        [words, INPUT, scales],
        "word",
        CONTRIB,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
    )
    first_type = weights.plain["emb.type"].reshape(-1, HIDDEN)[0]
    places = weights.plain["emb.pos"].reshape(POSITIONS, HIDDEN) + first_type
    count = graph.node("Shape", [INPUT], "count", start=1, end=2)
    start, axis = graph.constant("zero", _ints(0)), graph.constant("axis_0", _ints(0))
    place = graph.node("Slice", [graph.constant("places", places), start, count, axis], "place")
    total = graph.node("Add", [word, place], "word_at_place")
    return _layer_norm(graph, weights, total, "emb.ln", "embedded")


def _layer_norm(graph: Graph, weights: Weights, x: str, name: str, output: str) -> str:
    scale = graph.constant(f"{name}.w", weights.plain[f"{name}.w"])
    bias = graph.constant(f"{name}.b", weights.plain[f"{name}.b"])
    epsilon = float(weights.epsilon)
    return graph.node("LayerNormalization", [x, scale, bias], output, axis=-1, epsilon=epsilon)


def _layer(graph: Graph, weights: Weights, x: str, layer: int, smoothing: Array) -> str:
    p, plain = f"l{layer}", weights.plain
    qkv, inner, outer = smoothed_matrices(weights, layer)
    mixing = weights.quantised[f"{p}.ao.w"].values()
    at_qkv, at_inner, at_outer = np.split(smoothing, [HIDDEN, 2 * HIDDEN])

    def linear(x: str, matrix: Array, name: str, factors: Array | None = None) -> str:
        return _linear(graph, x, matrix.T, biases[name], f"{p}.{name}", factors)

    def residual(x: str, y: str, norm: str, output: str) -> str:
        total = graph.node("Add", [x, y], f"{output}.sum")
        return _layer_norm(graph, weights, total, f"{p}.{norm}", output)

    biases = {name: plain[f"{p}.{name}.b"] for name in ("ao", "fi", "fo")}
    biases["qkv"] = np.concatenate([plain[f"{p}.{name}.b"] for name in "qkv"])
    context = _attention(graph, linear(x, qkv, "qkv", at_qkv), p)
    _, attended, gelu = smoothed_inputs(layer)
    x = residual(x, linear(context, mixing, "ao"), "aln", attended)
    y = graph.node("FastGelu", [linear(x, inner, "fi", at_inner)], gelu, CONTRIB)
    return residual(x, linear(y, outer, "fo", at_outer), "oln", smoothed_inputs(layer + 1)[0])


def _attention(graph: Graph, qkv: str, p: str) -> str:
    """No mask: one text at a time has no padding, and without a mask the fast path is taken."""
    parts = [f"{p}.query", f"{p}.key", f"{p}.value"]
    graph.node("Split", [qkv], parts, axis=2, num_outputs=3)
    return graph.node("MultiHeadAttention", parts, f"{p}.context", CONTRIB, num_heads=HEADS)


def _linear(
    graph: Graph, x: str, matrix: Array, bias: Array, name: str, factors: Array | None
) -> str:
    """Multiply x by the matrix (in, out), plus bias; the weights int8 per output channel.

    The activations are quantised per tensor when the model runs, so one loud channel would cost
    all others their precision: `factors` quieten the loud ones and raise their weights instead.
    """
    if factors is not None:
        matrix = matrix * factors[:, None]
        x = graph.node("Mul", [x, graph.constant(f"{name}.quiet", 1 / factors)], f"{name}.x")
    scale = _step(matrix)
    constants = {
        "weights": np.rint(matrix / scale).astype(np.int8),
        "scales": scale,
        "bias": bias,
    }
    weights, scales, biases = (graph.constant(f"{name}.{k}", v) for k, v in constants.items())
    inputs = [x, weights, scales, "", biases]
    return graph.node("DynamicQuantizeMatMul", inputs, f"{name}.y", CONTRIB)


def _step(matrix: Array) -> Array:
    """Per output channel the weight of one step of the integers.

    Processors without VNNI add two neighbouring products (step x 0..255) in 16 bits, so two
    neighbours of one sign may together reach 128 steps and no more: then nothing saturates and
    every processor computes the same integers.
    """
    pairs = np.abs(matrix[0::2] + matrix[1::2])  # opposite signs: less than the greater alone
    reach = np.maximum(np.abs(matrix).max(axis=0), pairs.max(axis=0))
    step: Array = np.maximum(reach, np.float32(1e-12)) / np.float32(LEVELS)
    return step
