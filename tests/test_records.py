"""`onnxpad.records.dataclass` against the standard decorator: each class is made by both."""

import copy
import dataclasses
import operator
import pickle
import sys
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import pytest

from onnxpad import records

KINDS: Final[dict[str, dict[str, bool]]] = {
    "frozen": {"frozen": True},
    "mutable": {},
    "by-identity": {"frozen": True, "eq": False},
    "mutable-by-identity": {"eq": False},
    "ordered": {"frozen": True, "order": True},
    "keywords": {"frozen": True, "kw_only": True},
    "shown-otherwise": {"frozen": True, "repr": False},
}

VALUES: Final = [(1, "a"), (1, "b"), (0, "z"), (2, "")]


def two_fields(made: Callable[..., Any], options: dict[str, bool]) -> Any:
    """A record whose second field has a default."""

    class Pair:
        """Two."""

        one: int
        other: str = "usual"

        def both(self) -> str:
            return f"{self.one}{self.other}"

    return made(slots=True, **options)(Pair)


def pair(kind: str) -> tuple[Any, Any]:
    return tuple(
        two_fields(made, KINDS[kind]) for made in (records.dataclass, dataclasses.dataclass)
    )


def outcome(ask: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the error that it raises, in words."""
    try:
        return ask(*args)
    except Exception as error:
        return type(error), str(error)


def instances(record: Any) -> list[Any]:
    return [record(one=one, other=other) for one, other in VALUES]


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_compares_hashes_and_shows_as_by_the_standard_decorator(kind: str) -> None:
    ours, theirs = (instances(record) for record in pair(kind))
    for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        for row in range(len(VALUES)):
            for column in range(len(VALUES)):
                mine = outcome(compare, ours[row], copy.copy(ours[column]))
                assert mine == outcome(compare, theirs[row], copy.copy(theirs[column]))
    assert ours[0] != VALUES[0]
    assert ours[0] != theirs[0]
    if kind == "shown-otherwise":
        assert repr(ours[0]) == object.__repr__(ours[0])
    elif KINDS[kind].get("repr", True):
        assert list(map(repr, ours)) == list(map(repr, theirs))
    if KINDS[kind].get("eq", True):
        mine, standard = ([outcome(hash, each) for each in made] for made in (ours, theirs))
        assert mine == standard
    else:
        assert hash(ours[0]) == object.__hash__(ours[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        ((1,), {}),
        ((1, "a"), {}),
        ((1, "a", 2), {}),
        ((), {"one": 1}),
        ((), {"other": "a"}),
        ((1,), {"one": 2}),
        ((), {"one": 1, "third": 2}),
    ],
)
def test_it_is_made_of_the_same_arguments(kind: str, args: Any, named: Any) -> None:
    def ask(record: Any) -> Any:
        made = record(*args, **named)
        return made.one, made.other, made.both()

    ours, theirs = (outcome(ask, record) for record in pair(kind))
    assert ours == theirs


def described(record: Any) -> list[Any]:
    """What `dataclasses` says of the fields of a record."""
    told = ("name", "type", "default", "default_factory", "init", "repr", "compare", "kw_only")
    return [[getattr(each, name) for name in told] for each in dataclasses.fields(record)]


@pytest.mark.parametrize("kind", KINDS)
def test_it_keeps_what_the_class_is(kind: str) -> None:
    ours, theirs = pair(kind)
    made = ours(one=1)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__match_args__"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.__slots__ == theirs.__slots__
    assert not hasattr(ours(one=1), "__dict__")
    assert described(ours) == described(theirs)
    assert [each.name for each in dataclasses.fields(made)] == ["one", "other"]
    assert dataclasses.asdict(made) == {"one": 1, "other": "usual"}
    assert dataclasses.replace(made, other="new").both() == "1new"
    assert all(map(dataclasses.is_dataclass, (ours, made)))
    for record in (ours(one=1), theirs(one=1)):
        frozen = KINDS[kind].get("frozen", False)
        assert isinstance(outcome(setattr, record, "one", 2), tuple) == frozen
        assert record.one == (1 if frozen else 2)
        assert isinstance(outcome(delattr, record, "one"), tuple) == frozen
        assert outcome(setattr, record, "third", 1)[0] in {
            AttributeError,
            dataclasses.FrozenInstanceError,
            TypeError,
        }


@records.dataclass(frozen=True, slots=True)
class Node:
    """A record that a module holds, so that pickle finds it."""

    name: str
    sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("no name")


@records.dataclass(frozen=True, slots=True)
class Single:
    """One field, which may be anything."""

    value: Any


@records.dataclass(slots=True)
class Gathering:
    """Fields that are made for each record, or set later."""

    names: list[str] = dataclasses.field(default_factory=list)
    last: str = dataclasses.field(init=False)
    count: int = 3


@records.dataclass(frozen=True, slots=True)
class Empty:
    """No field."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Empty


def test_it_is_pickled_and_copied() -> None:
    for record in (Node("a", (1, 2)), Single([1]), Single(None), Empty()):
        for again in (
            *(pickle.loads(pickle.dumps(record, each)) for each in range(pickle.HIGHEST_PROTOCOL)),
            copy.copy(record),
            copy.deepcopy(record),
        ):
            assert again == record
            assert type(again) is type(record)


def test_one_field_is_compared_as_a_value_in_a_tuple() -> None:
    assert hash(Single(1)) == hash((1,))
    assert Single(1) == Single(1.0) != Single(2)
    missing = float("nan")
    assert Single(missing) == Single(missing) != Single(float("nan"))
    for other in ((1,), ((1,),)):
        assert operator.ne(Single((1,)), other)


def test_post_init_is_called_and_a_class_keeps_its_own_methods() -> None:
    with pytest.raises(ValueError, match="no name"):
        Node("")
    assert Empty() == Empty()
    assert hash(Empty()) == hash(())
    assert repr(Empty()) == "Empty()"


def test_fields_are_made_for_each_record_or_set_later() -> None:
    one, other = Gathering(), Gathering(["a"], 4)
    one.names.append("b")
    assert (one.names, one.count) == (["b"], 3)
    assert (other.names, other.count) == (["a"], 4)
    assert Gathering().names == []
    assert not hasattr(one, "last")
    other.last = "c"
    assert repr(other) == "Gathering(names=['a'], last='c', count=4)"
    assert [each.name for each in dataclasses.fields(one) if each.init] == ["names", "count"]


@records.dataclass(frozen=True)
class Open:
    """A record without slots, which may keep what it computed."""

    value: int
    factor: int = 2
    names: list[str] = dataclasses.field(default_factory=list)

    @cached_property
    def product(self) -> int:
        return self.value * self.factor


def test_without_slots_a_property_is_kept() -> None:
    record = Open(3)
    assert record.product == 6
    assert vars(record) == {"value": 3, "factor": 2, "names": [], "product": 6}
    assert record == Open(3)
    assert not hasattr(Open, "names")
    assert pickle.loads(pickle.dumps(record)) == record
    assert dataclasses.replace(record, factor=3).product == 9
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, "value", 4)  # noqa: B010


