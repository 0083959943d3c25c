"""Proves that a rewritten graph computes the same, by deriving what both versions read.

For a tensor before a change, and for the tensor that replaces it afterwards, this module derives
what each element is computed from: the positions that a window reads, the fill at positions outside
of the data, and the positions that an average counts. Then it compares both. It makes no decision
about rewriting and knows no pass.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final, TypeAlias

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.size import Extent, Sizes, Unknown, always, less_equal, minimum, symbol
from onnxpad.declared import Row
from onnxpad.errors import ModelError
from onnxpad.facts import Facts
from onnxpad.finding import Assumption, Certificate, Trust
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.proof.layers import (
    LEAST,
    Amounts,
    Layer,
    Layers,
    count_shared,
    fill_of,
    merged,
    same_layers,
    without_sign,
)
from onnxpad.proof.meaning import (
    FLOATS,
    MeaninglessError,
    Padding,
    SlideSpec,
    is_empty,
    is_pad,
    least_of,
    least_size,
    meaning_of,
    padding_of,
    slides,
)
from onnxpad.proof.sliding import (
    EngineReading,
    PaddedWindow,
    WindowPair,
    compared,
    known_sizes,
    says_twice,
)
from onnxpad.proof.sliding import UncertifiedError as UncertifiedError
from onnxpad.proof.windows_by_engine import ENGINE_OF
from onnxpad.records import NamedTuple

# Longer chains of Pads are proved piece by piece, which keeps the cost linear.
_MOST_PADS: Final = 16
# Operators between a `Pad` and the tensor that is read, and tensors that are looked at for them.
_MOST_STEPS: Final = 64
_MOST_LOOKED_AT: Final = 256
FINITE: Final = Assumption.FINITE_DATA
"""The assumption for maxima that are equal except in a window that holds only -inf."""
_REPAIRED: Final = "; a repair by the specification alone: onnxruntime does not run the original"
_LOWEST_FINITE: Final = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}


Term: TypeAlias = str | tuple[object, ...]
"""A tensor by name, or a step of `proof.steps`: its key, then the terms of its data inputs."""


class Reading(NamedTuple):
    """The elements from which a tensor is computed, as read from the graph.

    Attributes:
        root: Name of the tensor that is read; the first one where steps join several.
        layers: Layers of constant padding around it, from the inside out, over all axes.
        opaque: An outermost padding that is not a layer (it copies data, or crops an axis that may
            be too short): its mode, and its amounts.
        slide: The window that slides over all this, or None.
        besides: Names of the operator's other inputs.
        direct: Name of the tensor that the operator itself reads.
        nodes: The nodes that were read, by identity: the operator and the `Pad`s.
        taken: Names of the tensors that the proof does not look behind: the root, a fill that is
            known only at run time, the operator's other inputs.
        term: What steps compute from the roots, inside of the layers; the root where there are
            no steps.
        roots: Names of all tensors that are read.
        declared: What users declared of the operators that were read.
        runs: Whether onnxruntime runs all that was read, as far as that was looked at.
        disputed: Whether this is onnxruntime's reading, and the specification leaves it open.
        further: Whether transposed convolutions were read `further`, as `scattered` has it.
    """

    root: str
    layers: Layers
    opaque: tuple[str, Amounts] | None
    slide: SlideSpec | None
    besides: tuple[str, ...]
    direct: str
    nodes: frozenset[int]
    taken: frozenset[str]
    term: Term = ""
    roots: tuple[str, ...] = ()
    declared: frozenset[Row] = frozenset()
    runs: bool = True
    disputed: bool = False
    further: bool = False


class Certifier:
    """Derives readings of tensors of one graph, and compares them."""

    def __init__(self, graph: Graph, analysis: Analysis, signs: Signs) -> None:
        """Reads the graph as it is at each call; only comparisons of sizes are cached."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs
        self._compared: dict[tuple[object, ...], WindowPair] = {}

    @property
    def declared(self) -> Collection[Row]:
        """Users' declarations of the operators whose shapes were asked for."""
        return self._analysis.declared

    def read(
        self,
        node: Node,
        tensor: Tensor,
        roots: Collection[str] = (),
        *,
        further: bool | None = None,
    ) -> Reading:
        """Derives what the elements of a tensor are computed from, back to `roots`.

        Args:
            node: A window operator, a `Pad`, or another operator: says whether to look for a
                window, for `Pad`s, or for `Pad`s with other operators between them.
            tensor: The tensor.
            roots: Where to stop; empty for the first tensors that no `Pad` writes.
            further: As `steps` has it.

        Raises:
            UncertifiedError: Nothing can be proved about the nodes there.
        """
        is_window = slides(self._graph, node)
        if not is_window and not is_pad(self._graph, node):
            # A `Pad` of nothing that is an output of the graph becomes an Identity.
            was_pad = node.op == "Identity" and self._graph.is_standard(node) and len(roots) == 1
            if not was_pad:
                return self.steps(tensor, roots, further=further)
        (root,) = roots or ("",)
        return (self.window if is_window else self.padding)(tensor, root)

    def steps(
        self, tensor: Tensor, roots: Collection[str] = (), *, further: bool | None = None
    ) -> Reading:
        """Derives what a tensor is computed from, through `Pad`s and the steps between them.

        Args:
            tensor: The tensor.
            roots: Where to stop; empty for the tensors with no constant `Pad` upstream.
            further: Whether to read transposed convolutions `further`, as `scattered` has it; None
                for where only that leads up to them.

        Raises:
            UncertifiedError: There is no such `Pad`, or the roots are not what is read.
        """
        try:
            reading = self._read_steps(tensor, roots, further)
        except (MeaninglessError, ModelError) as error:
            raise UncertifiedError(str(error)) from error
        if not roots and reading.roots == (tensor.name,):
            raise UncertifiedError(f"the padding of {tensor.name!r} is unknown")
        return reading

    def _read_steps(self, tensor: Tensor, roots: Collection[str], further: bool | None) -> Reading:
        """As `steps`; where not all `Pad`s upstream can be carried through, the nearest alone.

        A transposed convolution upstream counts as one of them.
        """
        found: list[Reading] = []
        spreads = False
        for nearest, beyond in ((False, False), (True, False), (False, True)):
            if further not in (None, beyond) or (nearest and found and spreads):
                continue
            reader = _StepReader(
                self, self._graph, self._analysis, roots, nearest=nearest, further=beyond
            )
            try:
                found.append(reader.read(tensor))
            except UncertifiedError as error:
                refusal = error
                continue
            finally:
                spreads |= reader.spreads
            if not reader.is_cut_short or (reader.spreads and not reader.is_stopped):
                return found[-1]
        if not found:
            raise refusal
        return found[0]

    def layer_of(self, pad: Padding) -> Layer | None:
        """The layer of a `Pad`; None where it is not constant or its facts are unknown."""
        return self._layer(pad, self._full(pad, None))

    def window(self, tensor: Tensor, root: str = "") -> Reading:
        """Derives what a window operator's first output is computed from, back to `root`.

        Raises:
            UncertifiedError: No window operator writes the tensor, or it cannot be read.
        """
        node = self._graph.producer(tensor)
        if node is None or not slides(self._graph, node):
            raise UncertifiedError(f"nothing computes {tensor.name!r} by a sliding window")
        if tensor.name != node.outputs[0].name:
            raise UncertifiedError(f"{tensor.name!r} is not the operator's first output")
        return self.of_window(node, root)

    def of_window(self, node: Node, root: str = "") -> Reading:
        """As `window`, given the operator itself.

        Raises:
            UncertifiedError: The operator cannot be read.
        """
        try:
            slide = meaning_of(self._graph, self._analysis, node)
            besides = tuple([tensor.name for tensor in node.inputs[1:]])
            return self._read_padding(node.inputs[0], slide, besides, root, {id(node)})
        except (MeaninglessError, ModelError) as error:
            raise UncertifiedError(str(error)) from error

    def of_node(self, node: Node) -> Reading:
        """Derives what a window operator or a `Pad` alone computes; its data input is the root.

        Raises:
            UncertifiedError: Nothing can be proved about the node.
        """
        if slides(self._graph, node):
            return self.of_window(node, node.inputs[0].name if node.inputs else "")
        if not is_pad(self._graph, node):
            raise UncertifiedError(f"nothing can be proved about {node.op} {describe(node)!r}")
        try:
            pad = padding_of(self._graph, self._analysis, node)
        except (MeaninglessError, ModelError) as error:
            raise UncertifiedError(str(error)) from error
        full = self._full(pad, None)
        layer = self._layer(pad, full)
        opaque = None if layer is not None else _opaque(pad, full)
        if layer is None and opaque is None:
            raise UncertifiedError(f"the padding of Pad {describe(node)!r} is unknown")
        layers = (layer,) if layer is not None else ()
        output, root = node.outputs[0].name, pad.data.name
        known = frozenset({id(node)}), frozenset({root, pad.filler})
        return Reading(root, layers, opaque, None, (), output, *known, root, (root,))

    def padding(self, tensor: Tensor, root: str = "") -> Reading:
        """Derives what a tensor is computed from, through the `Pad`s upstream, back to `root`.

        Raises:
            UncertifiedError: A `Pad` cannot be read.
        """
        try:
            reading = self._read_padding(tensor, None, (), root, set())
        except (MeaninglessError, ModelError) as error:
            raise UncertifiedError(str(error)) from error
        if not root and reading.root == tensor.name:
            raise UncertifiedError(f"the padding of {tensor.name!r} is unknown")
        return reading

    def _read_padding(
        self,
        tensor: Tensor,
        slide: SlideSpec | None,
        besides: tuple[str, ...],
        root: str,
        nodes: set[int],
    ) -> Reading:
        layers: list[Layer] = []
        opaque = None
        current = tensor
        taken = {*besides}
        rank = None if slide is None else slide.rank
        seen = 0
        # Indices count positions of the tensor that is pooled, so it must be the root itself.
        while current.name != root and not (slide is not None and slide.has_indices):
            current = self._graph.origin(current)
            node = self._graph.producer(current) if current.name != root else None
            if node is None or not is_pad(self._graph, node):
                break
            seen += 1
            if not root and seen > _MOST_PADS:
                break
            if self._graph.refers(node):
                break  # each call of the function sets an attribute: whatever it computes is data
            pad = padding_of(self._graph, self._analysis, node)
            empty = pad.amounts is not None and is_empty(pad.amounts)
            if empty and self._fits(node, pad, rank):
                nodes.add(id(node))
                current = pad.data
                continue
            full = self._full(pad, rank)
            if empty and slide is None and not layers:
                # A Pad of nothing for data of another rank is an error, so it differs from no Pad.
                opaque = "nothing, if the rank fits", pad.amounts or ()
                nodes.add(id(node))
                current = pad.data
                break
            if empty or (slide is not None and not _pads_axes_of(slide, full)):
                break
            layer = self._layer(pad, full)
            if full is None or layer is None:
                if slide is None and not layers and (found := _opaque(pad, full)) is not None:
                    opaque = found
                    nodes.add(id(node))
                    taken.add(pad.filler)
                    current = pad.data
                break
            layers.append(layer)
            nodes.add(id(node))
            current = pad.data
            rank = len(full)
        outward = tuple(reversed(layers))
        known, name = (frozenset(nodes), frozenset({current.name, *taken})), current.name
        own = None if slide is None else slide.row.declaration
        declared = frozenset[Row]() if own is None else frozenset({own})
        return Reading(
            name, outward, opaque, slide, besides, tensor.name, *known, name, (name,), declared
        )

    def _fits(self, node: Node, pad: Padding, rank: int | None) -> bool:
        """Whether the amounts of a `Pad` fit the rank of its data.

        The rank comes from the analysis, or from window operators that read the `Pad`.
        """
        amounts = pad.amounts or ()
        if rank is not None or pad.axes is not None:
            return pad.axes is not None or len(amounts) == rank
        shape = self._analysis.shape(pad.data)
        if shape is not None:
            return len(amounts) == len(shape)
        ranks = [
            meaning_of(self._graph, self._analysis, use.node).rank
            for use in self._graph.uses(node.outputs[0])
            if use.index == 0 and slides(self._graph, use.node)
        ]
        return len(amounts) in ranks

    def _full(self, pad: Padding, rank: int | None) -> Amounts | None:
        """The amounts over all axes; None where they or the rank are unknown."""
        if rank is None and pad.axes is None and pad.amounts is not None:
            rank = len(pad.amounts)
        if rank is None:
            rank = self._rank(pad.data)
        return None if rank is None else pad.over(rank)

    def _rank(self, tensor: Tensor) -> int | None:
        """The rank of a tensor, from the analysis or from the `Pad`s that write it."""
        for _ in range(_MOST_PADS):
            shape = self._analysis.shape(tensor)
            if shape is not None:
                return len(shape)
            pad = self._pad_writing(tensor)
            if pad is None:
                return None
            if pad.axes_known and pad.axes is None and pad.amounts is not None:
                return len(pad.amounts)
            tensor = pad.data
        return None

    def _pad_writing(self, tensor: Tensor) -> Padding | None:
        """The `Pad` that writes a tensor; None where none does, or it cannot be read."""
        node = self._graph.producer(self._graph.origin(tensor))
        if node is None or not is_pad(self._graph, node):
            return None
        try:
            return padding_of(self._graph, self._analysis, node)
        except MeaninglessError:
            return None

    def _least_sizes(self, tensor: Tensor, rank: int) -> tuple[Extent, ...]:
        """Sizes that the axes of a tensor reach at least: those known, or as much as is added.

        A `Pad` that does not crop leaves no axis shorter than what it adds.
        """
        pad = self._pad_writing(tensor)
        full = pad.over(rank) if pad is not None and pad.is_plain else None
        added = (0,) * rank if full is None else tuple(begin + end for begin, end in full)
        shape = self._analysis.shape(tensor)
        if shape is None or len(shape) != rank:
            return added
        return tuple(
            more if isinstance(size, Unknown) else size
            for size, more in zip(shape, added, strict=True)
        )

    def _layer(self, pad: Padding, full: Amounts | None) -> Layer | None:
        """The layer of a constant `Pad`; None where it is not constant or its facts are unknown.

        A crop must not be longer than the data, or there is no layer either.
        """
        if full is None or pad.mode != "constant":
            return None
        value = pad.value
        if value is None and all(type(n) is int and n <= 0 for pair in full for n in pair):
            value = 0  # no element has it
        if value is None:
            return None
        layer = Layer(full, fill_of(value))
        if pad.is_plain:
            return layer
        crops = [minimum(begin, 0) + minimum(end, 0) for begin, end in full]
        if all(crop == 0 for crop in crops):
            return layer
        fits = all(
            crop == 0 or always(less_equal(0, size + crop)) is True
            for size, crop in zip(self._least_sizes(pad.data, len(full)), crops, strict=True)
        )
        return layer if fits else None

    def certify(self, before: Reading, after: Reading, trust: Trust | None = None) -> Certificate:
        """Certifies that `after` computes the same as `before`, wherever `before` is defined.

        Args:
            before: The original.
            after: What replaces it.
            trust: Whose reading of the original counts where the engines disagree about it.

        Raises:
            UncertifiedError: They differ, or cannot be compared; the message says how.
        """
        if before.roots != after.roots:
            found, wanted = map(_names, (after.roots, before.roots))
            raise UncertifiedError(
                f"reads {found} where the original reads {wanted}", found=found, wanted=wanted
            )
        if before.term != after.term:
            raise UncertifiedError("between the padding and the tensor other steps are computed")
        if before.opaque != after.opaque:
            raise UncertifiedError("the copied padding differs")
        if (before.slide is None) != (after.slide is None):
            raise UncertifiedError("the operator is gone")
        if before.slide is None or after.slide is None:
            fill = "the same fill"
            if not _pad_alike(before.layers, after.layers):
                if not _pad_alike(without_sign(before.layers), without_sign(after.layers)):
                    raise UncertifiedError("the padding differs")
                self._check_sign_is_lost(self._graph.tensor(after.direct))
                fill = "zeros, whose sign nothing downstream can tell,"
            if before.runs and not after.runs:
                raise UncertifiedError("onnxruntime does not run the rewritten node")
            if after.disputed or (before.disputed and trust is not Trust.RUNTIME):
                raise UncertifiedError("the specification leaves open what the operator gives")
            facts: dict[str, object] = {"kind": "padding", "root": before.root}
            facts["roots"] = list(before.roots)
            holds = "holds" if isinstance(before.term, str) else "is computed in the same way from"
            tail = f"with {fill} at the same places"
            if not before.runs:
                tail += _REPAIRED
                facts["repair"] = True
            assumptions: tuple[Assumption, ...] = ()
            if before.disputed and trust is not None:
                tail += ", as onnxruntime reads the original (the specification leaves it open)"
                facts["trusts"] = str(trust)
                assumptions = (trust.assumption,)

            def statement(result: str, of: str) -> str:
                return f"{result} {holds} the same elements of {of}, {tail}"

            return Certificate(
                statement(repr(before.direct), _names(before.roots)),
                assumptions=assumptions,
                facts=facts,
                general=statement("the result", ", ".join(_DATA for _ in before.roots)),
                data=self._holds(before, after),
            )
        return self._certify_window(before, before.slide, after, after.slide, trust)

    def _check_sign_is_lost(self, tensor: Tensor) -> None:
        """Checks that the signs of zeros in a tensor make no difference downstream.

        Steps make equal numbers of 0.0 and -0.0, which may be zeros of other signs again, until
        they are integers, or a sum of products takes them.

        Raises:
            UncertifiedError: They may make a difference.
        """
        from onnxpad.proof.steps import data_inputs

        graph, analysis = self._graph, self._analysis
        pending, seen = [tensor], {tensor.name}
        while pending:
            tensor = pending.pop()
            if analysis.dtype(tensor) not in {None, *FLOATS}:
                continue
            if graph.is_output(tensor) or len(seen) > _MOST_LOOKED_AT:
                raise UncertifiedError(f"the sign of zeros in {tensor.name!r} differs")
            for use in graph.uses(tensor):
                node = use.node
                if use.index == 0 and slides(graph, node) and self._sums_up(node):
                    continue
                steps = (0,) if is_pad(graph, node) else data_inputs(graph, analysis, node)
                copies = node.op == "Identity" or use.index in steps
                divides = node.op == "Div" and use.index == 1
                if not graph.is_standard(node) or not copies or divides:
                    raise UncertifiedError(
                        f"{node.op} {describe(node)!r} may tell 0.0 from -0.0", operator=node.op
                    )
                further = [each for each in node.outputs if each.name and each.name not in seen]
                pending += further
                seen.update(each.name for each in further)

    def _sums_up(self, node: Node) -> bool:
        """Whether a window operator adds what it reads to 0.0, so that no sign of a zero shows."""
        try:
            return meaning_of(self._graph, self._analysis, node).row.loses_signs
        except (MeaninglessError, ModelError):
            return False

    def _certify_window(
        self,
        before: Reading,
        old: SlideSpec,
        after: Reading,
        new: SlideSpec,
        trust: Trust | None,
    ) -> Certificate:
        if (old.kind, old.axes, old.others) != (new.kind, new.axes, new.others):
            raise UncertifiedError("the window itself differs")
        if not new.empty <= old.empty:
            raise UncertifiedError(f"{', '.join(new.empty - old.empty)} became an empty list")
        if before.besides != after.besides:
            raise UncertifiedError("the operator's other inputs differ")
        if says_twice(new) and not says_twice(old):
            raise UncertifiedError("auto_pad and pads are both there, and engines differ on that")
        if old.has_indices and before.direct != after.direct:
            raise UncertifiedError("the indices count positions of another tensor")
        sizes = self._sizes(before.root, old)
        root = self._graph.tensor(before.root)
        dtype = self._analysis.dtype(root) if old.compares else None
        # Networks repeat the same few windows, each of which is one object.
        key = (id(old), before.layers, id(new), after.layers, sizes, dtype, trust)
        found = self._compared.get(key)
        if found is None:
            pair = PaddedWindow(old, before.layers), PaddedWindow(new, after.layers)
            found = self._compared[key] = compared(*pair, sizes, dtype, trust)
        outside = found.readings[0].outside
        tail = outside
        if found.is_repair:
            tail += _REPAIRED
        if found.trust is not None:
            other = "onnxruntime does not" if found.trust is Trust.SPEC else "not as specified"
            tail += f", as {ENGINE_OF[found.trust]} reads the original ({other})"
        if found.same:
            assumptions = self._check_crop(old, new, root)
        else:
            assumptions = self._check_losing(root, found)
            self._check_zeros(root, found, after)
        if found.trust is not None:
            assumptions.add(found.trust.assumption)
        facts = Facts({"kind": "windows", "root": before.root, **found.facts})

        def statement(of: str) -> str:
            return f"each window reads the same positions of {of}, {tail}"

        return Certificate(
            statement(repr(before.root)),
            assumptions=tuple(sorted(assumptions)),
            facts=facts,
            general=statement(_DATA),
            data=found.holds,
        )

    def _check_crop(self, old: SlideSpec, new: SlideSpec, root: Tensor) -> set[Assumption]:
        """The assumptions under which a MaxPool with SAME and one with explicit pads are equal.

        Where SAME would have to crop (its total is negative), onnxruntime runs another kernel. For
        a window of -inf some kernels give -inf and some the lowest finite number.

        Raises:
            UncertifiedError: The data certainly holds infinities or NaN.
        """
        if not _crops(old, new) or self._analysis.dtype(root) not in {None, *FLOATS}:
            return set()
        if (origin := self._signs.infinite(root)) is not None:
            raise UncertifiedError(f"{root.name!r} holds {origin.what}, {origin.why}")
        return {FINITE}

    def _check_losing(self, root: Tensor, found: WindowPair) -> set[Assumption]:
        """The assumptions under which different fills lose every comparison in a MaxPool.

        Raises:
            UncertifiedError: A fill may win, or a window may read no data at all.
        """
        assumptions: set[Assumption] = set()
        if (origin := self._signs.infinite(root)) is not None:
            raise UncertifiedError(f"{root.name!r} holds {origin.what}, {origin.why}")
        floor = min(self._signs.bound(root), _least_fill(found.inner))
        for reading in found.readings:
            if not reading.same:
                self._check_reading(root, reading, floor, assumptions)
        return assumptions

    def _check_zeros(self, root: Tensor, found: WindowPair, after: Reading) -> None:
        """Checks that it makes no difference whether a fill of 0 or a -0.0 of the data won.

        Raises:
            UncertifiedError: It may make a difference downstream.
        """
        layers = (
            layer for each in found.readings for layer in (*each.first.layers, *each.second.layers)
        )
        is_float = self._analysis.dtype(root) in FLOATS
        if not is_float or self._signs.bound(root) > 0 or all(each.fill != 0 for each in layers):
            return
        for use in self._graph.uses(self._graph.tensor(after.direct)):
            if id(use.node) in after.nodes and (teller := self._signs.telling(use.node.outputs[0])):
                raise UncertifiedError(f"{teller.text} may tell 0.0 from -0.0")

    def _check_reading(
        self, root: Tensor, reading: EngineReading, floor: float, assumptions: set[Assumption]
    ) -> None:
        dtype, replaced = self._analysis.dtype(root), set[float | int | str]()
        sides = []
        for each in (reading.first, reading.second):
            lost = tuple(self._losing(layer, dtype, floor, assumptions) for layer in each.layers)
            replaced.update(
                old.fill for old, new in zip(each.layers, lost, strict=True) if old != new
            )
            sides.append(merged(lost))
        if not same_layers(*sides):
            raise UncertifiedError(reading.differs)
        if dtype is not None and dtype not in FLOATS and replaced <= {least_of(dtype)}:
            return  # a maximum of integers over nothing but padding is the least of them
        if (axis := reading.blind_axis()) is not None:
            raise UncertifiedError(
                f"on axis {axis} a window may lie wholly in the padding", axis=axis
            )

    def _losing(
        self, layer: Layer, dtype: int | None, floor: float, assumptions: set[Assumption]
    ) -> Layer:
        """The layer with the fill `LEAST` instead of one that loses every comparison.

        Args:
            layer: The layer.
            dtype: The element type of the data.
            floor: A number that no element of the data and of its inner layers is below.
            assumptions: Receives the assumptions that this needs.
        """
        if layer.fill == LEAST or dtype is None or isinstance(layer.fill, str):
            return layer
        least = least_of(dtype)
        loses = layer.fill == least or layer.fill <= floor
        if dtype in FLOATS:
            loses = loses or (dtype in _LOWEST_FINITE and layer.fill <= _finite(dtype))
            if loses:
                assumptions.add(FINITE)
        return layer._replace(fill=LEAST) if loses else layer

    def _holds(self, before: Reading, after: Reading) -> tuple[int | None, ...]:
        """The sizes for which two readings without a window are equal.

        They are those of padded axes and of all but the first two, from which amounts may come.
        """
        is_plain = before.term in {"", before.root}
        shape = self._analysis.shape(self._graph.tensor(before.root if is_plain else after.direct))
        paddings = [layer.amounts for each in (before, after) for layer in each.layers]
        paddings += [each.opaque[1] for each in (before, after) if each.opaque is not None]
        axes = {
            axis
            for amounts in paddings
            for axis, pair in enumerate(amounts)
            if any(amount != 0 for amount in pair)
        }
        sizes = (
            [] if shape is None else [each for at, each in enumerate(shape) if at > 1 or at in axes]
        )
        return known_sizes(sizes)

    def _sizes(self, root: str, slide: SlideSpec) -> tuple[Extent, ...]:
        """The spatial sizes of a tensor; fresh symbols where they are unknown until run time."""
        tensor = self._graph.tensor(root)
        shape = self._analysis.shape(tensor)
        if shape is not None and len(shape) != slide.rank:
            raise UncertifiedError(f"{root!r} has {len(shape)} axes, the window {len(slide.axes)}")
        axes = slide.spatial
        found = [Unknown("run time alone knows") if shape is None else shape[axis] for axis in axes]
        if Unknown not in map(type, found):
            return tuple(found)
        least, name = least_size(self._graph, tensor), self._graph.unique(root)
        return tuple(
            symbol(f"{name}[{axis}]", Sizes(least)) if isinstance(size, Unknown) else size
            for axis, size in zip(axes, found, strict=True)
        )


