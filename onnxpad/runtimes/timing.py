"""Measures how fast two models run, and how sure the ratio of their times is.

Rounds alternate the models, and each round opens each of them anew: at no time are two sessions
open, and what differs from one start to the next (places in memory, a clock that sinks, other
programs) is part of the spread that is reported. In every second round the rewritten model is
first. A round gives one ratio of two medians, and the interval comes from the order of these
ratios, which assumes nothing about their distribution.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from onnxpad.arguments import Progress
from onnxpad.records import dataclass
from onnxpad.runtimes.runtime import EngineError
from onnxpad.runtimes.sessions import Array, Source, open_session

_ROUNDS: Final = 10
"""Rounds at least; the interval then is that from the second least ratio to the second greatest."""
_MOST_ROUNDS: Final = 60
_SECONDS: Final = 8.0
"""After this time no round is added to the least number."""
_BLOCK: Final = 0.15
"""Seconds for which a model runs in a round after its warm-up, at least once."""
_WARM_UP: Final = 0.1
"""Seconds of the warm-up, at least two runs: a runtime plans its memory in the first."""
_SURE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast both models run on one provider, fully optimised.

    Attributes:
        provider: The execution provider.
        seconds: Median of the original and of the rewritten model; NaN if they were not timed.
        runs: How many runs of each were timed, after warm-ups.
        rounds: How many times each model was opened for that, in turn.
        ratio: The rewritten model's time by the original's, the median of all rounds.
        low: The lower end of the interval that holds it with a confidence of 95 %.
        high: The upper end.
        note: Why they were not timed, in one line; else empty.
    """

    provider: str
    seconds: tuple[float, float] = (math.nan, math.nan)
    runs: tuple[int, int] = (0, 0)
    rounds: int = 0
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether one model is faster: the interval, to two decimals, does not contain 1."""
        return round(self.low, 2) > 1 or round(self.high, 2) < 1


def timed(
    sources: Sequence[Source],
    feeds: Sequence[Mapping[str, Array]],
    provider: str,
    *,
    folder: Path | None = None,
    progress: Progress = lambda *_: None,
) -> Timing:
    """Times two models, fully optimised, with the runtime's own settings and number of threads.

    Args:
        sources: The original and the rewritten model.
        feeds: The same inputs under the names of each model.
        provider: The execution provider.
        folder: Folder of the external data of serialized bytes or models.
        progress: Called with (step, blocks done, blocks planned).
    """
    blocks: list[list[list[float]]] = [[], []]
    end = time.monotonic() + _SECONDS
    rounds = 0
    try:
        while rounds < _ROUNDS or (rounds < _MOST_ROUNDS and time.monotonic() < end):
            for which in (0, 1) if rounds % 2 == 0 else (1, 0):
                done = len(blocks[0]) + len(blocks[1])
                progress("measuring time", done, max(done + 1, 2 * _ROUNDS))
                with open_session(
                    sources[which],
                    provider=provider,
                    optimisation="full",
                    folder=folder,
                    deployed=True,
                ) as session:
                    blocks[which].append(session.times(feeds[which], _WARM_UP, _BLOCK))
            rounds += 1
    except EngineError as error:
        return Timing(provider, note=f"not timed: {error}")
    return evaluated(provider, *blocks)


def evaluated(
    provider: str, before: Sequence[Sequence[float]], after: Sequence[Sequence[float]]
) -> Timing:
    """The figures of the seconds of two models, round by round."""
    one, other = (list(map(statistics.median, blocks)) for blocks in (before, after))
    ratios = sorted(theirs / ours for ours, theirs in zip(one, other, strict=True))
    skipped = _skipped(len(ratios))
    return Timing(
        provider,
        seconds=(statistics.median(one), statistics.median(other)),
        runs=(sum(map(len, before)), sum(map(len, after))),
        rounds=len(ratios),
        ratio=statistics.median(ratios),
        low=ratios[skipped],
        high=ratios[-1 - skipped],
    )


def _skipped(count: int) -> int:
    """How many values to leave out at each end, so that the others enclose the median.

    The median is below the value of rank k (counted from 0) only if at most k of the values are
    below the median. Each of them is with a probability of 1/2. The sum of both ends may be 5 %.

    >>> [_skipped(count) for count in (6, 10, 20, 60)]
    [0, 1, 5, 21]
    """
    outside, skipped = 0.0, -1
    while outside <= (1 - _SURE) / 2:
        skipped += 1
        outside += math.comb(count, skipped) / 2**count
    return max(0, skipped - 1)
