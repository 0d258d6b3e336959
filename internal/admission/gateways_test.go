// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestAGatewayChangesAbovePools: a parent's gateway, or the length of its network, changes to what the pools below it, which inherit
// both, do not reach.
func TestAGatewayChangesAbovePools(t *testing.T) {
	t.Parallel()
	child := &ipamv1.IPPool{}
	child.Namespace, child.Name, child.UID, child.Generation = "team", "child", "uid", 1
	child.Spec = ipamv1.IPPoolSpec{CIDR: "192.0.2.64/26", ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "pool"}}
	const old = `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1}}`
	for sentence, test := range map[string]struct {
		changed string
		want    verdict
	}{
		"to one in the network": {changed: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.2}}`},
		"with a shorter reach": {
			changed: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1, prefixLength: 26}}`,
			want: verdict{code: 422, parts: []string{
				`spec.cidr: Invalid value: "192.0.2.0/24": 192.0.2.64-192.0.2.255 do not reach gateway 192.0.2.1 with prefix length 26`,
			}},
		},
		"with a host route": {changed: `{cidr: 192.0.2.0/24, network: {gateway: 198.51.100.1, prefixLength: 32}}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Update, object(t, team, test.changed), object(t, team, old), "jo")
			test.want.check(t, beside(t, nil, child).Handle(t.Context(), req))
		})
	}
}

// TestAChildThatInheritsAGatewayOutOfReach: of a parent that was stored before such pools were refused.
func TestAChildThatInheritsAGatewayOutOfReach(t *testing.T) {
	t.Parallel()
	parent := &ipamv1.IPPool{}
	parent.Namespace, parent.Name, parent.UID, parent.Generation = "team", "parent", "uid", 1
	parent.Spec = ipamv1.IPPoolSpec{CIDR: "10.3.0.0/16", Network: &ipamv1.Network{PrefixLength: ptr.To[int32](24), Gateway: "10.3.0.1"}}
	const own = `{parentRef: {kind: IPPool, name: parent}, cidr: 10.3.9.0/24, network: {gateway: 10.3.9.1}}`
	const inherits = `{parentRef: {kind: IPPool, name: parent}, cidr: 10.3.9.0/24}`
	req := request(admissionv1.Update, object(t, team, inherits), object(t, team, own), "jo")
	verdict{code: 422, parts: []string{
		`spec.cidr: Invalid value: "10.3.9.0/24": 10.3.9.0-10.3.9.255 do not reach gateway 10.3.0.1 with prefix length 24; the pool inherits them from its parent: set spec.network`,
	}}.check(t, beside(t, nil, parent).Handle(t.Context(), req))
	req = request(admissionv1.Update, object(t, team, own), object(t, team, inherits), "jo")
	verdict{}.check(t, beside(t, nil, parent).Handle(t.Context(), req))
}

// TestAPoolThatWasMadeElsewhereIsAdmitted: clusterctl move and a restore create pools with Weir's finalizer; what does not reach its
// gateway is not handed out, and no reason to leave a Cluster's pool behind.
func TestAPoolThatWasMadeElsewhereIsAdmitted(t *testing.T) {
	t.Parallel()
	raw := rawYAML(t, `{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: pool, namespace: team, finalizers: [`+ipamv1.PoolFinalizer+`]},
		spec: {addresses: [192.0.2.1, 192.0.3.1], network: {prefixLength: 24, gateway: 192.0.2.20}}}`)
	req := request(admissionv1.Create, runtime.RawExtension{Raw: raw}, runtime.RawExtension{}, "jo")
	verdict{warn: []string{
		`spec.addresses[1]: Invalid value: "192.0.3.1": 192.0.3.1 does not reach gateway 192.0.2.20 with prefix length 24; ` +
			`correct spec.network, or set the network of these addresses in spec.subnets; these addresses are not handed out`,
	}}.check(t, handlerOf(t, ipamv1.IPPoolKind, held{}).Handle(t.Context(), req))
}
