"""Command lines whose whole output is kept."""

from typing import Final

from tests.golden.reports import NAMES

_ON_EACH: Final = """
show {} --node * --html page.html
show {} --format json
check {} --convention keras --html page.html
check {} --style symmetric --dynamic auto-pad --format json
fix {} --no-validate -v -o out.onnx --html page.html
fix {} --no-validate --style pad --check --diff
fix {} --no-validate --style symmetric --dynamic pad --format json -o out.onnx
fix {} --no-validate -q --check --dynamic auto-pad --html page.html
"""

SEEN: Final = ("forms", "open", "transposed", "last", "ranks", "scopes", "names", "plain")
"""The models of which all that is asked."""

_FURTHER: Final = """
show open.onnx --dim height=8..16:4 --dim width=5
show open.onnx --shape x=1,2,?,8 --node same --html page.html
show open.onnx --dim height=7 --dim width=300 --html page.html
show plain.onnx --dim absent=3
fix open.onnx --no-validate --dim height=32..64:32 --check --html page.html
fix open.onnx --no-validate --dim height=9 --dim width=8 --check -v
fix open.onnx --no-validate --shape x=1,2,9,8 -o out.onnx
check open.onnx --shape x=1,2,9 --fail-on info
check open.onnx forms.onnx absent.onnx --html page.html
check forms.onnx --select PAD1,PAD2 --fail-on error
check scopes.onnx --format sarif --select PAD205
check names.onnx absent.onnx --format sarif
check names.onnx --format github
check many.onnx open.onnx --format github --convention keras
check many.onnx forms.onnx --statistics
check forms.onnx --statistics -q --exit-zero
check plain.onnx --statistics --html page.html
check forms.onnx --statistics --format sarif
check forms.onnx --format sarfi
check forms.onnx scopes.onnx last.onnx --style pad --ignore PAD5 --dynamic auto-pad --fail-on error
check open.onnx forms.onnx --dim height=8 --dim width=9 --exit-zero
check forms.onnx --convention pytorch -q
check forms.onnx --baseline absent.json
check forms.onnx --convention tflite --format json
fix forms.onnx --check --select PAD4 --no-ceil
fix forms.onnx --check --ignore PAD101 --trust spec --format json
fix forms.onnx --in-place --no-validate --strict
fix transposed.onnx --no-validate --symmetric-transpose --check
fix ranks.onnx --html page.html -v
fix last.onnx --format json
validate ranks.onnx ranks.onnx --html page.html -v
validate ranks.onnx last.onnx
validate pools.onnx others.onnx --html page.html -v
validate pools.onnx others.onnx --format json --samples 1
validate pools.onnx others.onnx --atol 9 -q
validate pools.onnx pools.onnx --seed 3 --html page.html
validate port.onnx --reference source.npz --html page.html
validate port.onnx source.onnx --reference port.npz --html page.html
validate source.onnx --reference source.npz
fix port.onnx --reference source.npz --html page.html
repad port.onnx --to tensorflow --reference source.npz -o out.onnx
repad port.onnx --to keras --only first --reference source.npz
repad port.onnx --to caffe --format json
repad source.onnx --to valid --only pool
match port.onnx --reference source.npz -o out.onnx
match port.onnx --reference mixed.npz --format json
match source.onnx --reference source.npz
match port.onnx --reference wrong.npz --partial -o out.onnx
match port.onnx --reference wrong.npz
match port.onnx --reference bare.npz
match port.onnx --reference bare.npz --partial --format json -q -o out.onnx
match signs.onnx --reference signed.npz -o out.onnx
match signed.onnx --reference source.npz
repad signs.onnx --to tensorflow --reference signed.npz
repad signs.onnx --to cudnn
repad signed.onnx --to paddle -o out.onnx
repad unknown.onnx --to keras
check eight.onnx --shape absent=1
show unknown.onnx --html page.html
fix unknown.onnx --no-validate --check -v
fix unknown.onnx --no-validate --dynamic pad -o out.onnx
check unknown.onnx --shape x=1,2,9,8 --format json
match port.onnx --reference source.npz -o port.onnx
match port.onnx --reference source.npz -o source.npz
match port.onnx --reference source.npz --seconds 0
match port.onnx --reference absent.npz
repad port.onnx --to keras --only pol
repad port.onnx --to keras --reference source.npz -o source.npz
repad port.onnx --to keras --inputs source.npz -o source.npz
repad port.onnx --to theano
repad port.onnx --to pytorch --reference wrong.npz
repad port.onnx --to pytorch --reference wrong.npz --keep-invalid -q
repad port.onnx --to keras --only * --in-place -o out.onnx
fix port.onnx --reference wrong.npz --format json
fix port.onnx --style pad --reference wrong.npz --keep-invalid -q
fix port.onnx --reference source.npz --no-validate
fix plain.onnx -o out.onnx
fix plain.onnx -q
fix forms.onnx
fix forms.onnx --check -v --html page.html
fix forms.onnx --diff --check -q
fix forms.onnx -o forms.onnx
fix forms.onnx -o -
fix forms.onnx -o .
fix forms.onnx -o absent/out.onnx
fix forms.onnx -o out.onnx --in-place
fix forms.onnx --html forms.onnx
fix forms.onnx --html absent/page.html
fix forms.onnx --select PAD9999
fix forms.onnx --ignore nothing
fix forms.onnx --style flod
fix forms.onnx --shape x=1,2,3
fix forms.onnx --shape x=1,2,9,9
fix forms.onnx --shape y=1
fix forms.onnx --shape x=1,two
fix forms.onnx --run-timeout 0
fix absent.onnx
fix .
fix open.onnx --no-validate --check --dim heigth=3
fix open.onnx --no-validate --check --dim =3
fix open.onnx --no-validate --check --dim height
fix open.onnx --no-validate --check --dim height=9..3
fix open.onnx --no-validate --check --dim height=0
fix open.onnx --no-validate --check --dim height=1
fix open.onnx --no-validate --check --dim height=3..
fix open.onnx --no-validate --check --dim height=8 --shape x=1,2,9,8
fix open.onnx --no-validate --check --shape 1,2,9,8 --trust-dim-names
fix open.onnx --no-validate --check --trust onnxruntime --dim height=..64:2 -v
check many.onnx --shape absent=1
check many.onnx --dim absent=1
check many.onnx --fail-on warning
show many.onnx --node o --html page.html
show many.onnx
fix many.onnx --no-validate --check
fix many.onnx --no-validate --check -v --html page.html
show forms.onnx
show forms.onnx --node firs
show forms.onnx --node abs*
show forms.onnx --node *a* --node two
show names.onnx
show open.onnx
validate ends.onnx others.onnx
validate ends.onnx end.onnx -v --html page.html
validate ends.onnx end.onnx --format json
validate pools.onnx absent.onnx
validate pools.onnx
validate pools.onnx pools.onnx --samples 0
validate pools.onnx pools.onnx --rtol -1
validate pools.onnx pools.onnx --provider tpu
validate open.onnx open.onnx --dim height=9 --dim width=8 --samples 2
repad ranks.onnx --to tensorflow
repad last.onnx --to pytorch --only conv
repad forms.onnx --to keras --only first --only same --format json
repad transposed.onnx --to tensorflow
explain forms.onnx --node first --svg drawing.svg
explain forms.onnx --node same --format json
explain forms.onnx --node ceil
explain open.onnx --node open --shape x=1,2,7,10
explain open.onnx --node open
explain transposed.onnx --node same_up --svg drawing.svg
explain transposed.onnx --node asked
explain ranks.onnx --node cube
explain plain.onnx --node absent
explain --op conv --size 7 --kernel 3
explain --op conv --size 7 --kernel 3 --stride 2 --svg drawing.svg
explain --op conv --size 8x9 --kernel 3 --stride 2 --dilation 2x1 --svg drawing.svg
explain --op conv --size 224x161 --kernel 7x5 --stride 2x3 --padding 3x1 --svg drawing.svg
explain --op conv --size 6x7x8 --kernel 2 --stride 3 --format json
explain --op conv --size 3 --kernel 5
explain --op maxpool --size 6 --kernel 2 --stride 2 --padding 1 --svg drawing.svg
explain --op maxpool --size 112 --kernel 3 --stride 2 --format json
explain --op avgpool --size 10x10 --kernel 3 --stride 2 --padding 1
explain --op avgpool --size 5 --kernel 1 --stride 4
explain --op convtranspose --size 4x5 --kernel 3 --stride 2 --output-padding 1 --svg drawing.svg
explain --op convtranspose --size 7 --kernel 2 --stride 3 --format json
explain --op convtranspose --size 5 --kernel 4 --stride 2 --padding 1
explain --op conv --size 12345 --kernel 3 --stride 2 --svg drawing.svg
explain --op conv --size 99 --kernel 11 --stride 4 --padding 2 --svg drawing.svg
explain --op convtranspose --size 3 --kernel 5 --stride 4 --output-padding 3 --svg drawing.svg
explain --op convtranspose --size 4 --kernel 2 --stride 1 --dilation 3 --padding 2
explain --op conv --size 0 --kernel 3
explain --op conv --size 7 --kernel 3 --stride 0
explain --op convolution --size 7 --kernel 3
explain --op conv
explain
explain forms.onnx --node first --op conv
explain forms.onnx
explain forms.onnx --node right
explain forms.onnx --node cut
explain forms.onnx --node fives --format json
explain open.onnx --node by_size --dim height=9
explain open.onnx --node of_input
explain names.onnx --node mine
explain --op conv --size 40 --kernel 9 --stride 4
explain --op conv --size 2 --kernel 3 --dilation 4
explain --op conv --size 7 --kernel 3 --output-padding 1
explain --op conv --size 7x --kernel 3
explain --op conv --size 7x7 --kernel 3x3x3
explain --op conv --size 7 --kernel 3 --svg drawing.png
explain --op convtranspose --size 249 --kernel 7 --stride 6 --output-size 1481
explain --op avgpool --size 12x9 --kernel 3x2 --stride 2 --output-size 7x6
explain --op maxpool --size 12 --kernel 3 --stride 2 --output-size 7 --only caffe --format json
explain --op conv --size 24x9 --kernel 3 --stride 2 --output-size 2x3
explain forms.onnx --node ceil --output-size 4
explain transposed.onnx --node asked --output-size 9
rules
rule PAD101
rule PAD205
rule pad9
rules --format json
"""


def lines() -> list[str]:
    """All of them."""
    each = [line.format(f"{name}.onnx") for name in SEEN for line in _ON_EACH.split("\n")]
    reports = [f"report {name}" for name in NAMES]
    return list(filter(None, [*each, *_FURTHER.split("\n"), *reports]))
