// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

var now = time.Unix(1_000_000, 0)

// grace is how long what has arrived is waited for.
const grace = time.Minute

// source offers one pool.
type source struct {
	offer *door.Offer
	err   error
}

func (*source) Serves(pool door.PoolName) bool { return pool.Group == ipamv1.GroupVersion.Group }

func (*source) Reference(pool door.PoolName, namespace string) ipamv1.PoolReference {
	return kinds.Pool(pool.GroupKind, namespace, pool.Name)
}

func (*source) Pools() []client.Object { return nil }

func (*source) PoolsOf(context.Context, client.Object) ([]ipamv1.PoolReference, error) {
	return nil, nil
}

func (s *source) Offer(context.Context, string, door.PoolName) (*door.Offer, error) {
	return s.offer, s.err
}

// outside backs addresses while it keeps what is given back, and errs with that.
type outside struct {
	claimant.Outside

	keep error
}

func (o *outside) Backs(context.Context, ipamv1.PoolReference) (bool, error) {
	return o.keep != nil, nil
}

func (o *outside) GiveBack(context.Context, ipamv1.PoolReference, external.Proof) error {
	return o.keep
}

// site is an API server with pool p, and a reconciler.
type site struct {
	*memory.Site
	*claim.Reconciler

	source   *source
	outside  *outside
	arrivals *claim.Arrivals
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
}

// newSite has the reconciler's cache show what is stored; or just what is cached, if that is not nil.
func newSite(t *testing.T, stored, cached []client.Object) *site {
	t.Helper()
	return newSiteOf(t, clusterapi.Form{}, stored, cached)
}

// newSiteOf has claims of that form.
func newSiteOf(t *testing.T, form door.Form, stored, cached []client.Object) *site {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, ipamv1beta2.AddToScheme, clusterv1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	block, err := ipspace.ParseEntry("10.0.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	network := pooltree.Network{Bits: 24}
	w := &site{clock: clocktesting.NewFakePassiveClock(now), recorder: events.NewFakeRecorder(100)}
	w.Site = memory.New(t, memory.Options{
		Scheme: s, Clock: w.clock, Objects: append(stored[:len(stored):len(stored)], allocations.Root("p", "10.0.0.0/24", allocations.Confirmed)),
		Indexes: []memory.Index{{Of: &ipamv1beta2.IPAddress{}, Field: claimant.PoolIndex, Value: func(o client.Object) []string {
			a, _ := o.(*ipamv1beta2.IPAddress)
			return []string{claimant.PoolKey(allocations.PoolRef(a.Spec.PoolRef.Name))}
		}}, {Of: &ipamv1beta2.IPAddress{}, Field: "spec.claimRef.name", Value: func(o client.Object) []string {
			a, _ := o.(*ipamv1beta2.IPAddress)
			return []string{a.Spec.ClaimRef.Name}
		}}, {Of: &ipamv1.IPAllocation{}, Field: "spec.claimRef.name", Value: func(o client.Object) []string {
			a, _ := o.(*ipamv1.IPAllocation)
			return []string{a.Spec.ClaimRef.Name}
		}}},
	})
	w.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{{Range: block, Network: network}}}),
	})
	w.source = &source{offer: &door.Offer{
		Pool: allocations.PoolRef("p"), Bits: 32, HostBits: 32, Network: func(netip.Addr) pooltree.Network { return network },
		Owner: metav1.OwnerReference{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPPoolKind, Name: "p", UID: "pool p"},
	}}
	w.outside = &outside{}
	w.arrivals = claim.NewArrivals(w.clock, grace)
	var c client.Client = w.Site
	if cached != nil {
		c = w.Behind(cached...)
	}
	w.Reconciler = claim.New(claim.Options{
		Client: c, Live: w.Site, Ledger: w.Ledger, Form: form, Source: w.source, Recorder: w.recorder, Clock: w.clock, Arrivals: w.arrivals, Outside: w.outside,
		Rules: &tenancy.Rules{Client: c, Platform: "platform", Namespace: "weir-system"},
	})
	return w
}

