#!/usr/bin/env bash
# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes the provider's components and metadata to the folder $1, in the layout
# of a clusterctl local repository. Needs KUSTOMIZE, IMAGE and VERSION.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir="$1"
overlay="out/release-overlay"
mkdir -p "${dir}" "${overlay}"
cat >"${overlay}/kustomization.yaml" <<EOF
resources:
- ../../config/default
images:
- name: ghcr.io/weir-ipam/cluster-api-ipam-provider-weir
  newName: ${IMAGE}
  newTag: ${VERSION}
EOF
"${KUSTOMIZE}" build "${overlay}" >"${overlay}/ipam-components.yaml"
if ! grep -q "image: ${IMAGE}:${VERSION}\$" "${overlay}/ipam-components.yaml"; then
  echo "release-manifests: config/default does not run image ${IMAGE}" >&2
  exit 1
fi
cp "${overlay}/ipam-components.yaml" metadata.yaml "${dir}/"
echo "release-manifests: ${dir}"
