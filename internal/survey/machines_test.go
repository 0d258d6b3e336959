// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestMachinesOfClaims: a claim is for the Machine that owns it, also through another object. Machines are not read.
func TestMachinesOfClaims(t *testing.T) {
	t.Parallel()
	owned := func(name, uid, owner string) string {
		return `{"metadata":{"namespace":"team","name":"` + name + `","uid":"` + uid + `","ownerReferences":[` + owner + `]}}`
	}
	const (
		machine = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine","name":"md-0-x7k2p","uid":"m"}`
		between = `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPPool","name":"between","uid":"b"}`
		itself  = `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPPool","name":"itself","uid":"i"}`
	)
	s := served(t, map[string]string{
		weirPath + "/ipclaims": `{"items":[` + owned("direct", "1", machine) + "," + owned("through", "2", between) + "," + owned("ring", "3", itself) + "," +
			owned("alone", "4", "") + `]}`,
		weirPath + "/ippools": `{"items":[` + owned("between", "b", machine) + "," + owned("itself", "i", itself) + `]}`,
	}, ipamv1.GroupVersion)
	machineOf, err := s.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"direct": "md-0-x7k2p", "through": "md-0-x7k2p", "ring": "", "alone": "", "none": ""} {
		claim := ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: "team", Name: name}
		if got := machineOf(claim); got != want {
			t.Errorf("%s is for Machine %q, not %q", name, got, want)
		}
	}
	if gaps := s.Gaps().List(); len(gaps) != 0 {
		t.Errorf("gaps: %v", gaps)
	}
}
