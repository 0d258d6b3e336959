// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestNoRoleForPeopleGrantsIPAddresses checks that who has a shipped role, and not the manager's, cannot write Cluster API's IPAddresses: one that
// names another provider's pool keeps its address from every pool of the address space default.
func TestNoRoleForPeopleGrantsIPAddresses(t *testing.T) {
	t.Parallel()
	roles := 0
	for _, dir := range []string{"rbac", filepath.Join("metal3", "rbac")} {
		paths, err := filepath.Glob(filepath.Join("..", "..", "config", dir, "*role.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if filepath.Base(path) == "role.yaml" { // the manager's
				continue
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			role := &rbacv1.ClusterRole{}
			if err := yaml.Unmarshal(text, role); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			roles++
			for _, rule := range role.Rules {
				if writesIPAddresses(rule) {
					t.Errorf("%s grants %s", path, rule.String())
				}
			}
		}
	}
	if roles < 5 {
		t.Errorf("found only %d roles", roles)
	}
}

// writesIPAddresses reports whether a rule lets somebody make or change Cluster API's IPAddresses.
func writesIPAddresses(rule rbacv1.PolicyRule) bool {
	has := func(all []string, wanted string) bool {
		return slices.Contains(all, wanted) || slices.Contains(all, "*")
	}
	reads := []string{"get", "list", "watch"}
	return has(rule.APIGroups, "ipam.cluster.x-k8s.io") && has(rule.Resources, "ipaddresses") &&
		slices.ContainsFunc(rule.Verbs, func(verb string) bool { return !slices.Contains(reads, verb) })
}
