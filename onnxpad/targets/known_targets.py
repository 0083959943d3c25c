"""All targets by name: in the files that come with the package, and in a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import fields, replace

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
    """A version of a runtime, or a variant of it."""

    version: str
    variant: str = ""
    title: str = ""

    def is_meant(self, by: str) -> bool:
        """Whether a cell speaks of it: by its variant, its version, or both.

        >>> found = Version("5.0.0", "classic")
        >>> [found.is_meant(each) for each in ("classic", "classic@5", "5", "classic@4")]
        [True, True, False, False]
        """
        variant, _, version = by.rpartition("@")
        return by == self.variant != "" or (variant == self.variant and self.has(version))

    def has(self, version: str) -> bool:
        """Whether a version is meant, whole or by its first numbers; empty means any."""
        return not version or f"{self.version}.".startswith(f"{version}.")


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
    """Names of all targets, one for each variant."""
    return list(dict.fromkeys(each.name for each in every()))


def every() -> list[Target]:
    """All targets in each version that was measured, or as they were read, by name."""
    return [each for base in _bases() for each in _built_in(base)]


def load(name: str | Path) -> Target:
    """A target by its name, or of a file of the user's.

    Args:
        name: `NAME[-VARIANT][@VERSION]` or an alias; or a path that ends in `.toml`.

    Raises:
        UsageError: Nothing has this name or version, or the file cannot be read or is not as it
            should be.
    """
    path, version = str(name), ""
    if not path.endswith(".toml") and "@" in path:
        path, _, version = path.rpartition("@")
    if path.endswith(".toml"):
        found = _of_a_user(path, read_text(Path(path)))
    else:
        called = ALIASES.get(path.lower(), path.lower())
        near = chain.from_iterable(map(_built_in, filter(called.startswith, _bases())))
        found = tuple(each for each in near if each.name == called)
        if not found:
            raise UsageError(
                f"no target is called {path!r}{meant(called, [*known(), *ALIASES])} (onnxpad "
                "targets lists them; a .toml file of your own tells of another)"
            )
    for each in found:
        if Version(each.version).has(version.lower()):
            return each
    told = and_list([each.version for each in found if each.version]) or "none"
    raise UsageError(f"nothing is known of version {version!r} of {found[0].name}; known: {told}")


def _bases() -> list[str]:
    return sorted(path.stem for path in DATA.glob("*.toml") if path.stem != "forms")


@cache
def _built_in(base: str) -> tuple[Target, ...]:
    """The targets of a file that comes with the package: one object each, whatever names it."""
    return targets_in(Path(f"{base}.toml"), (DATA / f"{base}.toml").read_text(encoding="utf-8"))


@lru_cache(16)
def _of_a_user(path: str, text: str) -> tuple[Target, ...]:
    """The targets of a user's file: one object for each content that the file has had lately."""
    found = targets_in(Path(path), text)
    return tuple(each for each in found if each.name == Path(path).stem) or found


def targets_in(path: Path, text: str) -> tuple[Target, ...]:
    """The targets of a file: each variant in each version, the newest first.

    Raises:
        UsageError: It is no TOML, or has a key or value that means nothing: with the line.
    """
    said = parsed(path, text, File, _mistakes, known=_words())
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
        for each in _versions(said)
    )


def _versions(said: File) -> list[Version]:
    """The versions of each variant, the newest first."""
    tables = said.measured or (Version(said.version),)
    variants = [each.variant for each in tables]
    newest = sorted(
        tables, key=lambda each: [*map(int, re.findall(r"\d+", each.version))], reverse=True
    )
    return sorted(newest, key=lambda each: variants.index(each.variant))


def _mistakes(said: File) -> Iterator[Problem]:
    """Versions that cells speak of, and that there are none of."""
    known = (*said.measured, Version(said.version))
    for index, cell in enumerate(said.cell):
        for by in cell.of:
            if not any(each.is_meant(by) for each in known):
                told = and_list([f"{each.variant}@{each.version}".strip("@") for each in known])
                yield ("cell", index, "of"), f"no version {by!r} is here, but {told or 'none'}"


@cache
def _words() -> frozenset[str]:
    """All words of a file, which a wrong one may be meant for."""
    kinds = [field for kind in (File, Cell, Fact, Version, Form) for field in fields(kind)]
    words = chain.from_iterable(get_args(field.type) for field in kinds)
    keys = (field.encode_name for field in kinds)
    texts = (each for each in words if isinstance(each, str))
    return frozenset((*keys, *texts, *VERDICTS, *get_args(Spelling), "min", "max"))
