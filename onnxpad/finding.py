"""Findings, changes, certificates and the catalogue's pages: frozen values."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


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
    """What a proof takes for granted beyond the specification, in words, weakest first.

    Attributes:
        code: Its stable code.
    """

    code: str

    def __new__(cls, code: str, text: str) -> "Assumption":
        """A text with its code."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.code = code
        return member

    FINITE_DATA = "finite-data", "finite data"
    NOT_PROBED = "not-probed", "the proof alone, since no runtime here runs the probe"
    SHORT_AXES = "short-axes", "no axis is longer than 16,711,680"
    EQUAL_NAMES = "equal-names", "equal dimension names are equal sizes"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing seen in a graph: a padding to rewrite, or one that stays and why.

    Attributes:
        code: Stable code of the rule, as `PAD101`.
        severity: `info` for what stays as it is; `warning` or `error` for what can be fixed.
        node: Name of the node, or `<name of its first output>` where it has none.
        op_type: Operator of that node, as `Conv`.
        message: What is there, in one line, with the names and numbers.
        reason: Why it is not rewritten, in one line; empty where it can be.
        evidence: What the rule learnt, for `rewrite` and for readers of the JSON report.
        assumptions: What a rewrite takes for granted beyond the specification, as `finite data`.
        sizes: The sizes that a rewrite holds for, where they are not all.
        reason_code: The stable code of the reason, as `copies-data`; empty where there is none.
            Its facts are in `evidence`.
    """

    code: str
    severity: Severity
    node: str
    op_type: str
    message: str
    reason: str = ""
    evidence: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    assumptions: tuple[str, ...] = ()
    sizes: str = ""
    reason_code: str = ""

    @property
    def fixable(self) -> bool:
        """Whether `fix` rewrites it."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why a change computes the same: what was compared, for which sizes, and on what assumptions.

    Attributes:
        statement: What was derived from both graphs and found equal, in one line.
        sizes: The sizes it holds for, as `every size` or `height 224, width 224`.
        assumptions: What it takes for granted beyond the specification, as `finite data`.
        facts: The same as data. `kind` is `windows` or `padding`; `root` the tensor that both
            graphs read; for windows, `axes` has where the first one starts on each axis and how
            many there are, `outside` what is read outside of the data, and `repair` says whether
            onnxruntime gives the original no answer, so that the specification alone decided.
        within: The given ranges that it needs, by name of the dimension: first, last and step.
    """

    statement: str
    sizes: str = "every size"
    assumptions: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    within: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def limited_to(self) -> str:
        """The sizes, where it does not hold for all that the model leaves open; else empty."""
        return "" if self.sizes == "every size" or self.sizes.startswith("size ") else self.sizes


@dataclass(frozen=True, slots=True)
class Change:
    """One rewrite that was made.

    Attributes:
        code: Code of the rule that made it.
        node: Name of the operator whose padding it is, as in `Finding.node`.
        op_type: Operator of that node.
        before: How the padding was written, as `Pad (1,1) (1,1) -> Conv pads (0,0) (0,0)`.
        after: How it is written now.
        certificate: Why both are equal.
        removed: Names of the nodes that went with it.
        probe: What running both sides showed, as `equal on 6 inputs`; empty where nothing ran.
    """

    code: str
    node: str
    op_type: str
    before: str
    after: str
    certificate: Certificate
    removed: tuple[str, ...] = ()
    probe: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the catalogue: what a code means.

    Attributes:
        code: Stable code of the rule, as `PAD101`.
        severity: Of what it finds and `fix` rewrites.
        title: What it finds, in one line.
        text: The whole page, title first; headings begin with `##`, examples are indented.
    """

    code: str
    severity: Severity
    title: str
    text: str
