// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// TestABlockIsRecordedForAPoolThatIsThere: the cache may show a delegated pool that is gone, whose
// record nothing would end.
func TestABlockIsRecordedForAPoolThatIsThere(t *testing.T) {
	t.Parallel()
	another, deleted := delegatedPool(nil), delegatedPool(nil)
	another.UID = "another"
	deleted.DeletionTimestamp, deleted.Finalizers = ptr.To(metav1.Now()), []string{ipamv1.PoolFinalizer}
	for name, test := range map[string]struct {
		live  []client.Object
		place poolspec.Place
		busy  bool
	}{
		"it is there":               {live: []client.Object{delegatedPool(nil)}, place: poolspec.Elsewhere},
		"it is gone":                {place: poolspec.Elsewhere, busy: true},
		"another one has its name":  {live: []client.Object{another}, place: poolspec.Elsewhere, busy: true},
		"it is being deleted":       {live: []client.Object{deleted}, place: poolspec.Elsewhere, busy: true},
		"it is gone, and was local": {place: poolspec.Local},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Reconciler{reporter: reporter{Options: Options{Live: site(t, test.live...).Live, Kind: pools.IPPools}}}
			err := r.checkThere(t.Context(), &scope{pool: delegatedPool(nil), says: poolspec.Pool{Place: test.place}})
			if errors.Is(err, ledger.ErrBusy) != test.busy || !test.busy && err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestAPoolIsThereByItsUID, if the cache shows it or the API server does.
func TestAPoolIsThereByItsUID(t *testing.T) {
	t.Parallel()
	there, empty := site(t, delegatedPool(nil)), site(t)
	for name, test := range map[string]struct {
		cached, live *pools.Registry
		uid          types.UID
		want         bool
	}{
		"the cache shows it":       {cached: there, live: empty, uid: "edge", want: true},
		"it is new":                {cached: empty, live: there, uid: "edge", want: true},
		"it is gone":               {cached: empty, live: empty, uid: "edge"},
		"another one has its name": {cached: there, live: there, uid: "earlier"},
	} {
		r := &reporter{Options: Options{Client: test.cached.Client, Live: test.live.Live, Registry: there}}
		isThere, err := r.isThere(t.Context(), ledger.ClaimOf(delegatedPool(nil).PoolReference(), string(test.uid)))
		if isThere != test.want || err != nil {
			t.Errorf("%s: %t, %v", name, isThere, err)
		}
	}
}

// TestTheMemberIsToldToHandTheBlockBack at the hub alone, once, by the version that was read, and of which pool.
func TestTheMemberIsToldToHandTheBlockBack(t *testing.T) {
	t.Parallel()
	closing := delegatedPool(nil)
	closing.Spec.Mode = ipamv1.ClosingMode
	for name, test := range map[string]struct {
		pool    *ipamv1.IPPool
		place   poolspec.Place
		version string
		want    ipamv1.PoolMode
		names   string
		err     bool
	}{
		"at the hub":                {pool: delegatedPool(nil), place: poolspec.Elsewhere, want: ipamv1.ClosingMode, names: "edge"},
		"it has been told":          {pool: closing, place: poolspec.Elsewhere, want: ipamv1.ClosingMode},
		"the cache is behind":       {pool: delegatedPool(nil), place: poolspec.Elsewhere, version: "1", err: true},
		"a copy at its member":      {pool: delegatedPool(nil), place: poolspec.Delegated},
		"a copy at another cluster": {pool: delegatedPool(nil), place: poolspec.Stray},
		"one that is not delegated": {pool: delegatedPool(nil), place: poolspec.Local},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := site(t, test.pool)
			stored := &ipamv1.IPPool{}
			if err := w.Live.Get(t.Context(), client.ObjectKeyFromObject(test.pool), stored); err != nil {
				t.Fatal(err)
			}
			read := stored.DeepCopy()
			if test.version != "" {
				read.ResourceVersion = test.version
			}
			s := &scope{pool: read, before: read.DeepCopy(), says: poolspec.Pool{Place: test.place}}
			r := &Reconciler{reporter: reporter{Options: Options{Client: w.Client}}}
			if err := r.orderBack(t.Context(), s); (err != nil) != test.err {
				t.Errorf("error %v", err)
			}
			if err := w.Live.Get(t.Context(), client.ObjectKeyFromObject(test.pool), stored); err != nil || stored.Spec.Mode != test.want {
				t.Errorf("stored in mode %q, %v", stored.Spec.Mode, err)
			}
			if named := stored.Annotations[ipamv1.TemplateAnnotation]; named != test.names {
				t.Errorf("names %q as its copies' template, want %q", named, test.names)
			}
			if !test.err && (s.pool.GetResourceVersion() != stored.ResourceVersion || s.before.GetResourceVersion() != stored.ResourceVersion) {
				t.Error("the status would be written over another version")
			}
		})
	}
}

// TestWhatADeletedPoolWaitsFor names the member, what its report lacks, the annotation, and a mistake in it.
func TestWhatADeletedPoolWaitsFor(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"":       `delegated to cluster "edge-a", which is to hand it back: it has 12; if the cluster`,
		"edge-a": `delegated to cluster "edge-a", which is to hand it back: it has 12; if the cluster`,
		"edge-b": `hand it back: it has 12; the annotation ipam.weir.dev/force-release names "edge-b" instead; if`,
	} {
		p := delegatedPool(map[string]string{ipamv1.ForceReleaseAnnotation: said})
		if message := awaitsMessage(p, "edge-a", "it has 12"); !strings.Contains(message, "could not be asked of it") {
			t.Errorf("before it closes: %s", message)
		}
		p.Spec.Mode = ipamv1.ClosingMode
		message := awaitsMessage(p, "edge-a", "it has 12")
		if !strings.Contains(message, want) || !strings.HasSuffix(message, "ipam.weir.dev/force-release: edge-a") {
			t.Errorf("%q: %s", said, message)
		}
	}
}

// TestWhoIsToldWhatIsHeld: pool and record are named only to a namespace that may read of them.
func TestWhoIsToldWhatIsHeld(t *testing.T) {
	t.Parallel()
	registry := site(t)
	registry.Rules = &tenancy.Rules{Client: registry.Client, Platform: "platform", Namespace: "weir-system"}
	r := &reporter{Options: Options{Registry: registry}}
	h := ledger.Holding{
		CIDR: netip.MustParsePrefix("10.1.0.0/16"), Member: "edge-a", Record: types.NamespacedName{Namespace: "fleet", Name: "x"},
		Claim: ledger.ClaimOf(delegatedPool(nil).PoolReference(), "edge"),
	}
	local := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "root"}}
	want := "10.1.0.0/16 is delegated to edge-a and IPPool fleet/edge is gone: create it again with this cidr and delegateTo and delete it, " +
		"or, if edge-a does not use it any more, delete IPAllocation fleet/x"
	if got := r.heldMessage(t.Context(), local, h); got != want {
		t.Errorf("told the namespace: %s", got)
	}
	if got := r.heldMessage(t.Context(), &ipamv1.GlobalIPPool{}, h); strings.Contains(got, "fleet") || !strings.Contains(got, "its pool is gone") {
		t.Errorf("told everybody: %s", got)
	}
}
