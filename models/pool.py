"""Who gets the worker next: questions first, a second worker only while a backlog lasts."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import structlog

from models.worker_process import WorkerLost, WorkerProcess

log = structlog.get_logger()
BACKLOG = 12  # waiting passages that are worth a second worker: more are to come as a rule
SURPLUS_IDLE_S = 3.0

Start = Callable[[], Awaitable[WorkerProcess]]


class WorkerPool:
    """Lends workers; owns no task, so that a cancelled caller leaves nothing behind."""

    def __init__(self, start: Start, *, most: int, idle_s: float) -> None:
        """`most`: workers at once. `idle_s`: how long the last one stays without work."""
        self._start = start
        self._most = most
        self._idle_s = idle_s
        self._free: list[WorkerProcess] = []
        self._workers: set[WorkerProcess] = set()
        self._leaving: set[WorkerProcess] = set()
        self._starting = 0
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()
        self._timers: dict[WorkerProcess, asyncio.TimerHandle] = {}
        self._is_closed = False

    @property
    def pids(self) -> frozenset[int]:
        """Processes of the workers that are loaded now."""
        return frozenset(worker.pid for worker in self._workers)

    async def take(self, *, is_urgent: bool) -> WorkerProcess:
        """A worker for one text; give it back. Raises WorkerLost when none can be started."""
        queue = self._urgent if is_urgent else self._patient
        put = queue.append
        while not self._is_closed:
            if self._free and not (self._urgent and not is_urgent):
                return self._lend()
            if self._may_start(is_urgent=is_urgent):
                return await self._started()
            await self._turn(queue, put)
            put = queue.appendleft  # somebody was quicker: the place in the queue stays
        raise WorkerLost("closed")

    def give(self, worker: WorkerProcess, *, is_broken: bool = False) -> None:
        """Back after one text; a broken one is killed and replaced on the next need."""
        if is_broken or self._is_closed:
            self._part(worker, kill=is_broken)
        else:
            self._free.append(worker)
            self._watch(worker)
        self._wake()

    async def close(self) -> None:
        """Let all workers go and wait for their end; whoever waits gets WorkerLost."""
        self._is_closed = True
        for worker in list(self._free):
            self._part(worker)
        for worker in list(self._workers):  # still busy for somebody who will not get an answer
            self._part(worker, kill=True)
        for queue in (self._urgent, self._patient):
            while queue:
                _wake_first(queue)
        for worker in list(self._leaving):
            await worker.ended()
        self._leaving.clear()

    def _lend(self) -> WorkerProcess:
        worker = self._free.pop(0)  # the first is the lasting one; a surplus one may fall idle
        timer = self._timers.pop(worker, None)
        if timer is not None:
            timer.cancel()
        return worker

    def _may_start(self, *, is_urgent: bool) -> bool:
        count = len(self._workers) + self._starting
        if count == 0:
            return True
        is_backlog = len(self._patient) >= BACKLOG and not is_urgent
        return is_backlog and self._starting == 0 and count < self._most

    async def _started(self) -> WorkerProcess:
        is_surplus = bool(self._workers)
        self._starting += 1
        worker = None
        try:
            worker = await self._start()
        finally:
            self._starting -= 1
            if worker is None:
                self._wake()  # somebody else may try, and learns why it fails
        worker.is_surplus = is_surplus
        self._workers.add(worker)
        if self._is_closed:
            self._part(worker)
            raise WorkerLost("closed")
        log.info("embedding_worker_started", pid=worker.pid, surplus=is_surplus)
        return worker

    async def _turn(
        self,
        queue: deque[asyncio.Future[None]],
        put: Callable[[asyncio.Future[None]], None],
    ) -> None:
        turn = asyncio.get_running_loop().create_future()
        put(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._wake()  # the turn was ours already: pass it on
            raise
        finally:
            if turn in queue:
                queue.remove(turn)

    def _wake(self) -> None:
        """One turn per free worker, and one more where a worker may be started."""
        for _ in self._free:
            if not _wake_first(self._urgent):
                _wake_first(self._patient)
        if self._may_start(is_urgent=False):
            _wake_first(self._patient if self._workers else self._urgent or self._patient)

    def _watch(self, worker: WorkerProcess) -> None:
        wait_s = SURPLUS_IDLE_S if worker.is_surplus else self._idle_s
        loop = asyncio.get_running_loop()
        self._timers[worker] = loop.call_later(wait_s, self._retire, worker)

    def _retire(self, worker: WorkerProcess) -> None:
        if worker in self._free:
            log.info("embedding_worker_unloaded", pid=worker.pid, surplus=worker.is_surplus)
            self._part(worker)

    def _part(self, worker: WorkerProcess, *, kill: bool = False) -> None:
        timer = self._timers.pop(worker, None)
        if timer is not None:
            timer.cancel()
        self._workers.discard(worker)
        if worker in self._free:
            self._free.remove(worker)
        if kill:
            worker.kill()
        else:
            worker.dismiss()
        self._leaving = {other for other in self._leaving if other.is_running} | {worker}


def _wake_first(queue: deque[asyncio.Future[None]]) -> bool:
    while queue:
        turn = queue.popleft()
        if not turn.done():
            turn.set_result(None)
            return True
    return False
