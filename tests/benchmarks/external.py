"""What `fix` costs on a model with 3 GB of external data: `python -m tests.benchmarks.external`.

The data is a file of holes, so it takes no space on disk until it is copied. Each case is a
process of its own: CPU time is that of the whole process, memory its greatest resident set, which
counts the pages of mapped files that were touched. Plain `import onnx` is measured beside it, for
the share that is not onnxpad's.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from tests.benchmarks.measure import run

LAYERS = 96


def make(folder: Path, gigabytes: float) -> Path:
    """A chain of padded convolutions and one matrix that takes what is left of the size."""
    body = " ".join(f"p{i} = Pad (t{i}, p) t{i + 1} = Conv (p{i}, k{i})" for i in range(LAYERS))
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[1, 8, 16, 16] t0, int64[1] i) => (float[1, 8, 16, 16] t{LAYERS}, float[1, 1024] z)
        <int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{ {body} z = Gather (matrix, i) }}"""
    )
    offset = 0

    def refer(name: str, shape: list[int]) -> None:
        nonlocal offset
        tensor = model.graph.initializer.add(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        length = 4 * int(np.prod(shape))
        for key, value in (("location", "model.data"), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        offset += -(-length // 4096) * 4096

    for layer in range(LAYERS):
        refer(f"k{layer}", [8, 8, 3, 3])
    refer("matrix", [int((gigabytes * 1e9 - offset) // (4 * 1024)), 1024])
    with (folder / "model.data").open("wb") as file:
        file.truncate(offset)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def main() -> None:
    """Makes the model in a temporary folder and measures each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gigabytes", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--validate", action="store_true", help="also run the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onnxpad-", dir=options.folder) as name:
        folder = Path(name)
        model = str(make(folder, options.gigabytes))
        other = folder / "other"
        other.mkdir()
        fix = ["-m", "onnxpad", "fix", model]
        session = "import sys, onnxruntime as o; o.InferenceSession(sys.argv[1])"
        cases = {
            "import onnx": ["-c", "import onnx"],
            "fix, same folder": [*fix, "--no-validate"],
            "fix, data copied": [*fix, "--no-validate", "-o", f"{other}/c.onnx"],
            "fix, equal data there already": [*fix, "--no-validate", "-o", f"{other}/e.onnx"],
        }
        if options.validate:
            cases |= {"one session": ["-c", session, model], "fix and validate": fix}
        for title, arguments in cases.items():
            done = run(arguments, folder / "bytecode", 3600)
            print(
                f"{title:<34} exit {done.code}  wall {done.wall:6.2f} s  CPU {done.cpu:6.2f} s  "
                f"memory {done.peak:7.0f} MB"
            )


if __name__ == "__main__":
    main()
