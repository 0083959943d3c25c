"""The choices of a user for a rewrite, as one value."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypedDict, TypeVar

from onnxpad.arguments import Dims, Shapes
from onnxpad.errors import UsageError
from onnxpad.finding import Trust
from onnxpad.messages import meant
from onnxpad.records import dataclass


class Style(enum.StrEnum):
    """Where constant padding goes."""

    FOLD = "fold"
    PAD = "pad"
    SYMMETRIC = "symmetric"


class Dynamic(enum.StrEnum):
    """The treatment of padding that depends on an open size."""

    KEEP = "keep"
    PAD = "pad"
    AUTO_PAD = "auto-pad"


Call = TypeVar("Call", bound=Callable[..., object])


class OptionKeywords(TypedDict, total=False):
    """The same as `Options`, as keywords of a call; `trust` by its name."""

    style: str
    dynamic: str
    shapes: Shapes | None
    dims: Dims | None
    trust_dim_names: bool
    no_ceil: bool
    trust: str | None
    symmetric_transpose: bool
    strict: bool
    select: str | Sequence[str]
    ignore: str | Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The choices of a user, of which `fix` says what each does.

    Attributes:
        style: Where constant padding goes, one of `Style`.
        dynamic: What becomes of padding that depends on an open size, one of `Dynamic`.
        shapes: Sizes to fix, by input.
        dims: Sizes to fix or ranges to prove for, by dimension.
        trust_dim_names: Whether dimensions of one name are assumed to have one size.
        no_ceil: Whether pools with `ceil_mode` are written as pools that round down.
        trust: Whose reading counts where the runtime and the specification disagree; without it
            neither does. Its name is as good.
        symmetric_transpose: Whether pads of transposed convolutions must be equal at both ends.
        strict: Whether a change that rests on an assumption is undone.
        select: Codes or prefixes of codes to rewrite and to report; all if empty.
        ignore: Codes or prefixes of codes to leave alone.
    """

    style: str = "fold"
    dynamic: str = "keep"
    shapes: Shapes | None = None
    dims: Dims | None = None
    trust_dim_names: bool = False
    no_ceil: bool = False
    trust: Trust | None = None
    symmetric_transpose: bool = False
    strict: bool = False
    select: str | Sequence[str] = ()
    ignore: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuses a choice that there is not."""
        check_choice("style", self.style, tuple(Style))
        check_choice("dynamic", self.dynamic, tuple(Dynamic))
        if self.trust is not None:
            check_choice("trust", self.trust, tuple(Trust))
            object.__setattr__(self, "trust", Trust(self.trust))

    @property
    def makes_symmetric(self) -> bool:
        """Whether pads of transposed convolutions become equal at both ends."""
        return self.symmetric_transpose or self.style == "symmetric"

    def chooses(self, code: str) -> bool:
        """Whether a code is one to rewrite and to report; `select` and `ignore` must be tuples."""
        assert isinstance(self.select, tuple)
        assert isinstance(self.ignore, tuple)
        chosen = not self.select or code.startswith(self.select)
        return chosen and not code.startswith(self.ignore)

    @classmethod
    def of(cls, keywords: OptionKeywords) -> Options:
        """Options of the keywords of a call.

        Raises:
            UsageError: There is no such choice.
            TypeError: There is no such option.
        """
        for name in keywords:
            if name not in OptionKeywords.__annotations__:
                near = meant(name, [*OptionKeywords.__annotations__])
                raise TypeError(f"there is no option {name!r}{near}")
        return cls(**keywords)  # type: ignore[arg-type]  # trust by its name

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Options:
        """Options by name, as a configuration has them; a dash stands for an underscore.

        Raises:
            UsageError: There is no such option or choice, one is there twice, or what is yes or no
                is neither.

        >>> Options.from_mapping({"no-ceil": True}).no_ceil
        True
        """
        usual = {each.name: each.default for each in fields(cls)}
        given: dict[str, Any] = {}
        for key, value in mapping.items():
            name = str(key).replace("-", "_")
            if name not in usual:
                raise UsageError(f"unknown option {name!r}{meant(name, usual)}")
            if name in given:
                raise UsageError(f"option {name!r} is given twice")
            if isinstance(usual[name], bool) and not isinstance(value, bool):
                raise UsageError(f"option {name!r} is {value!r}; give true or false")
            given[name] = value
        return cls(**given)


def names_options(call: Call) -> Call:
    """A call that takes options as keywords; its signature names each, for help and completion."""
    signature, usual = inspect.signature(call), Options()
    named = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=getattr(usual, name), annotation=kind
        )
        for name, kind in OptionKeywords.__annotations__.items()
    ]
    *own, _ = signature.parameters.values()
    vars(call)["__signature__"] = signature.replace(parameters=[*own, *named])
    return call


def check_choice(what: str, choice: str, choices: Sequence[str]) -> None:
    """Raises unless a choice is one of those that there are.

    Raises:
        UsageError: It is none; the message names them, and the nearest.
    """
    if choice not in choices:
        raise UsageError(
            f"unknown {what} {choice!r}; choose one of {', '.join(choices)}"
            + meant(choice, choices)
        )
