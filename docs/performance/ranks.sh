#!/usr/bin/env bash
# Counts what ranks send and share, and takes the processor time of their sums; one line of JSON for each run to stdout.
#
#     cargo build --release --features mpi
#     docs/performance/ranks.sh target/release/farad > docs/performance/ranks.json
#
# Ranks may be many more than cores: what is counted does not depend on it, and the clock is that of the process.
set -euo pipefail
farad=$1
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mpicc -shared -fPIC -O2 -o "$folder/mpi_times.so" "$here/mpi_times.c"

run() {
    local ranks=$1 n=$2 distribution=$3
    local common=(--n "$n" --distribution "$distribution" --tolerance 1e-5 --backend cpu --threads 1 --samples 100)
    # One sum, and three: what is between them is two sums without the plan.
    for repeat in 1 3; do
        mpirun -n "$ranks" -x LD_PRELOAD="$folder/mpi_times.so" "$farad" fmm bench "${common[@]}" --repeat $repeat --json \
            >"$folder/$repeat.json" 2>"$folder/$repeat.txt"
    done
    python3 "$here/ranks_line.py" "$folder"
}

for n in 262144 1048576 4194304; do
    for distribution in cube sphere; do
        for ranks in 1 2 4 8 16 32 64; do run $ranks $n $distribution; done
    done
done
for distribution in plummer graded-plate; do
    for ranks in 1 2 4 8 16 32 64; do run $ranks 1048576 $distribution; done
done
