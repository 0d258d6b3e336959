// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func rawYAML(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestPoolDefaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ old, new, want string }{
		"a new IPv4 block gets its family": {
			new:  `{cidr: 192.0.2.0/24}`,
			want: `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
		},
		"new IPv6 addresses get their family": {
			new:  `{addresses: ["2001:db8::1"]}`,
			want: `{addresses: ["2001:db8::1"], ipFamily: IPv6}`,
		},
		"floating IPs are IPv4": {
			new:  `{openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {id: 0b7c}}}`,
			want: `{openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {id: 0b7c}}, ipFamily: IPv4}`,
		},
		"what floating IPs cannot have is left to validation": {
			new:  `{delegateTo: edge, openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {name: public}}}`,
			want: `{delegateTo: edge, openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {name: public}}, ipFamily: IPv4}`,
		},
		"a given family stays": {
			new:  `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
			want: `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
		},
		"what is not supported is left to validation": {
			new:  `{cidr: 192.0.2.0/24, mode: Draining}`,
			want: `{cidr: 192.0.2.0/24, mode: Draining, ipFamily: IPv4}`,
		},
		"an update that leaves an invalid spec alone changes nothing": {
			old:  `{cidr: 192.0.2.1/24}`,
			new:  `{cidr: 192.0.2.1/24}`,
			want: `{cidr: 192.0.2.1/24}`,
		},
		"so does one that has a pool with an invalid spec close": {
			old:  `{cidr: 192.0.2.1/24}`,
			new:  `{cidr: 192.0.2.1/24, mode: Closing}`,
			want: `{cidr: 192.0.2.1/24, mode: Closing}`,
		},
		"what the schema refuses is left to it": {
			new:  `{addresses: 5}`,
			want: `{addresses: 5}`,
		},
		"no spec at all is left to the schema": {
			new:  `null`,
			want: `null`,
		},
		"an update without cidr and family gets them back": {
			old:  `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
			new:  `{excludedAddresses: [192.0.2.1]}`,
			want: `{cidr: 192.0.2.0/24, ipFamily: IPv4, excludedAddresses: [192.0.2.1]}`,
		},
		"an update to an empty spec gets them back": {
			old:  `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
			new:  `{}`,
			want: `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
		},
		"an update with another cidr is left to the schema": {
			old:  `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
			new:  `{cidr: 198.51.100.0/24}`,
			want: `{cidr: 198.51.100.0/24, ipFamily: IPv4}`,
		},
		"an update to another source does not get the cidr back": {
			old:  `{cidr: 192.0.2.0/24, ipFamily: IPv4}`,
			new:  `{addresses: [192.0.2.1]}`,
			want: `{addresses: [192.0.2.1], ipFamily: IPv4}`,
		},
		"an update of a pool that was created past the webhook gets its family": {
			old:  `{cidr: 192.0.2.0/24}`,
			new:  `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1]}`,
			want: `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1], ipFamily: IPv4}`,
		},
		"an update that leaves spec alone changes nothing": {
			old:  `{cidr: 192.0.2.0/24}`,
			new:  `{cidr: 192.0.2.0/24}`,
			want: `{cidr: 192.0.2.0/24}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operation := admissionv1.Create
			if test.old != "" {
				operation = admissionv1.Update
			}
			req := request(operation, object(t, team, test.new), object(t, team, test.old), "jo")
			response := poolDefaulter{}.Handle(t.Context(), req)
			if !response.Allowed {
				t.Errorf("refused: %v", response.Result)
			}
			got := patched(t, req.Object.Raw, response)
			if diff := cmp.Diff(decoded(t, object(t, team, test.want).Raw), decoded(t, got)); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