class _StepReader:
    """Reads one tensor through constant `Pad`s, crops, and the steps between them."""

    def __init__(
        self,
        certifier: Certifier,
        graph: Graph,
        analysis: Analysis,
        roots: Collection[str],
        *,
        nearest: bool = False,
        further: bool = False,
    ) -> None:
        self._certifier = certifier
        self._nearest = nearest
        self._further = further
        self.is_cut_short = False  # whether a step cannot be passed, or only what was cropped
        self.is_stopped = False  # whether a step cannot be passed
        self.spreads = False  # whether it ends at a transposed convolution
        self._graph = graph
        self._analysis = analysis
        self._roots = roots
        self._known: dict[str, _Inside] = {}
        self._nodes: set[int] = set()
        self._taken: set[str] = set()
        self._found: dict[str, None] = {}
        self._runs = True
        self._disputed = False

    def read(self, tensor: Tensor) -> Reading:
        """The term, layers and nodes behind a tensor.

        Raises:
            MeaninglessError: A `Pad` is malformed.
            UncertifiedError: It is computed from the tensor itself alone.
        """
        inside = self._inside(tensor, 0)
        self._collect(tensor)
        if not self._roots and self._found.keys() == {tensor.name}:
            raise UncertifiedError(f"the padding of {tensor.name!r} is unknown")
        roots, known = tuple(self._found), (frozenset(self._nodes), frozenset(self._taken))
        read = roots[0], inside.layers, None, None, (), tensor.name, *known, inside.term, roots
        return Reading(
            *read,
            runs=self._runs,
            disputed=self._disputed,
            further=self._further,
        )

    def _inside(self, tensor: Tensor, steps: int) -> _Inside:
        """The term and layers behind a tensor, no further up than the `Pad`s or the roots."""
        tensor = tensor if tensor.name in self._roots else self._graph.origin(tensor)
        found = self._known.get(tensor.name)
        if found is None:
            bare = _Inside(tensor.name, (), None, (), (), tensor.name in self._roots)
            within = not bare.counts and len(self._known) < _MOST_LOOKED_AT
            found = self._computed(tensor, steps) if within else None
            found = self._known[tensor.name] = found or bare
        return found

    def _computed(self, tensor: Tensor, steps: int) -> _Inside | None:
        """The result of the node that writes a tensor; None where the tensor is a root."""
        graph, analysis = self._graph, self._analysis
        node = graph.producer(tensor)
        if node is None or steps > _MOST_STEPS:
            return None
        if is_pad(graph, node):
            try:
                pad = padding_of(graph, analysis, node)
            except MeaninglessError:
                return None  # whatever it computes is data
            layer = self._certifier.layer_of(pad)
            if layer is None:
                return None
            if self._nearest and pad.data.name not in self._roots:
                source = graph.origin(pad.data).name
                self._known.setdefault(source, _Inside(source, (), None, (), (), False))
            inner = self._inside(pad.data, steps + 1)
            layers = (*inner.layers, layer)
            return _Inside(inner.term, layers, node, (pad.data,), (), True)
        # Most models pad next to what slides: the tables of what lies between take 105 kB of code.
        from onnxpad.proof.scattering import scatters

        if scatters(graph, node):
            return self._scattered(node, tensor, steps)
        from onnxpad.proof.steps import crop_of, data_inputs, through

        crop = crop_of(graph, analysis, node)
        if crop is not None:
            amounts, others = crop
            inner = self._inside(node.inputs[0], steps + 1)
            layers = inner.layers
            if any(layer.amounts[axis] != (0, 0) for layer in layers for axis, _ in others):
                return None
            if not is_empty(amounts):
                layers = (*layers, Layer(amounts, _fill_around(layers)))
            term = (("Slice", others), inner.term) if others else inner.term
            return _Inside(term, layers, node, (node.inputs[0],), (), True)
        data = [node.inputs[index] for index in data_inputs(graph, analysis, node)]
        inside = [self._inside(each, steps + 1) for each in data]
        if not any(each.counts for each in inside):
            return None
        (place,) = [i for i, each in enumerate(node.outputs) if each.name == tensor.name]
        passed = through(graph, analysis, node, place, [each.layers for each in inside])
        self.is_stopped |= passed is None
        self.is_cut_short |= passed is None or passed.crops
        if passed is None:
            return None
        term = (passed.key, *[each.term for each in inside])
        return _Inside(term, passed.layers, node, tuple(data), passed.taken, True)

    def _scattered(self, node: Node, tensor: Tensor, steps: int) -> _Inside | None:
        """A transposed convolution as its full result with a layer around it; its data is a root.

        None where it cannot be read, where its data is padded (its windows spread that too), or
        where engines disagree about one that is further up.
        """
        from onnxpad.proof.scattering import scattered

        try:
            found = scattered(self._graph, self._analysis, node, further=self._further)
        except (MeaninglessError, ModelError):
            return None
        data = node.inputs[0]
        root = data if data.name in self._roots else self._graph.origin(data)
        bare = _Inside(root.name, (), None, (), (), root.name in self._roots)
        inner = self._known.setdefault(root.name, bare)
        if found.disputed and steps:
            return None
        self._runs &= found.runs
        self._disputed |= found.disputed
        if inner.node is not None or tensor.name != node.outputs[0].name:
            return None
        term = (found.key, inner.term)
        self.spreads = True
        return _Inside(term, found.layers, node, (data,), found.taken, True)

    def _collect(self, tensor: Tensor) -> None:
        """Notes the nodes, roots and other tensors that the reading of a tensor rests on."""
        pending, seen = [tensor], set()
        while pending:
            tensor = pending.pop()
            tensor = tensor if tensor.name in self._roots else self._graph.origin(tensor)
            if tensor.name in seen:
                continue
            seen.add(tensor.name)
            inside = self._known[tensor.name]
            if inside.node is None:
                self._found[tensor.name] = None
                self._taken.add(tensor.name)
                continue
            self._nodes.add(id(inside.node))
            self._taken.update(filter(None, inside.others))
            pending.extend(reversed(inside.data))


