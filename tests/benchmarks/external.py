"""What `fix` costs on a model with 3 GB of external data.

    python tests/benchmarks/external.py [--gigabytes 3] [--validate] [--folder /tmp]

The data is a file of holes, so it takes no space on disk until it is copied. Each case is a
process of its own: CPU time is that of the whole process, memory its greatest resident set
(ru_maxrss), which counts the pages of mapped files that were touched. Plain `import onnx` is
measured beside it, for the share that is not onnxpad's.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS = 96


def make(folder: Path, gigabytes: float) -> Path:
    """A chain of padded convolutions and one matrix that takes what is left of the size."""
    kernel = np.zeros((8, 8, 3, 3), np.float32)
    nodes, initializers, offset = [], [], 0

    def refer(name: str, shape: list[int]) -> None:
        nonlocal offset
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        length = 4 * int(np.prod(shape))
        for key, value in (("location", "model.data"), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        initializers.append(tensor)
        offset += -(-length // 4096) * 4096

    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    initializers.append(numpy_helper.from_array(pads, "pads"))
    for layer in range(LAYERS):
        refer(f"kernel{layer}", list(kernel.shape))
        nodes.append(helper.make_node("Pad", [f"t{layer}", "pads"], [f"p{layer}"]))
        nodes.append(helper.make_node("Conv", [f"p{layer}", f"kernel{layer}"], [f"t{layer + 1}"]))
    rows = int((gigabytes * 1e9 - offset) // (4 * 1024))
    refer("matrix", [rows, 1024])
    nodes.append(helper.make_node("Gather", ["matrix", "row"], ["rows"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1, 8, 16, 16]),
            helper.make_tensor_value_info("row", TensorProto.INT64, [1]),
        ],
        [
            helper.make_tensor_value_info(f"t{LAYERS}", TensorProto.FLOAT, [1, 8, 16, 16]),
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, [1, 1024]),
        ],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with (folder / "model.data").open("wb") as file:
        file.truncate(offset)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def measure(label: str, command: list[str]) -> None:
    """Runs a process and prints what it cost."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    cpu = usage.ru_utime + usage.ru_stime
    print(
        f"{label:<34} exit {process.returncode}  wall {wall:6.2f} s  CPU {cpu:6.2f} s  "
        f"memory {usage.ru_maxrss / 1024:7.0f} MB"
    )


def main() -> None:
    """Makes the model in a temporary folder and measures each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--gigabytes", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--validate", action="store_true", help="also run the models")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onnxpad-", dir=options.folder) as name:
        folder = Path(name)
        model = make(folder, options.gigabytes)
        disk = (folder / "model.data").stat().st_blocks * 512
        print(f"{options.gigabytes:g} GB of data, {disk / 1e6:.0f} MB on disk")
        other = folder / "other"
        other.mkdir()
        fix = [sys.executable, "-m", "onnxpad", "fix", str(model)]
        unchecked = [*fix, "--no-validate"]
        measure("import onnx", [sys.executable, "-c", "import onnx"])
        measure("fix, same folder", unchecked)
        measure("fix, data copied", [*unchecked, "-o", f"{other}/c.onnx"])
        measure("fix, equal data there already", [*unchecked, "-o", f"{other}/e.onnx"])
        if options.validate:
            session = "import sys, onnxruntime as o; o.InferenceSession(sys.argv[1])"
            measure("one session", [sys.executable, "-c", session, str(model)])
            measure("fix and validate", fix)


if __name__ == "__main__":
    main()
