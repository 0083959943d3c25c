"""Finds the first tensor, in topological order, that two models compute differently.

Tensors are matched by name; a rewrite may remove some and add others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from msgspec import Struct, field
from msgspec.structs import replace
from onnx import AttributeProto

from onnxpad.arguments import Progress
from onnxpad.file.proto_walk import bodies
from onnxpad.graph.nodes import read_value
from onnxpad.runtimes.copies import drawn
from onnxpad.runtimes.runtime import EngineError, Optimisation
from onnxpad.runtimes.sessions import (
    CPU,
    Source,
    Value,
    folder_of,
    open_session,
    payload,
    read_proto,
)
from onnxpad.validation.compare import (
    Tolerance,
    argmax_lost,
    compare,
    misfit,
    shape_text,
    strayed,
)
from onnxpad.validation.evidence import is_flat
from onnxpad.validation.inputs import Draw, inlined
from onnxpad.validation.pairing import (
    COUNTING,
    KINDS,
    OF_SIZES,
    RISING,
    Makers,
    Pairing,
    chooses,
    read_by,
)
from onnxpad.validation.result import Comparison, Divergence

_BUDGET = 1 << 28  # bytes of one model's tensors held together
_FIRST_CHUNK = 8  # tensors, while their sizes are unknown
_GROWTH = 4
_ONE_LINE = 400
_SAME = Pairing()


class _Producer(Struct, frozen=True):
    """The node that computes a tensor, as a report shows it; its bodies read too."""

    label: str
    attributes: str
    inputs: tuple[str, ...]
    reads: frozenset[str]
    op_type: str


def first_divergence(
    ours: ModelSide,
    theirs: ModelSide,
    inputs: Draw,
    outputs: Collection[str],
    tolerance: Tolerance = Tolerance(),
    progress: Progress | None = None,
) -> Divergence | None:
    """The first tensor that differs and causes a difference in one of `outputs`.

    Both models run with optimisation off, one after the other, once for each chunk of tensors. A
    tensor that differs is ignored if it reaches `outputs` only through tensors that agree: a
    rewrite may reuse an old name for another tensor.

    Args:
        ours: The original.
        theirs: The rewritten model.
        inputs: The inputs to run both on.
        outputs: The outputs that differ.
        tolerance: The allowed difference.
        progress: Called with (step, tensors compared, all tensors) before each chunk.

    Returns:
        The first difference; None if the outputs do not differ when run again.
    """
    every = _compared(ours, theirs, [inputs], tolerance, progress)
    beyond, agreeing = every.beyond(), every.agreeing
    for differing, near, note in (
        (beyond, every.found.keys() - beyond | agreeing, ""),
        (every.strayed, agreeing, ""),
        # small rounding errors grew on the way to the outputs
        (every.found, agreeing, "no tensor compared differs beyond the tolerance"),
    ):
        guilty, _ = _influence(every.ours.producers, outputs, differing, near)
        if guilty:
            return _report(every, guilty, note)
    return None


class Inner(Struct, frozen=True):
    """A comparison of inner tensors, for outputs that are no evidence or hide what they rest on.

    Attributes:
        divergence: The first tensor that differs beyond the tolerance; None if none does.
        telling: How many tensors vary with the data and agree; of several on one path to an output,
            only the last counts.
        silent: The flat outputs that depend on the data but have no such tensor upstream.
        hidden: The outputs of choices for which a tensor that they were chosen by has another name.
        scores: The tensors by which others were chosen.
        values: What the original computes for them without optimisation, for each set of inputs.
    """

    divergence: Divergence | None = None
    telling: int = 0
    silent: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    values: tuple[Mapping[str, Value], ...] = ()


def inner_evidence(
    original: Source,
    rewritten: Source,
    draws: Sequence[Draw],
    flat: Collection[str],
    *,
    hiding: Mapping[str, bool],
    loose: Collection[str],
    provider: str,
    folder: Path | None,
    tolerance: Tolerance,
    pairing: Pairing,
    progress: Progress,
) -> Inner:
    """Compare tensors upstream of outputs that are no evidence themselves.

    These are the nearest ones that vary, if they have the same names in both models. Where there
    is none, a tensor of equal name that agrees is evidence for what is upstream of a flat output.
    One that differs is a difference only upstream of outputs that do not repeat: elsewhere its name
    may have been given to another tensor.

    Args:
        original: Path, serialized bytes, or model.
        rewritten: The same for the rewritten model.
        draws: Sets of inputs, to see which tensors vary.
        flat: The outputs that are the same for any data.
        hiding: The outputs that are classes, indices or truths, and whether they are only a few.
        loose: Outputs that the original does not compute twice alike.
        provider: The execution provider to run on.
        folder: Folder of the external data of serialized bytes or models.
        tolerance: The allowed difference.
        pairing: The rewritten model's own names of inputs and outputs.
        progress: Called with (step, tensors compared, all tensors) before each chunk.
    """
    progress("what outputs hide", 0, 0)
    folder = folder_of(original, folder)
    sources = inlined(read_proto(original)), inlined(read_proto(rewritten))
    ours = ModelSide(sources[0], provider, folder)
    theirs = ModelSide(sources[1], provider, folder, pairing)
    fed = [*draws[0].feeds]
    alone = ModelSide(sources[1], provider, folder, Pairing(pairing.inputs))  # by its own names
    mine = _Telling(ours, Makers(sources[0].graph, fed), draws)
    other = _Telling(
        alone, Makers(sources[1].graph, [pairing.inputs.get(name, name) for name in fed]), draws
    )
    found: dict[str, frozenset[str]] = {}  # scores of equal name by output
    chosen, lost = set[str](), set[str]()
    for name in dict.fromkeys((*flat, *hiding)):
        if name in mine.makers.varying:
            here, there = mine.nearest(name), other.nearest(pairing.outputs.get(name, name))
            found[name] = frozenset(read for _, read in here.reads & there.reads)
            if here.chosen:
                chosen.add(name)
            alike = (here.reads, here.bodies) == (there.reads, there.bodies)
            if not (here.known and there.known and alike):
                lost.add(name)
    border = ours.outputs | theirs.outputs
    both = {
        name
        for name in ours.outputs & theirs.outputs
        if pairing.outputs.get(name, name) == name  # they were compared
    }
    shared = set().union(*found.values())
    scores = sorted(shared - border)
    before = ours.values(scores, draws) if scores else []
    after = alone.values(scores, draws) if scores else []
    apart = shared & border - both  # outputs of one model alone
    wrong: dict[str, Draw] = {}
    for name in scores:
        if before is None or after is None:
            apart.add(name)
            continue
        for one, another, draw in zip(before, after, draws, strict=True):
            if misfit(one[name], another[name]):
                apart.add(name)
            elif not _agree(name, one[name], another[name], tolerance):
                wrong.setdefault(name, draw)
    for name, draw in [*wrong.items()]:
        if name in apart or restless(ours, [name], draw, tolerance):
            apart.add(name)
            del wrong[name]
    if wrong:
        draw = next(iter(wrong.values()))
        names = [name for name in wrong if wrong[name] is draw]
        parting = first_divergence(ours, theirs, draw, names, tolerance, progress)
        if parting is not None:
            return Inner(parting)
        apart.update(wrong)
    lost |= {name for name, each in found.items() if each & apart}
    hidden = [name for name in found if hiding.get(name) or (name in hiding and name in chosen)]
    hidden = [name for name in hidden if name in lost]
    bare = {name for name in flat if name in found and (name in lost or not found[name])}
    bare -= {*hidden}
    agreeing = set().union(*(found[name] for name in flat if name in found and name not in bare))
    inner = _by_name(ours, theirs, draws, bare, loose, tolerance, progress)
    if inner.divergence is not None:
        return inner
    kept = {name for output in hiding for name in found.get(output, ())} - apart
    told = tuple(name for name in scores if name in kept)
    return Inner(
        None,
        len(agreeing) + inner.telling,
        tuple(name for name in flat if name in inner.silent),
        tuple(hidden),
        told,
        tuple({name: each[name] for name in told} for each in before or ()),
    )


class _Nearest(Struct, frozen=True):
    """The nearest tensors upstream of an output that vary with the data and are no choices.

    Attributes:
        reads: The operators that read them, and their names.
        bodies: The bodies of the nodes between.
        known: Whether the runtime gave all values.
        chosen: Whether an operator between chooses among elements, such as ArgMax.
    """

    reads: frozenset[tuple[str, str]]
    bodies: frozenset[bytes]
    known: bool
    chosen: bool


class _Telling:
    """Which tensors of one model tell more than choices, and vary with the data."""

    def __init__(self, side: ModelSide, makers: Makers, draws: Sequence[Draw]) -> None:
        self.makers = makers
        self._side = side
        self._draws = draws
        self._known: dict[str, bool | None] = {}  # None where the runtime does not tell
        self._runs = 0

    def nearest(self, output: str) -> _Nearest:
        """The nearest tensors upstream of an output that tell."""
        nodes, waiting, seen = self.makers.nodes, [output], {output}
        reads, within, known, chosen = set[tuple[str, str]](), set[bytes](), True, False
        while waiting:
            node = nodes.get(waiting.pop())
            if node is None:
                continue
            chosen |= chooses(node)
            if node.op_type in COUNTING:
                continue
            within |= {each.SerializeToString() for each in bodies(node)}
            for name in {*read_by(node)} & self.makers.varying & nodes.keys():
                if tells := self._tells(name):
                    reads.add((node.op_type, name))
                if name not in seen and (not tells or nodes[name].op_type in RISING):
                    waiting.append(name)
                known &= self._known[name] is not None
                seen.add(name)
        return _Nearest(frozenset(reads), frozenset(within), known, chosen)

    def _tells(self, name: str) -> bool:
        if name not in self._known:
            around, reached, most = [name], {name}, _GROWTH**self._runs
            for each in around:  # it grows: what is upstream is likely to be asked for next
                fresh = {*self.makers.nodes[each].input} & self.makers.nodes.keys()
                fresh = fresh & self.makers.varying - reached - self._known.keys()
                reached |= fresh
                around += sorted(fresh)
                if len(around) >= most:
                    break
            self._runs += 1
            for some in (around[:most], [name]):
                values = self._side.values(some, self._draws)
                for each in some if values else ():
                    given = [found[each] for found in values or ()]
                    self._known[each] = self.makers.tells(each, given[0]) and not is_flat(given)
                if values:
                    break
        return bool(self._known.setdefault(name, None))


def _by_name(
    ours: ModelSide,
    theirs: ModelSide,
    draws: Sequence[Draw],
    bare: Collection[str],
    loose: Collection[str],
    tolerance: Tolerance,
    progress: Progress,
) -> Inner:
    """Compare the tensors of equal names upstream of outputs."""
    varying = _varying(ours.producers, draws[0].feeds)
    bare, loose = [[name for name in some if name in varying] for some in (bare, loose)]
    if not bare and not loose:
        return Inner()
    again = [each for each in draws[1:] if _shapes(each) == _shapes(draws[0])]
    every = _compared(ours, theirs, [draws[0], *again[-1:]], tolerance, progress)
    vouching = every.near - {*bare, *loose}
    guilty, _ = _influence(every.ours.producers, loose, every.beyond(), vouching)
    if guilty:
        guilty -= restless(ours, [*guilty], draws[0], tolerance).keys()
    if guilty:
        note = "the outputs are not the same in two runs of the original"
        return Inner(_report(every, guilty, note))
    telling: set[str] = set()
    silent = []
    for name in (*bare, *loose):
        _, stopped = _influence(every.ours.producers, [name], (), vouching)
        telling |= stopped & varying
        if not stopped & varying:
            silent.append(name)
    return Inner(None, len(telling), tuple(silent))


def _agree(name: str, before: Value, after: Value, tolerance: Tolerance) -> bool:
    seen = compare(name, before, after, tolerance)
    return seen.ok and not argmax_lost(before, after, tolerance)


def restless(
    side: ModelSide, names: Sequence[str], inputs: Draw, tolerance: Tolerance = Tolerance()
) -> dict[str, Comparison]:
    """How tensors differ that a model does not compute twice alike on the CPU.

    It computes them again in one session, and afresh in another one. What reads numbers drawn with
    a seed differs within a session, and counts only if it differs in a fresh one too.

    Args:
        side: The model.
        names: The tensors in question.
        inputs: The inputs to run it on.
        tolerance: What counts as alike.
    """
    found: dict[str, Comparison] = {}
    drawn = _varying(side.producers, side.drawn)
    chunks = _Chunks(names, _BUDGET // 3)
    for chunk in chunks:
        both = side.values(chunk, [inputs, inputs], anew=False)
        fresh = None if both is None else side.values(chunk, [inputs])
        if both is None or fresh is None:
            chunks.failed(chunk)
            continue
        chunks.took(fresh[0].values())
        for name in chunk:
            others = [*fresh] if name in drawn else [both[1], *fresh]
            for other in others:
                seen = compare(name, both[0][name], other[name], tolerance)
                if not seen.ok:
                    found[name] = seen
    return found


class _Compared(Struct, frozen=True):
    """The comparison of all tensors.

    Attributes:
        ours: The original.
        theirs: The rewritten model.
        found: The tensors that are not equal.
        agreeing: The tensors that are equal.
        near: The tensors that vary and differ by no more than a little rounding.
        strayed: The tensors that agree as a whole, but not in a slice.
    """

    ours: ModelSide
    theirs: ModelSide
    found: dict[str, Divergence] = field(default_factory=dict)
    agreeing: set[str] = field(default_factory=set)
    near: set[str] = field(default_factory=set)
    strayed: set[str] = field(default_factory=set)

    def beyond(self) -> set[str]:
        """The tensors that differ beyond the tolerance."""
        return {name for name, each in self.found.items() if not each.comparison.ok}

    def add(
        self,
        name: str,
        values: Sequence[tuple[Value, Value]],
        draws: Sequence[Draw],
        tolerance: Tolerance,
    ) -> None:
        """Add a tensor's values in both models, for each set of inputs."""
        seen = [compare(name, *pair, tolerance) for pair in values]
        which = min(range(len(seen)), key=lambda each: (seen[each].ok, seen[each].equal, each))
        worst = seen[which]
        if worst.equal:
            self.agreeing.add(name)
        else:
            apart = worst
            if worst.ok and (part := strayed(values, tolerance)) is not None:
                self.strayed.add(name)
                apart = replace(worst, detail=part.detail)
            ours, theirs = self.ours.producers[name], self.theirs.producers[name]
            self.found[name] = Divergence(
                tensor=name,
                producers=(ours.label, theirs.label),
                attributes=(ours.attributes, theirs.attributes),
                inputs=(ours.inputs, theirs.inputs),
                comparison=apart,
                values=_at_worst(worst, *values[which]),
                fed=draws[which].label,
                is_pad=ours.op_type == "Pad",
            )
        _, rounding = Tolerance().of(worst.dtype, 1.0)
        alike = all(each.equal or (each.ok and each.max_rel <= rounding) for each in seen)
        several = _elements(values[0][0]) > 1
        if alike and several and not is_flat([before for before, _ in values]):
            self.near.add(name)


