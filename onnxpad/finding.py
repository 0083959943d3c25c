"""Findings, changes, certificates, forms of sites and the catalogue's pages: frozen values."""

from __future__ import annotations

import enum
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from onnxpad.errors import RUNTIME, counted


class Severity(enum.StrEnum):
    """How much a finding matters; ordered by `rank`."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for info, 1 for warning, 2 for error."""
        return tuple(Severity).index(self)


class Assumption(enum.StrEnum):
    """An assumption that a proof makes beyond the specification, in words; weakest first."""

    code: str

    def __new__(cls, code: str, text: str) -> Assumption:
        """A text with its stable code."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.code = code
        return member

    FINITE_DATA = "finite-data", "finite data"
    NOT_PROBED = "not-probed", "the proof alone, as no probe could be run"
    EQUAL_NAMES = "equal-names", "equal dimension names are equal sizes"
    DECLARED = "declared-operator", "the user's own operators compute as declared"
    TRUSTS_SPEC = "trusts-spec", f"the specification, where {RUNTIME} computes something else"
    TRUSTS_RUNTIME = (
        "trusts-onnxruntime",
        f"{RUNTIME}, where the specification says something else",
    )
    TRUSTS_INITIALIZERS = "trusts-initializers", "no input that has an initializer is given"


class Trust(enum.StrEnum):
    """Whose reading counts where the runtime and the specification disagree, or the defaults.

    With `INITIALIZERS`, initializers that are also inputs count as constants. `NAMES` has options
    trust the names of dimensions.
    """

    SPEC = "spec"
    RUNTIME = "onnxruntime"
    INITIALIZERS = "initializers"
    NAMES = "names"

    @property
    def option(self) -> str:
        """The option that asks for it."""
        return f"--trust {self.value}"

    @property
    def assumption(self) -> Assumption:
        """The assumption of a change that rests on it."""
        return Assumption[f"TRUSTS_{self.name}"]


class Location(Struct, frozen=True):
    """Where in a model a node is.

    Attributes:
        scope: The way to its graph: the node that has a body, or `<output>` where it has no name,
            and the attribute, from the outermost on; for a function its name.
        name: Its name; empty if it has none.
        output: Its first output that has a name, which no other node of the graph computes.
    """

    scope: tuple[str, ...] = ()
    name: str = ""
    output: str = ""


class Finding(Struct, frozen=True):
    """One thing seen in a graph: a padding to rewrite, or one that stays and why.

    Attributes:
        code: Stable code of the rule, such as `PAD101`.
        severity: `info` for what stays as it is; `warning` or `error` for what can be fixed.
        node: Name of the node, or `<name of its first output>` where it has none.
        op_type: Operator of that node, such as `Conv`.
        message: The padding found, in one line, with names and numbers.
        reason: Why it is not rewritten, in one line; empty if it can be.
        evidence: Facts that the rule established, for `rewrite` and for the JSON report.
        assumptions: Assumptions of a rewrite beyond the specification, such as `finite data`.
        sizes: The limits of open sizes that a rewrite holds for; empty if it holds for all sizes
            that the model leaves open.
        reason_code: The stable code of the reason, such as `copies-data`; empty if there is no
            reason. Its facts are in `evidence`.
        brief: The reason without formulas of open sizes and advice; empty if it has no formula.
        location: Where the node is.
    """

    code: str
    severity: Severity
    node: str
    op_type: str
    message: str
    reason: str = ""
    evidence: Mapping[str, object] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    sizes: str = ""
    reason_code: str = ""
    brief: str = ""
    location: Location = Location()

    @property
    def fixable(self) -> bool:
        """Whether `fix` rewrites it."""
        return not self.reason

    @property
    def asked(self) -> str:
        """The option that asks for this padding as it is, such as `--dynamic pad`, or empty."""
        return str(self.evidence.get("asked", ""))


class Certificate(Struct, frozen=True):
    """The proof that a change computes the same: what was proved equal, and for which sizes.

    Attributes:
        statement: The property derived from both graphs and found equal, in one line.
        limits: Limits of the sizes it holds for, such as `height 32..1024`; empty without limits.
        assumptions: Its assumptions beyond the specification, such as `finite data`.
        facts: The proof as data. `kind` is `windows` or `padding`; `root` is the tensor that both
            graphs read. For windows, `axes` gives the start of the first window on each axis and
            the number of windows, `outside` is the value read outside the data, and `repair` says
            that the runtime does not run the original, so that the specification alone decided.
            `declared` lists the operators about which only the user's declarations say something.
        within: The ranges given by the user that the proof needs, by name of the dimension: first,
            last and step.
        data: The sizes of the data that it holds for where there are no limits: numbers where they
            are declared or given, None for every size.
    """

    statement: str
    limits: str = ""
    assumptions: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    within: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    data: tuple[int | None, ...] = ()

    @property
    def sizes(self) -> str:
        """The sizes it holds for: the limits, `size 224x?` (`?` is every size), or `every size`."""
        by_axis = "x".join("?" if size is None else str(size) for size in self.data)
        return self.limits or (f"size {by_axis}" if {*self.data} - {None} else "every size")

    @property
    def told_sizes(self) -> str:
        """The sizes it holds for, where these are those of the model in words, not in numbers."""
        known = {*self.data} - {None}
        if self.limits or not known:
            return self.sizes
        return "every open size" if None in self.data else "the model's fixed sizes"

    @property
    def refused(self) -> tuple[str, ...]:
        """The assumptions that `--strict` refuses.

        What a user declared of an operator is its meaning, as the specification is that of others.
        And where the declaration has no body, no runtime here can run the operator.
        """
        allowed = {Assumption.DECLARED}
        if Assumption.DECLARED in self.assumptions and not self.facts.get("runnable"):
            allowed.add(Assumption.NOT_PROBED)
        return tuple(each for each in self.assumptions if each not in allowed)

    @property
    def limited_to(self) -> str:
        """The sizes, if the proof does not hold for all that the model leaves open; else empty."""
        return self.sizes if self.facts.get("sizes") else ""


class Change(Struct, frozen=True):
    """One rewrite that was made.

    Attributes:
        code: Code of the rule that made it.
        node: Name of the operator that is padded, as in `Finding.node`.
        op_type: Operator of that node.
        was: How the padding was written.
        now: How it is written now.
        certificate: The proof that both are equal.
        removed: Names of the nodes that were removed.
        probe: The result of running both sides, such as `equal on 6 inputs`; empty if none ran.
        message: What the rule says that it found.
    """

    code: str
    node: str
    op_type: str
    was: SiteForm
    now: SiteForm
    certificate: Certificate
    removed: tuple[str, ...] = ()
    probe: str = ""
    message: str = ""

    def told(self, *, in_full: bool = False) -> tuple[str, str]:
        """How it was written and is now, briefly unless in full; if alike, the message first."""
        brief = self.was.brief, self.now.brief or "nothing"
        if not in_full and brief[0] != brief[1]:
            return brief
        alike = self.message and self.before == self.after
        return (f"{self.message} ({self.code})" if alike else self.before), self.after

    @property
    def before(self) -> str:
        """How the padding was written, such as `Pad H 1+1, W 1+1 -> Conv without pads`."""
        return self.was.text

    @property
    def after(self) -> str:
        """How it is written now; the tensor that is left where nothing is written."""
        return self.now.text

    @property
    def forms(self) -> tuple[str, str]:
        """Both without amounts, such as `Pad -> Conv` and `Conv pads`; empty for nothing."""
        return self.was.form, self.now.form

    @property
    def amounts(self) -> str:
        """The amounts, such as `H 1+2, W 1+2, pads [1, 1, 2, 2]`; empty if none are constant."""
        amounts = self.now.amounts or self.was.amounts
        return amounts.text if amounts else ""

    @property
    def is_move(self) -> bool:
        """Whether the operators are as before, in another order, which readies a fold."""
        was, now = ([step.op for step in form.steps] for form in (self.was, self.now))
        return was != now and sorted(was) == sorted(now)

    @property
    def repairs(self) -> bool:
        """Whether the runtime does not run the operator as it was, such as a dilated SAME."""
        return bool(self.certificate.facts.get("repair"))


def joined(changes: Iterable[Change]) -> list[Change]:
    """Changes, of an operator in one, with the first's proof; none that another takes back."""
    found = dict[object, Change]()
    for each in changes:
        before = found.pop((each.node, each.was), each)
        if before is each or before.was != each.now:
            found[each.node, each.now] = replace(before, now=each.now)
    return [*found.values()]


