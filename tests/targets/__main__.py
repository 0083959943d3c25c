"""Writes the forms of the table of forms anew."""

import argparse

from tests import run_command
from tests.targets.forms import PATH, page, tables


def main() -> int:
    """The signatures of all forms, written or printed."""
    parser = argparse.ArgumentParser(prog="python -m tests.targets", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them, not print them")
    text = page(tables())
    if parser.parse_args().write:
        PATH.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    run_command(main)
