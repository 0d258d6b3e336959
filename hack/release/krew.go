// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// krewFile is krew's manifest of the plugin; krew asks for the plugin's name.
const krewFile = "weir.yaml"

// The fields of krew's manifest, of its API krew.googlecontainertools.github.com/v1alpha2, that Weir sets.
type (
	krewPlugin struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       krewSpec          `json:"spec"`
	}
	krewSpec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Platforms        []krewPlatform `json:"platforms"`
	}
	krewPlatform struct {
		Selector krewSelector `json:"selector"`
		URI      string       `json:"uri"`
		SHA256   string       `json:"sha256"`
		Files    []krewFiles  `json:"files"`
		Bin      string       `json:"bin"`
	}
	krewSelector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	}
	krewFiles struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
)

// krewManifest returns the manifest that installs the archives from the release's page.
func krewManifest(version string, archives []archive) ([]byte, error) {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin",
		Metadata: map[string]string{"name": "weir"},
		Spec: krewSpec{
			Version: version, Homepage: repository,
			ShortDescription: "Show pools of IP addresses and who uses what",
			Description: "Shows pools, claims and addresses of Weir, a Cluster API IPAM provider:\n" +
				"what an address is in use for, why a claim waits, and whether there is room for a rollout.\n" +
				"It has the rights of its user and changes nothing, with the exception of kubectl weir free.\n",
		},
	}
	for _, a := range archives {
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{
			Selector: krewSelector{MatchLabels: map[string]string{"os": a.os, "arch": a.arch}},
			URI:      fmt.Sprintf("%s/releases/download/%s/%s", repository, version, a.name),
			SHA256:   a.sum,
			Files:    []krewFiles{{From: a.program(), To: "."}, {From: licence, To: "."}},
			Bin:      a.program(),
		})
	}
	return yaml.Marshal(plugin)
}
