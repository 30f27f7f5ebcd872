#!/usr/bin/env bash
# tests/same_bytes.sh A_BINARY B_BINARY
#
# Runs the commands below with both programs, the first with one and two threads, the second with two: stdout, exit code
# and the file written must agree to the byte. Run from the repository root.
set -euo pipefail
[[ $# -eq 2 ]] || { echo "usage: tests/same_bytes.sh A_BINARY B_BINARY" >&2; exit 2; }

profile=data/profiles/gpt-6.7b.a100-40gb.json
cluster=data/clusters/a100-40gb-p4d-8x8.json
model="$profile --cluster $cluster --sequence-length 2048"

# THREADS stands for the number of threads, OUT for the file that is written. A command may read what
# an earlier one wrote: FIRST is the file of the first command.
commands=(
  "plan $model --gpus 64 --global-batch 512 --threads THREADS -o OUT"
  "plan $model --gpus 16 --global-batch 64 --threads THREADS --json"
  "plan $model --gpus 24 --global-batch 100 --threads THREADS -o OUT"
  "plan $model --gpus 8 --global-batch 7 --threads THREADS"
  "plan $model --gpus 1 --global-batch 8 --threads THREADS"
  "check FIRST"
  "simulate FIRST"
  "schedule 1f1b -P 8 -M 24 --cost F=1ms,B=2ms,C=0.1ms"
  "schedule zb-h1 -P 8 -M 24 --cost F=1ms,I=1ms,W=1ms,C=0.1ms"
)

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT

# run SIDE PROGRAM THREADS: writes the results of all commands to $work/SIDE.
run() {
  local side=$1 program=$2 threads=$3 number=0 command out code
  mkdir "$work/$side"
  for command in "${commands[@]}"; do
    number=$((number + 1))
    # All sides write to the same path, since commands print it.
    out=$work/plan.json
    rm -f "$out"
    command=${command//THREADS/$threads}
    command=${command//OUT/$out}
    command=${command//FIRST/$work/first.json}
    code=0
    # shellcheck disable=SC2086  # the words of the command are its arguments
    "$program" $command >"$work/$side/$number.stdout" 2>"$work/stderr" || code=$?
    # 0: yes, 1: no; anything else is no answer to compare.
    if [[ $code -gt 1 ]]; then
      echo "$program $command: exit $code" >&2
      cat "$work/stderr" >&2
      exit 1
    fi
    echo "exit $code" >>"$work/$side/$number.stdout"
    [[ ! -e "$out" ]] || cp "$out" "$work/$side/$number.json"
    [[ $number -ne 1 ]] || cp "$out" "$work/first.json"
  done
}

# same PROGRAM THREADS: as the first program with one thread.
same() {
  rm -rf "$work/actual"
  run actual "$1" "$2"
  if diff --recursive --brief "$work/expected" "$work/actual" >"$work/differences"; then
    return
  fi
  echo "$1 --threads $2 differs from the first program with one thread:" >&2
  while read -r _ file _; do
    number=$(basename "$file" | cut --delimiter=. --fields=1)
    echo "  penstock ${commands[number - 1]}: $(basename "$file")" >&2
  done < <(grep '^Files' "$work/differences")
  diff --recursive --unified=0 "$work/expected" "$work/actual" | cut --characters=1-160 | head -40 >&2
  exit 1
}

run expected "$1" 1
same "$1" 1
same "$1" 2
same "$2" 2  # the slower program once: where it agrees with one thread of the other, so do its own
echo "${#commands[@]} commands print the same bytes: $1, $2, 1 and 2 threads"