// once reconciles claim a once, and returns what is written then, but for the claim's status.
func (w *site) once(t *testing.T) (writes []string, err error) {
	t.Helper()
	_, err = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
	return written(w.Requests()), err
}

func written(requests []string) []string {
	return slices.DeleteFunc(memory.Writes(requests), func(r string) bool { return strings.HasPrefix(r, "patch status of ") })
}

// has reports whether the object is stored as it was, but for its version.
func (w *site) has(t *testing.T, obj client.Object) bool {
	t.Helper()
	stored, _ := obj.DeepCopyObject().(client.Object)
	err := w.Raw.Get(t.Context(), client.ObjectKeyFromObject(obj), stored)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil && stored.GetUID() == obj.GetUID()
}

// edit changes an object before it is stored.
type edit func(client.Object)

func edited[T client.Object](obj T, edits ...edit) T {
	for _, e := range edits {
		e(obj)
	}
	return obj
}

// claimA is claim a for an address of pool p.
func claimA(edits ...edit) *ipamv1beta2.IPAddressClaim {
	c := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: "claim a", ResourceVersion: "11", Finalizers: []string{ipamv1.ClaimFinalizer}, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
	}}
	c.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "p"}
	return edited(c, edits...)
}

// answerA is its IPAddress, 10.0.0.4.
func answerA(edits ...edit) *ipamv1beta2.IPAddress {
	a := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "a", UID: "answer a", ResourceVersion: "12", Finalizers: []string{ipamv1.AddressFinalizer},
		OwnerReferences: []metav1.OwnerReference{ownerA("claim a"), {APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPPoolKind, Name: "p", UID: "pool p"}},
	}}
	a.Spec = ipamv1beta2.IPAddressSpec{
		ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"}, Address: "10.0.0.4", Prefix: ptr.To[int32](24),
		PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "p"},
	}
	return edited(a, edits...)
}

// ownerA is a claim of the name as the owner of its answer.
func ownerA(uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "a", UID: uid, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
}

// recordA is its record.
func recordA(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return allocations.Named("a", "10.0.0.4/32", append([]allocations.Edit{func(a *ipamv1.IPAllocation) { a.ResourceVersion = "13" }}, edits...)...)
}

func deleted(o client.Object) { o.SetDeletionTimestamp(ptr.To(metav1.NewTime(now))) }

func withOthers(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), "example.com/others")) }

func withoutFinalizers(o client.Object) { o.SetFinalizers(nil) }

func annotated(key, value string) edit {
	return func(o client.Object) {
		all := o.GetAnnotations()
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
		o.SetAnnotations(all)
	}
}

var (
	paused  = annotated(clusterv1.PausedAnnotation, "")
	moving  = annotated(clusterctlv1.DeleteForMoveAnnotation, "")
	arrived = annotated(ipamv1.ArrivedAnnotation, "2026-01-01")
	leftBy  = func(uid string) edit { return annotated(ipamv1.MovedAnnotation, uid) }
)

func withUID(uid types.UID) edit { return func(o client.Object) { o.SetUID(uid) } }

func atVersion(version string) edit { return func(o client.Object) { o.SetResourceVersion(version) } }

// ownedBy makes the answer that of a claim of the name; of none for "".
func ownedBy(uid types.UID) edit {
	return func(o client.Object) {
		owners := slices.DeleteFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Kind == "IPAddressClaim" })
		if uid != "" {
			owners = append(owners, ownerA(uid))
		}
		o.SetOwnerReferences(owners)
	}
}

func inCluster(o client.Object) { o.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "c"}) }

func clusterC(isPaused bool) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "10"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(isPaused)}}
}

