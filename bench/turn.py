"""The gateway's own time in a turn, beside the bare call of the language model.

    .venv/bin/python -m bench.turn [--passages 10000] [--questions 60] [--models DIR]

A temporary home holds the passages in 20 collections (made-up text whose words follow Zipf's law,
random vectors, three a passage), all readable, the index merged as the gateway does it after
growth. Each question goes the whole way twice in turn: the model call alone, and inbox, turn and
outbox around the same model, which answers at once with [1]. Prints p50 and p95 of the difference,
and beside it what embedding the question takes.
"""

import argparse
import asyncio
import json
import logging
import random
import statistics
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import structlog

from gateway import home as homes
from gateway.app import App, open_app
from gateway.core.access import (
    Account,
    AccountRole,
    Agent,
    Collection,
    Grant,
    Role,
    Sensitivity,
    SubjectKind,
)
from gateway.core.agents import AgentSettings
from gateway.core.chat import ChatMessage, Draft, Speaker, Tool
from gateway.core.documents import Chunk, NewRevision, Source, SourceKind, SourceState
from gateway.core.matching import match_text
from gateway.core.messages import InboundMessage, web_chat
from gateway.core.passages import Locator
from gateway.interfaces import OnDelta, PassageVectors
from models.install import install
from models.worker_client import LocalEncoder
from tests.fakes.channels import FakeChannel

COLLECTIONS = 20
PIECES = 3
A_SOURCE = 100
OWNER = Account("owner", "owner", "Owner", AccountRole.MEMBER)
WORDS = """
公司 員工 特別休假 請假 申請 主管 核准 部門 出差 費用 報支 單據 系統 帳號 密碼 更換 通報 訂單 出貨
運費 退貨 保固 產品 規格 價格 折扣 客戶 合約 付款 期限 發票 倉庫 盤點 會議 紀錄 訓練 考核 獎金
加班 補休 保險 退休 健康 檢查 安全 資訊 設備 維修 供應 採購 預算 專案 進度
""".split()
OTHERS = 6_000  # further words, made of random characters, so that terms are as rare as in prose
COMMONEST = 100  # words of grammar, which no question is about, come before all others
_MADE = random.Random(11)
_REST = [
    "".join(chr(_MADE.randrange(0x4E00, 0x6E00)) for _ in "ab") for _ in range(OTHERS - COMMONEST)
] + WORDS
_MADE.shuffle(_REST)
VOCABULARY = [*(chr(0x4E00 + n) + chr(0x5E00 + n) for n in range(COMMONEST)), *_REST]
WEIGHTS = [1 / (rank + 10) for rank in range(len(VOCABULARY))]  # Zipf's law
QUESTIONS = (
    "員工特別休假要提早多久申請？",
    "出差費用的單據要交給哪個部門？",
    "產品保固期限多長，退貨運費誰付？",
    "帳號密碼多久更換一次？",
)


class InstantModel:
    """Cites the first passage at once."""

    async def complete(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], on_delta: OnDelta
    ) -> Draft:
        await on_delta("依規定辦理。[1]")
        return Draft("依規定辦理。[1]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--models", type=Path, default=Path(".demo/home/models/embedding"))
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(options, Path(folder))), indent=2))


async def measure(options: argparse.Namespace, home: Path) -> dict[str, float]:
    homes.make(home)
    (home / "config.toml").touch()
    install("multilingual-e5-small", home / "models" / "embedding", from_dir=options.models)
    async with open_app(home) as app:
        await fill(app, options.passages)
        object.__setattr__(app.turns, "models", _Only(InstantModel()))
        return await _measure(app, options.questions)


class _Only:
    """Whatever model an agent names, it is this one."""

    def __init__(self, model: InstantModel) -> None:
        self._model = model

    def find(self, _model: str, *_fallbacks: str) -> InstantModel:
        return self._model


