// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// beside returns the validating webhook of IPPools where these objects are there, for a user who may get everything.
func beside(t *testing.T, records held, objects ...client.Object) admission.Handler {
	t.Helper()
	s := scheme(t)
	if err := clusterv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	o := optionsWith(t, records)
	o.Registry.Client = fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
	webhook, ok := webhooks(s, o, everything)[validateIPPoolPath].(*admission.Webhook)
	if !ok {
		t.Fatal("no webhook")
	}
	return webhook.Handler
}

// neighbour is pool other/q of the default address space.
func neighbour(cidr, gateway string, bits int32) *ipamv1.IPPool {
	p := &ipamv1.IPPool{}
	p.Namespace, p.Name, p.UID, p.Generation = "other", "q", "uid", 1
	p.Spec = ipamv1.IPPoolSpec{CIDR: cidr, Network: &ipamv1.Network{Gateway: gateway, PrefixLength: &bits}}
	return p
}

func TestGatewaysOfNeighbours(t *testing.T) {
	t.Parallel()
	carved := ledger.Holding{CIDR: claimed(team, "192.0.2.128/25", "").CIDR, Purpose: ledger.ForChildPool, Pool: team}
	tests := map[string]struct {
		spec   string
		beside *ipamv1.IPPool
		held   held
		user   string
		warn   []string
	}{
		"that the pool hands out": {
			spec: `{cidr: 192.0.2.0/25}`, beside: neighbour("192.0.2.128/25", "192.0.2.1", 24),
			warn: []string{`spec: the pool hands out 192.0.2.1, the gateway of IPPool other/q: exclude it`},
		},
		"that may not be named": {
			spec: `{cidr: 192.0.2.0/25}`, beside: neighbour("192.0.2.128/25", "192.0.2.1", 24), user: "somebody",
			warn: []string{`spec: the pool hands out 192.0.2.1, the gateway of another pool: exclude it`},
		},
		"that it excludes":          {spec: `{cidr: 192.0.2.0/25, excludedAddresses: [192.0.2.1]}`, beside: neighbour("192.0.2.128/25", "192.0.2.1", 24)},
		"that is its own":           {spec: `{cidr: 192.0.2.0/25, network: {gateway: 192.0.2.1, prefixLength: 24}}`, beside: neighbour("192.0.2.128/25", "192.0.2.1", 24)},
		"in another address space":  {spec: `{cidr: 192.0.2.0/25, addressSpace: lab}`, beside: neighbour("192.0.2.128/25", "192.0.2.1", 24)},
		"inside the neighbour":      {spec: `{cidr: 192.0.2.0/25}`, beside: neighbour("192.0.2.128/25", "192.0.2.129", 24)},
		"inside what is carved out": {spec: `{cidr: 192.0.2.0/24}`, beside: neighbour("198.51.100.0/24", "192.0.2.129", 1), held: held{carved}},
		"the other way round": {
			spec: `{cidr: 192.0.2.0/25, network: {gateway: 192.0.2.129, prefixLength: 24}}`, beside: neighbour("192.0.2.128/25", "", 24),
			warn: []string{`spec.network.gateway: 192.0.2.129 is handed out by IPPool other/q: exclude it there`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Create, object(t, team, test.spec), runtime.RawExtension{}, cmp.Or(test.user, "jo"))
			verdict{warn: test.warn}.check(t, beside(t, test.held, test.beside).Handle(t.Context(), req))
		})
	}
}

func TestMissingCluster(t *testing.T) {
	t.Parallel()
	cluster := &clusterv1.Cluster{}
	cluster.Namespace, cluster.Name = "team", "prod"
	spec := `{cidr: 192.0.2.0/25, clusterName: prod}`
	missing := []string{`spec.clusterName: there is no Cluster "prod" in namespace team: the pool hands out nothing until there is`}
	created := request(admissionv1.Create, object(t, team, spec), runtime.RawExtension{}, "jo")
	verdict{warn: missing}.check(t, beside(t, nil).Handle(t.Context(), created))
	verdict{}.check(t, beside(t, nil, cluster).Handle(t.Context(), created))
	same := request(admissionv1.Update, object(t, team, `{cidr: 192.0.2.0/25, clusterName: prod, mode: Draining}`), object(t, team, spec), "jo")
	verdict{}.check(t, beside(t, nil).Handle(t.Context(), same))
}

