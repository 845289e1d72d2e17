"""Python's search for cycles stops everything while it lasts; here it waits until nobody does."""

import asyncio
import gc
from collections.abc import Callable

from gateway.interfaces import Clock

# A whole collection took 340 to 600 ms with the SDKs loaded; by these it comes only from us.
THRESHOLDS = (2_000, 10, 100_000)
LOOKED_EVERY_S = 15.0
LATEST_S = 600.0  # without a quiet moment
ANEW_EVERY_S = 3_600.0  # what was alive at the last time is looked at again


def begin() -> None:
    """What is loaded by now stays for good and is not looked at again."""
    gc.set_threshold(*THRESHOLDS)
    gc.collect()
    gc.freeze()


async def keep_tidy(
    is_quiet: Callable[[], bool], clock: Clock, every_s: float = LOOKED_EVERY_S
) -> None:
    """Collect in quiet moments until cancelled; each looks only at what is new since the last."""
    tidied_s = anew_s = clock.monotonic()
    while True:
        await asyncio.sleep(every_s)
        now_s = clock.monotonic()
        if not is_quiet() and now_s - tidied_s < LATEST_S:
            continue
        if is_quiet() and now_s - anew_s >= ANEW_EVERY_S:
            gc.unfreeze()
            anew_s = now_s
        gc.collect()
        gc.freeze()
        tidied_s = clock.monotonic()
