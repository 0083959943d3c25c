"""Reads the arrays that a user gives: inputs, and a framework's outputs.

Nothing is ever unpickled.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec import Struct

from onnxpad.arguments import Arrays
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError, few, let_through
from onnxpad.runtimes.sessions import Array
from onnxpad.validation.align import aligned
from onnxpad.validation.compare import shape_text
from onnxpad.validation.draw import Draw, Input, Interface, Output, feeds_text, numpy_type

_INPUT, _OUTPUT = "input", "output"
_MALFORMED = (
    *(OSError, MemoryError, ValueError, TypeError, EOFError, KeyError, NotImplementedError),
    *(RuntimeError, zipfile.BadZipFile, zlib.error, DecodeError),
)
"""Exceptions of numpy and onnx for files that are no files, truncated, encrypted, or malformed."""


class MatchedInputs(Struct, frozen=True, eq=False):
    """The arrays given, matched to a model's names, types and input shapes.

    Attributes:
        draws: Inputs, one set for each sample; empty if none were given.
        expected: Outputs by name, one mapping for each sample, in the framework's layout.
        remarks: Lines on arrays that were matched by order, or of another type.
        inner: The same of inner tensors as `expected` has of outputs.
        layout: How inputs were aligned, by name.
    """

    draws: tuple[Draw, ...] = ()
    expected: tuple[Mapping[str, Array], ...] = ()
    remarks: tuple[str, ...] = ()
    inner: tuple[Mapping[str, Array], ...] = ()
    layout: Mapping[str, str] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The arrays that were not taken as they are, a line each."""
        return *self.remarks, *(f"input {name!r} {how}" for name, how in self.layout.items())


def matched_inputs(
    model: Interface,
    inputs: Arrays | None,
    reference: Arrays | None,
    inner: Collection[str] | None = None,
) -> MatchedInputs:
    """Read the inputs and the reference given for a model.

    Arrays are matched by name. Those left over are matched by order if their number agrees. Without
    `inputs` the reference has to contain the inputs too. `inner` names inner tensors that it may
    contain as well; if None, those beside the model's outputs are noted and left out.

    Raises:
        UsageError: A file cannot be read, or does not fit the model.
    """
    draws, given = list[Draw](), _Given(model, inner or ())
    expected, within = list[Mapping[str, Array]](), list[Mapping[str, Array]]()
    if inputs is not None:
        given.title, sets = _sets(inputs, "the inputs given")
        draws = [given.draw(given.matched(arrays, model.inputs)) for arrays in sets]
    if reference is not None:
        given.title, sets = _sets(reference, "the reference given")
        if draws and len(sets) != len(draws):
            said = f"{len(sets)} sets of arrays, but {len(draws)} sets of inputs are given"
            raise UsageError(f"{given.title} has {said}")
        answers = {each.name for each in model.outputs}
        apart = {*(model.inner if inner is None else inner)} - {each.name for each in model.ports}
        for arrays in sets:
            inside = {each: arrays[each] for each in arrays if each in apart}
            rest = {each: arrays[each] for each in arrays if each not in inside}
            if inner is None and inside:
                given.note(f"inner tensors {_listed(inside)} are not compared")
                inside = {}
            found = given.matched(rest, model.outputs if inputs is not None else model.ports)
            draws += [given.draw(found)] if inputs is None else []
            tell_alone = inside and answers.isdisjoint(found)
            within.append(inside)
            expected.append({} if tell_alone else given.outputs(found))
    parts = tuple(expected), tuple(given.notes), tuple(within), given.layout
    return MatchedInputs(tuple(draws), *parts)


def require_within(limits: Mapping[tuple[str, int], Sizes], draws: Iterable[Draw]) -> None:
    """Raises a UsageError unless inputs given have sizes that the models' metadata allows."""
    for draw in draws:
        for (name, axis), sizes in limits.items():
            shape = draw.feeds[name].shape if name in draw.feeds else ()
            if axis < len(shape) and shape[axis] not in sizes:
                where = f"axis {axis} of input {name!r} is {shape[axis]} ({draw.label})"
                told = f"rewritten for {sizes} alone, as its metadata says (onnxpad.sizes)"
                raise UsageError(f"{where}, but the model was {told}")


