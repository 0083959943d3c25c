"""The choices of a user for a rewrite, as one value."""

import enum
import functools
import inspect
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from onnxpad.arguments import Dims, Shapes, dims_given, shapes_given
from onnxpad.errors import RUNTIME, UsageError, meant
from onnxpad.finding import Trust

OF_TARGETS = frozenset({"PAD703", "PAD704", "PAD705", "PAD706"})
"""The codes of padding that targets do not take, or of which that is not known."""


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


class Unasked(str):
    """A choice that is the default, and not one that a user made."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Another one than that of the same choice made."""
        return f"Unasked({super().__repr__()})"


class Typed(Struct, frozen=True):
    """An option as it is typed on a command line, with what stands for its value in the help."""

    help: str
    option: str = ""
    kind: Any = bool
    metavar: str | None = None


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
    target: str | Sequence[str]
    target_only: bool


class Wanted(Struct, frozen=True):
    """How one padding is to be written: as the options of these names have it.

    Style `keep` is for padding that stays as it came. Spellings are as `target.Spelling` names
    them: with `no_empty_fill` and `no_valid` a `Pad` is not protected from onnxruntime so.
    """

    style: str = "fold"
    dynamic: str = "keep"
    no_ceil: bool = False
    symmetric_transpose: bool = False
    spelling: frozenset[str] = frozenset()


KEPT = Wanted("keep")
"""Padding that stays as it came."""