var (
	answerGoes = []string{"delete IPAddress", "update IPAddress"}
	recordGoes = []string{"patch IPAllocation", "delete IPAllocation"}
	claimGoes  = []string{"update IPAddressClaim"}
)

func together(parts ...[]string) []string { return slices.Concat(parts...) }

type objects = []client.Object

// TestWhatADeletedClaimGivesBack: all that it has, in this order, once nothing keeps it; what is stored decides, not what the cache shows.
func TestWhatADeletedClaimGivesBack(t *testing.T) {
	t.Parallel()
	all := together(answerGoes, recordGoes, claimGoes)
	gone := objects{claimA(deleted), answerA(), recordA()}
	for sentence, test := range map[string]struct {
		stored, cached objects
		want           []string
	}{
		"nothing keeps it":                         {stored: gone, want: all},
		"it has no answer":                         {stored: objects{claimA(deleted), recordA()}, want: together(recordGoes, claimGoes)},
		"it has nothing":                           {stored: objects{claimA(deleted)}, want: claimGoes},
		"the garbage collector is at it":           {stored: objects{claimA(deleted, func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerDeleteDependents)) }), answerA(), recordA()}, want: together(answerGoes, recordGoes, []string{"patch IPAddressClaim"})},
		"others hold on to it":                     {stored: objects{claimA(deleted, withOthers), answerA(), recordA()}},
		"others hold on to it since":               {stored: objects{claimA(deleted, withOthers), answerA(), recordA()}, cached: gone},
		"it has no finalizer of Weir's any more":   {stored: objects{claimA(deleted, withoutFinalizers, withOthers), answerA(), recordA()}, cached: gone},
		"it is another one":                        {stored: objects{claimA(withUID("next")), answerA(), recordA()}, cached: gone},
		"another one is deleted, too":              {stored: objects{claimA(deleted, withUID("next")), answerA(), recordA()}, cached: gone},
		"it was stored again":                      {stored: objects{claimA(), answerA(), recordA()}, cached: gone},
		"it is gone":                               {stored: objects{answerA(), recordA()}, cached: gone},
		"it is paused":                             {stored: objects{claimA(deleted, paused), answerA(), recordA()}},
		"it is paused since":                       {stored: objects{claimA(deleted, paused), answerA(), recordA()}, cached: gone},
		"its Cluster is paused since":              {stored: objects{claimA(deleted, inCluster), answerA(), recordA(), clusterC(true)}, cached: objects{claimA(deleted, inCluster), answerA(), clusterC(false)}},
		"its Cluster is there":                     {stored: objects{claimA(deleted, inCluster), answerA(), recordA(), clusterC(false)}, want: all},
		"it moves":                                 {stored: objects{claimA(deleted, moving), answerA(), recordA()}},
		"it moves since":                           {stored: objects{claimA(deleted, moving), answerA(), recordA()}, cached: gone},
		"it moves, and others hold on to it":       {stored: objects{claimA(deleted, moving, withOthers), answerA(), recordA()}},
		"it moves, others hold it, unrecorded":     {stored: objects{claimA(deleted, moving, withOthers), answerA()}},
		"others hold on to it, unrecorded":         {stored: objects{claimA(deleted, withOthers), answerA()}, want: recordMade},
		"its answer moves":                         {stored: objects{claimA(deleted), answerA(moving), recordA()}},
		"others use its answer":                    {stored: objects{claimA(deleted), answerA(withOthers), recordA()}, want: answerGoes[:1]},
		"others use its answer, which is deleted":  {stored: objects{claimA(deleted), answerA(withOthers, deleted), recordA()}},
		"its answer is deleted":                    {stored: objects{claimA(deleted), answerA(deleted), recordA()}, want: all[1:]},
		"its answer lost its finalizer":            {stored: objects{claimA(deleted), answerA(withoutFinalizers), recordA()}, want: together(answerGoes[:1], recordGoes, claimGoes)},
		"the cache does not show its answer":       {stored: gone, cached: objects{claimA(deleted)}, want: all},
		"the cache shows an earlier answer":        {stored: gone, cached: objects{claimA(deleted), answerA(ownedBy("earlier"), withUID("earlier answer"))}, want: all},
		"an earlier one's answer is there":         {stored: objects{claimA(deleted), answerA(ownedBy("earlier")), recordA()}, want: together(recordGoes, claimGoes)},
		"its answer has lost its owner":            {stored: objects{claimA(deleted), answerA(ownedBy("")), recordA()}, want: all},
		"somebody made an answer by hand":          {stored: objects{claimA(deleted), answerA(ownedBy(""), withoutFinalizers), recordA()}, want: together(recordGoes, claimGoes)},
		"an answer out of another provider's pool": {stored: objects{claimA(deleted), answerA(ownedBy(""), othersPool), recordA()}, want: together(recordGoes, claimGoes)},
		"it arrived with an answer":                {stored: objects{claimA(deleted, arrived), answerA(ownedBy("former")), recordA()}, want: all},
		"its answer arrived":                       {stored: objects{claimA(deleted), answerA(ownedBy("former"), arrived), recordA()}, want: all},
		"it arrived, the answer is by hand":        {stored: objects{claimA(deleted, arrived), answerA(ownedBy("former"), withoutFinalizers), recordA()}, want: together(recordGoes, claimGoes)},
		"it arrived, the pool is not Weir's":       {stored: objects{claimA(deleted, arrived), answerA(ownedBy("former"), othersPool), recordA()}, want: together(recordGoes, claimGoes)},
		"it arrived, as did its record":            {stored: objects{claimA(deleted, arrived), recordA(formerUID, cameWith)}, want: together(recordGoes, claimGoes)},
		"as did a record of what is by hand":       {stored: objects{claimA(deleted, arrived), handMade(ofPoolQ), recordA(formerUID, cameWith, allocations.FromPool("q"))}, want: claimGoes},
		"a record of an earlier one is there":      {stored: objects{claimA(deleted), recordA(formerUID)}, want: claimGoes},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, test.stored, test.cached)
			writes, err := w.once(t)
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestADeletedClaimThatMovesIsToldSo by an event, whether the cache shows it or only a live read.
func TestADeletedClaimThatMovesIsToldSo(t *testing.T) {
	t.Parallel()
	isMoving := objects{claimA(deleted, moving), answerA(), recordA()}
	for _, cached := range []objects{nil, {claimA(deleted), answerA()}} {
		w := newSite(t, isMoving, cached)
		if _, err := w.once(t); err != nil {
			t.Fatal(err)
		}
		if len(w.recorder.Events) != 1 || !strings.Contains(<-w.recorder.Events, "AddressKept") {
			t.Errorf("cached %d objects: no event says that the address is kept", len(cached))
		}
	}
}