class Counts(Struct, frozen=True):
    """How many nodes a model has, those of bodies and functions included, and how many are `Pad`s.

    And how many operators have an `auto_pad` other than NOTSET, and how many pools `ceil_mode`.
    """

    pads: int = 0
    auto_pads: int = 0
    nodes: int = 0
    ceil_modes: int = 0


class NextOption(Struct, frozen=True):
    """An option that would gain something on the padding that stays.

    Attributes:
        option: The option as typed on the command line, beside those that were given.
        keywords: The same for `onnxpad.fix`.
        before: The numbers of the result.
        after: Those that it would have.
        taken: With targets, how many more paddings they take.
    """

    option: str
    keywords: Mapping[str, Any]
    before: Counts
    after: Counts
    taken: int = 0

    @property
    def gain(self) -> str:
        """The effect in words, such as `change Pads 3 -> 0, auto_pads 0 -> 3, nodes 274 -> 13`."""
        if self.taken:
            said = f"have {counted(self.taken, 'more padding')} taken"
            return f"{said}, and maybe other sizes too" if "dims" in self.keywords else said
        names = "Pads", "auto_pads", "nodes", "ceil_modes"
        numbers = zip(names, astuple(self.before), astuple(self.after), strict=True)
        return "change " + ", ".join(
            f"{name} {was:,} -> {now:,}" for name, was, now in numbers if was != now
        )


