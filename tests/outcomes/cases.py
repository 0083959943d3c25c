"""The cases: command lines with the files they read, which one tree makes for all."""

import json
import os
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import numpy_helper

from tests.outcomes.tables import models_of_tests
from tests.outcomes.worker import checksum
from tests.support import EXPORTED, MODELS, ROOT

SEEDS: Final = {"random": 1000, "damaged": 200}
"""How many models of each kind are drawn, by seeds from 0 on."""


@dataclass(frozen=True)
class Case:
    """A command line in a folder of its own, and the files that are copied into it, by name."""

    name: str
    words: tuple[str, ...]
    files: Mapping[str, Path]

    @cached_property
    def digest(self) -> str:
        """A checksum of the words and the files, by which two records know the same case."""
        held = [(name, checksum(path.read_bytes())) for name, path in sorted(self.files.items())]
        return checksum(json.dumps([self.words, held]).encode())


def made(folder: Path, only: str = "") -> Iterator[Case]:
    """All cases whose names begin so, with files that are written to a folder."""
    for family in (_of_models, _of_tests, _of_seeds, _of_lines):
        yield from (case for case in family(folder, only) if case.name.startswith(only))


def _meets(name: str, only: str) -> bool:
    """Whether names that begin with a name and a slash may begin with what is wanted."""
    return f"{name}/".startswith(only) or only.startswith(f"{name}/")


@cache
def _asked(section: str) -> list[str]:
    """The lines of a section."""
    text = Path(__file__).with_name("asked.txt").read_text(encoding="utf-8")
    return text.partition(f"[{section}]\n")[2].partition("\n\n")[0].splitlines()


def _of_models(folder: Path, only: str) -> Iterator[Case]:
    ports = sorted((MODELS / "misconverted").glob("*.onnx"))
    for path in [*EXPORTED, *ports]:
        for line in _asked("models") + _asked("ports") * (path in ports):
            name, _, words = line.partition(": ")
            case = f"models/{path.stem}/{name}"
            if case.startswith(only) and all(map(_names(path).get, re.findall("{(.*?)}", words))):
                yield _case(case, words, path, folder)


def _of_tests(folder: Path, only: str) -> Iterator[Case]:
    if _meets("tests", only):
        wanted = re.sub(r"/[0-9a-f]{8}/\w*$", "", only.removeprefix("tests")).removeprefix("/")
        for module, data in models_of_tests(wanted):
            yield from _small(f"tests/{module}/{checksum(data)[:8]}", data, folder)


def _of_seeds(folder: Path, only: str) -> Iterator[Case]:
    from tests.malformed.__main__ import case as damaged
    from tests.random_models.draw import draw_model

    for family, count in SEEDS.items():
        for seed in range(count):
            if _meets(f"{family}/{seed}", only):
                draw = random.Random(seed)
                model = draw_model(draw).model if family == "random" else damaged(seed)[0]
                data = model if isinstance(model, bytes) else model.SerializeToString()
                yield from _small(f"{family}/{seed}", data, folder)


def _of_lines(folder: Path, only: str) -> Iterator[Case]:
    for number, line in enumerate(_asked("lines") if _meets("lines", only) else (), 1):
        model, _, words = line.rpartition(": ")
        path = MODELS / f"{model or 'aspp_keras'}.onnx"
        yield _case(f"lines/{words.split()[0].strip('-')}.{number}", words, path, folder)


def _small(name: str, data: bytes, folder: Path) -> Iterator[Case]:
    """A small model as it is rewritten by default, and by a command line that is drawn."""
    draw = random.Random(checksum(data))
    drawn = [draw.choice(_asked("small"))]
    if drawn[0].startswith(("fix", "check")):
        for line in _asked("options"):
            drawn += [draw.choice(line.split(" | "))] * (draw.random() < 0.4)
    path = folder / f"{checksum(data)}.onnx"
    path.write_bytes(data)
    for asked, line in ("fix", _asked("small")[0]), ("drawn", " ".join(drawn)):
        yield Case(f"{name}/{asked}", _words(line.format(model="m.onnx")), {"m.onnx": path})


