"""Records what PyTorch, TensorFlow and Keras compute on one line, for `test_conventions.py`.

None of them is a dependency of the tests. Run where one is installed; the cases of the others stay
as they are. In this folder:

    python record_conventions.py conventions.json
"""

import importlib
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Case = dict[str, Any]
Calls = dict[str, Callable[[Case], Any]]


def draw(count: int, **choices: tuple[Any, ...]) -> list[Case]:
    """Cases with a size, kernel and stride, and a choice of each further parameter."""
    source = random.Random(repr(choices))
    small = {"size": range(1, 13), "kernel": range(1, 6), "stride": range(1, 5)}
    return [
        {name: source.choice(values) for name, values in (small | choices).items()}
        for _ in range(count)
    ]


# TensorFlow and Keras refuse a stride together with a dilation.
DILATED: dict[str, tuple[int, ...]] = {"stride": (1,), "dilation": (2, 3)}
CASES: dict[str, list[Case]] = {
    "torch_conv": draw(18, dilation=(1, 1, 2, 3), padding=(0, 1, 2, 3)),
    "torch_same": draw(16, stride=(1, 1, 1, 2), dilation=(1, 2, 3)),
    "torch_pool": draw(40, dilation=(1, 1, 2), padding=(0, 1, 2), ceil_mode=(False, True)),
    "torch_transposed": draw(18, padding=(0, 1, 2), output_padding=(0, 0, 1, 2)),
    "tensorflow_same": draw(16) + draw(8, **DILATED),
    "tensorflow_valid": draw(12) + draw(8, **DILATED),
    "keras_causal": draw(8) + draw(8, **DILATED),
    "keras_transposed_same": draw(16),
    "keras_transposed_valid": draw(12),
}


def arrays(case: Case) -> tuple[Any, Any]:
    """The line and the kernel that a case is run on."""
    values = np.array([(5 * n) % 17 - 8 for n in range(case["size"])], np.float32)
    return values, np.array([10**n for n in range(case["kernel"])], np.float32)


def torch_calls() -> Calls:
    """PyTorch's functions, by the convention they record."""
    torch = importlib.import_module("torch")
    functional = torch.nn.functional

    def call(function: Any, case: Case, **further: Any) -> Any:
        options = {name: case[name] for name in case if name not in {"size", "kernel"}}
        lines = (torch.tensor(array)[None, None] for array in arrays(case))
        return function(*lines, **options | further)

    def pool(case: Case) -> Any:
        values, _ = arrays(case)
        options = {name: (1, case[name]) for name in ("stride", "dilation")}
        return functional.max_pool2d(
            torch.tensor(values)[None, None, None],
            (1, case["kernel"]),
            padding=(0, case["padding"]),
            ceil_mode=case["ceil_mode"],
            **options,
        )

    return {
        "torch_conv": lambda case: call(functional.conv1d, case),
        "torch_same": lambda case: call(functional.conv1d, case, padding="same"),
        "torch_pool": pool,
        "torch_transposed": lambda case: call(functional.conv_transpose1d, case),
    }


def tensorflow_calls() -> Calls:
    """TensorFlow's and Keras's functions, by the convention they record."""
    tensorflow = importlib.import_module("tensorflow")
    layers = tensorflow.keras.layers

    def conv(case: Case, padding: str) -> Any:
        values, weights = arrays(case)
        line, kernel = values[None, :, None], weights[:, None, None]
        dilation = case.get("dilation", 1)
        if padding == "VALID" and (case["kernel"] - 1) * dilation >= case["size"]:
            raise ValueError("nothing fits: TensorFlow 2.21 answers with memory it never wrote")
        return tensorflow.nn.conv1d(line, kernel, case["stride"], padding, dilations=dilation)

    def keras(layer: Any, case: Case, padding: str) -> Any:
        values, weights = arrays(case)
        built = layer(
            1,
            case["kernel"],
            strides=case["stride"],
            padding=padding,
            dilation_rate=case.get("dilation", 1),
            use_bias=False,
        )
        built.build((1, case["size"], 1))
        built.set_weights([weights[:, None, None]])
        return built(values[None, :, None])

    return {
        "tensorflow_same": lambda case: conv(case, "SAME"),
        "tensorflow_valid": lambda case: conv(case, "VALID"),
        "keras_causal": lambda case: keras(layers.Conv1D, case, "causal"),
        "keras_transposed_same": lambda case: keras(layers.Conv1DTranspose, case, "same"),
        "keras_transposed_valid": lambda case: keras(layers.Conv1DTranspose, case, "valid"),
    }


def record(path: Path) -> None:
    """Runs the cases of each installed framework and writes them to `path`, one a line."""
    recorded: list[Case] = json.loads(path.read_text()) if path.exists() else []
    for framework in (torch_calls, tensorflow_calls):
        try:
            calls = framework()
        except ModuleNotFoundError:
            continue
        recorded = [case for case in recorded if case["convention"] not in calls]
        for name, call in calls.items():
            for case in CASES[name]:
                try:
                    output: list[float] | None = np.asarray(call(case)).ravel().tolist()
                except Exception as error:  # whatever its kind, a refusal is a result
                    print(name, case, str(error).splitlines()[0])
                    output = None
                recorded.append({"convention": name, **case, "output": output})
    path.write_text("[\n" + ",\n".join(json.dumps(case) for case in recorded) + "\n]\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
