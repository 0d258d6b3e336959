// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestFinalizersAreGrantedOfOwnersAlone checks that the manager may update the finalizers of those kinds alone that block their deletion by what
// they own (OwnerReferencesPermissionEnforcement asks for it): pools, and claims whose answers are other objects.
func TestFinalizersAreGrantedOfOwnersAlone(t *testing.T) {
	t.Parallel()
	owners := []string{
		"ipam.weir.dev/ippools", "ipam.weir.dev/globalippools", "ipam.cluster.x-k8s.io/ipaddressclaims", "ipam.metal3.io/ippools", "ipam.metal3.io/ipclaims",
	}
	var granted []string
	for _, dir := range []string{"rbac", filepath.Join("metal3", "rbac")} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", dir, "role.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(text, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if name, ok := strings.CutSuffix(resource, "/finalizers"); ok {
					granted = append(granted, rule.APIGroups[0]+"/"+name)
				}
			}
		}
	}
	slices.Sort(owners)
	slices.Sort(granted)
	if !slices.Equal(granted, owners) {
		t.Errorf("granted of %v, want %v", granted, owners)
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
