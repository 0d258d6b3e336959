#!/usr/bin/env bash
# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the module for FUZZTIME each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

count=0
while IFS=: read -r file target; do
  echo "fuzzing ${target} in ${file%/*} for ${FUZZTIME:-10s}"
  go test -run '^$' -fuzz "^${target}\$" -fuzztime "${FUZZTIME:-10s}" "./${file%/*}"
  count=$((count + 1))
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' api internal providers test |
  sed 's/func //' | sort)
echo "${count} fuzz targets run"