def test_every_record_of_the_package_with_slots_and_every_tuple_is_made_here() -> None:
    """Else each costs a start of the command 0.7 ms, and each tuple 0.2 ms."""
    import onnxpad.api.fix  # noqa: F401

    kinds = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("onnxpad.")
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    }
    slotted = [
        each for each in kinds if "__dataclass_fields__" in vars(each) and "__slots__" in vars(each)
    ]
    assert len(slotted) > 30
    assert [each for each in slotted if not hasattr(each, "__record_fields__")] == []
    tuples = [each for each in kinds if issubclass(each, tuple) and "_fields" in vars(each)]
    assert len(tuples) > 30
    assert [each for each in tuples if not issubclass(each, records._Named)] == []


@pytest.mark.parametrize("slots", [True, False])
@pytest.mark.parametrize("kw_only", [True, False])
def test_a_record_extends_another_one(slots: bool, kw_only: bool) -> None:
    def extended(made: Callable[..., Any]) -> Any:
        class More(two_fields(made, {"frozen": True})):  # type: ignore[misc]
            third: int = 3
            fourth: list[int] = dataclasses.field(default_factory=list)

        return made(frozen=True, slots=slots, kw_only=kw_only)(More)

    records_made = [extended(made) for made in (records.dataclass, dataclasses.dataclass)]
    ours, theirs = records_made
    given: list[tuple[Any, dict[str, Any]]] = [
        ((1,), {}), ((1, "a"), {}), ((1, "a", 4), {}), ((1,), {"third": 4}), ((), {}),
        ((1, "a", 4, [5]), {}), ((), {"one": 1, "fourth": [2]}),
    ]  # fmt: skip
    for args, named in given:
        told = [outcome(partial(each, *args, **named)) for each in records_made]
        assert repr(told[0]) == repr(told[1])
    assert ours.__match_args__ == theirs.__match_args__
    made = ours(1, third=2)
    assert [each.name for each in dataclasses.fields(made)] == ["one", "other", "third", "fourth"]
    assert described(ours) == described(theirs)
    assert dataclasses.replace(made, other="b") == ours(1, "b", third=2) != made
    assert copy.copy(made) == made
    assert hasattr(made, "__dict__") != slots
    assert made.both() == "1usual"