async def fill(app: App, passages: int) -> None:
    """Accounts, an agent, collections, passages and vectors, straight into the store."""
    store, rng, noise = app.store, random.Random(7), np.random.default_rng(7)
    await store.accounts.put(OWNER)
    await store.agents.put(Agent("bench", "Bench"))
    await app.turns.agents.create(AgentSettings("bench", "Bench"))
    key = app.shelves.encoder.model_key
    for number in range(COLLECTIONS):
        draft = Collection(f"c{number}", 0, f"c{number}", f"C{number}", Sensitivity.INTERNAL)
        collection = await store.collections.create(draft, OWNER.id)
        grants = [
            *await store.grants.of_collection(collection.id),
            Grant(collection.id, SubjectKind.AGENT, "bench", Role.VIEWER),
        ]
        await store.grants.replace(collection.id, grants, version=collection.version)
        for part in range(0, passages // COLLECTIONS, A_SOURCE):
            await _source(app, f"{collection.id}-{part}", collection.id, rng)
        while batch := await store.vectors.without_vectors(key, None, 500):
            rows = []
            for passage in batch:
                vectors = noise.standard_normal((PIECES, 384)).astype(np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                rows.append(PassageVectors(passage.id, passage.collection_id, "zh", vectors))
            await store.vectors.put(key, rows)
    await store.maintenance.optimize()


async def _source(app: App, name: str, collection_id: str, rng: random.Random) -> None:
    now = app.clock.now()
    source = Source(name, collection_id, name, SourceKind.PASTE, name, 1, SourceState.QUEUED, now)
    await app.store.sources.add(source)
    texts = ["，".join(rng.choices(VOCABULARY, WEIGHTS, k=160)) for _ in range(A_SOURCE)]
    chunks = tuple(
        Chunk(n, text, match_text(text), Locator(page=n + 1)) for n, text in enumerate(texts)
    )
    await app.store.passages.replace(NewRevision(f"{name}-r", name, chunks))


async def _measure(app: App, questions: int) -> dict[str, float]:
    channel, model = FakeChannel(account_name="web"), InstantModel()
    assert isinstance(app.channels, dict)
    app.channels["webchat", "web"] = channel
    turns, bare, embeds = [], [], []
    for number in range(questions + 5):
        text = f"{QUESTIONS[number % len(QUESTIONS)]}（{number}）"
        began = app.clock.monotonic()
        await _turn(app, channel, number, text)
        turns.append((app.clock.monotonic() - began) * 1000)
        began = app.clock.monotonic()
        await model.complete([ChatMessage(Speaker.USER, text)], (), _nothing)
        bare.append((app.clock.monotonic() - began) * 1000)
        began = app.clock.monotonic()
        assert isinstance(app.shelves.encoder, LocalEncoder)
        await app.shelves.encoder.embed_query(text + " ")  # not the one the turn just cached
        embeds.append((app.clock.monotonic() - began) * 1000)
    own = [turn - call for turn, call in zip(turns, bare, strict=True)][5:]
    return {
        "questions": len(own),
        "own_ms_p50": round(statistics.median(own), 2),
        "own_ms_p95": round(statistics.quantiles(own, n=20)[-1], 2),
        "embedding_ms_p50": round(statistics.median(embeds[5:]), 2),
        "model_call_ms_p50": round(statistics.median(bare[5:]), 4),
    }


async def _nothing(_text: str) -> None:
    return None


async def _turn(app: App, channel: FakeChannel, number: int, text: str) -> None:
    """What a message goes through from the inbox to the written outbox row."""
    now = app.clock.now()
    message = InboundMessage(
        web_chat(OWNER.id, f"c{number}"),
        f"d{number}",
        f"m{number}",
        text,
        now,
        account_id=OWNER.id,
        agent_id="bench",
    )
    await app.store.inbox.put([(f"turn-{number:06}", message)], 20)
    claimed = await app.store.inbox.claim("bench", now + timedelta(minutes=5), now, 1)
    await app.turns.run(claimed[0], channel)


if __name__ == "__main__":
    main()
