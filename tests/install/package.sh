#!/usr/bin/env bash
# Usage: package.sh BUILD-FOLDER [TORCH-PROGRAM]. Packs the program as a Debian package, unpacks that into an
# empty folder and runs it there; a static program also with nothing else around it (chroot). TORCH-PROGRAM
# is the name of the one that has LibTorch, in builds with it. Exit 77 where there are no tools to pack with.
set -euo pipefail
build=$1 torch_program=${2:-}
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packed" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
package=$(echo "$work"/packed/*.deb)
[[ "$(dpkg-deb --field "$package" Package)" == penstock ]]
dpkg-deb --extract "$package" "$work/root"
for file in usr/bin/penstock usr/share/man/man1/penstock.1 usr/share/doc/penstock/copyright \
  usr/share/bash-completion/completions/penstock usr/share/penstock/models/llama-3-8b.json; do
  [[ -s "$work/root/$file" ]] || { echo "the package has no $file"; exit 1; }
done

question=(plan /usr/share/penstock/models/llama-3-8b.json --device h100-sxm --gpus 16 --global-batch 64)
if ! ldd "$work/root/usr/bin/penstock" >/dev/null 2>&1 && [[ "$(id -u)" -eq 0 ]]; then
  chroot "$work/root" /usr/bin/penstock "${question[@]}" >"$work/answer"
else
  question[1]="$work/root${question[1]}"
  "$work/root/usr/bin/penstock" "${question[@]}" >"$work/answer"
fi
grep -q Llama "$work/answer"

# From where it was installed, the program finds the one with LibTorch: which misses the plan, and not itself.
if [[ -n "$torch_program" ]]; then
  [[ -x "$work/root/usr/libexec/penstock/$torch_program" ]] || { echo "the package has no $torch_program"; exit 1; }
  "$work/root/usr/bin/penstock" train no-plan.json --data no-data.txt 2>"$work/complaint" && exit 1
  grep -q "no-plan.json: cannot read this file" "$work/complaint" || { cat "$work/complaint"; exit 1; }
fi