class Place(records.NamedTuple):
    """A tuple that a module holds, so that pickle finds it."""

    tensor: str
    axis: int = 0
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.tensor}[{self.axis}]"


class StandardPlace(NamedTuple):
    """A tuple that a module holds, so that pickle finds it."""

    tensor: str
    axis: int = 0
    names: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.tensor}[{self.axis}]"


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((), {}),
        (("x",), {}),
        (("x", 1, ("n",)), {}),
        (("x", 1, (), 2), {}),
        ((), {"tensor": "x", "names": ("n",)}),
        (("x",), {"tensor": "y"}),
        (("x",), {"fourth": 1}),
    ],
)
def test_a_tuple_of_named_fields_is_made_and_shown_as_by_the_standard_one(
    args: Any, named: Any
) -> None:
    def ask(kind: Any) -> Any:
        made = kind(*args, **named)
        tensor, *_ = made
        return [
            made.label, tensor, made, hash(made), made._asdict(), kind._fields, made[1:],
            made._replace(axis=3), outcome(partial(made._replace, other=2))[1], kind.__match_args__,
            outcome(kind._make, [1, 2]), kind._make("abc"), kind._field_defaults,
            outcome(setattr, made, "axis", 1)[0], outcome(vars, made)[0],
        ]  # fmt: skip

    ours, theirs = (
        str(outcome(ask, kind)).replace("StandardPlace", "Place") for kind in (Place, StandardPlace)
    )
    assert ours == theirs


def test_a_tuple_of_named_fields_is_pickled_copied_and_extended() -> None:
    place = Place("x", 1)
    for again in (
        *(pickle.loads(pickle.dumps(place, each)) for each in range(pickle.HIGHEST_PROTOCOL)),
        copy.copy(place),
        copy.deepcopy(place),
    ):
        assert again == place == ("x", 1, ())
        assert type(again) is Place

    # `copy.replace` of Python 3.13 asks the method.
    assert place.__replace__(axis=2) == Place("x", 2)  # type: ignore[attr-defined]
    assert Node("a").__replace__(sizes=(1,)) == Node("a", (1,))  # type: ignore[attr-defined]

    class Further(Place):
        """A tuple that extends another one."""

        __slots__ = ()

    assert repr(Further("y")._replace(axis=2)) == "Further(tensor='y', axis=2, names=())"
    match place:
        case Place(tensor, axis=1):
            assert tensor == "x"
        case _:
            raise AssertionError