class Options(Struct, frozen=True, kw_only=True):
    """The choices of a user, of which `fix` says what each does.

    Commands have the help, the type and the default of each from here.
    """

    style: str = Unasked("fold")
    dynamic: str = Unasked("keep")
    shapes: Shapes | None = None
    dims: Dims | None = None
    trust_dim_names: bool = False
    no_ceil: bool = False
    trust: Trust | None = None
    symmetric_transpose: bool = False
    strict: bool = False
    select: str | Sequence[str] = ()
    ignore: str | Sequence[str] = ()
    target: str | Sequence[str] = ()
    target_only: bool = False

    def __post_init__(self) -> None:
        """Refuses a choice that there is not."""
        check_choice("style", self.style, tuple(Style))
        check_choice("dynamic", self.dynamic, tuple(Dynamic))
        if self.trust is not None:
            check_choice("trust", self.trust, tuple(Trust))
            names = self.trust == Trust.NAMES
            force_setattr(self, "trust", None if names else Trust(self.trust))
            force_setattr(self, "trust_dim_names", names or self.trust_dim_names)

    @property
    def engine(self) -> Trust | None:
        """Whose reading counts where the engines disagree."""
        return None if self.trust is Trust.INITIALIZERS else self.trust

    @property
    def style_asked(self) -> str:
        """The style, and `keep` where nobody chose one and targets decide."""
        return KEPT.style if self.is_for_targets and isinstance(self.style, Unasked) else self.style

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets as they were named, each once."""
        given = (self.target,) if isinstance(self.target, str) else self.target
        return tuple(dict.fromkeys(map(str, filter(None, given or ()))))

    @property
    def typed(self) -> tuple[str, ...]:
        """The targets and shapes as they are typed, each as a shell takes it."""
        said = [f"--target {shlex.quote(each)}" for each in self.targets]
        for name, shape in shapes_given(self.shapes).items():
            sizes = ("?" if size is None else str(size) for size in shape)
            text = shape if isinstance(shape, str) else ",".join(sizes)
            said.append(f"--shape {shlex.quote(f'{name}={text}' if name else text)}")
        return tuple(said)

    @property
    def sizes(self) -> dict[str, str]:
        """The sizes and ranges of dimensions as they are typed, by name."""
        return {
            name: f"{e[0]}..{e[-1]}:{e.step}" if isinstance(e, range) else str(e)
            for name, e in dims_given(self.dims).items()
        }

    @property
    def is_for_targets(self) -> bool:
        """Whether each padding is written as targets need it, which `targets.choose` finds."""
        return bool(self.target or self.target_only)

    def rewrites(self, code: str) -> bool:
        """Whether a code is one to rewrite; codes of what targets do not take are about reports."""
        told = self.is_for_targets and bool(self.select) and OF_TARGETS.issuperset(self.select)
        return self.chooses(code) or (told and not code.startswith(tuple(self.ignore)))

    def chooses(self, code: str) -> bool:
        """Whether a code is one to report; `select` and `ignore` must be tuples."""
        assert isinstance(self.select, tuple)
        assert isinstance(self.ignore, tuple)
        chosen = not self.select or code.startswith(self.select)
        return chosen and not code.startswith(self.ignore)

    @classmethod
    def of(cls, keywords: OptionKeywords) -> "Options":
        """Options of the keywords of a call."""
        require_known(keywords, OptionKeywords.__annotations__)
        return cls(**keywords)  # type: ignore[arg-type]  # trust by its name


class Configured(Struct, frozen=True):
    """The part of a configuration file that held for one model.

    Attributes:
        path: The file.
        options: Its keys, with what they say of this model, as far as they count here.
    """

    path: str
    options: Mapping[str, str | tuple[str, ...] | Mapping[str, str]]


_LIST = list[str]
TYPED: Mapping[str, Typed] = {
    "style": Typed(
        "Where constant padding goes: into the operator (fold), into a Pad node (pad), or the "
        "part equal on both sides into the operator and the rest into a Pad node (symmetric).",
        "--style",
        Style,
    ),
    "dynamic": Typed(
        "Padding that depends on an open size: keep it, write it as a Pad with computed "
        "amounts (pad), or replace a computed Pad that equals SAME by auto_pad (auto-pad).",
        "--dynamic",
        Dynamic,
    ),
    "shapes": Typed(
        "Sizes of an input, such as input=1,3,224,224 or 1x3x224x224; ? leaves one open. "
        "Repeatable.",
        "--shape",
        _LIST,
        "[INPUT=]SIZES",
    ),
    "dims": Typed(
        "Size of a named dimension (height=224), or all sizes of a range (height=32..1024) or "
        "the multiples of 32 in it (height=32..1024:32). Repeatable.",
        "--dim",
        _LIST,
        "NAME=SIZE",
    ),
    "no_ceil": Typed(
        "Write pools that round up (ceil_mode) as pools that round down and have end pads, "
        "where that is exact.",
        "--no-ceil",
    ),
    "trust": Typed(
        f"Where {RUNTIME} and the specification compute different things, write what this "
        "one computes. Without it such padding stays. Or take initializers that are also "
        "inputs as constants, or dimensions of the same name to have the same size (names).",
        "--trust",
        Trust,
    ),
    "strict": Typed("Refuse rewrites that rest on an assumption.", "--strict"),
    "select": Typed(
        "Only these codes or prefixes (PAD1), with commas.", "--select", _LIST, "CODES"
    ),
    "ignore": Typed("All but these codes or prefixes, with commas.", "--ignore", _LIST, "CODES"),
    "target": Typed(
        "Rewrite no more than this runtime needs, such as openvino or tract@0.23, or a .toml "
        "file of your own (onnxpad targets lists them). Repeatable: what all accept.",
        "--target",
        _LIST,
        "NAME",
    ),
}
"""How an option is typed on a command line, by its name in `Options`; others have calls alone."""

_Call = TypeVar("_Call", bound=Callable[..., Any])


def require_known(names: Iterable[str], known: Collection[str]) -> None:
    """Raises TypeError unless all are names of options that there are."""
    for name in names:
        if name not in known:
            raise TypeError(f"there is no option {name!r}{meant(name, known)}")


def suggesting(call: _Call) -> _Call:
    """A call whose error about an option that it has not names the one that may be meant.

    Its signature, which `help` shows, has the keywords of `Options` one by one.
    """
    signature = inspect.signature(call)
    known = dict(signature.parameters)
    if known.pop("options", None):
        for name in OptionKeywords.__annotations__:
            usual = getattr(Options(), name)
            usual = str(usual) if isinstance(usual, str) else usual
            known[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual)

    @functools.wraps(call)
    def checked(*given: Any, **options: Any) -> Any:
        require_known(options, known)
        return call(*given, **options)

    vars(checked)["__signature__"] = signature.replace(parameters=[*known.values()])
    return cast("_Call", checked)


def check_choice(what: str, choice: str, choices: Sequence[str]) -> None:
    """Raises unless a choice is one of those that there are."""
    if choice not in choices:
        told = f"choose one of {', '.join(choices)}{meant(choice, choices)}"
        raise UsageError(f"unknown {what} {choice!r}; {told}")