// TestThatSomethingArrivedIsNotForgotten: clusterctl replaces the annotations when it goes on with a move that was cut short.
func TestThatSomethingArrivedIsNotForgotten(t *testing.T) {
	t.Parallel()
	const home, arrived, cloud = `ipam.weir.dev/home: here`, `ipam.weir.dev/arrived: "true"`, `ipam.weir.dev/openstack: k p n`
	const template, another = `ipam.weir.dev/template: hubs`, `ipam.weir.dev/template: anothers`
	for name, test := range map[string]struct{ kind, old, new, want string }{
		"a pool":               {"IPPool", arrived, ``, arrived},
		"with others":          {"IPPool", arrived, `a: b`, arrived + `, a: b`},
		"a pool with a home":   {"GlobalIPPool", arrived + `, ` + home, ``, arrived + `, ` + home},
		"where a pool is":      {"IPPool", cloud, ``, cloud},
		"all of a pool":        {"GlobalIPPool", arrived + `, ` + home + `, ` + cloud, ``, arrived + `, ` + home + `, ` + cloud},
		"where it is and more": {"IPPool", cloud, `a: b`, cloud + `, a: b`},
		"of whom it is a copy": {"IPPool", template, `a: b`, template + `, a: b`},
		"of another from now":  {"GlobalIPPool", template, another, another},
		"a copy in a cloud":    {"IPPool", cloud + `, ` + template, ``, cloud + `, ` + template},
		"one that was made":    {"IPPool", `a: b`, `a: c`, `a: c`},
		"a claim":              {"IPClaim", arrived, ``, arrived},
		"a claim with others":  {"IPClaim", arrived, `a: b`, arrived + `, a: b`},
		"a claim that asked":   {"IPClaim", ``, `a: b`, `a: b`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotated := func(annotations string) runtime.RawExtension {
				return runtime.RawExtension{Raw: rawYAML(t, `{metadata: {name: x, annotations: {`+annotations+`}}, spec: {cidr: 192.0.2.0/24, poolRef: {kind: IPPool, name: p}}}`)}
			}
			req := request(admissionv1.Update, annotated(test.new), annotated(test.old), "jo")
			req.Kind, req.Name = kindNamed(test.kind), "x"
			handle := poolDefaulter{home: "here"}.Handle
			if test.kind == ipamv1.IPClaimKind {
				handle = claims{}.propose
			}
			got := decoded(t, patched(t, req.Object.Raw, handle(t.Context(), req)))
			if diff := cmp.Diff(decoded(t, annotated(test.want).Raw), got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPoolTextIsRefusedShowingItsCanonicalForm(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, new string
		parts    []string
	}{
		"a cidr": {
			new:   `{cidr: "2001:DB8::1/64"}`,
			parts: []string{`IPPool.ipam.weir.dev "pool" is invalid: spec.cidr: Invalid value`, `write "2001:db8::/64"`},
		},
		"a gateway and a DNS server, with what is not supported": {
			new: `{cidr: "2001:db8::/64", network: {gateway: "2001:DB8::1", dnsServers: ["2001:db8:0::2"]}, delegateTo: edge}`,
			parts: []string{
				`spec.network.gateway: Invalid value`, `write "2001:db8::1"`,
				`spec.network.dnsServers[0]: Invalid value`, `write "2001:db8::2"`, `spec.delegateTo: Forbidden`,
			},
		},
		"an entry in an update": {
			old:   `{addresses: [192.0.2.0/24], ipFamily: IPv4}`,
			new:   `{addresses: [192.0.2.1/24]}`,
			parts: []string{`spec.addresses[0]: Invalid value`, `write "192.0.2.0/24"`},
		},
		"addresses of the other family in an update": {
			old:   `{addresses: [192.0.2.1], ipFamily: IPv4}`,
			new:   `{addresses: ["2001:db8::1"]}`,
			parts: []string{`spec.ipFamily: Invalid value: "IPv4": the pool's addresses are IPv6`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Update, object(t, team, test.new), object(t, team, test.old), "jo")
			req.Kind, req.Name = kindNamed(team.Kind), team.Name
			verdict{code: http.StatusUnprocessableEntity, parts: test.parts}.check(t, poolDefaulter{}.Handle(t.Context(), req))
		})
	}
}

func TestAddressClaimGetsFinalizer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ claim, want string }{
		"a claim for an IPPool": {
			claim: `{metadata: {name: c}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
			want:  `{metadata: {name: c, finalizers: [ipam.weir.dev/claim]}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
		},
		"a claim for a GlobalIPPool that carries another finalizer": {
			claim: `{metadata: {finalizers: [a/b]}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: GlobalIPPool, name: p}}}`,
			want:  `{metadata: {finalizers: [a/b, ipam.weir.dev/claim]}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: GlobalIPPool, name: p}}}`,
		},
		"a claim that moved here": {
			claim: `{metadata: {finalizers: [ipam.weir.dev/claim]}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
			want:  `{metadata: {finalizers: [ipam.weir.dev/claim]}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
		},
		"a claim that says so and has no finalizer": {
			claim: `{metadata: {annotations: {a: b, ipam.weir.dev/arrived: "true"}}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
			want:  `{metadata: {finalizers: [ipam.weir.dev/claim], annotations: {a: b}}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: p}}}`,
		},
		"a claim for another provider's pool of the same kind": {
			claim: `{metadata: {}, spec: {poolRef: {apiGroup: ipam.metal3.io, kind: IPPool, name: p}}}`,
			want:  `{metadata: {}, spec: {poolRef: {apiGroup: ipam.metal3.io, kind: IPPool, name: p}}}`,
		},
		"a claim for a kind that is no pool": {
			claim: `{metadata: {}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPClaim, name: p}}}`,
			want:  `{metadata: {}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPClaim, name: p}}}`,
		},
		"a claim that cannot be read": {
			claim: `{metadata: {finalizers: 5}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool}}}`,
			want:  `{metadata: {finalizers: 5}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := rawYAML(t, test.claim)
			response := finalizeAddressClaim(t.Context(), request(admissionv1.Create, runtime.RawExtension{Raw: raw}, runtime.RawExtension{}, "jo"))
			if !response.Allowed {
				t.Errorf("refused: %v", response.Result)
			}
			if diff := cmp.Diff(decoded(t, rawYAML(t, test.want)), decoded(t, patched(t, raw, response))); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}
