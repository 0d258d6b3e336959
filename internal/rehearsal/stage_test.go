// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// stage returns one before an API server with these objects.
func stage(t *testing.T, objects ...client.Object) *Stage {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	index := func(of func(*ipamv1.IPAllocationSpec) string) client.IndexerFunc {
		return func(obj client.Object) []string {
			record, _ := obj.(*ipamv1.IPAllocation)
			return []string{of(&record.Spec)}
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&ipamv1.IPAllocation{}, "spec.poolRef.name", index(func(s *ipamv1.IPAllocationSpec) string { return s.PoolRef.Name })).
		WithIndex(&ipamv1.IPAllocation{}, "spec.poolRef.namespace", index(func(s *ipamv1.IPAllocationSpec) string { return s.PoolRef.Namespace })).
		WithIndex(&ipamv1.IPAllocation{}, "spec.claimRef.name", index(func(s *ipamv1.IPAllocationSpec) string { return s.ClaimRef.Name })).
		Build()
	return &Stage{Client: c, Clock: testingclock.NewFakePassiveClock(time.Now()), Namespace: "weir-system", Platform: "platform"}
}

// TestPoolsThatNeedAFeatureGate: what they would get is known elsewhere, and no gate is in the way.
func TestPoolsThatNeedAFeatureGate(t *testing.T) {
	t.Parallel()
	floating := ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{
		IdentityRef: ipamv1.OpenStackIdentityReference{Name: "credentials", CloudName: "lab"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"},
	}}
	delegated := ipamv1.IPPoolSpec{
		CIDR: "10.0.0.0/24", ParentRef: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "fleet"}, DelegateTo: "edge",
	}
	for name, tc := range map[string]struct {
		spec        ipamv1.IPPoolSpec
		annotations map[string]string
		// address is of the claim's IPAddress, which no record has.
		address string
		// unknown is why it is not known whether there is room; refused is why there is none.
		unknown, refused string
		step             explanation.Step
	}{
		"floating IPs": {
			spec: floating, annotations: map[string]string{ipamv1.OpenStackAnnotation: "first 07aa 0b7c"}, unknown: errOutside.Error(),
			step: explanation.Step{ID: explanation.Free, Verdict: explanation.Unknown, Text: claimant.ErrElsewhere.Error()},
		},
		"a floating IP that the claim has come with": {
			spec: floating, annotations: map[string]string{ipamv1.OpenStackAnnotation: "first 07aa 0b7c"}, unknown: errOutside.Error(), address: "203.0.113.5",
			step: explanation.Step{ID: explanation.Free, Verdict: explanation.Unknown, Text: claimant.ErrElsewhere.Error()},
		},
		"a pool of another cluster, at a hub without a name": {
			spec: delegated, refused: `claims of machines: spec.poolRef.name: IPPool "p" is delegated to cluster "edge", which hands out its addresses`,
			step: explanation.Step{
				ID: explanation.Offered, Verdict: explanation.Stops, Text: `spec.poolRef.name: IPPool "p" is delegated to cluster "edge", which hands out its addresses`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "p", Annotations: tc.annotations}, Spec: tc.spec}
			claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c", UID: "c"}}
			claim.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "p"}
			s := stage(t, append(answers(claim, tc.address), pool, claim)...)
			ref := pool.PoolReference()
			rooms, err := s.Room(t.Context(), []Ask{{Pool: ref, Ref: ipamv1.ClaimReference{Namespace: "team"}, Count: 1}})
			if err != nil {
				t.Fatal(err)
			}
			room := rooms[ref]
			if text(room.Unknown) != tc.unknown || len(room.Missing) > 0 || !slices.Equal(room.Refused, only(tc.refused)) {
				t.Errorf("room %+v", room)
			}
			e, err := s.Explain(t.Context(), kinds.IPAddressClaim, types.NamespacedName{Namespace: "team", Name: "c"})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(e.Steps, tc.step) {
				t.Errorf("steps %+v", e.Steps)
			}
		})
	}
}

// answers are the IPAddress of a claim, if it has an address.
func answers(claim *ipamv1beta2.IPAddressClaim, address string) []client.Object {
	if address == "" {
		return nil
	}
	return []client.Object{&ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, UID: "address"},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef, Address: address, Prefix: ptr.To[int32](32),
		},
	}}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// only is a list of one text; nil for none.
func only(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