def require_same_names(original: Interface, rewritten: Interface) -> None:
    """Raises a UsageError if each model has inputs, or outputs, that the other one lacks."""
    for kind in ("inputs", "outputs"):
        one, other = ([each.name for each in getattr(m, kind)] for m in (original, rewritten))
        ours, theirs = [e for e in one if e not in other], [e for e in other if e not in one]
        if ours and theirs:
            said = f"{_listed(ours)} in the original, {_listed(theirs)} in the rewritten model"
            raise UsageError(f"the models have different {kind}: {said}; give them the same names")


class _Given:
    """Arrays given for a model, with remarks on what was not taken as it is."""

    def __init__(self, model: Interface, inner: Collection[str]) -> None:
        self.title, self.notes, self.layout = "", dict[str, None](), dict[str, str]()
        self._model, self._ports = model, {each.name: each for each in model.ports}
        self._inner = [each for each in inner if each not in self._ports]

    def note(self, text: str) -> None:
        """Adds a note unless it is there already."""
        self.notes[f"{self.title}: {text}"] = None

    def matched(
        self, arrays: Mapping[str, Array], wanted: Sequence[Input | Output]
    ) -> dict[str, Array]:
        """The arrays wanted by the model's names, or else by order; others may be there too."""
        found = {name: array for name, array in arrays.items() if name in self._ports}
        left = {name: array for name, array in arrays.items() if name not in self._ports}
        lacking = [each for each in wanted if each.name not in found]
        if len(lacking) != len(left):
            lacking = [each for each in self._model.ports if each.name not in found]
        if left and len(lacking) != len(left):
            names = _listed(each.name for each in wanted)
            names += " and inside it " * bool(self._inner) + few(map(repr, self._inner), 3)
            said = f"has {_listed(left)}, and the model has {names}"
            raise UsageError(f"{self.title} {said}; name arrays so, or leave them out")
        for (name, array), each in zip(left.items(), lacking, strict=False):
            found[each.name] = array
            if each in wanted:
                self.note(f"{name!r} taken as {_role(each)} {each.name!r}, by order")
        return {each.name: found[each.name] for each in wanted if each.name in found}

    def draw(self, found: Mapping[str, Array]) -> Draw:
        """The inputs, with the types and shapes that the model declares."""
        names, feeds = [each.name for each in self._model.inputs], dict[str, Array]()
        for each in self._model.inputs:
            if each.name not in found:
                said = f"has no array for input {each.name!r}; the model needs {_listed(names)}"
                raise UsageError(f"{self.title} {said}")
            self._note_holes(each.name, found[each.name])
            array = self._typed(each, found[each.name])
            if (fit := aligned(array, each.shape)) is None:
                said = f"{shape_text(array.shape)}, but the model declares {shape_text(each.shape)}"
                raise UsageError(f"{self.title}: input {each.name!r} has shape {said}")
            self.layout |= {each.name: fit.how} if fit.how else {}
            feeds[each.name] = np.ascontiguousarray(fit.array)
        return Draw(feeds, f"{feeds_text(feeds)}, from {self.title}")

    def outputs(self, found: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs among the arrays; at least one."""
        missing = [each.name for each in self._model.outputs if each.name not in found]
        if len(missing) == len(self._model.outputs):
            said = f"has no array for an output; the model gives {_listed(missing)}"
            raise UsageError(f"{self.title} {said}")
        if missing:
            self.note(f"no array for output {_listed(missing)}, which is not compared")
        outputs = dict[str, Array]()
        for each in (each for each in self._model.outputs if each.name in found):
            self._note_holes(each.name, found[each.name])
            outputs[each.name] = self._typed(each, found[each.name])
        return outputs

    def _note_holes(self, name: str, array: Array) -> None:
        for what, test in (("NaN", np.isnan), ("infinite", np.isinf)):
            if count := np.count_nonzero(test(array)) if array.dtype.kind == "f" else 0:
                self.note(f"{name!r} has {count:,} {what}")

    def _typed(self, each: Input | Output, array: Array) -> Array:
        """The array in the model's type and this machine's byte order.

        Numbers of another type are taken by value, as frameworks write float64 and int64 where the
        model has float32 and int32. Outputs of fewer bits than the model's stay as they are, so
        that their rounding is no difference.
        """
        if each.elem_type == onnx.TensorProto.UNDEFINED:
            return array
        role, wanted, given = _role(each), numpy_type(each), array.dtype.newbyteorder("=")
        if wanted.kind == "O" and given.kind in "US":
            return array.astype(np.str_).astype(np.object_)
        if given.kind == wanted.kind == "f" and role == _OUTPUT:
            wanted = min(given, wanted, key=lambda kind: kind.itemsize)
        if given == wanted:
            return array.astype(wanted, copy=False)
        if {given.kind, wanted.kind} <= {*"iuf"}:
            with np.errstate(all="ignore"):
                taken, is_float = array.astype(wanted), wanted.kind == "f"
            if is_float and not np.array_equal(taken, array, equal_nan=True):
                self.note(f"{role} {each.name!r}, of type {given}, is rounded to {wanted}")
            if np.all(np.isinf(taken) == np.isinf(array) if is_float else taken == array):
                return taken
        said = f"{array.dtype}, but the model's is {'string' if wanted.kind == 'O' else wanted}"
        raise UsageError(f"{self.title}: {role} {each.name!r} has type {said}; convert the array")


def _role(each: Input | Output) -> str:
    return _INPUT if isinstance(each, Input) else _OUTPUT


def _sets(source: Arrays, title: str) -> tuple[str, list[dict[str, Array]]]:
    """The name of a source in messages, and its sets of arrays."""
    kinds = (str, os.PathLike, Mapping)
    some = [source] if isinstance(source, kinds) else source
    if not (isinstance(some, Sequence) and some and all(isinstance(e, kinds) for e in some)):
        raise UsageError(f"{title}: neither a path nor arrays by name")
    paths, sets = list[str](), list[dict[str, Array]]()
    try:
        for each in some:
            if isinstance(each, Mapping):
                sets.append({str(name): np.asarray(each[name]) for name in each})
            else:
                paths.append(str(path := Path(each)))
                sets += _folder(path) if path.is_dir() else [_file(path)]
        return few(paths, 3) or title, sets
    except (ValueError, TypeError) as error:
        raise UsageError(f"{title}: an array cannot be read: {error}") from None


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Raises a UsageError unless a file is there, and of its kind; a pipe may never end."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file; save the arrays to a file first")
    try:
        yield
    except _MALFORMED as error:
        let_through(error)
        why = f"is not {kind}"
        if isinstance(error, OSError):
            why = f"cannot be read: {error.strerror}"
        elif "Object arrays" in str(error):
            why = "has arrays of Python objects, which are not read; save arrays of numbers"
        elif isinstance(error, MemoryError):
            why = "contains an array larger than the memory of this machine"
        raise UsageError(f"{path} {why}") from None


def _file(path: Path) -> dict[str, Array]:
    """The arrays in a .npz or .npy file."""
    kind = "a readable .npz or .npy file; write it with numpy.savez or numpy.save"
    with _reading(path, kind), path.open("rb") as file:  # numpy leaves open what it cannot read
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"the array": loaded}
        arrays = {name: loaded[name] for name in loaded.files}
    if not arrays or not all(isinstance(each, np.ndarray) for each in arrays.values()):
        said = "has something else than arrays, or nothing; write it with numpy.savez"
        raise UsageError(f"{path} {said}")
    return arrays


def _folder(path: Path) -> list[dict[str, Array]]:
    """Sets of `input_0.pb`, `output_0.pb`, ... by name, in the folder and in each subfolder."""
    sets = list[dict[str, Array]]()
    for folder in [path, *sorted((each for each in path.iterdir() if each.is_dir()), key=_natural)]:
        files = [sorted(folder.glob(f"{role}_*.pb"), key=_natural) for role in (_INPUT, _OUTPUT)]
        sets.append(dict(map(_tensor, chain(*files))))
    if not any(sets):
        raise UsageError(f"{path} has no input_0.pb, which folders of ONNX test data have")
    return [each for each in sets if each]


def _tensor(path: Path) -> tuple[str, Array]:
    with _reading(path, "a serialized TensorProto"):
        tensor = onnx.TensorProto.FromString(path.read_bytes())
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise UsageError(f"{path} keeps its data in another file; save it as one")
        return tensor.name or path.stem, onnx.numpy_helper.to_array(tensor)


def _natural(path: Path) -> list[int | str]:
    """A sort key that puts `input_10.pb` after `input_2.pb`."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _listed(names: Iterable[str]) -> str:
    return few(map(repr, names), 7)