def _compared(
    ours: ModelSide,
    theirs: ModelSide,
    draws: Sequence[Draw],
    tolerance: Tolerance,
    progress: Progress | None,
) -> _Compared:
    """Compare all tensors of the same name, in chunks that fit the budget."""
    every = _Compared(ours, theirs)
    shared = [name for name in ours.producers if name in theirs.producers]
    chunks = _Chunks(shared, _BUDGET // len(draws))
    for chunk in chunks:
        if progress:
            progress("looking for the first difference", chunks.done, len(shared))
        before = ours.values(chunk, draws)
        after = None if before is None else theirs.values(chunk, draws)
        if before is None or after is None:
            chunks.failed(chunk)
            continue
        chunks.took(before[0].values())
        for name in chunk:
            pairs = [(a[name], b[name]) for a, b in zip(before, after, strict=True)]
            every.add(name, pairs, draws, tolerance)
    return every


def _report(every: _Compared, guilty: Collection[str], note: str) -> Divergence:
    """The first of the guilty tensors of two models."""
    order = {name: index for index, name in enumerate(every.ours.producers)}
    name = min(guilty, key=order.__getitem__)
    compared = len(every.agreeing) + len(every.found)
    shared = every.ours.producers.keys() & every.theirs.producers.keys()
    if missing := len(shared) - compared:
        note = "; ".join(filter(None, (note, f"{missing} tensors could not be compared")))
    rounding = every.found.keys() - every.beyond()
    drift = [each for each in rounding if order[each] < order[name]]
    from onnxpad.validation.operands import operands_that_differ

    first = every.found[name]
    ops = {side.producers[name].op_type for side in (every.ours, every.theirs)}
    models = read_proto(every.ours.source), read_proto(every.theirs.source)
    return replace(
        first,
        compared=compared,
        earlier=min(drift, key=order.__getitem__, default=""),
        note=note,
        # Those of another operator do not correspond.
        operands=operands_that_differ(models, first.inputs) if len(ops) == 1 else (),
    )


def _varying(producers: Mapping[str, _Producer], fed: Collection[str]) -> set[str]:
    """The tensors that depend on the data of the inputs, not on their sizes alone."""
    found = set(fed)
    for name, producer in producers.items():
        if producer.op_type not in OF_SIZES and not found.isdisjoint(producer.reads):
            found.add(name)
    return found


def _influence(
    producers: Mapping[str, _Producer],
    outputs: Collection[str],
    differing: Collection[str],
    agreeing: Collection[str],
) -> tuple[set[str], set[str]]:
    """Walk upstream from `outputs` until tensors agree.

    Returns:
        The tensors of `differing` on these paths, and those of `agreeing` at which they end.
    """
    waiting, seen = list(outputs), set(outputs)
    reached, stopped = set(), set()
    while waiting:
        name = waiting.pop()
        if name in agreeing:
            stopped.add(name)
        if name in agreeing or name not in producers:
            continue
        if name in differing:
            reached.add(name)
        fresh = producers[name].reads - seen
        seen |= fresh
        waiting.extend(fresh)
    return reached, stopped


class _Chunks:
    """Names in order, in chunks whose values are expected to fit the budget."""

    def __init__(self, names: Sequence[str], budget: int) -> None:
        self.done = 0
        self._names = list(names)
        self._budget = budget
        self._size = _FIRST_CHUNK

    def __iter__(self) -> Iterator[list[str]]:
        """The chunks; call `took` or `failed` after each."""
        while self.done < len(self._names):
            chunk = self._names[self.done : self.done + self._size]
            self.done += len(chunk)
            yield chunk

    def took(self, values: Collection[Value]) -> None:
        """Choose the next chunk size, assuming that all tensors are as large as the largest."""
        largest = max(map(_bytes, values), default=0)
        self._size = max(1, min(self._budget // max(largest, 1), _GROWTH * self._size))

    def failed(self, chunk: Sequence[str]) -> None:
        """Try the tensors of a chunk again in smaller chunks; skip one that is alone."""
        if len(chunk) > 1:
            self.done -= len(chunk)
            self._size = max(1, len(chunk) // 2)


class ModelSide:
    """One of the two models: its nodes, and the values of its tensors.

    Tensors have the names of the original, even if outputs have other names in this model.
    """

    def __init__(
        self,
        source: Source,
        provider: str = CPU,
        folder: Path | None = None,
        pairing: Pairing = _SAME,
        optimisation: Optimisation = "off",
    ) -> None:
        """Read a model, as `open_session` does, whose outputs may have names of its own."""
        model = read_proto(source)
        self.drawn = drawn(model)
        self.producers: dict[str, _Producer] = {}
        known = {own: name for name, own in pairing.outputs.items()}
        for node in model.graph.node:
            name = node.name or f"<{next(filter(None, node.output), '')}>"
            producer = _Producer(
                f"{name} ({node.op_type})",
                _attributes(node),
                tuple(node.input),
                frozenset(read_by(node)),
                node.op_type,
            )
            self.producers.update(
                (known.get(output, output), producer)
                for output in node.output
                if output and (output in known or output not in pairing.outputs)
            )
        self.outputs = {output.name for output in model.graph.output}
        self.source = source
        self._provider = provider
        self._folder = folder
        self._pairing = pairing
        self._optimisation = optimisation

    def values(
        self, names: Sequence[str], draws: Sequence[Draw], *, anew: bool = True
    ) -> list[dict[str, Value]] | None:
        """Tensors, also inner ones, for each set of inputs; None if the runtime fails.

        A model that draws numbers runs `anew` for each set, so that it draws the same.
        """
        own = [self._pairing.outputs.get(name, name) for name in names]
        folder = folder_of(self.source, self._folder)
        wanted = [*dict.fromkeys(own)]  # two tensors may be one in the other model
        source = with_outputs(self.source, [each for each in wanted if each not in self.outputs])
        runs = []
        try:
            for some in [[draw] for draw in draws] if self.drawn and anew else [draws]:
                with open_session(
                    source, provider=self._provider, optimisation=self._optimisation, folder=folder
                ) as session:
                    runs += [session.run(self._pairing.fed(draw).feeds, wanted) for draw in some]
        except EngineError:
            return None
        return [{name: run[each] for name, each in zip(names, own, strict=True)} for run in runs]


def with_outputs(model: Source, names: Sequence[str]) -> bytes:
    """A model, serialized, with further tensors of its main graph as outputs."""
    asked = [onnx.ValueInfoProto(name=name) for name in names]
    data = payload(model)
    if isinstance(data, str):
        data = Path(data).read_bytes()
    # Serialized messages one after the other are merged: their lists are joined.
    addition: bytes = onnx.ModelProto(graph=onnx.GraphProto(output=asked)).SerializeToString()
    return data + addition


def _attributes(node: onnx.NodeProto) -> str:
    """Attributes sorted by name, such as `pads=[0, 0, 1, 1], strides=[2, 2]`."""
    texts = []
    for attribute in sorted(node.attribute, key=lambda each: each.name):
        value: object = read_value(attribute)
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif attribute.ref_attr_name:
            value = f"@{attribute.ref_attr_name}"
        elif attribute.HasField("t"):
            kind = KINDS.get(attribute.t.data_type, "unknown")
            value = f"{kind} {shape_text(attribute.t.dims)}"
        elif isinstance(value, AttributeProto):
            value = "(graph)" if value.HasField("g") or value.graphs else "?"
        texts.append(f"{attribute.name}={value}")
    text = ", ".join(texts)
    return text if len(text) <= _ONE_LINE else f"{text[: _ONE_LINE - 3]}..."


def _at_worst(seen: Comparison, before: Value, after: Value) -> tuple[str, str]:
    """The element that differs most, in both models; shapes or types if those differ."""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray):
        if before.shape == after.shape:
            return str(before[seen.worst]), str(after[seen.worst])
        return shape_text(before.shape), shape_text(after.shape)
    return type(before).__name__, type(after).__name__


def _shapes(inputs: Draw) -> list[tuple[int, ...]]:
    return [data.shape for data in inputs.feeds.values()]


def _elements(value: Value) -> int:
    return value.size if isinstance(value, np.ndarray) else 0


def _bytes(value: Value) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping) or value is None:
        return 0
    return sum(map(_bytes, value))