class Page(Struct, frozen=True):
    """A page of the catalogue: the meaning of a code; headings of the text begin with `##`."""

    code: str
    severity: Severity
    title: str
    text: str


Kind: TypeAlias = Literal["pad", "window", "transposed", "step"]
"""A `Pad`, a window operator that can be read, one that scatters, or any other on the way."""


class WrittenAmounts(Struct, frozen=True):
    """How much an operator pads or crops, by axis (name, begin, end) and as attributes say so."""

    axes: tuple[tuple[str, int, int], ...] = ()
    attributes: tuple[tuple[str, str | tuple[int, ...]], ...] = ()

    @property
    def by_axis(self) -> str:
        """The amounts by axis, such as `H 1+2, W 0+1`; in words if no axis is padded."""
        said = ", ".join(f"{name} {begin}+{end}" for name, begin, end in self.axes)
        return said or ("" if self.attributes else "0 on all axes")

    @property
    def written(self) -> str:
        """The attributes, such as `pads [1, 0, 2, 1]`."""
        return ", ".join(
            f"{name}={value}" if isinstance(value, str) else f"{name} {list(value)}"
            for name, value in self.attributes
        )

    def brief(self, crops: str = "") -> str:
        """The amounts by axis, unless attributes say them and are 0, and the other attributes."""
        is_told = not self.attributes or any(begin or end for _, begin, end in self.axes)
        others = tuple(each for each in self.attributes if each[0] != "pads")
        told = f"{crops}{self.by_axis}" * is_told, WrittenAmounts(self.axes, others).written
        return ", ".join(filter(None, told))

    @property
    def text(self) -> str:
        """All of it, such as `H 1+2, W 0+1, pads [1, 0, 2, 1]`."""
        return ", ".join(filter(None, (self.by_axis, self.written)))


