"""The text of an example on the page of a code."""

from typing import Any

from onnxpad.rewrite.pass_api import Example
from tests.support.rows import each_row

GIVEN = "    float[1] x"
FLAGS = ("no-ceil", "symmetric-transpose")


@each_row(
    ("options", "said"),
    [
        ({}, ""),
        ({"style": "pad"}, " with `--style pad`"),
        ({"dynamic": "pad"}, " with `--dynamic pad`"),
        ({"no_ceil": True}, " with `--no-ceil`"),
        ({"symmetric_transpose": True}, " with `--symmetric-transpose`"),
        (
            {"style": "pad", "dynamic": "pad", "no_ceil": True, "symmetric_transpose": True},
            "".join(f" with `--{it}`" for it in ("style pad", "dynamic pad", *FLAGS)),
        ),
    ],
)
def test_the_options_that_are_not_the_usual_ones_are_told(
    options: dict[str, Any], said: str
) -> None:
    example = Example("float[1] x", "y = Relu (x)", "y = Abs (x)", **options)
    lines = ["    y = Relu (x)", f"becomes{said}", "    y = Abs (x)", "where", GIVEN]
    assert example.text == "\n".join(lines)


def test_what_becomes_nothing_else_stays() -> None:
    example = Example("float[1] x", "y = Relu (x)", no_ceil=True)
    assert example.text == "\n".join(["    y = Relu (x)", "stays", "where", GIVEN])
