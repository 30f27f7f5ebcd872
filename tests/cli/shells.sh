#!/usr/bin/env bash
# Usage: shells.sh PENSTOCK. What `penstock completions` and `penstock man` print works where it is
# meant to: bash and fish complete with it, zsh reads it, groff finds nothing to complain about.
set -euo pipefail
penstock=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() {  # what, expected, found
  if [[ "$2" != "$3" ]]; then
    printf '%s\n  expected: %s\n  found:    %s\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

for shell in bash zsh fish; do "$penstock" completions "$shell" >"$work/$shell"; done

cd "$work"
touch plan.json "a plan.json"
# shellcheck disable=SC1091
source "$work/bash"
complete_bash() {  # the words so far, the last one being completed
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _penstock
  (IFS='|'; printf '%s' "${COMPREPLY[*]}")
}
expect "verbs" "compare|completions" "$(complete_bash penstock comp)"
expect "options" "--executor" "$(complete_bash penstock simulate plan.json --exec)"
expect "values" "sender-blocks" "$(complete_bash penstock simulate plan.json --executor s)"
expect "values behind =" "rendezvous" "$(complete_bash penstock simulate --executor = r)"
expect "all values behind =" "on|off" "$(complete_bash penstock plan p.json --zero1 =)"
expect "members of a list" "gpipe,zb-h1|gpipe,zb-h2" \
  "$(complete_bash penstock plan p.json --schedule gpipe,zb-h)"
expect "files" "plan.json" "$(complete_bash penstock simulate pl)"
expect "files with spaces" "a plan.json" "$(complete_bash penstock plan --cluster a)"
expect "a number is nobody's to guess" "" "$(complete_bash penstock plan p.json --gpus '')"
expect "positional values" "varuna|varuna-runtime|varuna-strict" \
  "$(complete_bash penstock schedule var)"
expect "help VERB" "validate" "$(complete_bash penstock help val)"

if command -v zsh >/dev/null; then
  zsh -n "$work/zsh" || failures=$((failures + 1))
else
  echo "zsh is not installed: its completions are not read"
fi

if command -v fish >/dev/null; then
  complete_fish() { fish --no-config -c "source fish; complete -C '$1'" | cut -f1 | paste -sd'|'; }
  expect "fish: verbs" "compare|completions" "$(complete_fish 'penstock comp')"
  expect "fish: options" "--executor" "$(complete_fish 'penstock simulate --exec')"
  expect "fish: values" "off|on" "$(complete_fish 'penstock plan --zero1 ')"
else
  echo "fish is not installed: its completions are not tried"
fi

"$penstock" man >"$work/penstock.1"
if command -v groff >/dev/null; then
  expect "groff's warnings" "" "$(groff -man -ww -Tutf8 -z "$work/penstock.1" 2>&1)"
  pages=$(groff -man -Tascii -P-cbou "$work/penstock.1")
  for line in '--global-batch' 'penstock explain plan.json' 'EXIT STATUS'; do
    [[ "$pages" == *"$line"* ]] || { echo "the manual lacks: $line"; failures=$((failures + 1)); }
  done
else
  echo "groff is not installed: the manual is not set"
fi
exit $((failures > 0))