class StepForm(Struct, frozen=True):
    """How one operator writes padding, or what else it is on the way of padded data.

    Attributes:
        op: The operator.
        kind: What it is.
        amounts: How much it pads or crops; None where it does not, or they are not constant.
        fill: What a `Pad` upstream of a step writes; None for 0, and where that is not told.
        source: Where amounts that are not constant come from.
        mode: The mode of a `Pad` other than `constant`.
        is_guarded: Whether its fill is left empty, so that the runtime's optimiser cannot fold it.
        auto_pad: The attribute; empty for NOTSET.
        has_pads: Whether pads of its own are written.
        is_counted: Whether an average counts its padding.
        rounds_up: Whether its output size is rounded up.
        beside: Other attributes that say how much a transposed convolution gives.
    """

    op: str
    kind: Kind = "step"
    amounts: WrittenAmounts | None = None
    fill: float | int | str | None = None
    source: Literal["", "computed", "external"] = ""
    mode: str = ""
    is_guarded: bool = False
    auto_pad: str = ""
    has_pads: bool = False
    is_counted: bool = False
    rounds_up: bool = False
    beside: tuple[str, ...] = ()

    @property
    def details(self) -> str:
        """All but the operator, such as `H 1+2, W 1+2, pads [1, 1, 2, 2] counted`."""
        has_none = self.kind == "window" and not self.has_pads and not self.auto_pad
        amounts = "without pads" if has_none else self.amounts.text if self.amounts else ""
        return self._with(amounts, " with its fill left empty" * self.is_guarded)

    @property
    def brief(self) -> str:
        """The operator and what it adds or crops, told once, such as `Conv H 1+2, W 1+2`."""
        crops = "crops " * (self.kind == "transposed")
        amounts = self.amounts.brief(crops) if self.amounts else ""
        return " ".join(filter(None, (self.op, self._with(amounts))))

    def _with(self, amounts: str, guarded: str = "") -> str:
        """Amounts as told, with all else that says how much is padded, and of what."""
        is_auto = self.kind == "window" and self.auto_pad
        said = [self.mode, f"auto_pad={self.auto_pad}" if is_auto else amounts]
        if self.source:
            said.append("(in another file)" if self.source == "external" else "(computed)")
        filled = f" with {self.fill}" if self.fill is not None else ""
        return f"{' '.join(filter(None, said))}{guarded}{self._flags}{filled}".lstrip()

    @property
    def form(self) -> str:
        """All but the amounts, such as `computed Pad` or `AveragePool pads counted`."""
        return self.words(self.op)

    def words(self, op: str) -> str:
        """The form, with a word of one's own for the operator."""
        said = [self.source, op, self.mode]
        if self.kind == "window" and (self.auto_pad or self.has_pads):
            said.append(f"auto_pad={self.auto_pad}" if self.auto_pad else "pads")
        if self._beside:
            said.append(f"with {', '.join(self._beside)}")
        guarded = " with its fill left empty" * self.is_guarded
        return " ".join(filter(None, said)) + guarded + self._flags

    @property
    def _beside(self) -> list[str]:
        auto_pad = [f"auto_pad={self.auto_pad}"] * bool(self.auto_pad)
        return [*auto_pad, *self.beside] if self.kind == "transposed" else []

    @property
    def _flags(self) -> str:
        return " counted" * self.is_counted + " ceil_mode" * self.rounds_up


class SiteForm(Struct, frozen=True):
    """How the padding of a place is written: the operators from the padded data on.

    Where none is written any more, there are none, and the tensor that is left.
    """

    steps: tuple[StepForm, ...] = ()
    tensor: str = ""

    @property
    def text(self) -> str:
        """All of it, such as `Pad H 1+2, W 1+2 -> Conv without pads`."""
        said = [" ".join(filter(None, (step.op, step.details))) for step in self.steps]
        return " -> ".join(said) or repr(self.tensor)

    @property
    def brief(self) -> str:
        """The same with each amount told once, as `Pad H 1+2, W 1+2 -> Conv`; empty for none."""
        return " -> ".join(step.brief for step in self.steps)

    @property
    def form(self) -> str:
        """The same without amounts, such as `Pad -> Conv`; empty where no operator is left."""
        return " -> ".join(step.form for step in self.steps)

    @property
    def amounts(self) -> WrittenAmounts | None:
        """All that a window operator and `Pad`s upstream of it add, and which adds what.

        Of other operators, the amounts of the last that has some; None if none has.
        """
        found = [(step.op, step.amounts) for step in self.steps if step.amounts]
        if len(found) < 2 or self.steps[-1].kind != "window":
            return found[-1][1] if found else None
        begins, ends = Counter[str](), Counter[str]()
        for name, begin, end in (axis for _, amounts in found for axis in amounts.axes):
            begins[name] += begin
            ends[name] += end
        axes = tuple((name, begins[name], ends[name]) for name in begins)
        parts = (part for op, each in found for part in each.attributes or [(op, each.by_axis)])
        return WrittenAmounts(axes, tuple(parts))


def examples(places: Iterable[Any]) -> dict[str, str]:
    """An example of a size for each of the axes that evidence tells as `sizes`, by its name."""
    return {each["name"]: "224" if each["axis"] else "1" for each in places}


def as_options(sizes: Mapping[str, str]) -> str:
    """Sizes of dimensions as they are typed, as a shell takes them."""
    return " ".join(f"--dim {shlex.quote(name)}={size}" for name, size in sizes.items())
