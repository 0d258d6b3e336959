// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestAPoolGetsWhatAnotherHasJustGivenUp: what counts of the other pool is its spec as the API server has it. Its record goes a moment later.
func TestAPoolGetsWhatAnotherHasJustGivenUp(t *testing.T) {
	t.Parallel()
	lan := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "other", Name: "q"}
	now := metav1.Now()
	refused := verdict{code: 422, parts: []string{`192.0.2.129 shares 192.0.2.129 with IPPool other/q`}}
	shrunk := func(change func(*ipamv1.IPPool)) *ipamv1.IPPool {
		p := neighbour("", "", 24)
		p.Spec = ipamv1.IPPoolSpec{Addresses: []ipamv1.AddressEntry{"192.0.2.130-192.0.2.254"}}
		change(p)
		return p
	}
	for sentence, test := range map[string]struct {
		held  held
		other *ipamv1.IPPool
		want  verdict
	}{
		"it has shrunk":                    {other: shrunk(func(*ipamv1.IPPool) {})},
		"it has it still":                  {other: shrunk(func(p *ipamv1.IPPool) { p.Spec.Addresses[0] = "192.0.2.129-192.0.2.254" }), want: refused},
		"it does not exist":                {want: refused},
		"its spec cannot be served":        {other: shrunk(func(p *ipamv1.IPPool) { p.Spec.Addresses[0] = "192.0.2.0/33" }), want: refused},
		"a claim of it has it":             {held: held{claimed(lan, "192.0.2.129/32", "left")}, other: shrunk(func(*ipamv1.IPPool) {}), want: refused},
		"a claim of it has something else": {held: held{claimed(lan, "192.0.2.131/32", "left")}, other: shrunk(func(*ipamv1.IPPool) {})},
		"what its claim had cools down":    {held: held{cooling(claimed(lan, "192.0.2.129/32", "left"))}, other: shrunk(func(*ipamv1.IPPool) {})},
		"it is being deleted": {other: shrunk(func(p *ipamv1.IPPool) {
			p.DeletionTimestamp, p.Finalizers = &now, []string{ipamv1.PoolFinalizer}
		}), want: refused},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var stored []client.Object
			if test.other != nil {
				stored = append(stored, test.other)
			}
			for operation, old := range map[admissionv1.Operation]runtime.RawExtension{
				admissionv1.Create: {}, admissionv1.Update: object(t, team, `{addresses: [192.0.2.1], network: {prefixLength: 32}}`),
			} {
				o := optionsWith(t, append(test.held, root(lan, "192.0.2.128/25")))
				o.Registry.Live = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored...).Build()
				webhook, ok := webhooks(scheme(t), o, everything)[validateIPPoolPath].(*admission.Webhook)
				if !ok {
					t.Fatal("no webhook")
				}
				req := request(operation, object(t, team, `{addresses: [192.0.2.1, 192.0.2.129], network: {prefixLength: 32}}`), old, "jo")
				test.want.check(t, webhook.Handle(t.Context(), req))
			}
		})
	}
}

// TestAPoolOfADoorInANamedSpace: what another pool of the space has is refused, unless that pool has just given it up.
func TestAPoolOfADoorInANamedSpace(t *testing.T) {
	t.Parallel()
	const mine, spec = "example.com/space", `{addresses: [192.0.2.1, 192.0.2.129], network: {prefixLength: 24}}`
	kind := doorKind
	kind.SpaceAnnotation, kind.Refused, kind.Doubts = mine, nil, nil
	lan := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "other", Name: "q"}
	refused := verdict{code: 422, parts: []string{"spec.addresses: Forbidden: overlaps other pools of address space default: 192.0.2.129 shares 192.0.2.129 with IPPool other/q"}}
	for sentence, test := range map[string]struct {
		space, other string
		held         held
		want         verdict
	}{
		"another pool has it":                {space: "default", other: "192.0.2.129-192.0.2.254", want: refused},
		"it has a space of its own":          {other: "192.0.2.129-192.0.2.254"},
		"the other pool has shrunk":          {space: "default", other: "192.0.2.130-192.0.2.254"},
		"the other pool cannot be served":    {space: "default", other: "192.0.2.0/33", want: refused},
		"a claim of the other pool's has it": {space: "default", other: "192.0.2.130-192.0.2.254", held: held{claimed(lan, "192.0.2.129/32", "left")}, want: refused},
		"what a claim of it had cools down":  {space: "default", other: "192.0.2.130-192.0.2.254", held: held{cooling(claimed(lan, "192.0.2.129/32", "left"))}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := neighbour("", "", 24)
			p.Spec = ipamv1.IPPoolSpec{Addresses: []ipamv1.AddressEntry{ipamv1.AddressEntry(test.other)}}
			o := optionsWith(t, append(test.held, root(lan, "192.0.2.128/25")))
			o.Registry.Live = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(p).Build()
			handler := doorPools{Doors{Pools: []pools.Kind{kind}}, o.Holdings, everything, o.Registry}
			updated := object(t, team, spec)
			updated.Raw = bytes.Replace(updated.Raw, []byte(`"metadata":{`), []byte(`"metadata":{"annotations":{"`+mine+`":"`+test.space+`"},`), 1)
			req := request(admissionv1.Create, updated, runtime.RawExtension{}, "jo")
			req.Kind, req.Namespace, req.Name = metav1.GroupVersionKind{Group: kind.Group, Version: "v1", Kind: kind.Kind}, team.Namespace, team.Name
			test.want.check(t, handler.validate(t.Context(), req))
		})
	}
}
