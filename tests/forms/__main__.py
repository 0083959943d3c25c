"""Writes the manual's tables of forms anew."""

import argparse

from tests.forms.tables import written
from tests.support.manual import DOCS

if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.forms", description=__doc__).parse_args()
    path = DOCS / "exactness.md"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
