#!/bin/sh
# Builds the wheel from a clean copy of the tracked files, installs it into an empty environment and analyses a case with it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/copy"
(cd "$root" && git ls-files -z | xargs -0 tar cf - ) | tar xf - -C "$work/copy"
cd "$work"
case ${PYTHON:-python3} in /*) python=$PYTHON ;; *) python=$root/$PYTHON ;; esac
"$python" -m build --wheel --outdir "$work/dist" "$work/copy" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$python" "$root/tests/wheel_contents.py" "$work"/dist/*.whl "$root"
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -c "$root/constraints.txt" "$work"/dist/*.whl
cp -r "$root/fixtures/cases/three-cards" "$work/case"
"$work/venv/bin/gpuverdict" analyze "$work/case" --out "$work/report" >"$work/screen.txt"
grep -q "slots" "$work/screen.txt"
for name in report.html report.md findings.json trace.duckdb; do test -s "$work/report/$name"; done
echo "wheel: builds from a clean copy, installs, analyses"
