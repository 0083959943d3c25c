"""Padding sites: window operators with the `Pad` they read.

All padding of a site is first brought into one form: for each spatial axis, the operator's own pads
and the amounts of a `Pad` in front of it. Then it is expressed in the style that the user wants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, bounds, symbol
from onnxpad.arithmetic.window import (
    ODD,
    constant_in_effect,
    end_read,
    end_without_ceil,
    odd_side,
    output_size,
    pads_text,
    pool_output_size,
    same_pads,
)
from onnxpad.errors import RUNTIME, ModelError
from onnxpad.facts import Analysis
from onnxpad.facts.words import Wording
from onnxpad.finding import Trust
from onnxpad.graph import Graph, Tensor
from onnxpad.options import KEPT
from onnxpad.padding.padding import Padding, has_amounts, split
from onnxpad.padding.write import Judge, formula_of, unpadded
from onnxpad.proof.refine import least_size
from onnxpad.reasons import Reason, RefusalError
from onnxpad.runtimes.onnxruntime.departures import disagreement, runtime_pads, why_not_run
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion
from onnxpad.semantics.layers import (
    ExtentPairs,
    Pair,
    Pairs,
    add,
    is_padded,
    numbers_of,
    onnx_order,
)
from onnxpad.semantics.operators import Fill, PadOp, WindowOp, pad_giving


class Sites:
    """Reads the sites of one graph, and plans their padding."""

    def __init__(
        self,
        graph: Graph,
        analysis: Analysis,
        outer: Sites | None = None,
        fed: Collection[str] | None = None,
        *,
        trust: Trust | None = None,
    ) -> None:
        """Reads the graph as it is at each call.

        `outer` are the sites around a body; `fed` the inputs that depend on inputs of the model.
        """
        self.graph = graph
        self.trust = trust
        self.analysis = analysis
        around = None if outer is None else outer.fusion
        self.wording = Wording(graph, analysis)
        self.judge = Judge(graph, analysis)
        self.fusion: Fusion = Fusion(graph, analysis, self.folded, around, fed)

    def _proposed(self, op: WindowOp) -> Iterator[Pairs]:
        """Explicit pads that may say what an operator's own padding does, the least first.

        Those of SAME are what is specified, and then what the runtime reads, if that is trusted.
        """
        if op.auto_pad == "NOTSET":
            yield op.pads
            return
        sizes = self.spatial(op, op.data, 1)
        if op.auto_pad == "VALID":
            yield ((0, 0),) * len(op.windows)
            return
        for axis, size in zip(op.axes, sizes, strict=True):
            if isinstance(size, int) and size < 1:
                empty = f"the data is empty on axis {axis}"
                raise RefusalError(Reason.DATA_EMPTY, empty, tensor=op.data.name, axis=axis)
        odd, dtype = odd_side(op.auto_pad), self.analysis.dtype(op.data)
        given = zip(sizes, op.windows, strict=True)
        specified = [constant_in_effect(size, window, odd) for size, window in given]
        read: list[Pair | None] = [None]
        if self.trust is Trust.RUNTIME:
            read = [runtime_pads(op, place, size, dtype) for place, size in enumerate(sizes)]
        for found in (specified, read):
            pairs = tuple(pair for pair in found if pair is not None)
            if len(pairs) == len(found):
                yield pairs
        is_open = None in specified
        if None in read and (is_open or self.trust is Trust.RUNTIME):
            each = zip(op.axes, sizes, specified, strict=True)
            depends = {axis: size for axis, size, pair in each if pair is None or not is_open}
            raise self._dependent(depends, op.data, "the pads depend on")

    def disagreement(self, op: WindowOp) -> RefusalError | None:
        """How the engines disagree on an operator with `auto_pad`, whoever is trusted."""
        if op.auto_pad == "NOTSET":
            return None
        found = None
        if op.auto_pad != "VALID":
            found = disagreement(op, self.spatial(op, op.data, 1), self.analysis.dtype(op.data))
        if found is not None or not op.pads_written:
            return found
        pads: Pairs | None = None
        with suppress(RefusalError):
            pads = next(self._proposed(replace(op, pads_written=False)))
        if pads == op.pads:
            return None
        refuses = bool(self.why_not_run(op))
        said = (
            f"auto_pad={op.auto_pad} and pads {pads_text(op.pads)} disagree, which the "
            f"specification forbids: {RUNTIME} {'refuses that' if refuses else 'uses auto_pad'}, "
            "shape inference uses pads"
        )
        return RefusalError(
            Reason.AUTO_PAD_AND_PADS,
            f"{said}; remove one of them",
            auto_pad=op.auto_pad,
            pads=onnx_order(op.pads),
            resolved=None if pads is None else onnx_order(pads),
            disagreement=said,
            options=() if refuses else (Trust.RUNTIME.option,),
        )

    def why_not_run(self, op: WindowOp) -> str:
        """Why the runtime does not run an operator for its padding; empty where it may run it."""
        data = op.data
        return why_not_run(op, lambda: self.spatial(op, data, 1), lambda: self.analysis.dtype(data))

    def outside(self, op: WindowOp, pad: PadOp) -> list[Pairs]:
        """Constant amounts per spatial axis that may read what a `Pad` before the operator adds.

        Those that it has come first, then the least ones with which each window reads as far. There
        are none where it pads nothing.
        """
        full = pad.extents_over(op.rank)
        if full is not None and not is_padded(full):
            return []
        self.check_form_of(op, pad)
        assert full is not None
        given = op.operator.layout.spatial(full)
        known, least = numbers_of(given), self._least(op, pad, given)
        found = [each for each in dict.fromkeys([known, least]) if each is not None]
        if not found:
            raise self.wording.amounts(pad)
        return found

    def _least(self, op: WindowOp, pad: PadOp, given: ExtentPairs) -> Pairs | None:
        """The least constant amounts that reach as far, if any; beside others, numbers stay."""
        count_of = partial(pool_output_size, ceil_mode=True) if op.ceil_mode else output_size
        found = []
        each = zip(
            op.windows, self.spatial(op, pad.data), next(self._proposed(op)), given, strict=True
        )
        for window, size, own, (begin, end) in each:
            count = count_of(size + begin + end, window, *own)
            if not isinstance(begin, int):
                return None
            _, last = bounds(end_read(size, window, begin + own[0], count))
            if begin < 0 or last is None:
                return None
            end = max(last - own[1], 0)
            if count != count_of(size + begin + end, window, *own):
                return None
            found.append((begin, end))
        return tuple(found)

    def check_mergeable(self, op: WindowOp, pad: PadOp) -> None:
        """Raises a `RefusalError` unless an operator could take over a `Pad` of other amounts."""
        self.check_form_of(op, pad)
        one = ((1, 0),) * len(op.windows)  # the first window reads it
        amounts = op.operator.layout.full(one, (0, 0))
        unit = replace(pad, axes=None, amounts=amounts, constant_amounts=amounts)
        bare = replace(op, auto_pad="NOTSET", pads=((0, 0),) * len(one), ceil_mode=False)
        then = _counting(bare, bare.pads, Padding(one, counted=op.count_include_pad))
        self.judge.check(bare, unit, then, self.trust)

    def check_form_of(self, op: WindowOp, pad: PadOp) -> None:
        """Raises where a `Pad` does what no attribute says, such as to copy or to crop."""
        amounts, known, layout = pad.extents_over(op.rank), pad.over(op.rank), op.operator.layout
        constants, mode = pad.constant_amounts, pad.mode
        is_lowest = op.operator.padding is Fill.LOWEST
        if mode != "constant" and (mode == "wrap" or constants is None or not is_lowest):
            raise RefusalError(Reason.COPIES_DATA, f"it copies data ({mode})", mode=mode)
        if constants is not None and pad.axes is None and amounts is None:
            axes, needs = len(constants), op.rank
            said = f"it pads {axes} axes, but {op.node.op} reads data of {needs}"
            raise RefusalError(Reason.RANK_DIFFERS, said, axes=axes, needs=needs)
        if amounts is None:
            raise self.wording.amounts(pad)
        if is_padded(layout.others(amounts)):
            spatial, pairs = layout.axes(op.rank), enumerate(amounts)
            padded = [axis for axis, pair in pairs if pair != (0, 0) and axis not in spatial]
            said = "it pads batch or channels, which no operator's pads do"
            raise RefusalError(Reason.PADS_BATCH_OR_CHANNELS, said, axes=padded)
        if op.auto_pad.startswith("SAME"):
            said = f"{op.auto_pad} of {op.node.op} depends on the padded size"
            facts = {"auto_pad": op.auto_pad, "operator": self.graph.label(op.node)}
            raise RefusalError(Reason.SAME_STAYS, said, **facts)
        if pad.value is None:
            raise self.wording.fill(pad)
        if known is not None and min(map(min, known)) < 0:
            said = f"it crops {pads_text(layout.spatial(known))}, which no operator's pads can"
            raise RefusalError(Reason.CROPS, said, amounts=onnx_order(known))

    def planned(self, op: WindowOp, style: str) -> tuple[Padding, PadOp | None, Pairs]:
        """The padding of a site in a style, with that of a `Pad` in front, or a refusal.

        It is None where none pads anything; its amounts may lack an end that no window reads.
        """
        if style == KEPT.style:
            raise RefusalError(Reason.AS_ASKED, "the targets take it as it came")
        pad = self.pad_before(op)
        padding, around = self._plan(op, style, pad)
        return padding, pad if around else None, around

    def pad_before(self, op: WindowOp) -> PadOp | None:
        """The `Pad` that the operator reads, directly or through Identity."""
        return pad_giving(self.graph, self.analysis, op.data)

    def same_of(self, op: WindowOp) -> Padding | None:
        """The SAME that equals the computed `Pad` before an operator at every size, or None."""
        pad = self.pad_before(op)
        if pad is None or pad.constant_amounts is not None or op.auto_pad != "NOTSET":
            return None
        amounts = pad.extents_over(op.rank)
        if pad.mode != "constant" or amounts is None or is_padded(op.pads):
            return None
        counted = op.operator.padding is Fill.EXCLUDED
        for odd in ODD.values():
            padding = Padding(None, odd=odd, ceil=op.ceil_mode, counted=counted)
            with suppress(RefusalError):  # it is not SAME, or no engine would read that
                self.judge.check(op, pad, padding, self.trust)
                return padding
        return None

    def check_computed(self, op: WindowOp) -> None:
        """Raises a `RefusalError` unless a SAME of open sizes can become a `Pad`."""
        graph, analysis = self.graph, self.analysis
        if graph.opset < 11:
            said = "a Pad cannot compute its amounts before opset 11"
            raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=graph.opset, needs=11)
        is_known = False
        if Unknown not in map(type, analysis.shape(op.data) or (Unknown("no rank"),)):
            each = zip(self.spatial(op, op.data, 1), op.windows, strict=True)
            pairs = [same_pads(*pair, odd=odd_side(op.auto_pad)) for pair in each]
            amounts = op.operator.layout.full(pairs, (0, 0))
            self.judge.check(op, None, unpadded(op), self.trust, amounts)
            is_known = formula_of(op) is not None
        if not is_known:
            said = "no formula is known for the sizes of the data"
            raise RefusalError(Reason.NOT_WORKED_OUT, said, tensor=op.data.name)
        if wrong := self.fusion.misdeclared(op.data):
            said = f"{RUNTIME}'s optimiser would compute the amounts from a wrong declared shape"
            raise RefusalError(Reason.WRONG_DECLARATION, said, output=wrong.name)

    def plan(self, op: WindowOp, style: str) -> Padding:
        """The operator's own padding in a style, or a refusal."""
        return self._plan(op, style, None)[0]

    def _plan(self, op: WindowOp, style: str, pad: PadOp | None) -> tuple[Padding, Pairs]:
        """The padding with that of a `Pad` in front, and the amounts of it that count."""
        key = self._key(op, style, pad)
        known: tuple[Padding, Pairs, Pairs] | None = op.node.notes.get(key)
        if known is None:  # networks repeat the same few windows
            known = self._proved(op, style, pad)
            if key is not None and not known[0].outside:
                op.node.notes[key] = known
        if op.auto_pad != "NOTSET":
            self._check_optimiser(op, known[2])
        return known[:2]

    def _key(self, op: WindowOp, style: str, pad: PadOp | None) -> tuple[object, ...] | None:
        """All that a plan follows from, for operators of which that is not more than their form."""
        if op.operator.is_choosy:
            return None
        if pad is None:
            return Sites, style, op.form, self.spatial(op, op.data)
        if op.auto_pad != "NOTSET" or pad.constant_amounts is None:
            return None
        return Sites, style, op.form, pad.mode, pad.axes, pad.constant_amounts, str(pad.value)

    def _proved(self, op: WindowOp, style: str, pad: PadOp | None) -> tuple[Padding, Pairs, Pairs]:
        """As `_plan`, with the operator's own padding in numbers: the first that is the same."""
        refused: RefusalError | None = None
        merged = [] if pad is None else self.outside(op, pad)
        pad = pad if merged else None
        sides = ((each, own) for each in merged or [()] for own in self._proposed(op))
        for around, own in sides:
            inside, outside = split(add(own, around) if around else own, style)
            then = Padding(inside, ceil=op.ceil_mode, counted=op.count_include_pad, outside=outside)
            stays = (pad is None or has_amounts(op, pad, around)) and outside == around
            is_written = op.auto_pad == "NOTSET" and inside == op.pads
            try:
                if not stays:
                    then = _counting(op, own, then)
                if not stays or not is_written:
                    self.check_proved(op, pad, then, self.trust)
            except RefusalError as refusal:
                refused = refused if refused and around else refusal
            else:
                return then, around, own
        assert refused is not None
        disputed = refused.code in {Reason.ENGINES_DISAGREE, Reason.AUTO_PAD_AND_PADS}
        raise (self.disagreement(op) if disputed else None) or refused

    def check_proved(
        self, op: WindowOp, pad: PadOp | None, padding: Padding, trust: Trust | None
    ) -> Trust | None:
        """As `Judge.check`, of a site with a `Pad` to merge; sizes are told in words."""
        try:
            return self.judge.check(op, pad, padding, trust)
        except RefusalError as refusal:
            if refusal.code is not Reason.SIZE_DEPENDENT:
                raise
            first, source = refusal.facts["axis"], op.data if pad is None else pad.data
            every = [*zip(op.axes, self.spatial(op, source), op.windows, strict=True)]
            window = next(window for axis, _, window in every if axis == first)
            alike = ((axis, size) for axis, size, each in every if each == window)
            sizes = {axis: size for axis, size in alike if not isinstance(size, int)}
            said = "with ceil_mode the number of windows depends on"
            raise self._dependent(sizes, source, said, ceil_mode=1) from None

    def _dependent(
        self, sizes: Mapping[int, Extent], data: Tensor, said: str, **facts: object
    ) -> RefusalError:
        """The refusal of what depends on sizes, which end the message."""
        return RefusalError(
            Reason.SIZE_DEPENDENT,
            f"{said} {self.wording.sizes(sizes)}",
            axes=[*sizes],
            sizes=self.wording.places([*sizes.values()]),
            options=self.wording.options(sizes, data),
            **facts,
        )

    def folded(self, op: WindowOp, pad: PadOp) -> WindowOp | str:
        """An operator with a `Pad` folded into its explicit pads, or why that is not the same."""
        is_far = op.data.producer is not pad.node  # a Cast between may change signs
        is_lowest = op.operator.padding is Fill.LOWEST
        if is_far and is_lowest and self.analysis.bound(op.data) < 0:
            return "the data that it reads may be negative"
        try:
            padding, around = self._plan(op, "fold", pad)
        except RefusalError as refusal:
            return str(refusal)
        if not has_amounts(op, pad, around or ((0, 0),) * len(op.windows)):
            return str(self.wording.amounts(pad))
        return replace(op, pads=padding.numbers, count_include_pad=padding.counted)

    def floored(
        self, op: WindowOp, style: str, trust: Trust | None
    ) -> tuple[Padding, Trust | None]:
        """The padding of a pool that rounds down with the windows of one that rounds up.

        The second is who is trusted, if the engines disagree.
        """
        if op.auto_pad != "NOTSET":
            said = f"{op.auto_pad} decides how many windows there are"
            raise RefusalError(Reason.SAME_STAYS, said, auto_pad=op.auto_pad)
        each = zip(self.spatial(op, op.data, 1), op.windows, op.pads, strict=True)
        pads = tuple([(at[0], end_without_ceil(size, window, *at)) for size, window, at in each])
        refused: RefusalError | None = None
        proposed = [Padding(pads, counted=op.count_include_pad)]
        if op.count_include_pad:
            proposed.append(Padding(pads))
        for padding in proposed:
            try:
                decides = self.check_proved(op, None, padding, trust)
                numbers, counts = padding.numbers, padding.counted
                if split(numbers, style)[1] and not split(op.pads, style)[1]:
                    plain = replace(op, ceil_mode=False, pads=numbers, count_include_pad=counts)
                    self.plan(plain, style)
            except RefusalError as refusal:
                refused = refused or refusal
            else:
                return padding, decides
        assert refused is not None
        raise refused

    def _check_optimiser(self, op: WindowOp, own: Pairs) -> None:
        """Refuses to expose a `Pad` to the runtime's optimiser where nothing can protect it.

        From opset 11 on `guard` does. Before, and where the runtime may drop what protects it, only
        the `auto_pad` downstream of the `Pad` keeps it from being folded.
        """
        if self.graph.opset >= 11 and not self.fusion.drops_empty:
            return
        exposed = self.fusion.laid_open(replace(op, auto_pad="NOTSET", pads=own))
        if exposed is not None:
            label, why = self.graph.label(exposed.pad.node), exposed.why
            said = f"without auto_pad {RUNTIME}'s optimiser would fold a Pad, though {why}"
            raise RefusalError(Reason.OPTIMISER_FOLDS, said, pad=label, because=why)

    def spatial(self, op: WindowOp, tensor: Tensor, least: int = 0) -> tuple[Extent, ...]:
        """The sizes of the axes along which an operator's window slides over a tensor.

        One that is unknown until run time becomes a symbol, of `least` or what is least there.
        """
        shape = self.analysis.shape(tensor)
        if shape is not None and len(shape) != op.rank:
            raise ModelError(
                f"{tensor.name!r} has {len(shape)} axes, but a window over {len(op.windows)} reads "
                f"it, which takes {op.rank}; correct the model or export it again"
            )
        layout = op.operator.layout
        found = _OPEN * len(op.windows) if shape is None else layout.spatial(shape)
        if {int, Size}.issuperset(map(type, found)):
            return found
        least = max(least, least_size(self.graph, tensor))
        name = self.graph.unique(tensor.name)
        return tuple(
            size if isinstance(size, int | Size) else symbol(f"{name}[{axis}]", Sizes(least))
            for axis, size in zip(layout.axes(op.rank), found, strict=True)
        )


_OPEN = (Unknown("known only at run time"),)


def _counting(op: WindowOp, own: Pairs, padding: Padding) -> Padding:
    """A padding, counted where an average that has none of its own takes over that of a `Pad`."""
    begins = op.operator.padding is Fill.EXCLUDED and not is_padded(own)
    begins = begins and is_padded(padding.numbers)
    return replace(padding, counted=padding.counted or begins)


def is_disputed(sites: Sites, op: WindowOp) -> bool:
    """Whether the engines are known to divide an average that rounds up otherwise."""
    if not op.ceil_mode or op.auto_pad != "NOTSET":
        return False
    try:
        sites.floored(op, "fold", None)
    except RefusalError as refusal:
        return refusal.code is Reason.ENGINES_DISAGREE
    return False
