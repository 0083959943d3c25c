"""What became of the models that were run on runtimes, counted."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from onnxpad.targets.known_targets import File, every, known, load, text_of
from onnxpad.targets.target import Run
from onnxpad.targets.toml_file import parsed

UNNAMED: Final = 3
"""Models of two forms that were right everywhere, so that no table says what they were."""

COUNTS: Final = {
    "onnxruntime-cpu": (245, 242, 2, 1),
    "onnxruntime-web-wasm": (245, 241, 3, 1),
    "onnxruntime-webgpu": (245, 230, 6, 2),
    "onnxruntime-web-jsep": (245, 194, 15, 24),
    "qnn": (245, 197, 11, 19),
    "openvino": (245, 241, 3, 3),
    "opencv@5": (245, 211, 7, 28),
    "opencv-classic@5": (245, 203, 15, 31),
    "opencv@4": (245, 195, 17, 30),
    "tract": (245, 233, 7, 2),
    "mnn": (245, 219, 9, 18),
    "ncnn-pnnx": (237, 157, 28, 18),
    "tvm": (245, 232, 6, 3),
    "iree": (245, 228, 6, 2),
    "tinygrad": (245, 237, 4, 3),
    "emx-onnx-cgen": (117, 110, 3, 0),
    "onnx2torch": (245, 180, 20, 2),
    "onnx2tf@2": (245, 224, 11, 6),
    "onnx2tf@1": (146, 121, 10, 7),
    "x2paddle": (245, 175, 22, 43),
    "rknn": (245, 184, 14, 7),
    "rknn, typed": (127, 121, 5, 2),
    "wonnx": (245, 72, 32, 19),
}
"""Models that were run and that were right, groups of failures alike, and models that were wrong,
as they were counted where they were run."""

PARTLY: Final = {"emx-onnx-cgen": 17, "onnx2tf@1": 8, "rknn, typed": 1}
"""Where some models were left out, those that were run and that are not known to have been.

Left out were most styles of forms that were right as given, and models without a `Pad`.
"""


def runs_of(name: str) -> tuple[list[Run], int]:
    """The models of a configuration, and the groups of those that failed."""
    name, _, typed = name.partition(", ")
    runs = [run for run in load(name).runs if bool(typed) is (run.raw is False)]
    base = next(base for base in (name.partition("@")[0], "opencv") if base in _BASES)
    version = runs[0].version
    (table,) = (
        table
        for table in parsed(Path(base), text_of(base), File).measured
        if (table.title, table.version) == (runs[0].source, version)
    )
    return runs, len(table.differs or ())


_BASES: Final = {name.removesuffix("-classic") for name in known()}


@pytest.mark.parametrize("name", COUNTS)
def test_every_model_that_was_run_is_carried_over(name: str) -> None:
    ran, right, groups, wrong = COUNTS[name]
    runs, found = runs_of(name)
    verdicts = Counter(run.verdict for run in runs)
    assert found == groups
    assert len(runs) - verdicts["right"] == ran - right
    assert verdicts["wrong"] == wrong
    assert len(runs) == ran - PARTLY.get(name, UNNAMED)
    assert len(runs) == len({run.label for run in runs})


def test_no_configuration_is_left_out_here() -> None:
    assert len(COUNTS) == sum(each.measured for each in every()) + 1 == 23
