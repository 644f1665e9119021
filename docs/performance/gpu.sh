#!/usr/bin/env bash
# Runs every fast sum that docs/performance.md quotes for a GPU and writes one line of JSON each, with its command, to stdout.
#
#     docs/performance/gpu.sh path/to/farad > docs/performance/gpu.json
set -euo pipefail
farad=$1

run() {
    local command="farad fmm bench $* --json"
    # The command first, then the program's own object.
    echo "{\"command\": \"$command\", \"report\": $("$farad" fmm bench "$@" --json)}"
}

for backend in cuda hybrid; do
    for n in 131072 1048576 8388608; do
        run --n $n --distribution cube --tolerance 1e-5 --backend $backend --repeat 9
    done
done
run --n 1048576 --distribution cube --tolerance 1e-5 --backend cuda --repeat 9 --gradient
run --n 1048576 --distribution sphere --tolerance 1e-5 --backend cuda --repeat 9
run --n 8388608 --distribution sphere --tolerance 1e-5 --backend cuda --repeat 9
run --n 1048576 --distribution plummer --tolerance 1e-5 --backend cuda --repeat 9
run --n 1048576 --distribution cube --tolerance 1e-10 --backend cuda --repeat 5
run --n 1048576 --distribution cube --tolerance 1e-5 --backend cuda --repeat 3 --direct
run --n 134217728 --distribution cube --tolerance 1e-5 --backend cuda --repeat 3
