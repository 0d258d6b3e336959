// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"net/netip"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
)

// others is a ledger without records that knows what other providers use in the address space default.
type others struct {
	held

	named []foreign.Address
}

func (o others) ForeignIn(space string, prefixes []netip.Prefix) (found []foreign.Address) {
	for _, a := range o.named {
		for _, p := range prefixes {
			if space == "default" && p.Overlaps(a.Prefix) {
				found = append(found, a)
			}
		}
	}
	return found
}

func TestWhatOtherProvidersUseIsWarnedOf(t *testing.T) {
	t.Parallel()
	const one, two = "spec: other IPAM providers use addresses of the pool, which are not handed out: 1 IPAddress",
		"spec: other IPAM providers use addresses of the pool, which are not handed out: 2 IPAddresses"
	inUse := others{named: []foreign.Address{
		{Key: foreign.Key{Namespace: "lab", Name: "a"}, Pool: "InClusterIPPool q", Prefix: netip.MustParsePrefix("192.0.2.7/32")},
		{Key: foreign.Key{Namespace: "lab", Name: "b"}, Pool: "InClusterIPPool q", Prefix: netip.MustParsePrefix("192.0.2.130/32")},
	}}
	for name, test := range map[string]struct{ spec, old, user, warn string }{
		"a new pool":                 {spec: `{cidr: 192.0.2.0/24}`, warn: two + ": 192.0.2.7, IPAddress lab/a of InClusterIPPool q, 192.0.2.130, IPAddress lab/b of InClusterIPPool q"},
		"who may not get the object": {spec: `{cidr: 192.0.2.0/25}`, user: "somebody", warn: one},
		"another address space":      {spec: `{cidr: 192.0.2.0/24, addressSpace: lab}`},
		"beside them":                {spec: `{cidr: 192.0.2.64/26}`},
		"a pool that grows": {
			old: `{addresses: [192.0.2.0/25]}`, spec: `{addresses: [192.0.2.0/24]}`, warn: one + ": 192.0.2.130, IPAddress lab/b of InClusterIPPool q",
		},
		"a pool that stays": {old: `{addresses: [192.0.2.0/24]}`, spec: `{addresses: [192.0.2.0/24], excludedAddresses: [192.0.2.9]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operation := admissionv1.Create
			if test.old != "" {
				operation = admissionv1.Update
			}
			webhook, ok := webhooks(scheme(t), optionsWith(t, inUse), everything)[validateIPPoolPath].(*admission.Webhook)
			if !ok {
				t.Fatal("no webhook")
			}
			var old runtime.RawExtension
			if test.old != "" {
				old = object(t, team, test.old)
			}
			var want []string
			if test.warn != "" {
				want = []string{test.warn}
			}
			response := webhook.Handle(t.Context(), request(operation, object(t, team, test.spec), old, cmp.Or(test.user, "jo")))
			verdict{warn: want}.check(t, response)
		})
	}
}

var _ Holdings = others{}
