"""Writes the README's tables of forms anew: `python -m tests.forms`."""

from tests.forms.tables import written
from tests.support import ROOT

if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
