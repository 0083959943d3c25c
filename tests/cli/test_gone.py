"""What went is an error that names what serves instead."""

import pytest

from onnxpad.cli.gone import GONE
from tests.support import onnxpad_runs


@pytest.mark.parametrize(("command", "option"), GONE)
def test_an_error_names_what_serves_instead(command: str, option: str) -> None:
    result = onnxpad_runs(command or "fix", *[option] * bool(option))
    assert result.exit_code == 2
    assert GONE[command, option] in result.stderr
