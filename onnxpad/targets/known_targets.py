"""All targets by name: in the files that come with the package, and in a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.errors import UsageError, and_list, meant
from onnxpad.targets.form import Form
from onnxpad.targets.target import DATA, VERDICTS, Cell, Fact, Target, Texts
from onnxpad.targets.toml_file import Problem, parsed, read_text

ALIASES = {
    "trt": "tensorrt",
    "ort": "onnxruntime-cpu",
    "onnxruntime": "onnxruntime-cpu",
    "cuda": "onnxruntime-cuda",
    "onnxruntime-web": "onnxruntime-web-wasm",
    "webgpu": "onnxruntime-webgpu",
    "ov": "openvino",
    "dml": "directml",
    "coreml": "coreml-neuralnetwork",
    "opencv-dnn": "opencv",
    "ncnn": "ncnn-pnnx",
    "tflite": "onnx2tf",
}
"""Other names that people type, by the name of the target that each means."""

Spelling = Literal[
    "kernel_shape", "write_pads", "no_count_include_pad", "write_count_include_pad", "value",
    "no_output_padding", "no_valid", "no_axes", "no_value", "typed_amounts", "initializers",
    "no_declared_sizes",
]  # fmt: skip
"""Ways to write the same graph that a runtime may insist on; the manual explains each."""


class Version(Struct, frozen=True, forbid_unknown_fields=True):
    """A version of a runtime."""

    version: str
    title: str = ""

    def is_meant(self, by: str) -> bool:
        """Whether a text names it, whole or by its first numbers.

        >>> [Version("5.0.0").is_meant(each) for each in ("5", "5.0.0", "5.1", "50")]
        [True, True, False, False]
        """
        return f"{self.version}.".startswith(f"{by}.")


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """All that a file may say; the manual's page on targets explains its keys."""

    title: str
    version: str = ""
    read: str = ""
    spell: tuple[Spelling, ...] = ()
    notes: Texts = ()
    cell: tuple[Cell, ...] = ()
    fact: tuple[Fact, ...] = ()
    measured: tuple[Version, ...] = ()


def known() -> list[str]:
    """Names of all targets."""
    return list(dict.fromkeys(each.name for each in every()))


def every() -> list[Target]:
    """All targets in each version that was measured, or as they were read, by name."""
    return [each for path in _files() for each in targets_in(path, read_text(path))]


def load(name: str | Path) -> Target:
    """A target by its name, or of a file of the user's.

    Args:
        name: `NAME[@VERSION]` or an alias; or a path that ends in `.toml`.

    Raises:
        UsageError: Nothing has this name or version, or the file cannot be read or is not as it
            should be.
    """
    text, version = str(name), ""
    if not text.endswith(".toml") and "@" in text:
        text, _, version = text.rpartition("@")
    called = ALIASES.get(text.lower(), text.lower())
    path = Path(text) if text.endswith(".toml") else DATA / f"{called}.toml"
    if path.parent == DATA and path not in _files():
        raise UsageError(
            f"no target is called {text!r}{meant(called, [*known(), *ALIASES])} (onnxpad "
            "targets lists them; a .toml file of your own tells of another)"
        )
    found = targets_in(path, read_text(path))
    for each in found:
        if not version or Version(each.version).is_meant(version):
            return each
    told = and_list([each.version for each in found if each.version]) or "none"
    raise UsageError(f"nothing is known of version {version!r} of {text}; known: {told}")


def _files() -> list[Path]:
    names = sorted(path.stem for path in DATA.glob("*.toml") if path.stem != "forms")
    return [DATA / f"{name}.toml" for name in names]


@lru_cache(64)
def targets_in(path: Path, text: str) -> tuple[Target, ...]:
    """The target of a file in each version, the newest first; one object for each.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    words = (*VERDICTS, *get_args(Spelling), *Form.__struct_fields__)
    said = parsed(path, text, File, _mistakes, known=words)
    cells = sorted(said.cell, key=lambda cell: not cell.measured)
    numbers = {each: [*map(int, re.findall(r"\d+", each.version))] for each in said.measured}
    newest = sorted(said.measured, key=lambda each: numbers[each], reverse=True)
    return tuple(
        Target(
            name=path.stem,
            title=each.title or said.title,
            version=each.version,
            read=said.read,
            cells=tuple(
                replace(cell, version=cell.version or (each if cell.measured else said).version)
                for cell in cells
                if not cell.of or any(map(each.is_meant, cell.of))
            ),
            facts=said.fact,
            spell=said.spell,
            notes=said.notes,
        )
        for each in newest or [Version(said.version)]
    )


def _mistakes(said: File) -> Iterator[Problem]:
    """Versions that cells speak of, and that there are none of."""
    known = (*said.measured, Version(said.version))
    for index, cell in enumerate(said.cell):
        for by in cell.of:
            if not any(each.is_meant(by) for each in known):
                told = and_list([each.version for each in known if each.version]) or "none"
                yield ("cell", index, "of"), f"no version {by!r} is here, but {told}"
