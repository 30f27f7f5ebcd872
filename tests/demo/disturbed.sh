#!/usr/bin/env bash
# ./demo with a program that only takes its time and then says that the prediction was off, beside
# one that keeps a processor busy: the demo has to say that the machine was not quiet. And where the
# prediction holds it says nothing of that.
set -euo pipefail
demo=$1
folder=$(mktemp -d)
burner=
trap '[[ -z $burner ]] || kill "$burner"; rm -rf "$folder"' EXIT
cat > "$folder/penstock" <<'PROGRAM'
#!/usr/bin/env bash
case $1 in
  train) sleep 1 ;;
  validate) exit "$ANSWER" ;;
esac
PROGRAM
chmod +x "$folder/penstock"

(while :; do :; done) &
burner=$!
ANSWER=1 PENSTOCK=$folder/penstock FOLDER=$folder/run "$demo" --small > "$folder/off"
ANSWER=0 PENSTOCK=$folder/penstock FOLDER=$folder/run "$demo" --small > "$folder/holds"
cat "$folder/off"
grep -q 'The machine was not quiet: other programs took' "$folder/off"
# A whole processor, or what a full machine left of it.
train=$(grep -o 'and [0-9]*\.[0-9]* processors' "$folder/off" | tr -dc '0-9')
((10#$train > 10))
if grep -q quiet "$folder/holds"; then exit 1; fi
if ANSWER=2 PENSTOCK=$folder/penstock FOLDER=$folder/run "$demo" --small > /dev/null; then exit 1; fi
