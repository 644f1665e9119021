#!/usr/bin/env bash
# The solve that docs/performance.md quotes for a GPU: a sphere of 1,310,720 triangles at tolerance 1e-5, three times, since the first
# run compiles kernels. Writes one line of JSON to stdout: the command and the last run's results.json.
#
#     docs/performance/gpu_solve.sh path/to/farad > docs/performance/gpu_solve.json
set -euo pipefail
farad=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$farad" mesh generate sphere --base icosahedron --elements 1310720 --binary -o sphere.msh >/dev/null
cat >sphere.toml <<'CASE'
format = 1
[mesh]
file = "sphere.msh"
unit = "m"
[solver]
tolerance = 1e-5
method = "fmm"
[output]
vtk = "none"
CASE
command="solve sphere.toml --backend cuda --overwrite --json"
for _ in 1 2 3; do
    # shellcheck disable=SC2086
    report=$("$farad" $command)
done
echo "{\"command\": \"farad $command\", \"report\": $(tr -d '\n' <<<"$report")}"
