"""How `data/e5_small_smoothing.npy` was made: run once, by hand, where the model can be run.

`python -m models.e5.calibration e5-small-q4.bin OUT.npy`. Installing only reads its result: a
power or a model run may differ in the last bit between machines, and then the built file would.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from models.e5 import graph, tokenizer, weights
from models.tokenizer import BOS, EOS, Tokenizer

Array = NDArray[np.float32]
MIGRATION = 0.7  # SmoothQuant's alpha: the share of an outlier that moves into the weights
TEXTS = (
    "passage: 年度預算須於每年十一月底前送交財務部彙整，逾期者由單位主管書面說明原因並副知稽核室。",
    "passage: 第三章 差旅 第十七條 搭乘高鐵以標準車廂為限；"
    "住宿費檢據核銷，每晚不得逾新臺幣3,200元。",
    "passage: 客服專線 0800-123-456（週一至週五 9:00–18:00），電子郵件 service@example.com。",
    "passage: 本產品含牛奶、花生與麩質，開封後請冷藏並於七日內食用完畢。保存期限標示於瓶底。",
    "passage: 如需重置门禁卡，请携带工牌到一楼服务台办理，工本费二十元，从当月工资中扣除。",
    "passage: 数据库每天凌晨两点自动备份，保留三十天；恢复演练每季度进行一次，并记录耗时与结果。",
    "passage: 会議室の予約は社内ポータルから行い、利用後は備品を元の位置に戻してください。",
    "passage: 有給休暇の申請は原則として三営業日前までに上長へ提出し、承認を得るものとします。",
    "passage: ﾊﾝｶｸ カタカナ と ひらがな が混ざった文章、①②③、㈱、™、½ も含みます。",
    "passage: Visitors must sign in at reception "
    "and wear a badge at all times while on the premises.",
    "passage: The warranty covers defects in materials for 24 months; "
    "batteries and cables are excluded.",
    "passage: SELECT name, price FROM items "
    "WHERE stock > 0 ORDER BY price DESC LIMIT 20; -- v2.1.0",
    "passage: | 品名 | 單價 | 數量 |\n| A4 影印紙 | 95 | 120 |\n| 碳粉匣 | 2,480 | 6 |",
    "passage: https://intranet.example.com/docs?id=42&lang=zh-TW#section-7 (updated 2025/03/31)",
    "passage: 🎉🎊 恭喜！👍🏽 明天見 ☀️ ——《員工旅遊須知》「集合時間」…… ※ 遲到者自行前往",
    "passage: 1. 2. 3. 4. 5. 6. 7. 8. 9. 10. a b c d e f g",
    "passage: 。",
    "query: 影印紙一包多少錢",
    "query: 出差可以坐商務車廂嗎？",
    "query: 门禁卡丢了怎么办",
    "query: 有給は何日前までに申請する？",
    "query: how long is the warranty",
    "query: 電話",
    "query: x",
)


def maxima(source: weights.Weights) -> Array:
    """Greatest |activation| per channel where a smoothed linear reads, shape (12, 2304)."""
    inputs = [name for layer in range(weights.LAYERS) for name in graph.smoothed_inputs(layer)]
    flat = np.ones((weights.LAYERS, graph.SMOOTHED), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        model, pieces = Path(folder) / "model.onnx", Path(folder) / "tokenizer.model"
        with model.open("wb") as file:
            graph.build(source, flat, also=inputs).write(file)
        with pieces.open("wb") as file:
            tokenizer.build(source.vocabulary).write(file)
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        split = Tokenizer(pieces)
        runs = [_run(session, inputs, [BOS, *split.ids(text), EOS]) for text in TEXTS]
    peaks: Array = np.max(runs, axis=0)
    return peaks


def _run(session: onnxruntime.InferenceSession, names: list[str], ids: list[int]) -> Array:
    values = session.run(names, {graph.INPUT: np.array([ids], np.int64)})
    peaks = np.concatenate([np.abs(value).max(axis=(0, 1)) for value in values])
    return peaks.reshape(weights.LAYERS, graph.SMOOTHED).astype(np.float32)


def factors(source: weights.Weights, peaks: Array) -> Array:
    """Per channel the factor >= 1 by which its activations shrink and its weights grow."""
    rows = []
    for layer in range(weights.LAYERS):
        matrices = graph.smoothed_matrices(source, layer)
        loudest = np.concatenate([np.abs(matrix).max(axis=0) for matrix in matrices])
        raw = np.maximum(peaks[layer], 1e-3) ** MIGRATION
        raw /= np.maximum(loudest, 1e-4) ** (1 - MIGRATION)
        parts = np.split(raw, np.cumsum([m.shape[1] for m in matrices])[:-1])
        rows.append(np.concatenate([np.maximum(part / np.median(part), 1) for part in parts]))
    return np.array(rows, np.float32)


if __name__ == "__main__":
    loaded = weights.load(Path(sys.argv[1]))
    np.save(sys.argv[2], factors(loaded, maxima(loaded)))
