"""Reads the arrays that a user gives: inputs, and a framework's outputs.

Nothing is ever unpickled.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec import Struct, field
from msgspec.structs import replace

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import UsageError, few, let_through
from onnxpad.runtimes.sessions import Array
from onnxpad.validation.align import Moved, aligned, channels_moved
from onnxpad.validation.compare import shape_text
from onnxpad.validation.draw import Draw, Input, Interface, Output, feeds_text, numpy_type

Arrays: TypeAlias = str | os.PathLike[str] | Mapping[str, Array] | Sequence[Mapping[str, Array]]
"""A file or folder, or arrays by name, or several of those."""

_INPUT, _OUTPUT = "input", "output"
_MOST_SAMPLES = 16
"""Samples taken from arrays that have several, for a model that takes one at a time."""
_LARGE = 1 << 20
"""Fewest bytes of an array in a compressed file whose shape is compared before it is unpacked."""
_MOST_UNPACKED, _MOST_DENSE = 1 << 30, 100
"""Most bytes of a file unpacked, and how many times its size they may be if they are more."""
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions of numpy for files that are truncated, encrypted, or malformed."""


class _Notes(Struct):
    """The notes on all arrays.

    Attributes:
        all: The notes in order, as keys.
        by_order: The array taken for an input or output by order, in words, by its name.
        layout: How inputs were aligned, by name; of those whose sizes do not tell it, then how
            they are once a run has told that the layout taken is right, or one of the others.
    """

    all: dict[str, None] = field(default_factory=dict)
    by_order: dict[str, str] = field(default_factory=dict)
    layout: dict[str, Sequence[str]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Adds a note unless it is there already."""
        self.all[text] = None


class MatchedInputs(Struct, frozen=True, eq=False):
    """The arrays given, matched to a model's names, types and input shapes.

    Attributes:
        draws: Inputs, one set for each sample; empty if none were given.
        expected: Outputs by name, one mapping for each sample, in the framework's layout.
        remarks: Lines on arrays that were matched by order, parted, or of another type.
        inner: Values of inner tensors by name, one mapping for each sample, in the framework's
            layout.
        others: The draws in each other layout, where sizes do not tell that of an input.
        layout: How inputs were aligned, by name; of those whose sizes do not tell it, then how
            they are once a run has told that the layout taken is right, or one of the others.
    """

    draws: tuple[Draw, ...] = ()
    expected: tuple[Mapping[str, Array], ...] = ()
    remarks: tuple[str, ...] = ()
    inner: tuple[Mapping[str, Array], ...] = ()
    others: tuple[tuple[Draw, ...], ...] = ()
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """The arrays that were not taken as they are, a line each."""
        return *self.remarks, *(f"input {name!r} {how}" for name, (how, *_) in self.layout.items())


class _Entry(Struct, frozen=True, eq=False):
    name: str
    array: Array
    role: str = ""


def matched_inputs(
    model: Interface,
    inputs: Arrays | None,
    reference: Arrays | None,
    inner: Collection[str] | None = None,
) -> MatchedInputs:
    """Read the inputs and the reference given for a model.

    Arrays are matched by name. Those left over are matched by order if their number agrees. Without
    `inputs` the reference has to contain the inputs too.

    Raises:
        UsageError: A file cannot be read, or does not fit the model.
    """
    notes = _Notes()
    fed: list[tuple[Draw, ...]] = []
    expected: list[Mapping[str, Array]] = []
    within: list[Mapping[str, Array]] = []
    feeds, answers = ({each.name for each in some} for some in (model.inputs, model.outputs))
    apart = {*(model.inner if inner is None else inner)} - feeds - answers
    counts: list[int] = []
    if inputs is not None:
        title, sets = _sets(inputs, "the inputs given", model)
        for arrays in sets:
            given = [entry for entry in arrays if entry.role != _OUTPUT]
            given = [entry for entry in given if entry.role or entry.name not in answers] or given
            found = _matched(title, given, model, model.inputs, notes)
            parts = _samples(title, model, found, notes)
            counts.append(len(parts))
            fed += _draws(title, model, parts, notes, alone=reference is None)
    if reference is not None:
        title, sets = _sets(reference, "the reference given", model)
        if fed and len(sets) != len(counts):
            raise UsageError(
                f"{title} has {len(sets)} sets of arrays, but {len(counts)} sets of inputs are "
                "given"
            )
        for place, arrays in enumerate(sets):
            inside = {each.name: each.array for each in arrays if each.name in apart}
            if inner is None and not {each.name for each in arrays} & answers:
                inside = {}  # arrays of other names, which are taken by order
            arrays = [each for each in arrays if each.name not in inside]
            if inner is None and inside:
                notes.add(f"{title}: inner tensors {_listed(inside)} are not compared")
                inside = {}
            if inputs is not None:
                arrays = [e for e in arrays if e.role != _INPUT and (e.role or e.name not in feeds)]
                found = _matched(title, arrays, model, model.outputs, notes)
                parts = _parted(title, {**inside, **found}, counts[place])
            else:
                found = _matched(title, arrays, model, model.ports, notes)
                parts = _samples(title, model, {**inside, **found}, notes)
                fed += _draws(title, model, parts, notes)
            for part in parts:
                within.append({name: part[name] for name in inside})
                for name, array in part.items():
                    if name not in feeds and (holes := not_finite(array)):
                        notes.add(f"{title}: {name!r} has {holes}")
                if inside and not answers & part.keys():
                    expected.append({})  # inner tensors alone tell
                else:
                    expected.append(_outputs(title, model, part, notes))
    layouts = range(max(map(len, fed), default=1))
    draws, *others = (tuple(each[min(way, len(each) - 1)] for each in fed) for way in layouts)
    told = (*notes.all,), tuple(within), tuple(others)
    return MatchedInputs(draws, tuple(expected), *told, notes.layout)


def settled(found: MatchedInputs, which: int) -> MatchedInputs:
    """The given arrays in the layout that a run needs: their own, or one of the others."""
    draws = (found.draws, *found.others)[which]
    layout = {name: ways[1 + which :] or ways for name, ways in found.layout.items()}
    return replace(found, draws=draws, others=(), layout=layout)


def require_within(limits: Mapping[tuple[str, int], Sizes], draws: Iterable[Draw]) -> None:
    """Raises unless the inputs given have sizes at which the rewrites of the models hold.

    Raises:
        UsageError: One has another size.
    """
    for draw in draws:
        for (name, axis), sizes in limits.items():
            shape = draw.feeds[name].shape if name in draw.feeds else ()
            if axis < len(shape) and shape[axis] not in sizes:
                raise UsageError(
                    f"axis {axis} of input {name!r} is {shape[axis]} ({draw.label}), but the model "
                    f"was rewritten for {sizes} alone, as its metadata says (onnxpad.sizes)"
                )


def _matched(
    title: str,
    entries: Sequence[_Entry],
    model: Interface,
    wanted: Sequence[Input | Output],
    notes: _Notes,
) -> dict[str, Array]:
    """The arrays wanted by the model's names; those with other names by order, inputs first.

    Inputs and outputs may come together where only the one or the other are wanted.
    """
    found: dict[str, Array] = {}
    for role in (_INPUT, _OUTPUT):
        mine = [each for each in wanted if isinstance(each, Input) == (role == _INPUT)]
        named = {entry.name: entry for entry in entries if entry.role in {"", role}}
        found.update((each.name, named[each.name].array) for each in mine if each.name in named)
    rest = [entry for entry in entries if entry.name not in found]
    for role in ("", _INPUT, _OUTPUT):
        left = [entry for entry in rest if entry.role == role]
        if not left:
            continue
        ways: tuple[Sequence[Input | Output], ...]
        ways = (wanted, model.ports, [each for each in wanted if isinstance(each, Input)])
        for some in ways:
            lacking = [
                each
                for each in some
                if each.name not in found
                and (not role or isinstance(each, Input) == (role == _INPUT))
            ]
            if len(left) == len(lacking):
                break
        else:
            raise UsageError(
                f"{title} has {_listed(entry.name for entry in left)}, and the model has "
                f"{_listed(each.name for each in wanted)}; give the arrays these names"
            )
        for entry, each in zip(left, lacking, strict=True):
            if each in wanted:
                found[each.name] = entry.array
                kind = _INPUT if isinstance(each, Input) else _OUTPUT
                taken = f"{entry.name!r} taken as {kind} {each.name!r}, by order"
                notes.add(f"{title}: {taken}")
                notes.by_order.setdefault(each.name, taken)
    return found


def _parted(title: str, found: Mapping[str, Array], count: int) -> list[Mapping[str, Array]]:
    """The arrays of each of so many samples; those of one sample are as they are."""
    if count == 1:
        return [found]
    for name, array in found.items():
        if not array.ndim or len(array) < count:
            raise UsageError(
                f"{title}: {name!r} has shape {shape_text(array.shape)}, but there are {count} "
                "samples of the inputs given; give as many of each"
            )
    return [
        {name: array[each : each + 1] for name, array in found.items()} for each in range(count)
    ]


def _draws(
    title: str,
    model: Interface,
    parts: Sequence[Mapping[str, Array]],
    notes: _Notes,
    *,
    alone: bool = False,
) -> Iterator[tuple[Draw, ...]]:
    """The inputs among the arrays, with the types and shapes that the model declares."""
    for place, found in enumerate(parts):
        feeds: dict[str, dict[Moved | None, Array]] = {}
        for each in model.inputs:
            if each.name not in found:
                raise UsageError(
                    f"{title} has no array for input {each.name!r}; the model needs "
                    f"{_listed(wanted.name for wanted in model.inputs)}"
                )
            array = _typed(title, _INPUT, each, found[each.name], notes)
            fit = aligned(array, each.shape)
            if fit is None:
                taken = notes.by_order.get(each.name)
                raise UsageError(
                    f"{title}: input {each.name!r} has shape {shape_text(array.shape)}, but the "
                    f"model declares {shape_text(each.shape)}"
                    + (f" ({taken}; give the arrays the model's names)" if taken else "")
                )
            feeds[each.name] = {None: fit.array} if alone else channels_moved(fit, each.shape)
            if fit.how:
                notes.layout[each.name] = [fit.how]
        ways = [way for way in (None, *Moved) if any(way in some for some in feeds.values())]
        if len(ways) > 1 and _is_channels_last(model, found):
            ways.sort(key=lambda way: way is not Moved.FIRST)
        for name in (name for name, some in feeds.items() if len(some) > 1):
            how = [f"taken with its {way.value}" if way else "taken as it is" for way in ways]
            notes.layout[name] = [f"{how[0]}: sizes do not tell its layout", *how]
        which = f", sample {place}" if len(parts) > 1 else ""
        draws = [
            {name: np.ascontiguousarray(some.get(way, some[None])) for name, some in feeds.items()}
            for way in ways
        ]
        yield tuple(Draw(each, f"{feeds_text(each)}, from {title}{which}") for each in draws)


def _is_channels_last(model: Interface, found: Mapping[str, Array]) -> bool:
    """Whether the arrays have their channels last where those of the model are on axis 1."""
    known = [each for each in model.ports if each.name in found]
    fits = [aligned(found[each.name], each.shape or ()) for each in known]
    return any(fit is not None and fit.moved is Moved.FIRST for fit in fits)


def _samples(
    title: str, model: Interface, found: Mapping[str, Array], notes: _Notes
) -> list[Mapping[str, Array]]:
    """The samples of arrays that have several, each by itself if the model takes one at a time."""
    inputs = [each for each in model.inputs if each.name in found]
    counts = {array.shape[0] if array.ndim else 0 for array in found.values()}
    if len(counts) != 1 or not inputs or all(_fits(found, each) for each in inputs):
        return [found]
    count = counts.pop()
    parts = _parted(title, found, min(count, _MOST_SAMPLES))
    is_single = all(each.shape[:1] == (1,) and _fits(parts[0], each) for each in inputs)
    if count < 2 or not is_single:
        return [found]
    notes.add(f"{title}: {len(parts)} of {count} samples, one at a time as the model takes them")
    return [*parts]


def _fits(found: Mapping[str, Array], each: Input) -> bool:
    return aligned(found[each.name], each.shape) is not None


def _outputs(
    title: str, model: Interface, found: Mapping[str, Array], notes: _Notes
) -> Mapping[str, Array]:
    """The outputs among the arrays; at least one."""
    outputs = {
        each.name: _typed(title, _OUTPUT, each, found[each.name], notes)
        for each in model.outputs
        if each.name in found
    }
    names = [each.name for each in model.outputs]
    if not outputs:
        raise UsageError(f"{title} has no array for an output; the model gives {_listed(names)}")
    if missing := [name for name in names if name not in outputs]:
        notes.add(f"{title} has no array for output {_listed(missing)}, which is not compared")
    return outputs


def not_finite(array: Array) -> str:
    """How many elements are NaN or infinite, and the first one's place; empty if none is."""
    if array.dtype.kind != "f":
        return ""
    holes = np.argwhere(~np.isfinite(array))
    if not len(holes):
        return ""
    nan = int(np.isnan(array).sum())
    said = f"{nan:,} NaN and {len(holes) - nan:,} infinite elements"
    return f"{said} (of {array.size:,}; the first at {holes[0].tolist()})"


def _typed(title: str, role: str, each: Input | Output, array: Array, notes: _Notes) -> Array:
    """The array in the model's type and this machine's byte order.

    Numbers of another type are taken by value, as frameworks write float64 and int64 where the
    model has float32 and int32. Outputs of fewer bits than the model's stay as they are, so that
    their rounding is no difference.

    Raises:
        UsageError: It has a type or values that cannot be meant.
    """
    if each.elem_type == onnx.TensorProto.UNDEFINED:
        return array
    wanted, given = numpy_type(each), array.dtype.newbyteorder("=")
    if wanted.kind == "O" and given.kind in "US":
        array = array.astype(np.str_).astype(np.object_)
    elif given.kind == wanted.kind == "f" and role == _OUTPUT:
        wanted = min(given, wanted, key=lambda kind: kind.itemsize)
    if (taken := _converted(array, wanted)) is None:
        raise UsageError(
            f"{title}: {role} {each.name!r} has type {array.dtype}, but the model's is "
            f"{'string' if wanted.kind == 'O' else wanted}; convert the array"
        )
    if wanted.kind == "f" and not np.array_equal(taken, array, equal_nan=True):
        notes.add(f"{title}: {role} {each.name!r}, of type {given}, is rounded to {wanted}")
    return taken


def _converted(array: Array, wanted: np.dtype[Any]) -> Array | None:
    """The array in another type; None where that is no number or has no such values."""
    if array.dtype.newbyteorder("=") == wanted:
        return array.astype(wanted, copy=False)
    if not {array.dtype.kind, wanted.kind} <= {*"iuf"}:
        return None
    with np.errstate(all="ignore"):
        taken = array.astype(wanted)
    same = np.isinf(taken) == np.isinf(array) if wanted.kind == "f" else taken == array
    return taken if np.all(same) else None


def _sets(source: Arrays, title: str, model: Interface) -> tuple[str, list[list[_Entry]]]:
    """The name of a source in messages, and its sets of arrays."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return str(path), _read(path, model)
    mappings = [source] if isinstance(source, Mapping) else source
    if (
        not isinstance(mappings, Sequence)
        or not mappings
        or not all(isinstance(each, Mapping) for each in mappings)
    ):
        raise UsageError(f"{title}: neither a path nor arrays by name")
    try:
        return title, [
            [_Entry(str(name), np.asarray(array)) for name, array in each.items()]
            for each in mappings
        ]
    except (ValueError, TypeError) as error:
        raise UsageError(f"{title}: an array cannot be read: {error}") from None


def _read(path: Path, model: Interface) -> list[list[_Entry]]:
    """The arrays in a .npz or .npy file, or in a folder of ONNX test data."""
    if path.is_dir():
        return _folder(path)
    _require_file(path)
    try:
        with path.open("rb") as file:  # numpy does not close a file that it cannot read
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return [[_Entry("the array", loaded)]]
            _check_headers(path, loaded.zip, model)
            entries = [_Entry(name, loaded[name]) for name in loaded.files]
    except _UNREADABLE as error:
        let_through(error)
        raise UsageError(_why(path, error)) from None
    if not entries:
        raise UsageError(f"{path}: contains no arrays")
    for entry in entries:
        if not isinstance(entry.array, np.ndarray):
            raise UsageError(
                f"{path}: {entry.name!r} is not an array; write the file with numpy.savez"
            )
    return [entries]


def _check_headers(path: Path, packed: zipfile.ZipFile, model: Interface) -> None:
    """Raises before an array is unpacked that does not fit, or is far larger than the file."""
    declared = {each.name: each.shape for each in model.ports if each.shape is not None}
    for member in packed.infolist():
        name = member.filename.removesuffix(".npy")
        if name not in declared or member.file_size < _LARGE:
            continue
        with packed.open(member) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                continue  # of a type with many fields, which no tensor has
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        whole = np.broadcast_to(np.zeros((), dtype), shape)  # takes no memory
        if aligned(whole, declared[name]) is None and aligned(whole[:1], declared[name]) is None:
            raise UsageError(
                f"{path}: {name!r} has shape {shape_text(shape)}, but the model declares "
                f"{shape_text(declared[name])}"
            )
    total = sum(member.file_size for member in packed.infolist())
    if total > max(_MOST_UNPACKED, _MOST_DENSE * path.stat().st_size):
        raise UsageError(
            f"{path}: unpacks to {total:,} bytes, over {_MOST_DENSE} times the size of the file; "
            "write it with numpy.savez, which does not compress"
        )


def _require_file(path: Path) -> None:
    """Raises if something else than a file is there, such as a pipe, whose end may never come."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file; save the arrays to a file first")


