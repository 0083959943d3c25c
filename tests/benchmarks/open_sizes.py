"""What `--dynamic auto-pad` gains at run time: `python -m tests.benchmarks.open_sizes`.

Runs the timm-style networks of models/ as they were exported, and with their computed Pads made
SAME_UPPER, on onnxruntime's CPU provider, one thread, fully optimised, in turns; prints the best
time of each and the ratio.
"""

import time

import numpy as np
import onnxruntime

import onnxpad
from tests.support import EXPORTED, session

SIZES = (64, 224, 513)
TURNS, RUNS = 7, 5


def seconds(model: onnxruntime.InferenceSession, feeds: dict[str, np.ndarray]) -> float:
    """The best mean time of a run."""
    start = time.perf_counter()
    for _ in range(RUNS):
        model.run(None, feeds)
    return (time.perf_counter() - start) / RUNS


def main() -> None:
    """Prints a table."""
    print("| model | size | as exported, ms | auto-pad, ms | times as fast |")
    print("| --- | --- | --- | --- | --- |")
    for path in EXPORTED:
        if not path.stem.startswith("timm_same"):
            continue
        fixed = onnxpad.fix(path, dynamic="auto-pad", validate=False)
        before, after = session(path, "full"), session(fixed.model, "full")
        (name,) = (value.name for value in before.get_inputs())
        channels = before.get_inputs()[0].shape[1]
        for size in SIZES:
            random = np.random.default_rng(0)
            data = random.standard_normal((1, channels, size, size)).astype(np.float32)
            times = [
                (seconds(before, {name: data}), seconds(after, {name: data})) for _ in range(TURNS)
            ]
            first, second = (min(each) * 1e3 for each in zip(*times, strict=True))
            print(f"| {path.stem} | {size} | {first:.2f} | {second:.2f} | {first / second:.2f} |")


if __name__ == "__main__":
    main()