// othersPool makes the answer one out of a pool that is not Weir's.
func othersPool(o client.Object) {
	if a, ok := o.(*ipamv1beta2.IPAddress); ok {
		a.Spec.PoolRef.APIGroup = "ipam.example.com"
	}
}

// formerUID makes the record one for an earlier claim of the name.
func formerUID(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = "former" }

// cameWith makes it one that was restored.
func cameWith(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "2026-01-01"}
}

// TestAReleaseIsInterrupted at each request in turn: then the claim keeps its finalizer while it has a record, and its record while it has
// an answer; and the next attempt finishes.
func TestAReleaseIsInterrupted(t *testing.T) {
	t.Parallel()
	former := recordOf("former", "former", "10.0.0.5/32", cameWith)
	for sentence, stored := range map[string]objects{
		"made here": {claimA(deleted, inCluster), answerA(), recordA(), clusterC(false)},
		"restored":  {claimA(deleted, arrived, inCluster), answerA(ownedBy("former")), recordA(), former, clusterC(false)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			reconcile := func(w *site) error {
				_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
				return err
			}
			w := newSite(t, stored, nil)
			if err := reconcile(w); err != nil || w.has(t, claimA()) {
				t.Fatalf("not released: %v", err)
			}
			all := len(w.Requests())
			for failing := 1; failing <= all; failing++ {
				w := newSite(t, stored, nil)
				w.FailAt(failing)
				err := reconcile(w)
				after := w.Requests()[failing-1:]
				if err == nil {
					t.Errorf("request %d, %s: its failure is not reported", failing, after[0])
				}
				if later := written(after[1:]); len(later) > 0 {
					t.Errorf("request %d, %s: after its failure %v", failing, after[0], later)
				}
				if !w.canGoOn(t, former) {
					t.Errorf("request %d, %s: what is left cannot be found any more", failing, after[0])
					continue
				}
				w.FailAt(0)
				w.Until(func() bool {
					err = reconcile(w)
					return err != nil || !w.has(t, claimA()) && !w.has(t, recordA()) && !w.has(t, former)
				})
				if err != nil {
					t.Errorf("request %d, %s: the next attempt does not finish, %v", failing, after[0], err)
				}
			}
		})
	}
}