def _why(path: Path, error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{path} cannot be read: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"{path}: contains an array larger than the memory of this machine"
    return f"{path}: is not a readable .npz or .npy file; write it with numpy.savez or numpy.save"


def _folder(path: Path) -> list[list[_Entry]]:
    """Sets of `input_0.pb`, `output_0.pb` and so on: in the folder itself and in each subfolder."""
    folders = [path, *sorted((each for each in path.iterdir() if each.is_dir()), key=_natural)]
    sets = [found for folder in folders if (found := list(_tensors(folder)))]
    if not sets:
        raise UsageError(f"{path}: has no input_0.pb, which folders of ONNX test data have")
    return sets


def _tensors(folder: Path) -> Iterator[_Entry]:
    for role in (_INPUT, _OUTPUT):
        for path in sorted(folder.glob(f"{role}_*.pb"), key=_natural):
            _require_file(path)
            try:
                tensor = onnx.TensorProto.FromString(path.read_bytes())
                if tensor.data_location == onnx.TensorProto.EXTERNAL:
                    raise UsageError(f"{path}: keeps its data in another file; save it as one")
                array = onnx.numpy_helper.to_array(tensor)
            except OSError as error:
                let_through(error)
                raise UsageError(f"{path} cannot be read: {error.strerror}") from None
            except (DecodeError, ValueError, TypeError, KeyError):
                raise UsageError(f"{path}: is not a serialized TensorProto") from None
            yield _Entry(tensor.name or path.stem, array, role)


def _natural(path: Path) -> list[int | str]:
    """A sort key that puts `input_10.pb` after `input_2.pb`."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def _listed(names: Iterable[str]) -> str:
    return few(map(repr, names), 7)