func TestUnknownAnnotations(t *testing.T) {
	t.Parallel()
	annotated := func(annotations string) runtime.RawExtension {
		return runtime.RawExtension{Raw: rawYAML(t, `{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: pool, namespace: team, annotations: `+
			annotations+`}, spec: {cidr: 192.0.2.0/24}}`)}
	}
	odd := annotated(`{ipam.weir.dev/addresses: a, ipam.weir.dev/leave-behind: "", ipam.weir.dev/openstack: "", example.com/addresses: a, ipam.weir.dev/leave_behind: ""}`)
	warn := []string{`metadata.annotations: 2 annotations are without meaning to Weir: ipam.weir.dev/addresses, ipam.weir.dev/leave_behind`}
	handler := handlerOf(t, ipamv1.IPPoolKind, held{})
	verdict{warn: warn}.check(t, handler.Handle(t.Context(), request(admissionv1.Create, odd, runtime.RawExtension{}, "jo")))
	verdict{warn: warn}.check(t, handler.Handle(t.Context(), request(admissionv1.Update, odd, annotated(`{}`), "jo")))
	verdict{}.check(t, handler.Handle(t.Context(), request(admissionv1.Update, odd, odd, "jo")))

	claim := runtime.RawExtension{Raw: rawYAML(t, `{apiVersion: ipam.cluster.x-k8s.io/v1beta2, kind: IPAddressClaim,
		metadata: {name: a, namespace: team, annotations: {ipam.weir.dev/addresses: a}}, spec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: pool}}}`)}
	got := finalizeAddressClaim(t.Context(), request(admissionv1.Create, claim, runtime.RawExtension{}, "jo"))
	if !got.Allowed || !slices.Equal(got.Warnings, []string{`metadata.annotations: 1 annotation is without meaning to Weir: ipam.weir.dev/addresses`}) {
		t.Errorf("an IPAddressClaim gets %v %q", got.Allowed, got.Warnings)
	}
}

// TestNothingIsDoubtfulAboutExternalPools: they contain every gateway, and one without a limit seems
// to have nothing left.
func TestNothingIsDoubtfulAboutExternalPools(t *testing.T) {
	t.Parallel()
	o := optionsWith(t, held{})
	v := poolValidator[*ipamv1.IPPool]{holdings: o.Holdings, carver: carver{dispenser: dispenser{registry: o.Registry}}}
	for _, limit := range []int{0, 5} {
		c := change{shape: pooltree.New(pooltree.Config{External: true, Limit: limit})}
		if got := v.doubtful(t.Context(), nil, &ipamv1.IPPool{}, c); len(got) > 0 {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

func TestMistakenClaims(t *testing.T) {
	t.Parallel()
	webhook, ok := webhooks(scheme(t), optionsWith(t, held{}), everything)[defaultIPClaimPath].(*admission.Webhook)
	if !ok {
		t.Fatal("no webhook")
	}
	for text, want := range map[string]string{
		`{metadata: {annotations: {ipam.weir.dev/address: 192.0.2.1}}, spec: {poolRef: {kind: IPPool, name: p}}}`: `metadata.annotations[ipam.weir.dev/address]: Forbidden: is for IPAddressClaims; an IPClaim asks for a prefix with spec.cidr`,
		`{metadata: {}, spec: {poolSelector: {kind: IPPool}}}`:                                                    `spec.poolSelector: Required value: matchLabels or matchExpressions; an empty selector matches every pool`,
		`{metadata: {}, spec: {poolRef: {kind: IPPool, name: p}, poolSelector: {kind: IPPool, matchLabels: {}}}}`: `spec.poolSelector: Required value`,
	} {
		got := webhook.Handler.Handle(t.Context(), request(admissionv1.Create, runtime.RawExtension{Raw: rawYAML(t, text)}, runtime.RawExtension{}, "jo"))
		if got.Allowed || got.Result.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Result.Message, want) {
			t.Errorf("%s: %d %s", text, got.Result.Code, got.Result.Message)
		}
	}
}

func TestOutdatedBelow(t *testing.T) {
	t.Parallel()
	below := func(name string, network *ipamv1.Network) (*ipamv1.IPPool, held) {
		p := &ipamv1.IPPool{}
		p.Namespace, p.Name, p.UID, p.Generation = "team", name, "uid", 1
		p.Spec = ipamv1.IPPoolSpec{CIDR: "192.0.2.64/26", ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "pool"}, Network: network}
		carved := claimed(team, "192.0.2.64/26", name)
		carved.Purpose, carved.Claim = ledger.ForChildPool, ipamv1.ClaimReference{APIGroup: "ipam.weir.dev", Kind: ipamv1.IPPoolKind, Namespace: "team", Name: name}
		return p, held{carved, claimed(p.PoolReference(), "192.0.2.65/32", "a"), claimed(p.PoolReference(), "192.0.2.66/32", "b")}
	}
	inheriting, records := below("inheriting", nil)
	req := request(admissionv1.Update, object(t, team, `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.2}}`),
		object(t, team, `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1}}`), "jo")
	verdict{warn: []string{
		`spec.network: 2 IPAddresses keep the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now`,
	}}.check(t, beside(t, records, inheriting).Handle(t.Context(), req))
	own, records := below("own", &ipamv1.Network{Gateway: "192.0.2.65"})
	verdict{}.check(t, beside(t, records, own).Handle(t.Context(), req))
}
