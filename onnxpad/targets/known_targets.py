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
    """A version of a runtime, or of a variant of it."""

    version: str
    variant: str = ""
    title: str = ""

    @property
    def name(self) -> str:
        """As cells name it: `VERSION` or `VARIANT@VERSION`."""
        return f"{self.variant}@{self.version}".strip("@")

    def is_meant(self, by: str) -> bool:
        """Whether a text names it: by its variant, the first numbers of its version, or both.

        >>> found = Version("5.0.0", "classic")
        >>> [found.is_meant(each) for each in ("classic", "classic@5", "5", "classic@4")]
        [True, True, False, False]
        """
        by = by.lstrip("@")
        return f"{self.name}.".startswith((f"{by}.", f"{by}@"))


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

    @property
    def versions(self) -> list[Version]:
        """The versions of each variant, the newest first."""
        tables = self.measured or (Version(self.version),)
        numbers = {each: [*map(int, re.findall(r"\d+", each.version))] for each in tables}
        newest = sorted(tables, key=lambda each: numbers[each], reverse=True)
        variants = [each.variant for each in tables]
        return sorted(newest, key=lambda each: variants.index(each.variant))


def known() -> list[str]:
    """Names of all targets, one for each variant."""
    return list(dict.fromkeys(each.name for each in every()))


def every() -> list[Target]:
    """All targets in each version that was measured, or as they were read, by name."""
    return [each for path in _files() for each in targets_in(path, read_text(path))]


def load(name: str | Path) -> Target:
    """A target by its name, or of a file of the user's.

    Args:
        name: `NAME[-VARIANT][@VERSION]` or an alias; or a path that ends in `.toml`.

    Raises:
        UsageError: Nothing has this name or version, or the file cannot be read or is not as it
            should be.
    """
    text, version = str(name), ""
    if not text.endswith(".toml") and "@" in text:
        text, _, version = text.rpartition("@")
    called = ALIASES.get(text.lower(), text.lower())
    files = [file for file in _files() if called.startswith(file.stem)]
    if is_file := text.endswith(".toml"):
        called, files = Path(text).stem, [Path(text)]
    near = [each for file in files for each in targets_in(file, read_text(file))]
    found = [each for each in near if each.name == called] or near * is_file
    if not found:
        raise UsageError(
            f"no target is called {text!r}{meant(called, [*known(), *ALIASES])} (onnxpad "
            "targets lists them; a .toml file of your own tells of another)"
        )
    for each in found:
        if not version or Version(each.version).is_meant(version.lower()):
            return each
    told = and_list([each.version for each in found if each.version]) or "none"
    raise UsageError(f"nothing is known of version {version!r} of {called}; known: {told}")


def _files() -> list[Path]:
    return sorted(path for path in DATA.glob("*.toml") if path.stem != "forms")


@lru_cache(64)
def targets_in(path: Path, text: str) -> tuple[Target, ...]:
    """The targets of a file: each variant in each version, the newest first; one object for each.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    words = (*VERDICTS, *get_args(Spelling), *Form.__struct_fields__)
    said = parsed(path, text, File, _mistakes, known=words)
    cells = sorted(said.cell, key=lambda cell: not cell.measured)
    return tuple(
        Target(
            name=f"{path.stem}-{each.variant}" if each.variant else path.stem,
            title=each.title or said.title,
            version=each.version,
            read=said.read,
            cells=tuple(
                replace(cell, version=cell.version or said.version)
                for cell in cells
                if not cell.of or any(map(each.is_meant, cell.of))
            ),
            facts=said.fact,
            spell=said.spell,
            notes=said.notes,
        )
        for each in said.versions
    )


def _mistakes(said: File) -> Iterator[Problem]:
    """Versions that cells speak of, and that there are none of."""
    known = (*said.measured, Version(said.version))
    for index, cell in enumerate(said.cell):
        for by in cell.of:
            if not any(each.is_meant(by) for each in known):
                told = and_list([each.name for each in known if each.name]) or "none"
                yield ("cell", index, "of"), f"no version {by!r} is here, but {told}"
