"""The choices of a user for a rewrite, as one value."""

from inspect import cleandoc, signature
from typing import Any

import pytest
from msgspec.structs import asdict, replace

import onnxpad
from onnxpad.cli import check_command, fix_command
from onnxpad.cli.options import Asked, options_given
from onnxpad.errors import UsageError
from onnxpad.finding import Trust
from onnxpad.options import TYPED, OptionKeywords, Options, Style
from tests.support.manual import manual


def test_they_are_those_of_fix_and_check() -> None:
    """With the same defaults; what only runs or only shows something is no option of a rewrite."""
    usual = asdict(Options())
    assert list(OptionKeywords.__annotations__) == list(usual)


def test_each_is_explained() -> None:
    told = manual()
    for name, typed in TYPED.items():
        assert f"\n    {name}: " in cleandoc(onnxpad.fix.__doc__ or "")
        assert typed.option in told


def test_commands_take_each_by_its_name() -> None:
    """With the same defaults, none of which a command repeats; what is typed feeds `Options`."""
    for command in (fix_command.fix, check_command.check):
        listed = signature(command).parameters
        found = {name: each.default for name, each in listed.items()}
        for name in ("style", "dynamic"):
            assert found[name] is None  # so that it is known whether it was typed
            found[name] = listed[name].annotation.__metadata__[0].show_default.partition(",")[0]
        usual = asdict(Options())
        assert {name: found[name] or () for name in TYPED} == {
            name: usual[name] or () for name in TYPED
        }
    typed = Asked(
        style=Style.PAD, shapes=["x=1,3"], dims=["n=2..4"], no_ceil=True, dynamic=None,
        trust=Trust.SPEC, select=["PAD2"], ignore=["PAD201,PAD3"],
    )  # fmt: skip
    asked = Options(**options_given(typed))
    assert asked == replace(asked, style="pad", shapes={"x": "1,3"}, dims={"n": "2..4"})
    assert (asked.no_ceil, asked.trust, asked.strict) == (True, Trust.SPEC, False)
    assert asked.chooses("PAD202")
    assert not asked.chooses("PAD201")
    assert not asked.chooses("PAD101")


def test_a_choice_has_its_value() -> None:
    given: list[Any] = [{"target": None}, {"target": "trt"}]
    assert [Options.of(each).targets for each in given] == [(), ("trt",)]
    asked = Options.of({"style": "pad", "trust": "spec"})
    assert asked.trust is Trust.SPEC
    untaken = Options.of({"target": "trt", "select": ("PAD703",), "ignore": ("PAD2",)})
    assert [untaken.rewrites(code) for code in ("PAD101", "PAD201")] == [True, False]
    names = Options(trust=Trust.NAMES)
    assert (names.trust, names.trust_dim_names) == (None, True)
    expected = Options(style="pad", trust=Trust.SPEC, dynamic="pad")
    assert replace(asked, dynamic="pad") == expected
    with pytest.raises(AttributeError):
        Options().style = "pad"  # type: ignore[misc]


@pytest.mark.parametrize("choice", [{"style": "folds"}, {"dynamic": "auto_pad"}, {"trust": "onnx"}])
def test_there_is_no_such_choice(choice: Any) -> None:
    with pytest.raises(UsageError):
        Options.of(choice)