def _words(line: str) -> tuple[str, ...]:
    has_json = not line.startswith(("docs", "ignore", "-")) and "--format" not in line
    return (*shlex.split(line), *["--format", "json"] * has_json)


def _case(name: str, line: str, path: Path, folder: Path) -> Case:
    words = _words(line.format_map(_names(path)))
    beside = (path.with_name(path.stem + end) for end in (".onnx", ".npz", ".onnx.data"))
    files = {each.name: each for each in beside if each.exists()}
    for word in sorted({*words} & _MADE.keys()):
        files[word] = folder / f"{path.stem}.{word}"
        if not files[word].exists():
            _MADE[word](files[word], path)
    return Case(name, words, files)


@cache
def _names(path: Path) -> Mapping[str, str]:
    """The words that braces stand for; empty where a model has none. Sizes are the recorded."""
    model = onnx.load(path, load_external_data=False)
    windows = [n for n in model.graph.node if re.match("(?!.*Global).*(Conv|Pool)", n.op_type)]
    named = [node.name for node in windows if node.name]
    first = next(iter(_inputs(model)))
    words = {"model": path.name, "npz": path.with_suffix(".npz").name, "input": first.name}
    words |= {"node": next(iter(named), ""), "last": next(reversed(named), ""), "dim": ""}
    given = np.load(path.with_suffix(".npz"))[first.name].shape
    for place, dim in enumerate(first.type.tensor_type.shape.dim):
        if not dim.HasField("dim_value"):
            words["shape"] = f"{first.name}={','.join(map(str, given))}"
            size = given[place]
            words |= {"dim": dim.dim_param, "size": f"{size}", "double": f"{2 * size}"}
    return words


def _inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that have to be given."""
    held = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in held]


def _arrays(path: Path, source: Path) -> None:
    """The recorded arrays that are inputs, or those that are not, or with wrong outputs."""
    arrays = dict(np.load(source.with_suffix(".npz")))
    inputs = {each.name for each in _inputs(onnx.load(source, load_external_data=False))}
    wrong = {k: v if k in inputs else np.flip(v) * 3 for k, v in arrays.items()}
    part = {k: v for k, v in arrays.items() if (k in inputs) is path.name.endswith("inputs.npz")}
    np.savez(path, **(wrong if path.name.endswith("wrong.npz") else part))


def _other(path: Path, source: Path) -> None:
    """The model with the elements of its largest initializer moved by one place."""
    model = onnx.load(source)
    for weight in sorted(model.graph.initializer, key=lambda each: int(np.prod(each.dims)))[-1:]:
        moved = np.roll(numpy_helper.to_array(weight), 1)
        weight.CopyFrom(numpy_helper.from_array(moved, weight.name))
    onnx.save(model, path)


def _fixed(path: Path, source: Path) -> None:
    """The model as `fix` writes it, or as it was where that fails: in a process of its own."""
    words = [sys.executable, "-m", "onnxpad", "fix", str(source), "-o", str(path), "--no-validate"]
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([*words, "-q"], env=here, capture_output=True, check=False)
    if not path.exists():
        path.write_bytes(source.read_bytes())


_MADE: Final[Mapping[str, Callable[[Path, Path], object]]] = {
    **dict.fromkeys(("inputs.npz", "outputs.npz", "wrong.npz"), _arrays),
    "other.onnx": _other,
    "fixed.onnx": _fixed,
    "empty.onnx": lambda path, _: path.write_bytes(b""),
    "cut.onnx": lambda path, source: path.write_bytes(source.read_bytes()[:2000]),
    "cut.npz": lambda path, source: path.write_bytes(source.with_suffix(".npz").read_bytes()[:99]),
    "notes.txt": lambda path, _: path.write_text("notes\n"),
}
"""Files that a command line may name, and what makes them."""
