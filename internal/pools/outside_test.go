// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// cloud is an external.Provider that notes what it is asked to give back.
type cloud struct {
	external.Provider

	err   error
	asked []external.Pool
}

func (c *cloud) GiveBack(_ context.Context, pool external.Pool, _ external.Proof) error {
	c.asked = append(c.asked, pool)
	return c.err
}

func (c *cloud) Close(_ context.Context, pool external.Pool, _ external.PoolEnd, _ external.Known) (external.Remains, error) {
	c.asked = append(c.asked, pool)
	return external.Remains{}, c.err
}

// world is a registry, and the API server that it reads.
func world(t *testing.T, objects ...client.Object) *Registry {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
	return &Registry{
		Client: c, Live: c, Namespace: "weir-system",
		Ledger: ledger.New(ledger.Options{Client: c, Instance: "test", Clock: clock.RealClock{}}),
	}
}

// TestWhenSomethingIsGivenBack: only while the pool, as it is at that moment, lets it.
func TestWhenSomethingIsGivenBack(t *testing.T) {
	t.Parallel()
	source := &ipamv1.OpenStackSource{
		IdentityRef: ipamv1.OpenStackIdentityReference{Name: "credentials", CloudName: "lab"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"},
	}
	meta := metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "pool-p", Annotations: known}
	missing := &claimant.KeptError{Reason: ipamv1.WaitingForSecretReason}
	const abandoned = "abandoned"
	for sentence, test := range map[string]struct {
		edit func(*ipamv1.IPPool)
		// gone: there is no pool; closed: nor is the gate open.
		gone, closed bool
		others       []client.Object
		err          error
		asked        bool
		// want is the reason of a KeptError, or abandoned; "" for no error.
		want string
	}{
		"as it should be":               {asked: true},
		"the gate is closed":            {closed: true, want: ipamv1.WaitingForCloudReason},
		"there is no pool":              {gone: true, want: abandoned},
		"the pool has blocks":           {edit: func(p *ipamv1.IPPool) { p.Spec = ipamv1.IPPoolSpec{CIDR: "192.0.2.0/24"} }, want: abandoned},
		"the pool is paused":            {edit: annotate(clusterv1.PausedAnnotation), want: ipamv1.WaitingForPoolReason},
		"the pool lost what it knew":    {edit: func(p *ipamv1.IPPool) { p.Annotations = nil }, want: ipamv1.WaitingForPoolReason},
		"the pool moves":                {edit: annotate(clusterctlv1.DeleteForMoveAnnotation), want: ipamv1.WaitingForPoolReason},
		"its Cluster is paused":         {edit: func(p *ipamv1.IPPool) { p.Spec.ClusterName = "c" }, others: []client.Object{&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}}, want: ipamv1.WaitingForPoolReason},
		"its Cluster does not exist":    {edit: func(p *ipamv1.IPPool) { p.Spec.ClusterName = "c" }, asked: true},
		"its Secret does not exist":     {err: missing, asked: true, want: ipamv1.WaitingForSecretReason},
		"nor does the pool much longer": {edit: terminate, err: missing, asked: true, want: abandoned},
		"the cloud is away, and the pool is being deleted": {
			edit: terminate, err: &claimant.KeptError{Reason: ipamv1.WaitingForCloudReason}, asked: true, want: ipamv1.WaitingForCloudReason,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := &ipamv1.IPPool{ObjectMeta: *meta.DeepCopy(), Spec: ipamv1.IPPoolSpec{OpenStack: source}}
			if test.edit != nil {
				test.edit(p)
			}
			objects := test.others
			if !test.gone {
				objects = append(objects, p)
			}
			r, outside := world(t, objects...), &cloud{err: test.err}
			if !test.closed {
				r.External = outside
			}
			err := r.GiveBack(t.Context(), p.PoolReference(), external.ClaimReleased(ipamv1.ClaimReference{UID: "a"}))
			got := ""
			var kept *claimant.KeptError
			var left *claimant.AbandonedError
			switch {
			case errors.As(err, &kept):
				got = kept.Reason
			case errors.As(err, &left):
				got = abandoned
			case err != nil:
				t.Error(err)
			}
			if got != test.want {
				t.Errorf("got %q (%v), want %q", got, err, test.want)
			}
			var want []external.Pool
			if test.asked {
				want = []external.Pool{{
					Ref: p.PoolReference(), Key: "first", Project: "07aa", Network: "0b7c", Source: source, SecretNamespace: "team", Room: external.Unlimited,
				}}
			}
			if diff := cmp.Diff(want, outside.asked, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatAnotherNetworkHasIsNamed: the claim's record is of a pool that had the name before, of another network. Nobody sees from here what
// the claim has there.
func TestWhatAnotherNetworkHasIsNamed(t *testing.T) {
	t.Parallel()
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pool-p", Annotations: known}, Spec: ipamv1.IPPoolSpec{
		OpenStack: &ipamv1.OpenStackSource{IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"}},
	}}
	in := func(space string) allocations.Edit {
		return func(a *ipamv1.IPAllocation) { a.Spec.AddressSpace = space }
	}
	backed := func(a *ipamv1.IPAllocation) { a.Spec.External.ID = "f1" }
	for sentence, test := range map[string]struct {
		edits []allocations.Edit
		err   error
		// address is the only one that is proved; "" for all.
		address string
		isLeft  bool
	}{
		"of this network":                     {edits: []allocations.Edit{in("openstack/0b7c"), backed}},
		"of another one":                      {edits: []allocations.Edit{in("openstack/former"), backed}, isLeft: true},
		"of another one, this address":        {edits: []allocations.Edit{in("openstack/former"), backed}, address: "192.0.2.4", isLeft: true},
		"of another one, another address":     {edits: []allocations.Edit{in("openstack/former"), backed}, address: "192.0.2.5"},
		"of another one, and not backed":      {edits: []allocations.Edit{in("default")}},
		"of another pool":                     {edits: []allocations.Edit{in("openstack/former"), backed, allocations.FromPool("q")}},
		"of another one, and the cloud waits": {edits: []allocations.Edit{in("openstack/former"), backed}, err: &claimant.KeptError{Reason: ipamv1.WaitingForCloudReason}},
	} {
		record := allocations.Named("a", "192.0.2.4/32", append(test.edits, func(a *ipamv1.IPAllocation) { a.Spec.PoolRef.APIGroup = ipamv1.GroupVersion.Group })...)
		r, outside := world(t, p.DeepCopy()), &cloud{err: test.err}
		r.External = outside
		r.Ledger = memory.New(t, memory.Options{Scheme: r.Client.Scheme(), Clock: clock.RealClock{}, Objects: []client.Object{record}}).Ledger
		proof := external.ClaimReleased(record.Spec.ClaimRef)
		if test.address != "" {
			proof = external.AddressReleased(record.Spec.ClaimRef, netip.MustParseAddr(test.address))
		}
		err := r.GiveBack(t.Context(), p.PoolReference(), proof)
		var left *claimant.AbandonedError
		isLeft := errors.As(err, &left) && strings.Contains(left.Message, "192.0.2.4 was of openstack/former")
		if isLeft != test.isLeft || !isLeft && !errors.Is(err, test.err) || len(outside.asked) != 1 {
			t.Errorf("%s: %v; asked %d times", sentence, err, len(outside.asked))
		}
	}
}

// TestWhenAPoolIsClosed: not while a claim is getting an address; and the pool as it is at that moment decides.
func TestWhenAPoolIsClosed(t *testing.T) {
	t.Parallel()
	p := &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "pool-p", Annotations: known},
		Spec: ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{
			IdentityRef: ipamv1.OpenStackIdentityReference{Name: "credentials", CloudName: "lab"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"},
		}},
	}
	terminate(p)
	r, outside := world(t, p), &cloud{}
	r.External = outside
	closes := func(r *Registry) error {
		_, err := r.Close(t.Context(), p.PoolReference(), external.PoolReleased(p.PoolReference()), external.Known{})
		return err
	}
	_, done, err := r.begin(p.PoolReference(), p.UID, ipamv1.ClaimReference{UID: "a"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := closes(r); !errors.Is(err, ledger.ErrBusy) || len(outside.asked) > 0 {
		t.Errorf("while a claim is under way: %v, asked %v", err, outside.asked)
	}
	done()
	if err := closes(r); err != nil || len(outside.asked) != 1 || outside.asked[0].Key != "first" {
		t.Errorf("%v, asked %v", err, outside.asked)
	}
	outside.err = &claimant.KeptError{Reason: ipamv1.WaitingForSecretReason}
	var left *claimant.AbandonedError
	if err := closes(r); !errors.As(err, &left) {
		t.Errorf("without its Secret: %v", err)
	}
	r.External = nil
	var kept *claimant.KeptError
	if err := closes(r); !errors.As(err, &kept) || kept.Reason != ipamv1.WaitingForCloudReason {
		t.Errorf("with the gate closed: %v", err)
	}
	p.Annotations = map[string]string{ipamv1.OpenStackAnnotation: known[ipamv1.OpenStackAnnotation], clusterv1.PausedAnnotation: ""}
	paused := world(t, p)
	paused.External = outside
	if err := closes(paused); !errors.As(err, &kept) || kept.Reason != ipamv1.WaitingForPoolReason {
		t.Errorf("while it is paused: %v", err)
	}
}

// known is what says that a pool is known in its cloud.
var known = map[string]string{ipamv1.OpenStackAnnotation: "first 07aa 0b7c"}

func annotate(key string) func(*ipamv1.IPPool) {
	return func(p *ipamv1.IPPool) { p.Annotations[key] = "" }
}

func terminate(p *ipamv1.IPPool) {
	now := metav1.Now()
	p.DeletionTimestamp, p.Finalizers = &now, []string{ipamv1.PoolFinalizer}
}

// TestWhichPoolsAreBackedOutside is told by their registration; only of one that is not registered
// the API server is asked.
func TestWhichPoolsAreBackedOutside(t *testing.T) {
	t.Parallel()
	floating := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "floating", UID: "f", Annotations: known}, Spec: ipamv1.IPPoolSpec{
		OpenStack: &ipamv1.OpenStackSource{IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"}},
	}}
	blocks := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "blocks", UID: "b"}, Spec: ipamv1.IPPoolSpec{CIDR: "192.0.2.0/24"}}
	unknown := floating.DeepCopy()
	unknown.Name, unknown.Annotations = "unknown", nil
	r := world(t, floating, blocks, unknown)
	r.External = &cloud{}
	absent := floating.PoolReference()
	absent.Name = "absent"
	ask := func(when string, ref ipamv1.PoolReference, want bool) {
		t.Helper()
		if got, err := r.Backs(t.Context(), ref); got != want || err != nil {
			t.Errorf("%s, %s: %t, %v", when, ref.Name, got, err)
		}
	}
	ask("read", floating.PoolReference(), true)
	ask("read", blocks.PoolReference(), false)
	ask("read", absent, false)
	ask("read", unknown.PoolReference(), false)
	r.Register(floating)
	r.Register(blocks)
	r.Live = nil // nothing can be read
	ask("registered", floating.PoolReference(), true)
	ask("registered", blocks.PoolReference(), false)
}
