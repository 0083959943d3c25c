"""Keeps anew what is said of all that was drawn: read the diff before it is committed.

`python -m tests.drawn`: all lines of the modules below, from claims of the analysis to verdicts.
"""

import argparse
from collections.abc import Sequence

from tests import run_command
from tests.arithmetic import drawn_formulas as formulas
from tests.facts import drawn as claims
from tests.frameworks import cases as frameworks
from tests.inventory import drawn_sites as sites
from tests.proof import pairs
from tests.prove import pairs as proved
from tests.report import answers
from tests.runtimes.onnxruntime import drawn as predictions
from tests.runtimes.onnxruntime import models as optimised
from tests.validation import arrays, cases
from tests.validation import drawn_inputs as inputs
from tests.validation import drawn_verdicts as verdicts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.drawn",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    for keep in (
        claims.keep,
        pairs.LINES.keep,
        proved.LINES.keep,
        answers.LINES.keep,
        formulas.LINES.keep,
        sites.LINES.keep,
        predictions.LINES.keep,
        frameworks.CASES.keep,
        frameworks.LINES.keep,
        inputs.LINES.keep,
        arrays.LINES.keep,
        cases.keep,
        verdicts.LINES.keep,
        optimised.keep,
    ):
        keep()
    return 0


if __name__ == "__main__":
    run_command(main)
