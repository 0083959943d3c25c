"""What went is an error that names what serves instead."""

import pytest

from onnxpad.cli.options import GONE
from tests.support import onnxpad_runs


@pytest.mark.parametrize("name", [each for each in GONE if each not in {"shapes", "dims", "junit"}])
def test_an_error_names_what_serves_instead(name: str) -> None:
    result = onnxpad_runs("docs", name) if name.startswith("-") else onnxpad_runs(name)
    assert result.exit_code == 2
    assert GONE[name] in result.stderr
