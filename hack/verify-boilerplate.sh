#!/usr/bin/env bash
# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails and names every Go file that does not start with the licence header.
# Generated files may have build tags above it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

header="$(cat hack/boilerplate.go.txt)"
bad=0
while IFS= read -r -d '' file; do
  case "${file}" in
    */zz_generated.*) text="$(awk '/^\/\/go:build/ || !NF && !n {next} n++ < 2' "${file}")" ;;
    *) text="$(awk 'NR <= 2' "${file}")" ;;
  esac
  if [[ "${text}" != "${header}" ]]; then
    echo "verify-boilerplate: ${file}: licence header missing"
    bad=1
  fi
done < <(find . \( -path ./bin -o -path ./out -o -path ./.git \) -prune -o -name '*.go' -print0)
exit "${bad}"
