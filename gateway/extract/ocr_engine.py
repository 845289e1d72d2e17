"""Recognises the lines of a picture: the models that the optional package carries, one thread."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import rapidocr
from rapidocr.inference_engine.onnxruntime.main import ONNXRuntimeError

from gateway.extract.ocr_layout import Seen
from gateway.extract.ocr_pictures import TALL
from gateway.extract.pdf_images import MAX_SIDE, Raster

MODELS = Path(rapidocr.__file__).parent / "models"
LEAST_SCORE = 0.6  # of a line, from 0 to 1; what is less sure is left out
FOUND_AT = 1_280  # pixels of the longer side in which lines are looked for
CONTRAST = 16  # of 255, between the darkest and the brightest pixel
STRIP = 1.5  # a tall picture is read in strips so much higher than wide
SEARCHED = 0.2  # of a strip, at its end, for an empty place to cut

_SETTINGS: dict[str, object] = {
    "Global.log_level": "critical",
    "Global.text_score": LEAST_SCORE,
    "Global.max_side_len": MAX_SIDE,
    "Global.use_cls": False,  # it turns good lines upside down
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.model_path": str(MODELS / "PP-OCRv6_det_small.onnx"),  # named: never fetched
    "Rec.model_path": str(MODELS / "PP-OCRv6_rec_small.onnx"),
    "Det.limit_type": "max",
    "Det.limit_side_len": FOUND_AT,
    "Rec.rec_batch_num": 1,  # no line is padded to the length of another
}


class Engine:
    """Loads the models at once and keeps them."""

    def __init__(self) -> None:
        cv2.setNumThreads(1)
        self._engine = rapidocr.RapidOCR(params=_SETTINGS)

    def lines(self, raster: Raster) -> list[Seen]:
        """Every line that is sure enough, in no order."""
        array = np.frombuffer(raster.data, dtype=np.uint8)
        pixels = array.reshape(raster.height, raster.width, 3)[:, :, ::-1]
        if int(pixels.max()) - int(pixels.min()) < CONTRAST:
            return []  # an empty page
        try:
            return [
                seen for top, strip in _strips(pixels) for seen in _read(self._engine, strip, top)
            ]
        except (ONNXRuntimeError, cv2.error) as error:
            if re.search("alloc|insufficient memory", str(error), re.IGNORECASE):
                raise MemoryError from error
            raise


def _strips(pixels: Any) -> Iterator[tuple[int, Any]]:
    """What is much higher than wide in parts: the finding of lines would shrink it too far."""
    height, width = pixels.shape[:2]
    step = int(STRIP * width) if height > TALL * width else height
    top = 0
    while top < height:
        bottom = min(top + step, height)
        if bottom < height:
            least = bottom - int(SEARCHED * step)
            bottom = least + int(np.argmin(pixels[least:bottom].std(axis=(1, 2)))) + 1
        yield top, np.ascontiguousarray(pixels[top:bottom])
        top = bottom


def _read(engine: Any, pixels: Any, top: int) -> list[Seen]:
    found = engine(pixels)
    if found.boxes is None or found.txts is None:
        return []
    return [
        Seen(text, float(score), tuple((float(x), float(y) + top) for x, y in box))
        for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
    ]
