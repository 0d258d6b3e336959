// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// floating is the source of a pool of floating IPs that can be served.
const floating = `identityRef: {name: n, cloudName: c}, floatingNetwork: {id: 0b7c}`

// floatingWith is a spec of floating IPs with further fields, floatingFrom is one of that source.
func floatingWith(fields string) string { return `{openStack: {` + floating + `}, ` + fields + `}` }

func floatingFrom(source string) string { return `{openStack: {` + source + `}}` }

// TestAPoolOfFloatingIPsIsExternal, whatever else it may say.
func TestAPoolOfFloatingIPsIsExternal(t *testing.T) {
	t.Parallel()
	for sentence, text := range map[string]string{
		"alone":                  floatingFrom(floating),
		"with its family":        floatingWith(`ipFamily: IPv4`),
		"that drains":            floatingWith(`mode: Draining`),
		"of a Cluster":           floatingWith(`clusterName: prod`),
		"for some":               floatingWith(`visibility: Shared, namespaceSelector: {matchLabels: {a: b}}`),
		"with what is default":   floatingFrom(floating + `, reclaimPolicy: Delete`),
		"with all that there is": floatingFrom(floating + `, subnet: {id: 0b7d, name: s}, preAllocatedFloatingIPs: [192.0.2.3], reclaimPolicy: Retain, tags: [a]`),
		"by name and tags":       floatingFrom(`identityRef: {name: n, cloudName: c, region: r}, floatingNetwork: {name: public, tags: [a]}`),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			spec := specOf(t, text)
			shape, errs := poolspec.Resolve(spec, poolOf(""))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if !shape.IsExternal() || len(shape.Blocks()) > 0 || !shape.Total().IsZero() {
				t.Errorf("external %t, blocks %v, total %s", shape.IsExternal(), shape.Blocks(), shape.Total())
			}
			if says := poolspec.Read(spec, poolOf(""), nil); !says.External || says.Family != ipamv1.IPv4Family || says.IsCarved() {
				t.Errorf("read as %+v", says)
			}
		})
	}
	if says := poolspec.Read(specOf(t, `{cidr: 192.0.2.0/24}`), poolOf(""), nil); says.External {
		t.Error("a pool with a block is external")
	}
}

// TestTheSpaceOfFloatingIPsIsThatOfTheirNetwork, whatever credentials the pools name.
func TestTheSpaceOfFloatingIPsIsThatOfTheirNetwork(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`{` + floating + `}`: "openstack/0b7c",
		`{identityRef: {name: other, cloudName: d}, floatingNetwork: {id: 0b7c}}`: "openstack/0b7c",
		`{identityRef: {name: n, cloudName: c}, floatingNetwork: {id: 0b7d}}`:     "openstack/0b7d",
		`{identityRef: {name: n, cloudName: c}, floatingNetwork: {name: public}}`: "",
		`{identityRef: {name: n, cloudName: c}}`:                                  "",
	} {
		spec := specOf(t, `{openStack: `+source+`}`)
		if got := poolspec.Space(spec); got != want {
			t.Errorf("%s: space %q, want %q", source, got, want)
		}
		if got := poolspec.Family(spec); got != ipamv1.IPv4Family {
			t.Errorf("%s: family %q", source, got)
		}
	}
}

