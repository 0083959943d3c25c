"""Commands, options, their values, and keys of configurations that there were."""

_SAVE = "save(FILE, {}) of the result in Python"
_CALL = "the call's {} in Python"

GONE = {
    "--html": "--html of another command, or onnxpad docs PAGE, which prints a page as Markdown",
    "--check": "onnxpad check, or onnxpad fix --diff, which writes nothing",
    "--external-data": _SAVE.format("external_data='inline'"),
    "--keep-invalid": _SAVE.format("keep_invalid=True"),
    "--run-timeout": _CALL.format("run_timeout=SECONDS"),
    "--target-only": _CALL.format("target_only=True"),
    "--symmetric-transpose": "--target onnxruntime-cuda",
    "--inputs": "onnxpad validate MODEL RESULT --inputs FILE",
    "--reference": "onnxpad validate MODEL RESULT --reference FILE",
    "--exit-zero": "|| test $? = 1 behind the command",
    "--statistics": "the last line of the report, or --format json",
    "--time": "a benchmark, such as onnxruntime_perf_test",
    "--baseline": "per-file-ignores in onnxpad.toml",
    "ignore": "per-file-ignores in onnxpad.toml, or --ignore CODE",
    "config": "fix, check or show, whose reports say which configuration holds",
    "shapes": "--shape [INPUT=]SIZES",
    "dims": "--dim NAME=SIZE",
    "junit": "sarif, github or json",
}
"""What serves instead of each."""


def instead(name: str) -> str:
    """The end of the error about what went; empty for any other."""
    return f"; use {GONE[name]}" if name in GONE else ""
