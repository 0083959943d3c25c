"""Completion in the shell: the values that options take, and what the shells hand over.

Commands, options and choices typer completes by itself, and where nothing fits the shell completes
file names. All this is imported only when a shell asks.
"""

import os
from collections.abc import Sequence


def rejoin() -> None:
    """Brings the words that bash hands over into typer's form: it splits `--style=fold` at the `=`.

    The words stand in the environment, one a line, with the index of the one to complete.
    """
    words = os.environ.get("COMP_WORDS", "").split("\n")
    index = os.environ.get("COMP_CWORD", "")
    if "=" not in words or not index.isdigit():
        return
    before = [word for word in words[: int(index)] if word != "="]
    os.environ["COMP_WORDS"] = "\n".join([*before, *words[int(index) :]])
    os.environ["COMP_CWORD"] = str(len(before))


def providers(incomplete: str) -> list[str]:
    """The execution providers with a short name."""
    return _fitting(("cpu", "cuda", "auto"), incomplete)


def operators(incomplete: str) -> list[str]:
    """The operators that `explain` explains."""
    from onnxpad.frameworks.conventions.question import OPS

    return _fitting(OPS, incomplete)


def frameworks(incomplete: str) -> list[str]:
    """The frameworks of `repad --to` and `check --convention`."""
    from onnxpad.frameworks.conventions.table import FRAMEWORKS

    return _fitting(tuple(FRAMEWORKS), incomplete)


def conventions(incomplete: str) -> list[str]:
    """The conventions of `explain --only`; after commas, those given and one more."""
    from onnxpad.frameworks.conventions.table import CONVENTIONS, PYTORCH_PADDING

    given, comma, last = incomplete.rpartition(",")
    known = (*CONVENTIONS, PYTORCH_PADDING.name)
    return [f"{given}{comma}{name}" for name in _fitting(known, last)]


def targets(incomplete: str) -> list[str]:
    """The targets of `--target` and `targets`."""
    from onnxpad.targets.known_targets import known

    return _fitting(known(), incomplete)


def codes(incomplete: str) -> list[str]:
    """The codes of findings; where some are given, with commas, those and one more."""
    from onnxpad.pipeline.registry import every_code

    given, comma, last = incomplete.rpartition(",")
    return [f"{given}{comma}{code}" for code in _fitting(every_code(), last)]


def pages(incomplete: str) -> list[str]:
    """The pages of the manual."""
    from onnxpad.report.manual import page_names

    return _fitting(page_names(), incomplete)


def _fitting(known: Sequence[str], incomplete: str) -> list[str]:
    return [each for each in known if each.startswith(incomplete)]
