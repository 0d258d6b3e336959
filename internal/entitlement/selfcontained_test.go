// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// TestAMemberDoesNotKnowThePoolsAbove: what they say, the delegated pool must say itself.
func TestAMemberDoesNotKnowThePoolsAbove(t *testing.T) {
	t.Parallel()
	r := &pools.Registry{Federation: true, Ledger: ledger.New(ledger.Options{Client: fake.NewClientBuilder().Build(), Instance: "test", Clock: clock.RealClock{}})}
	parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "root", UID: "root"}}
	for name, test := range map[string]struct {
		above, own ipamv1.IPPoolSpec
		place      poolspec.Place
		arrived    bool
		// field and words are of the refusal; "" for none.
		field, words string
	}{
		"nothing above":                {place: poolspec.Elsewhere},
		"a gateway above":              {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Elsewhere, field: "spec.network", words: "must set gateway and dnsServers"},
		"DNS servers above":            {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{DNSServers: []ipamv1.DNSServer{"192.0.2.53"}}}, place: poolspec.Elsewhere, field: "spec.network", words: "for 10.0.1.0/24"},
		"a gateway of its own":         {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, own: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.1.1"}}, place: poolspec.Elsewhere},
		"a gateway above what arrived": {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Elsewhere, arrived: true},
		"a gateway, used locally":      {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Local},
	} {
		above := parent.DeepCopy()
		above.Generation++
		above.UID = "of " + above.UID
		above.Spec = test.above
		above.Spec.CIDR = "10.0.0.0/16"
		r.Forget(above.PoolReference())
		if r.Register(above).IsUnknown() {
			t.Fatalf("%s: the parent is not registered", name)
		}
		child := &ipamv1.IPPool{Spec: ipamv1.IPPoolSpec{
			ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "root"}, CIDR: "10.0.1.0/24", DelegateTo: "edge-a",
		}}
		child.Spec.Network = test.own.Network
		says := poolspec.Read(&child.Spec, kinds.Pool(kinds.IPPool, "fleet", "edge"), nil)
		says.Place, says.Arrived = test.place, test.arrived
		shape, errs := poolspec.Resolve(&child.Spec, says.Ref)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		err := (Children{Registry: r}).CheckSelfContained(says, shape, netip.MustParsePrefix("10.0.1.0/24"))
		var refusal *claimant.Refusal
		switch {
		case test.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.field != "" && (!errors.As(err, &refusal) || refusal.Field != test.field || !strings.Contains(refusal.Message, test.words)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
