// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// told is a form whose commit is the claim's status.
type told struct{ clusterapi.Form }

func (f told) Kinds() *door.Kinds {
	kinds := *f.Form.Kinds()
	kinds.Commit = door.ByStatus
	return &kinds
}

// served has pools that are all Weir's.
type served struct{ namespaced }

func (served) Serves(door.PoolName) bool { return true }

// TestASecondAnswerIsLookedAt when it appears: what this process has not chosen itself may stand beside the answer that the claim has.
func TestASecondAnswerIsLookedAt(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := ipamv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	block, err := ipspace.ParseEntry("10.0.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	w := memory.New(t, memory.Options{
		Scheme: scheme, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)), Objects: []client.Object{allocations.Root("p", "10.0.0.0/24", allocations.Confirmed)},
	})
	w.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{{Range: block, Network: pooltree.Network{Bits: 24}}}}),
	})
	claim := kinds.Claim(kinds.IPAddressClaim, allocations.At("a"), "claim a")
	if _, err = w.Ledger.Reserve(t.Context(), ledger.Claim{Ref: claim, Pool: allocations.PoolRef("p"), Bits: 32, Want: netip.MustParsePrefix("10.0.0.4/32")}); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Form: told{}, Ledger: w.Ledger, Source: served{}})
	for address, want := range map[string]bool{"10.0.0.4": false, "10.0.0.5": true} {
		answer := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "a", Finalizers: []string{ipamv1.AddressFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "a", UID: "claim a"}},
		}}
		answer.Spec.Address = address
		if got := r.leaving().Create(event.CreateEvent{Object: answer}); got != want {
			t.Errorf("%s is looked at: %t", address, got)
		}
	}
}
