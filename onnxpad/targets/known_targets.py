"""All targets by name: in the files that come with the package, and in a user's own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from onnxpad.errors import UsageError, and_list, meant
from onnxpad.targets.target import DATA, REST, Cell, Target
from onnxpad.toml_file import parsed, read_text

ALIASES = {  # other names that people type, by the name of the target that each means
    "trt": "tensorrt", "ov": "openvino", "dml": "directml", "ort": "onnxruntime-cpu",
    "onnxruntime": "onnxruntime-cpu", "cuda": "onnxruntime-cuda", "webgpu": "onnxruntime-webgpu",
    "onnxruntime-web": "onnxruntime-web-wasm", "coreml": "coreml-neuralnetwork",
    "opencv-dnn": "opencv", "ncnn": "ncnn-pnnx", "tflite": "onnx2tf",
}  # fmt: skip


def known() -> list[str]:
    """Names of all targets."""
    return list(dict.fromkeys(path.stem.split("@")[0] for path in _files()))


def every() -> list[Target]:
    """All targets in each version, by name and the newest first."""
    return [load(path) for path in _files()]


def load(name: str | Path) -> Target:
    """A target by `NAME[@VERSION]`, by an alias, or by the path of a file that ends in `.toml`.

    Raises:
        UsageError: Nothing has this name or version, or the file cannot be read or is not as it
            should be.
    """
    text = str(name)
    if "," in text and not Path(text).is_file():
        raise UsageError(f"{text!r} is no target; name several each with a --target of its own")
    if text.endswith(".toml"):
        return target_in(Path(text), read_text(Path(text)))
    named, _, version = text.lower().partition("@")
    called = ALIASES.get(named, named)
    found = [load(path) for path in _files() if path.stem.split("@")[0] == called]
    if not found:
        own = [f"{text}.toml"] * Path(f"{text}.toml").is_file()
        raise UsageError(
            f"no target is called {text!r}{meant(called, own or [*known(), *ALIASES])} (onnxpad "
            "targets lists them; a .toml file of your own tells of another)"
        )
    for each in found:
        if not version or f"{each.version}.".startswith(f"{version}."):
            return each
    told = and_list([each.version for each in found])
    raise UsageError(f"nothing is known of version {version!r} of {named}; known: {told}")


def _files() -> list[Path]:
    """The files that come with the package, by name; `NAME@VERSION` is an older one."""
    found = (path for path in DATA.glob("*.toml") if path.stem != "forms")
    return sorted(found, key=lambda path: path.stem.split("@"))


@lru_cache(64)
def target_in(path: Path, text: str) -> Target:
    """The target of a file; one object for each.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing.
    """
    said = parsed(path, text, Target)
    assert said is not None
    cells = list[Cell]()
    for cell in sorted(said.cells, key=lambda cell: not cell.measured):
        cell = replace(cell, version=cell.version or said.version)
        alike = {e.verdict for e in cells if e.measured == cell.measured and e.text == cell.text}
        if len({*alike, cell.verdict, "unknown"}) > 2:
            raise UsageError(f"{path}: two cells differ in what becomes of {cell.text}")
        wider = (at for at, each in enumerate(cells) if cell.precedes(each))
        cells.insert(next(wider, len(cells)), cell)
    if cells and all(each.verdict != "right" for each in cells):
        cells.append(REST)
    return replace(said, name=path.stem.split("@")[0], cells=tuple(cells))
