"""Keeps anew what is said of all that was drawn: read the diff before it is committed.

`python -m tests.drawn`: all lines of the modules below, from claims of the analysis to verdicts.
"""

import argparse
from collections.abc import Sequence

from tests import run_command
from tests.arithmetic import drawn_formulas as formulas
from tests.facts import drawn as claims
from tests.frameworks.conventions import drawn_explanations as explanations
from tests.frameworks.fitting import drawn_fits as fits
from tests.frameworks.repadding import drawn as repads
from tests.frameworks.repadding import drawn_matches as matches
from tests.frameworks.repadding import drawn_searches as searches
from tests.graph import edits
from tests.inventory import drawn_sites as sites
from tests.passes import drawn_fixes as fixes
from tests.proof import pairs
from tests.rewrite import drawn_heals as heals
from tests.runtimes.onnxruntime import drawn as predictions
from tests.runtimes.onnxruntime import drawn_calls as calls
from tests.runtimes.onnxruntime import drawn_shields as shields
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
        edits.LINES.keep,
        formulas.LINES.keep,
        fixes.LINES.keep,
        explanations.LINES.keep,
        fits.LINES.keep,
        sites.LINES.keep,
        predictions.LINES.keep,
        repads.keep,
        searches.LINES.keep,
        matches.LINES.keep,
        inputs.LINES.keep,
        verdicts.LINES.keep,
        heals.LINES.keep,
        calls.LINES.keep,
        shields.LINES.keep,
    ):
        keep()
    return 0


if __name__ == "__main__":
    run_command(main)
