"""Terms: what a tensor is computed from, each one object.

A term is made of an operator and the terms of its operands alone, so it says nothing of the graph
around it. Padding is always outermost: what pads upstream is carried through every operator that
commutes with it, so a `Pad` before and behind a Transpose give one term. Equal terms are one
object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from onnxpad.finding import Assumption
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.layers import NO_LAYERS, ExtentPairs, Layer, Layers, merged
from onnxpad.semantics.window import WindowForm


class Source(Struct, frozen=True):
    """A tensor of the graph about which nothing else is known, by its unique name."""

    name: str


class Applied(Struct, frozen=True):
    """An operator applied to its operands, told by its output, op type, and all that is written.

    A `Pad` that is no layer has its mode, and amounts if known.
    """

    written: tuple[object, ...]


class Stepped(Struct, frozen=True):
    """A step of which padding was carried out: what it does to data without padding."""

    key: tuple[object, ...]


class Slid(Struct, frozen=True):
    """A window that slides over the first operand with layers of padding around it."""

    form: WindowForm
    layers: Layers
    output: int


class Spread(Struct, frozen=True):
    """The full result of a transposed convolution: all that its windows reach.

    `disputed` is what is written in the node, if the specification leaves open what that gives.
    """

    key: tuple[object, ...]
    runs: bool
    disputed: tuple[object, ...]


class Copied(Struct, frozen=True):
    """A `Pad` that puts copies of elements around its data, by its mode; it crops on no axis."""

    mode: str
    amounts: ExtentPairs


Head = Source | Applied | Stepped | Slid | Spread | Copied


class Term:
    """What a tensor is computed from: what is done to operands, and the padding around that.

    It is open where padding may be carried on from here: there are layers, or a transposed
    convolution, around whose full result they may come.
    """

    __slots__ = ("args", "bare", "head", "is_open", "layers")

    def __init__(self, head: Head, args: tuple[Term, ...], layers: Layers, bare: Term | None):
        """Only `Terms.make` calls this: terms are compared by identity."""
        self.head = head
        self.args = args
        self.layers = layers
        self.bare: Term = self if bare is None else bare
        is_open = bool(layers) or type(head) is Spread
        self.is_open: bool = is_open or (type(head) is Stepped and any(arg.is_open for arg in args))


class Terms:
    """Makes terms, one for each content."""

    def __init__(self) -> None:
        """There are none at first."""
        self._made: dict[tuple[Any, ...], Term] = {}
        self._forms: dict[object, WindowForm] = {}
        self.notes: dict[Any, Any] = {}

    def make(self, head: Head, args: tuple[Term, ...] = (), layers: Layers = NO_LAYERS) -> Term:
        """The term of this content; layers must be in their normal form."""
        found = self._made.get((head, args, layers))
        if found is None:
            bare = self.make(head, args) if layers else None
            found = self._made[head, args, layers] = Term(head, args, layers, bare)
        return found

    def form(self, form: WindowForm) -> WindowForm:
        """The one object of a form that these terms share."""
        found = self._forms.get(form)
        if found is None:
            found = self._forms[form] = self._forms.setdefault(astuple(form), form)
        return found

    def padded(self, term: Term, *layers: Layer) -> Term:
        """A term with more layers around it."""
        return self.make(term.head, term.args, merged((*term.layers, *layers)))


class Equal(Struct, frozen=True):
    """Both terms compute the same, wherever the original is defined, as a `Certificate` says it.

    `rule` is the one that decided at the place where they differ; `same` where they do not.
    """

    rule: str
    assumptions: frozenset[Assumption] = frozenset()
    facts: Mapping[str, Any] = {}
    sizes: tuple[int | None, ...] = ()


class DiffersError(RefusalError):
    """Two terms could not be shown to compute the same."""

    def __init__(self, text: str, code: Reason = Reason.NOT_CERTIFIED, **facts: object) -> None:
        """Takes another code where something other than the terms decided."""
        super().__init__(code, text, **facts)
