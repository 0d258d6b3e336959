// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestTheCRDHasTheColumns holds the printer columns of IPAllocation that tables of records need. What
// is read as a date would be "4d" in a table.
func TestTheCRDHasTheColumns(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../config/crd/bases/ipam.weir.dev_ipallocations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err = yaml.Unmarshal(source, &crd); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
		if columns[column.Name] != nil {
			got[column.Name] = column.JSONPath + " " + column.Type
		}
	}
	want := map[string]string{
		"CIDR":           ".spec.cidr string",
		"Space":          ".spec.addressSpace string",
		"Pool":           ".spec.poolRef.name string",
		"PoolNamespace":  ".spec.poolRef.namespace string",
		"PoolKind":       ".spec.poolRef.kind string",
		"PoolGroup":      ".spec.poolRef.apiGroup string",
		"Claim":          ".spec.claimRef.name string",
		"ClaimNamespace": ".spec.claimRef.namespace string",
		"Kind":           ".spec.claimRef.kind string",
		"ClaimGroup":     ".spec.claimRef.apiGroup string",
		"Purpose":        ".spec.purpose string",
		"State":          ".spec.state string",
		"Cluster":        `.metadata.labels.cluster\.x-k8s\.io/cluster-name string`,
		"Created":        ".metadata.creationTimestamp string",
		"ReleasedAt":     ".spec.releasedAt string",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// Name is the API server's own column.
	if len(columns) != len(want)+1 {
		t.Errorf("tables need %d columns, %d are held here", len(columns), len(want)+1)
	}
}

const (
	heads = `{"name":"Name"},{"name":"CIDR"},{"name":"Pool"},{"name":"PoolNamespace"},{"name":"Kind"},{"name":"Claim"},{"name":"Purpose"},
		{"name":"State"},{"name":"Released"},{"name":"Space"},{"name":"PoolKind"},{"name":"PoolGroup"},{"name":"ClaimNamespace"},{"name":"ClaimGroup"},
		{"name":"Cluster"},{"name":"Created"}`
	cells = `"r","10.0.0.9/32","nodes","team","IPClaim","web","Claim","Cooling","4d","default","IPPool","ipam.weir.dev","team","ipam.weir.dev",null,
		"2026-11-21T09:14:02Z"`
)

func TestReadTable(t *testing.T) {
	t.Parallel()
	whole := Record{
		Name: "r", Prefix: netip.MustParsePrefix("10.0.0.9/32"), Space: "default",
		Pool:    ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "nodes"},
		Claim:   ipamv1.ClaimReference{APIGroup: "ipam.weir.dev", Kind: "IPClaim", Namespace: "team", Name: "web"},
		Purpose: ipamv1.ClaimPurpose, State: ipamv1.CoolingState,
		Created: time.Date(2026, 11, 21, 9, 14, 2, 0, time.UTC), ReleasedAt: time.Date(2026, 11, 21, 9, 15, 0, 0, time.UTC),
	}
	for _, tc := range []struct {
		name, body string
		want       []Record
		hasColumns bool
		mistake    string
	}{
		{
			"whole", `{"kind":"Table","metadata":{"a":[1],"resourceVersion":"812345"},"columnDefinitions":[` + heads + `,{"name":"ReleasedAt"}],"rows":[
				{"cells":[` + cells + `,"2026-11-21T09:15:00Z"],"object":{}}]}`, []Record{whole}, true, "",
		},
		{"without rows", `{"columnDefinitions":[` + heads + `,{"name":"ReleasedAt"}],"rows":null}`, nil, true, ""},
		{"of an older CRD", `{"columnDefinitions":[` + heads + `],"rows":[{"cells":[` + cells + `]}]}`, nil, false, ""},
		{"a list", `{"kind":"IPAllocationList","items":[{}]}`, nil, false, ""},
		{"with a short row", `{"columnDefinitions":[` + heads + `,{"name":"ReleasedAt"}],"rows":[{"cells":[]}]}`, nil, true, "0 cells"},
		{"cut off", `{"columnDefinitions":[` + heads + `,{"name":"ReleasedAt"}],"rows":[`, nil, true, "EOF"},
		{"no JSON", `Forbidden`, nil, false, "invalid character"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []Record
			var revision string
			hasColumns, err := readTable(strings.NewReader(tc.body), &revision, func(r Record) { got = append(got, r) })
			if hasColumns != tc.hasColumns || (err == nil) != (tc.mistake == "") || err != nil && !strings.Contains(err.Error(), tc.mistake) {
				t.Errorf("got %v, %v", hasColumns, err)
			}
			if hasRevision := strings.Contains(tc.body, "resourceVersion"); hasRevision != (revision == "812345") {
				t.Errorf("the revision is %q", revision)
			}
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		})
	}
}
