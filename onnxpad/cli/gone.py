"""Commands and options that there were, and what serves instead of each."""

GONE: dict[tuple[str, str], str] = {
    ("docs", "--html"): "onnxpad docs PAGE, which prints a page as Markdown",
    ("explain", "--svg"): "the drawing that explain prints, or onnxpad show MODEL --html FILE",
    ("fix", "--check"): "onnxpad check, or onnxpad fix --diff, which writes nothing",
    ("fix", "--external-data"): "onnxpad.fix(MODEL).save(FILE, external_data='inline') in Python",
    ("fix", "--isolated"): "options, which go before those of a configuration",
    ("fix", "--keep-invalid"): "onnxpad.fix(MODEL).save(FILE, keep_invalid=True) in Python",
    ("fix", "--run-timeout"): "onnxpad.fix(MODEL, run_timeout=SECONDS) in Python",
    ("fix", "--target-only"): "onnxpad.fix(MODEL, target=NAME, target_only=True) in Python",
    ("fix", "--trust-dim-names"): "--trust names",
    ("fix", "--symmetric-transpose"): "--target onnxruntime-cuda",
    ("fix", "--inputs"): "onnxpad validate MODEL FIXED --inputs FILE",
    ("check", "--exit-zero"): "|| test $? = 1 behind the command",
    ("check", "--statistics"): "the last line of the report, or --format json",
    ("match", "--external-data"): "onnxpad.match(...).save(FILE, external_data='inline') in Python",
    ("match", "--run-timeout"): "onnxpad.match(..., run_timeout=SECONDS) in Python",
    ("repad", "--external-data"): "onnxpad.repad(...).save(FILE, external_data='inline') in Python",
    ("repad", "--run-timeout"): "onnxpad.repad(..., run_timeout=SECONDS) in Python",
    ("validate", "--run-timeout"): "onnxpad.validate(..., run_timeout=SECONDS) in Python",
    ("explain", "--trust-dim-names"): "--dim NAME=SIZE for each dimension",
    ("rules", ""): "onnxpad rule",
    ("validate", "--time"): "a benchmark, such as onnxruntime_perf_test",
    ("ignore", ""): "per-file-ignores in onnxpad.toml, or --ignore CODE",
    ("config", ""): "fix, check or show, whose reports say which configuration holds",
    ("check", "--baseline"): "per-file-ignores in onnxpad.toml",
    ("check", "--write-baseline"): "per-file-ignores in onnxpad.toml",
}
"""What serves instead, by the command and its option, or "" for the command itself."""

KEYS = {"shapes": "--shape [INPUT=]SIZES", "dims": "--dim NAME=SIZE"}
"""What serves instead of keys of a configuration."""

VALUES = {"junit": "sarif, github or json"}
"""What serves instead of values of options."""


def instead(command: str, option: str = "") -> str:
    """The end of the error about a command that went, or an option of it; empty for any other."""
    known = (said for (_, name), said in GONE.items() if option and name == option)
    said = GONE.get((command, option)) or next(known, "")
    return f"; use {said}" if said else ""
