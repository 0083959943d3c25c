"""Writes the forms of the table of forms anew."""

import argparse

from tests.targets.forms import PATH, page, tables

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.targets", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them, not print them")
    text = page(tables())
    if parser.parse_args().write:
        PATH.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
