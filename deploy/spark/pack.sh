#!/usr/bin/env bash
# Pack what executors need into one archive: pack.sh TARGET.tar.gz [PIP OPTIONS]
#
# It holds core-mondrian and what it needs as a flat folder, for the same Python version
# as PYTHON (python3) has. With --no-deps it holds core-mondrian alone, for machines that
# have numpy, pyarrow and narwhals already.
set -euo pipefail
target=$(realpath "$1")
shift
root=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A folder, not --py-files: kernels are compiled once per machine only outside an archive.
"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check \
  --target "$folder" "$@" "$root"
tar -C "$folder" -czf "$target" .
