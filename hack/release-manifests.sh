#!/usr/bin/env bash
# Copyright 2026 The Weir Authors.
# SPDX-License-Identifier: Apache-2.0

# Writes the provider's components and metadata to the folder $1, in the layout
# of a clusterctl local repository: ipam-components.yaml, and, to choose by their
# URL instead, ipam-components-metal3.yaml, ipam-components-in-cluster.yaml,
# ipam-components-metal3-in-cluster.yaml, ipam-components-openstack.yaml, and for members without Cluster API and
# cert-manager ipam-components-edge.yaml.
# weir-hub-host.yaml and weir-hub-apiserver.yaml are for a hub whose API server
# runs no pods. weir-monitoring.yaml is for the Prometheus operator and Grafana. Needs KUSTOMIZE, IMAGE and VERSION.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir="$1"
overlay="out/release-overlay"
mkdir -p "${dir}" "${overlay}"

# build renders the folder $1 of config with the release's image to the file $2.
build() {
  cat >"${overlay}/kustomization.yaml" <<EOF
resources:
- ../../config/$1
images:
- name: ghcr.io/weir-ipam/cluster-api-ipam-provider-weir
  newName: ${IMAGE}
  newTag: ${VERSION}
EOF
  "${KUSTOMIZE}" build "${overlay}" >"${overlay}/$2"
  if ! grep -q "image: ${IMAGE}:${VERSION}\$" "${overlay}/$2"; then
    echo "release-manifests: config/$1 does not run image ${IMAGE}" >&2
    exit 1
  fi
}

build default ipam-components.yaml
build metal3 ipam-components-metal3.yaml
build incluster ipam-components-in-cluster.yaml
build metal3-incluster ipam-components-metal3-in-cluster.yaml
build openstack ipam-components-openstack.yaml
build edge ipam-components-edge.yaml
build hub/host weir-hub-host.yaml
if grep -q 'cert-manager' "${overlay}/ipam-components-edge.yaml"; then
  echo "release-manifests: config/edge names cert-manager" >&2
  exit 1
fi
if grep -q 'ipam\.metal3\.io' "${overlay}/ipam-components.yaml"; then
  echo "release-manifests: config/default names ipam.metal3.io" >&2
  exit 1
fi
if grep -qi 'inclusterippool' "${overlay}/ipam-components.yaml"; then
  echo "release-manifests: config/default names the in-cluster provider's kinds" >&2
  exit 1
fi
# The role that reads Secrets says its name once, in the role itself: no binding names it.
for once in '- secrets' 'name: weir-system-openstack-secrets'; do
  if [[ "$(grep -c -- "^ *${once}\$" "${overlay}/ipam-components.yaml")" != 1 ]]; then
    echo "release-manifests: config/default may read Secrets, or lacks the role for it: '${once}'" >&2
    exit 1
  fi
done
"${KUSTOMIZE}" build config/monitoring >"${dir}/weir-monitoring.yaml"
"${KUSTOMIZE}" build config/hub/apiserver >"${dir}/weir-hub-apiserver.yaml" # which runs no image
cp "${overlay}/ipam-components.yaml" "${overlay}/ipam-components-metal3.yaml" "${overlay}/ipam-components-in-cluster.yaml" \
  "${overlay}/ipam-components-metal3-in-cluster.yaml" \
  "${overlay}/ipam-components-openstack.yaml" "${overlay}/ipam-components-edge.yaml" "${overlay}/weir-hub-host.yaml" metadata.yaml "${dir}/"
echo "release-manifests: ${dir}"
