"""Completion in the shell: codes and targets, and what the shells hand over.

Commands, options and choices typer completes by itself, and where nothing fits the shell completes
file names. All this is imported only when a shell asks.
"""

from collections.abc import Sequence


def targets(incomplete: str) -> list[str]:
    """The targets of `--target` and `targets`."""
    from onnxpad.targets.known_targets import known

    return _fitting(known(), incomplete)


def codes(incomplete: str) -> list[str]:
    """The codes of findings; where some are given, with commas, those and one more."""
    from onnxpad.rewrite.registry import every_code

    given, comma, last = incomplete.rpartition(",")
    return [f"{given}{comma}{code}" for code in _fitting(every_code(), last)]


def _fitting(known: Sequence[str], incomplete: str) -> list[str]:
    return [each for each in known if each.startswith(incomplete)]