// canGoOn reports whether the next attempt to release claim a finds what is left: a record by its claim, an answer by its record.
func (w *site) canGoOn(t *testing.T, former *ipamv1.IPAllocation) bool {
	t.Helper()
	isRecorded := w.has(t, recordA()) || w.has(t, former)
	return (!isRecorded || w.has(t, claimA())) && (!w.has(t, answerA()) || w.has(t, recordA()))
}

// TestWhatIsLeftOfAClaimThatIsGone goes, unless it may be in use, or a live read shows a claim of the name.
func TestWhatIsLeftOfAClaimThatIsGone(t *testing.T) {
	t.Parallel()
	none := objects{}
	for sentence, test := range map[string]struct {
		stored, cached objects
		form           door.Form
		late           bool
		want           []string
	}{
		"another controller may have made it":  {stored: objects{answerA()}, form: shared, want: []string{"create IPAllocation"}},
		"it was chosen here, of a shared pool": {stored: objects{answerA(), recordA()}, form: shared, want: together(answerGoes, recordGoes)},
		"answer and record":                    {stored: objects{answerA(), recordA()}, want: together(answerGoes, recordGoes)},
		"a record":                             {stored: objects{recordA()}, want: recordGoes},
		"an answer":                            {stored: objects{answerA()}, want: answerGoes},
		"an answer, which lost its owner":      {stored: objects{answerA(ownedBy(""))}, want: answerGoes},
		"nothing":                              {},
		"the claim is there":                   {stored: objects{claimA(), answerA(), recordA()}, cached: none},
		"another claim is there":               {stored: objects{claimA(withUID("next")), answerA(), recordA()}, cached: none},
		"the answer moves":                     {stored: objects{answerA(moving), recordA()}},
		"the answer's Cluster is paused":       {stored: objects{answerA(inCluster), recordA(), clusterC(true)}, cached: objects{answerA(inCluster), clusterC(false)}},
		"the record's Cluster is paused":       {stored: objects{recordA(inClusterC), clusterC(true)}, cached: objects{clusterC(false)}},
		"others use the answer":                {stored: objects{answerA(withOthers), recordA()}, want: answerGoes[:1]},
		"the answer was made by hand":          {stored: objects{answerA(ownedBy(""), withoutFinalizers), recordA()}},
		"another address is by hand":           {stored: objects{answerA(ownedBy(""), withoutFinalizers, withAddress("10.0.0.9")), recordA()}, want: together([]string{"create IPAllocation"}, recordGoes)},
		"the answer arrived":                   {stored: objects{answerA(arrived), recordA()}},
		"the answer arrived alone":             {stored: objects{answerA(arrived)}, want: []string{"create IPAllocation"}},
		"the answer arrived long ago":          {stored: objects{answerA(arrived), recordA()}, late: true, want: together(answerGoes, recordGoes)},
		"the record arrived":                   {stored: objects{recordA(cameWith)}},
		"the answer is another provider's":     {stored: objects{answerA(othersPool), recordA()}, want: recordGoes},
		"it answered an even earlier claim":    {stored: objects{answerA(ownedBy("former")), recordA()}, want: together(answerGoes, recordGoes)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			form := test.form
			if form == nil {
				form = clusterapi.Form{}
			}
			w := newSiteOf(t, form, test.stored, test.cached)
			if test.late {
				if _, err := w.once(t); err != nil {
					t.Fatal(err)
				}
				w.clock.SetTime(now.Add(grace))
			}
			writes, err := w.once(t)
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

func inClusterC(a *ipamv1.IPAllocation) { inCluster(a) }

func withAddress(address string) edit {
	return func(o client.Object) {
		if a, ok := o.(*ipamv1beta2.IPAddress); ok {
			a.Spec.Address = address
		}
	}
}

// TestWhatLeavesWithAClaimThatMoved is marked as moved, so that the pool, which stays, holds it.
func TestWhatLeavesWithAClaimThatMoved(t *testing.T) {
	t.Parallel()
	proof, marked := []string{"patch IPAllocation"}, recordGoes
	movedAway := claimA(deleted, moving, leftBy("claim a"))
	for sentence, test := range map[string]struct {
		stored, cached objects
		want           []string
	}{
		"record and answer":                {stored: objects{movedAway, answerA(), recordA()}, want: together(proof, marked, answerGoes, claimGoes)},
		"the record, its answer has gone":  {stored: objects{movedAway, recordA()}, want: together(proof, marked, claimGoes)},
		"nothing":                          {stored: objects{movedAway}, want: together(proof, claimGoes)},
		"its answer moves":                 {stored: objects{movedAway, answerA(moving), recordA()}, want: together(proof, marked)},
		"the record it came with":          {stored: objects{claimA(deleted, moving, arrived, leftBy("claim a")), answerA(ownedBy("former")), recordA(formerUID)}, want: together(proof, marked, answerGoes, claimGoes)},
		"not an earlier claim's record":    {stored: objects{movedAway, recordA(formerUID)}, want: together(proof, claimGoes)},
		"not what it has released":         {stored: objects{movedAway, recordA(allocations.Released)}, want: together(proof, claimGoes)},
		"not a hold of its own":            {stored: objects{movedAway, recordA(movedState)}, want: together(proof, claimGoes)},
		"not a hold of what it came with":  {stored: objects{claimA(deleted, moving, arrived, leftBy("claim a")), answerA(ownedBy("former")), recordA(formerUID, movedState)}, want: together(proof, []string{"create IPAllocation"}, marked, answerGoes, claimGoes)},
		"an answer without a record":       {stored: objects{movedAway, answerA()}, want: together(proof, []string{"create IPAllocation"}, marked, answerGoes, claimGoes)},
		"an earlier one has moved":         {stored: objects{claimA(deleted, moving, leftBy("earlier")), answerA(), recordA()}},
		"it moves still, others use it":    {stored: objects{claimA(deleted, moving, leftBy("claim a"), withOthers), answerA(), recordA()}},
		"it has come back since":           {stored: objects{claimA(withUID("next")), answerA(), recordA()}, cached: objects{movedAway, answerA()}},
		"its Cluster is paused, as it was": {stored: objects{claimA(deleted, moving, leftBy("claim a"), inCluster), answerA(), recordA(), clusterC(true)}, want: together(proof, marked, answerGoes, claimGoes)},
		"it lives":                         {stored: objects{claimA(leftBy("claim a"), moving), answerA(), recordA()}, cached: objects{movedAway, answerA()}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, test.stored, test.cached)
			writes, err := w.once(t)
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

func movedState(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }
