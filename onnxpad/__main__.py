"""`python -m onnxpad`. Imports cli."""

from onnxpad.cli import app

if __name__ == "__main__":
    app()
