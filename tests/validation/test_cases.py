"""The verdicts on models as text are those that are kept."""

import pytest

from tests.validation.cases import blocks, said

BLOCKS = blocks()


@pytest.mark.parametrize("title", BLOCKS)
def test_the_verdict(title: str) -> None:
    lines = BLOCKS[title]
    assert [*said(lines)] == lines
    assert not [line for line in lines if line.startswith("== failed")]  # a false alarm