// TestFloatingIPsAreRefused expects every mistake of a pool of floating IPs, in order, by the
// beginning of its text.
func TestFloatingIPsAreRefused(t *testing.T) {
	t.Parallel()
	const forGood = `Forbidden: a pool with openStack has no blocks: Neutron chooses its addresses`
	for sentence, test := range map[string]struct {
		spec, kind string
		want       []string
	}{
		"a cidr":             {spec: floatingWith(`cidr: 192.0.2.0/24`), want: []string{`spec.cidr: ` + forGood}},
		"a parent":           {spec: floatingWith(`parentRef: {kind: IPPool, name: p}`), want: []string{`spec.parentRef: ` + forGood}},
		"a length":           {spec: floatingWith(`prefixLength: 28`), want: []string{`spec.prefixLength: ` + forGood}},
		"addresses":          {spec: floatingWith(`addresses: [192.0.2.1]`), want: []string{`spec.addresses: ` + forGood}},
		"exclusions":         {spec: floatingWith(`excludedAddresses: [192.0.2.1]`), want: []string{`spec.excludedAddresses: ` + forGood}},
		"a network":          {spec: floatingWith(`network: {gateway: 192.0.2.1}`), want: []string{`spec.network: ` + forGood}},
		"a network of none":  {spec: floatingWith(`network: {}`), want: []string{`spec.network: ` + forGood}},
		"subnets":            {spec: floatingWith(`subnets: [{cidr: 192.0.2.0/28, network: {gateway: 192.0.2.1}}]`), want: []string{`spec.subnets: ` + forGood}},
		"a strategy":         {spec: floatingWith(`allocation: {strategy: Random}`), want: []string{`spec.allocation: ` + forGood}},
		"a cooldown":         {spec: floatingWith(`allocation: {cooldownSeconds: 60}`), want: []string{`spec.allocation: ` + forGood}},
		"a kept address":     {spec: floatingWith(`preAllocations: [{claimName: c, address: 192.0.2.3}]`), want: []string{`spec.preAllocations: ` + forGood}},
		"expansion":          {spec: floatingWith(`expansion: {thresholdPercent: 10, prefixLength: 28, maxPools: 3}`), want: []string{`spec.expansion: ` + forGood}},
		"delegation":         {spec: floatingWith(`delegateTo: edge`), want: []string{`spec.delegateTo: ` + forGood}},
		"an address space":   {spec: floatingWith(`addressSpace: lab`), want: []string{`spec.addressSpace: Forbidden: a pool with openStack is of the address space of its network`}},
		"its own space":      {spec: floatingWith(`addressSpace: openstack/0b7c`), want: []string{`spec.addressSpace: Forbidden: a pool`}},
		"the other family":   {spec: floatingWith(`ipFamily: IPv6`), want: []string{`spec.ipFamily: Invalid value: "IPv6": floating IPs are IPv4`}},
		"a Cluster of all":   {spec: floatingWith(`clusterName: prod`), kind: ipamv1.GlobalIPPoolKind, want: []string{`spec.clusterName: Forbidden`}},
		"a selector of none": {spec: floatingWith(`namespaceSelector: {matchLabels: {a: b}}`), want: []string{`spec.namespaceSelector: Forbidden: narrows visibility Shared`}},

		"no network":             {spec: floatingFrom(`identityRef: {name: n, cloudName: c}, floatingNetwork: {}`), want: []string{`spec.openStack.floatingNetwork: Required value`}},
		"a network in capitals":  {spec: floatingFrom(`identityRef: {name: n, cloudName: c}, floatingNetwork: {id: 0B7C}`), want: []string{`spec.openStack.floatingNetwork.id: Invalid value: "0B7C": is not the id of a network`}},
		"a network with a slash": {spec: floatingFrom(`identityRef: {name: n, cloudName: c}, floatingNetwork: {id: a/b}`), want: []string{`spec.openStack.floatingNetwork.id: Invalid value: "a/b"`}},
		"a subnet of no name":    {spec: floatingFrom(floating + `, subnet: {}`), want: []string{`spec.openStack.subnet: Required value`}},
		"a subnet in capitals":   {spec: floatingFrom(floating + `, subnet: {id: 0B7C}`), want: []string{`spec.openStack.subnet.id: Invalid value: "0B7C": is not the id of a subnet`}},
		"an existing one's name": {spec: floatingFrom(floating + `, preAllocatedFloatingIPs: [192.0.2.3, office]`), want: []string{`spec.openStack.preAllocatedFloatingIPs[1]: Invalid value: "office": is not an IPv4 address`}},
		"an IPv6 address":        {spec: floatingFrom(floating + `, preAllocatedFloatingIPs: ["2001:db8::1"]`), want: []string{`spec.openStack.preAllocatedFloatingIPs[0]: Invalid value: "2001:db8::1"`}},
		"another spelling":       {spec: floatingFrom(floating + `, preAllocatedFloatingIPs: ["192.0.2.03"]`), want: []string{`spec.openStack.preAllocatedFloatingIPs[0]: Invalid value: "192.0.2.03"`}},

		"all at once": {
			spec: `{delegateTo: edge, ipFamily: IPv6, openStack: {identityRef: {name: n, cloudName: c}, floatingNetwork: {id: "-", name: public}, subnet: {}}}`,
			want: []string{
				`spec.delegateTo: ` + forGood, `spec.ipFamily: Invalid value`, `spec.openStack.floatingNetwork.id: Invalid value`,
				`spec.openStack.subnet: Required value`,
			},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			shape, errs := poolspec.Resolve(specOf(t, test.spec), poolOf(test.kind))
			if shape != nil {
				t.Error("a spec with mistakes has a shape")
			}
			got := make([]string, len(errs))
			for i, err := range errs {
				got[i] = err.Error()
				if i < len(test.want) && strings.HasPrefix(got[i], test.want[i]) {
					got[i] = test.want[i]
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheCloudOfAPool: what Weir has written is read, and nothing else.
func TestTheCloudOfAPool(t *testing.T) {
	t.Parallel()
	known := poolspec.Cloud{Key: "5b1c0a1e-6f0c-4d0b-9a0a-3a5f0f1f7c11", Project: "07aa51d2", Network: "0b7c"}
	read, err := poolspec.ReadCloud(map[string]string{ipamv1.OpenStackAnnotation: known.String()})
	if read != known || err != nil || !read.IsKnown() || read.Space() != "openstack/0b7c" {
		t.Errorf("%+v, %v, space %s", read, err, read.Space())
	}
	if read, err = poolspec.ReadCloud(nil); err != nil || read.IsKnown() || read.Space() != "" {
		t.Errorf("without the annotation: %+v, %v", read, err)
	}
	for _, wrong := range []string{"", "a", "a b", "a b c d", "a  c", " b c", "a b ", "a b C", "a/b c d", "ä b c", "a b c/d", "a b\tc"} {
		if read, err = poolspec.ReadCloud(map[string]string{ipamv1.OpenStackAnnotation: wrong}); err == nil || read.IsKnown() {
			t.Errorf("%q: %+v", wrong, read)
		}
	}
}