class _Inside(NamedTuple):
    """The term, layers and nodes behind a tensor.

    Attributes:
        term: The term inside of the layers.
        layers: The layers around it, from the inside out.
        node: The node that was read; None for a root.
        data: Its data inputs.
        others: Names of its other inputs.
        counts: Whether there is a `Pad` or a given root in it, so that the tensor is no root.
    """

    term: Term
    layers: Layers
    node: Node | None
    data: tuple[Tensor, ...]
    others: tuple[str, ...]
    counts: bool


def _pad_alike(one: Layers, other: Layers) -> bool:
    shared = count_shared(one, other)
    return merged(one[shared:]) == merged(other[shared:])


def _least_fill(layers: Layers) -> float:
    """A number that no fill of the layers is below; -inf where one is -0.0 or no number."""
    least = math.inf
    for layer in layers:
        if isinstance(layer.fill, str) or math.isnan(layer.fill):
            return -math.inf
        least = min(least, layer.fill)
    return least


def _fill_around(layers: Layers) -> float | int | str:
    """A fill for a crop, where none is written: that of the layer which it may cut."""
    return layers[-1].fill if layers else 0


_DATA: Final = "the data"
"""The stand-in for the name of a tensor that is read."""


def _names(roots: tuple[str, ...]) -> str:
    return ", ".join(map(repr, roots))


def _pads_axes_of(slide: SlideSpec, full: Amounts | None) -> bool:
    """Whether a `Pad` pads only axes that a window slides over."""
    return full is not None and not slide.pads_others(full)


def _opaque(pad: Padding, full: Amounts | None) -> tuple[str, Amounts] | None:
    """A padding as its mode and amounts, for literal comparison; None where one is unknown."""
    amounts = full if full is not None else pad.amounts
    if amounts is None or any(isinstance(n, Unknown) for pair in amounts for n in pair):
        return None
    manner = [pad.mode]
    if pad.mode == "constant":
        manner.append(str(pad.value) if pad.value is not None else pad.filler)
    if full is None:
        manner.append(str(pad.axes))
    return " ".join(manner), amounts


def _finite(dtype: int) -> float:
    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)


def _crops(old: SlideSpec, new: SlideSpec) -> bool:
    """Whether a MaxPool gains or loses a SAME whose total may be negative."""
    return (
        old.compares
        and old.is_same != new.is_same
        and any(always(less_equal(each.stride, each.extent)) is not True for each in old.axes)
    )
