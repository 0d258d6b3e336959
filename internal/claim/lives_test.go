// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// ready makes the claim one that is answered with an IPAddress of that name.
func ready(answer string) edit {
	return func(o client.Object) {
		if c, ok := o.(*ipamv1beta2.IPAddressClaim); ok {
			c.Status.AddressRef.Name = answer
			c.Status.Conditions = []metav1.Condition{{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
		}
	}
}

// recordOf is a record for a claim named a of that UID.
func recordOf(uid, name, cidr string, edits ...allocations.Edit) *ipamv1.IPAllocation {
	return allocations.Named(name, cidr, append([]allocations.Edit{func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID = "a", uid
	}}, edits...)...)
}

var (
	recordMade  = []string{"create IPAllocation"}
	recordOwned = []string{"patch IPAllocation"}
	answerMade  = []string{"create IPAddress"}
	answerOwned = []string{"patch IPAddress"}
)

type situation struct {
	stored, cached objects
	want           []string
	// late: the grace of what has arrived is over.
	late bool
	// prepare changes the site before the claim is reconciled.
	prepare func(*site)
	// told is the reason that the claim's Ready condition has in the end, or nothing, if that is looked at; answer is what its status names.
	told, answer string
	// after: an earlier pass was so long ago. rests: nothing but a change wakes the claim.
	after time.Duration
	rests bool
	// fails: that is reported.
	fails bool
}

// nothing is told.
const nothing = "nothing"

// site is where the claim is about to be reconciled.
func (test situation) site(t *testing.T, form door.Form) *site {
	t.Helper()
	w := newSiteOf(t, form, test.stored, test.cached)
	if test.prepare != nil {
		test.prepare(w)
	}
	if test.late {
		test.after = grace
	}
	if test.after != 0 {
		if _, err := w.once(t); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(now.Add(test.after))
	}
	return w
}

// run reconciles the claim once, and then again with each request failing in turn: that is reported, and nothing is written after it.
func (test situation) run(t *testing.T, form door.Form) {
	t.Helper()
	w := test.site(t, form)
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
	requests := w.Requests()
	if test.rests && !result.IsZero() {
		t.Errorf("looked at again after %s", result.RequeueAfter)
	}
	if diff := gocmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || (err != nil) != test.fails {
		t.Errorf("writes (-want +got):\n%s%v", diff, err)
	}
	reason, answer := w.status(t)
	if reason = cmp.Or(reason, nothing); test.told != "" && reason != test.told || test.answer != "" && answer != test.answer {
		t.Errorf("told %s and %s, want %s and %s", reason, answer, test.told, test.answer)
	}
	for failing := 1; failing <= len(requests); failing++ {
		w := test.site(t, form)
		w.FailAt(failing)
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
		after := w.Requests()
		if len(after) < failing { // whether the index shows a write already decides about some
			continue
		}
		if later := written(after[failing:]); err == nil || len(later) > 0 {
			t.Errorf("request %d, %s, fails: reported %v, written later %v", failing, after[failing-1], err, later)
		}
	}
}

// status is the reason that the Ready condition of claim a has, and the answer that its status names.
func (w *site) status(t *testing.T) (reason, answer string) {
	t.Helper()
	c := &ipamv1beta2.IPAddressClaim{}
	if err := client.IgnoreNotFound(w.Raw.Get(t.Context(), allocations.At("a"), c)); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, ipamv1.ReadyCondition); ready != nil {
		reason = ready.Reason
	}
	return reason, c.Status.AddressRef.Name
}

// TestWhatIsRecordedBesideTheAnswerOfAClaim goes if no claim can have been told of it, or its claim is gone.
func TestWhatIsRecordedBesideTheAnswerOfAClaim(t *testing.T) {
	t.Parallel()
	c := claimA(ready("a"))
	dead, again := recordOf("dead", "dead", "10.0.0.5/32"), recordOf("dead", "dead", "10.0.0.4/32")
	for sentence, test := range map[string]situation{
		"nothing":                          {stored: objects{c, answerA(), recordA()}},
		"of a dead one":                    {stored: objects{c, answerA(), recordA(), dead}, want: together(recordOwned, recordGoes)},
		"a second one":                     {stored: objects{c, answerA(), recordA(), recordOf("claim a", "second", "10.0.0.5/32")}, want: together(recordOwned, recordGoes)},
		"a hold of another address":        {stored: objects{c, answerA(), recordA(), recordOf("dead", "hold", "10.0.0.5/32", movedState)}, want: recordOwned},
		"of a dead one, Cluster paused":    {stored: objects{c, answerA(), recordA(), recordOf("dead", "dead", "10.0.0.5/32", inClusterC), clusterC(true)}, want: recordOwned},
		"of one that lives":                {stored: objects{claimA(ready("a"), withUID("dead")), answerA(), recordA(), dead}, cached: objects{c, answerA()}, want: recordOwned},
		"it is gone":                       {stored: objects{answerA(), recordA(), dead}, cached: objects{c, answerA()}, want: recordOwned},
		"the answer is another one's":      {stored: objects{c, answerA(ownedBy("dead")), recordA(), recordOf("claim a", "second", "10.0.0.5/32"), again}, cached: objects{c, answerA()}, want: recordOwned},
		"of a dead one, told since":        {stored: objects{c, answerA(), recordA(), dead}, cached: objects{claimA(), answerA()}, want: together(recordOwned, recordGoes)},
		"its status names another answer":  {stored: objects{claimA(ready("other")), answerA(), recordA()}, answer: "a"},
		"of a dead one, which took an age": {stored: objects{c, answerA(), recordA(), recordOf("dead", "dead", "10.0.0.5/32", withOthersOn)}, want: together(recordOwned, recordGoes)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

func withOthersOn(a *ipamv1.IPAllocation) { withOthers(a) }

// TestTheAnswerOfADeadClaim goes with its records, once a live read shows which of the two is dead.
func TestTheAnswerOfADeadClaim(t *testing.T) {
	t.Parallel()
	former, record := answerA(ownedBy("former")), recordA(formerUID)
	for sentence, test := range map[string]situation{
		"it is in the way":            {stored: objects{claimA(), former, record}, want: together(answerGoes, recordGoes)},
		"there is another claim":      {stored: objects{claimA(withUID("next")), former, record}, cached: objects{claimA(), former}},
		"it is the answer's":          {stored: objects{claimA(withUID("former")), former, record}, cached: objects{claimA(), former}},
		"there is no claim":           {stored: objects{former, record}, cached: objects{claimA(), former}},
		"it moves":                    {stored: objects{claimA(), answerA(ownedBy("former"), moving), record}},
		"others use it":               {stored: objects{claimA(), answerA(ownedBy("former"), withOthers), record}, want: answerGoes[:1]},
		"it is of no claim, deleted":  {stored: objects{claimA(), answerA(ownedBy(""), deleted)}, want: answerGoes[1:]},
		"of no claim, not Weir's":     {stored: objects{claimA(), answerA(ownedBy(""), withoutFinalizers, withOthers, deleted)}},
		"what it has outside is kept": {stored: objects{claimA(), former, record}, prepare: func(w *site) { w.outside.keep = &claimant.KeptError{Message: "in use"} }, told: ipamv1.ClaimReadyAllocationFailedReason},
		"it is to be asked again":     {stored: objects{claimA(), former, record}, prepare: func(w *site) { w.outside.keep = ledger.ErrBusy }, told: nothing},
		"it is its own":               {stored: objects{claimA(), answerA(atVersion("14")), recordA()}, cached: objects{claimA(), answerA(ownedBy("former"))}, want: answerGoes[:1]},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhatComesBackToAClaim is its own once a live read shows the claim.
func TestWhatComesBackToAClaim(t *testing.T) {
	t.Parallel()
	c, former := claimA(arrived), answerA(ownedBy("former"))
	for sentence, test := range map[string]situation{
		"its answer and its record":               {stored: objects{c, former, recordA(formerUID)}, want: together(recordMade, answerOwned, recordGoes)},
		"its answer":                              {stored: objects{c, former}, want: together(recordMade, answerOwned)},
		"its answer, which is marked":             {stored: objects{claimA(), answerA(ownedBy("former"), arrived)}, want: together(recordMade, answerOwned)},
		"its answer, which is deleted":            {stored: objects{c, answerA(ownedBy("former"), deleted)}, want: together(recordMade, answerGoes[1:], answerMade)},
		"its answer cannot be read":               {stored: objects{c, answerA(ownedBy("former"), withAddress("x"))}},
		"its answer is deleted, unreadable":       {stored: objects{c, answerA(ownedBy("former"), withAddress("x"), deleted)}},
		"its answer, to another claim":            {stored: objects{claimA(arrived, withUID("next")), former, recordA(formerUID)}, cached: objects{c, former}},
		"its answer, to no claim":                 {stored: objects{former, recordA(formerUID)}, cached: objects{c, former}},
		"its answer has no owner":                 {stored: objects{c, answerA(ownedBy(""))}, want: together(recordMade, answerOwned)},
		"its answer, of a pool before":            {stored: objects{claimA(), answerA(ownedBy("former"), ofPool("pool before"))}, want: together(recordMade, answerOwned)},
		"its answer and own record, to another":   {stored: objects{claimA(arrived, withUID("next")), former, recordA()}, cached: objects{c, former}},
		"its marked answer, another claim has it": {stored: objects{claimA(), answerA(ownedBy("former"), arrived), allocations.Named("b", "10.0.0.4/32")}, want: recordMade, told: ipamv1.ClaimReadyAddressConflictReason},
		"its deleted answer, another has it":      {stored: objects{c, answerA(ownedBy("former"), deleted), allocations.Named("b", "10.0.0.4/32")}, want: recordMade, told: ipamv1.ClaimReadyAddressConflictReason},
		"its deleted, marked one, another has it": {stored: objects{claimA(), answerA(ownedBy("former"), arrived, deleted), allocations.Named("b", "10.0.0.4/32")}, want: recordMade, told: ipamv1.ClaimReadyAddressConflictReason},
		"its record, another claim has it":        {stored: objects{c, recordA(formerUID), allocations.Named("b", "10.0.0.4/32")}, want: together(recordMade, recordGoes)},
		"its own record, another claim has it":    {stored: objects{c, recordA(cameWith), allocations.Named("b", "10.0.0.4/32")}, prepare: later, told: ipamv1.ClaimReadyAddressConflictReason},
		"its own record, and a former one":        {stored: objects{c, recordA(), recordOf("former", "two", "10.0.0.5/32")}, want: together(recordOwned, answerMade, recordGoes)},
		"nothing, for a while":                    {stored: objects{c}, after: 3 * time.Second, told: ipamv1.ClaimReadyWaitingForRestoreReason},
		"nothing, since its Cluster goes on":      {stored: objects{claimA(arrived, inCluster), clusterC(true)}, prepare: unpause(clusterC(false)), want: together([]string{"patch IPAddressClaim"}, recordMade, answerMade)},
		"nothing, which it was told":              {stored: objects{claimA(arrived, inCluster, ready("a")), clusterC(true)}, prepare: unpause(clusterC(false))},
		"nothing, and only it was paused":         {stored: objects{claimA(arrived, inCluster, paused), clusterC(false)}, prepare: unpause(claimA(arrived, inCluster))},
		"its record":                              {stored: objects{c, recordA(formerUID)}, want: together(recordMade, answerMade, recordGoes)},
		"its own record":                          {stored: objects{c, recordA()}, want: together(recordOwned, answerMade)},
		"two records":                             {stored: objects{c, recordA(formerUID), recordOf("former", "two", "10.0.0.5/32")}},
		"two records of the same":                 {stored: objects{c, recordA(formerUID), recordOf("even before", "two", "10.0.0.4/32")}, want: together(recordMade, answerMade, recordGoes, recordGoes)},
		"three records, two of the same":          {stored: objects{c, recordA(formerUID), recordOf("even before", "two", "10.0.0.4/32"), recordOf("former", "three", "10.0.0.5/32")}},
		"two of the same, and its own":            {stored: objects{c, recordOf("former", "one", "10.0.0.5/32"), recordOf("even before", "two", "10.0.0.5/32"), recordA()}, want: together(recordOwned, answerMade, recordGoes, recordGoes)},
		"a record of another pool":                {stored: objects{c, recordA(formerUID, allocations.FromPool("q"))}},
		"a hold":                                  {stored: objects{c, recordA(formerUID, movedState)}},
		"nothing":                                 {stored: objects{c}, told: nothing},
		"nothing, for long":                       {stored: objects{c}, late: true, want: together([]string{"patch IPAddressClaim"}, recordMade, answerMade)},
		"its answer, a moment ago":                {stored: objects{c, former}, cached: objects{c}, late: true, told: nothing},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// later is when no record is new any more.
func later(w *site) { w.clock.SetTime(now.Add(time.Minute)) }

// unpause has the claim be reconciled, and then stores an object that is not paused any more.
func unpause(o client.Object) func(*site) {
	return func(w *site) {
		_, err := w.Reconcile(context.Background(), ctrl.Request{NamespacedName: allocations.At("a")})
		stored, _ := o.DeepCopyObject().(client.Object)
		if err == nil {
			err = w.Raw.Get(context.Background(), client.ObjectKeyFromObject(o), stored)
		}
		unpaused, _ := o.DeepCopyObject().(client.Object)
		unpaused.SetResourceVersion(stored.GetResourceVersion())
		if err = errors.Join(err, w.Raw.Update(context.Background(), unpaused)); err != nil {
			panic(err)
		}
		w.Requests()
	}
}

// TestWhoseAnAnswerIs: one that names no claim is the claim's if nothing else controls it, and its pool would hand it out to the claim.
func TestWhoseAnAnswerIs(t *testing.T) {
	t.Parallel()
	c, byHand := claimA(), []edit{ownedBy(""), withoutFinalizers}
	hand := func(edits ...edit) *ipamv1beta2.IPAddress { return answerA(append(byHand, edits...)...) }
	for sentence, test := range map[string]situation{
		"somebody made it by hand":               {stored: objects{c, hand()}, want: together(recordMade, answerOwned), told: ipamv1.ClaimReadyAllocatedReason},
		"by hand, and the claim has gone":        {stored: objects{hand()}, cached: objects{c, hand()}, want: recordMade, rests: true},
		"by hand, and the claim is another one":  {stored: objects{claimA(withUID("next")), hand()}, cached: objects{c, hand()}, want: recordMade},
		"by hand, and the claim is deleted":      {stored: objects{claimA(deleted), hand()}, cached: objects{c, hand()}, want: recordMade},
		"by hand, and is deleted":                {stored: objects{c, hand(deleted, withOthers)}},
		"by hand, outside of the pool":           {stored: objects{c, hand(withAddress("10.1.0.4"))}},
		"by hand, and another claim has it":      {stored: objects{c, hand(), allocations.Named("b", "10.0.0.4/32")}, told: ipamv1.ClaimReadyAllocationFailedReason},
		"by hand, and was held":                  {stored: objects{c, hand(), recordOf("answer a", "held", "10.0.0.4/32")}, want: together(recordMade, answerOwned, recordGoes)},
		"by hand, was held, outside of the pool": {stored: objects{c, hand(withAddress("10.1.0.4")), recordOf("answer a", "held", "10.1.0.4/32")}, told: ipamv1.ClaimReadyAllocationFailedReason},
		"by hand, outside, the claim arrived":    {stored: objects{claimA(arrived), hand(withAddress("10.1.0.4"))}},
		"it has lost its pool, and is deleted":   {stored: objects{c, answerA(withoutPool, deleted), recordA()}, want: recordOwned},
		"something else controls it":             {stored: objects{c, hand(controlled)}, told: ipamv1.ClaimReadyAllocationFailedReason},
		"something else controls it, it arrived": {stored: objects{claimA(arrived), answerA(ownedBy("former"), controlled)}, want: recordMade, told: ipamv1.ClaimReadyAllocationFailedReason},
		"it arrived, another claim has it":       {stored: objects{claimA(arrived), answerA(ownedBy("former")), allocations.Named("b", "10.0.0.4/32")}, want: recordMade, told: ipamv1.ClaimReadyAddressConflictReason},
		"it has lost its pool":                   {stored: objects{c, answerA(withoutPool), recordA()}, want: together(recordOwned, answerOwned)},
		"it has lost its pool, which leaves":     {stored: objects{c, answerA(withoutPool), recordA()}, prepare: func(w *site) { w.source.offer.Leaving = true }, want: recordOwned},
		"it has its claim, and is marked still":  {stored: objects{c, answerA(arrived), recordA()}, want: together(recordOwned, answerOwned)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// controlled gives the answer a controller that is no claim.
func controlled(o client.Object) {
	o.SetOwnerReferences(append(ownersBut(o, "IPAddressClaim"), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c", Controller: ptr.To(true)}))
}

func withoutPool(o client.Object) { o.SetOwnerReferences(ownersBut(o, ipamv1.IPPoolKind)) }

// ownersBut are the object's owners of other kinds.
func ownersBut(o client.Object, kind string) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(owner metav1.OwnerReference) bool { return owner.Kind == kind })
}

// ofPool makes the answer one out of a pool of that UID.
func ofPool(uid types.UID) edit {
	return func(o client.Object) {
		owners := slices.Clone(o.GetOwnerReferences())
		for i := range owners {
			if owners[i].Kind == ipamv1.IPPoolKind {
				owners[i].UID = uid
			}
		}
		o.SetOwnerReferences(owners)
	}
}

// TestWhatAPausedClaimsAnswerStandsFor is recorded, and nothing else is written.
func TestWhatAPausedClaimsAnswerStandsFor(t *testing.T) {
	t.Parallel()
	c := claimA(paused)
	hide := func(w *site) { w.source.offer.Hidden = &claimant.Refusal{Message: "hidden"} }
	for sentence, test := range map[string]situation{
		"it is not recorded":           {stored: objects{c, answerA()}, want: recordMade},
		"it is recorded":               {stored: objects{c, answerA(), recordA()}},
		"its former self's is":         {stored: objects{c, answerA(ownedBy("former")), recordA(formerUID)}},
		"it came back":                 {stored: objects{claimA(paused, arrived), answerA(ownedBy("former"))}, want: recordMade},
		"a block that covers it is":    {stored: objects{c, answerA(), recordOf("dead", "block", "10.0.0.4/31")}},
		"a block beside it is":         {stored: objects{c, answerA(), recordOf("dead", "block", "10.0.0.6/31")}, want: recordMade},
		"it is being deleted":          {stored: objects{claimA(paused, deleted), answerA()}},
		"its answer is just leaving":   {stored: objects{c, answerA(moving, deleted)}},
		"its answer moves, and stays":  {stored: objects{c, answerA(moving)}, want: recordMade},
		"its answer is being deleted":  {stored: objects{c, answerA(deleted)}, want: recordMade},
		"somebody made it by hand":     {stored: objects{c, answerA(ownedBy(""), withoutFinalizers)}},
		"it is another provider's":     {stored: objects{c, answerA(othersPool)}},
		"it cannot be read":            {stored: objects{c, answerA(withAddress("x"))}},
		"its pool is hidden":           {stored: objects{c, answerA()}, prepare: hide},
		"its pool is hidden, it came":  {stored: objects{claimA(paused, arrived), answerA()}, prepare: hide, want: recordMade},
		"its pool is hidden, it is by": {stored: objects{c, answerA(arrived)}, prepare: hide, want: recordMade},
		"its Cluster is paused":        {stored: objects{claimA(arrived, inCluster), answerA(ownedBy("former")), clusterC(true)}, want: recordMade},
		"its former self's, of more":   {stored: objects{c, answerA(ownedBy("former")), recordOf("former", "block", "10.0.0.4/31")}},
		"its pool cannot be read":      {stored: objects{c, answerA()}, prepare: func(w *site) { w.source.err = memory.ErrFailed }, fails: true},
		"its pool cannot be asked":     {stored: objects{c, answerA()}, prepare: func(w *site) { w.source.err = &claimant.Refusal{Message: "no such pool"} }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// byStatus is a form whose answers are named after their addresses, and whose commit is the claim's status.
type byStatus struct{ clusterapi.Form }

func (f byStatus) Kinds() *door.Kinds {
	kinds := *f.Form.Kinds()
	kinds.Commit = door.ByStatus
	return &kinds
}

func (byStatus) Answers(ctx context.Context, c client.Reader, key types.NamespacedName) ([]client.Object, error) {
	list := &ipamv1beta2.IPAddressList{}
	if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
		return nil, err
	}
	var found []client.Object
	for i := range list.Items {
		if list.Items[i].Spec.ClaimRef.Name == key.Name {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}

func (byStatus) ClaimOf(o client.Object) types.NamespacedName {
	a, _ := o.(*ipamv1beta2.IPAddress)
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.ClaimRef.Name}
}

func (f byStatus) Compose(c *door.Claim, offer *door.Offer, cidr netip.Prefix, network pooltree.Network) client.Object {
	o := f.Form.Compose(c, offer, cidr, network)
	o.SetName("p-" + cidr.Addr().String())
	return o
}

func adopted(a *ipamv1.IPAllocation) { a.Spec.Origin = ipamv1.AdoptedOrigin }

func called(name string) edit { return func(o client.Object) { o.SetName(name) } }

// numbered is an answer that is named after its address.
func numbered(address, version string, edits ...edit) *ipamv1beta2.IPAddress {
	return answerA(append([]edit{withAddress(address), atVersion(version), func(o client.Object) {
		o.SetName("p-" + address)
		o.SetUID(types.UID("answer " + address))
	}}, edits...)...)
}

// TestWhatWasMadeBesideTheAnswerOfAClaim goes, with its record, once the claim's status names its answer, as a live read shows.
func TestWhatWasMadeBesideTheAnswerOfAClaim(t *testing.T) {
	t.Parallel()
	c, its, stray := claimA(ready("p-10.0.0.4")), numbered("10.0.0.4", "21"), numbered("10.0.0.5", "22")
	own, second := recordA(), recordOf("claim a", "second", "10.0.0.5/32")
	proved := []string{"patch IPAllocation"}
	cached := objects{c, its, stray}
	for sentence, test := range map[string]situation{
		"a stray":                       {stored: objects{c, its, stray, own, second}, want: together(proved, answerGoes, recordGoes)},
		"the claim is another one":      {stored: objects{claimA(ready("p-10.0.0.4"), withUID("next")), its, stray, own, second}, cached: cached, want: proved},
		"its status names another":      {stored: objects{claimA(ready("p-10.0.0.5")), its, stray, own, second}, cached: cached, want: proved},
		"its status names none":         {stored: objects{claimA(), its, stray, own, second}, cached: cached, want: proved},
		"it is being deleted":           {stored: objects{claimA(ready("p-10.0.0.4"), deleted), its, stray, own, second}, cached: cached, want: proved},
		"it moves":                      {stored: objects{claimA(ready("p-10.0.0.4"), moving), its, stray, own, second}, cached: cached, want: proved},
		"it is gone":                    {stored: objects{its, stray, own, second}, cached: cached, want: proved},
		"others use it":                 {stored: objects{c, its, numbered("10.0.0.5", "22", withOthers), own, second}, want: together(proved, answerGoes[:1])},
		"its status names none yet":     {stored: objects{claimA(), its, stray, own, second}, want: proved},
		"it came from elsewhere":        {stored: objects{c, its, stray, own}, want: recordMade},
		"it was restored, as recorded":  {stored: objects{c, its, stray, own, recordOf("claim a", "second", "10.0.0.5/32", cameWith)}, want: proved},
		"it has gone meanwhile":         {stored: objects{c, its, own, second}, cached: cached, want: together(proved, recordGoes)},
		"a dead one's, by its record":   {stored: objects{c, its, numbered("10.0.0.5", "22", ownedBy("")), own, recordOf("former", "second", "10.0.0.5/32")}, want: together(proved, answerGoes, recordGoes)},
		"a dead one has its record":     {stored: objects{c, its, stray, own, recordOf("dead", "second", "10.0.0.5/32")}, want: proved},
		"it was adopted":                {stored: objects{c, its, stray, own, recordOf("claim a", "second", "10.0.0.5/32", adopted)}, want: proved},
		"its record is of another pool": {stored: objects{c, its, stray, own, recordOf("claim a", "second", "10.0.0.5/32", allocations.FromPool("q"))}, want: together(proved, recordGoes)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, byStatus{})
		})
	}
}

// TestWhichAnswerAClaimHas where its status is the commit: what its record says, else what came with it.
func TestWhichAnswerAClaimHas(t *testing.T) {
	t.Parallel()
	c, moved, its, stray := claimA(ready("p-10.0.0.4")), claimA(ready("p-10.0.0.5")), numbered("10.0.0.4", "21"), numbered("10.0.0.5", "22")
	dead := numbered("10.0.0.4", "21", ownedBy("former"))
	isIts := situation{told: ipamv1.ClaimReadyAllocatedReason, answer: "p-10.0.0.4"}
	of := func(stored ...client.Object) situation {
		test := isIts
		if test.stored = stored; len(stored) > 3 { // its record is not the only one, so that it is proved
			test.want = recordOwned
		}
		return test
	}
	for sentence, test := range map[string]situation{
		"its status names it":                 of(c, its, recordA()),
		"its status was changed":              of(moved, its, recordA()),
		"changed to a dead one's":             of(moved, its, recordA(), recordOf("dead", "second", "10.0.0.5/32")),
		"changed to another pool's":           of(moved, its, recordA(), recordOf("claim a", "second", "10.0.0.5/32", allocations.FromPool("q"))),
		"changed to what has moved":           of(moved, its, recordA(), recordOf("claim a", "second", "10.0.0.5/32", movedState)),
		"changed to what it has released":     {stored: objects{moved, its, recordA(), recordOf("claim a", "second", "10.0.0.5/32", allocations.Released)}, answer: "p-10.0.0.4"},
		"changed by a manager that is ahead":  {stored: objects{moved, its, recordA()}, prepare: ahead(recordOf("claim a", "second", "10.0.0.5/32")), answer: "p-10.0.0.5"},
		"it has a name of its own":            {stored: objects{claimA(ready("own")), numbered("10.0.0.4", "21", called("own")), recordA()}, answer: "own"},
		"somebody has removed it":             {stored: objects{c, recordA()}, want: together(recordOwned, answerMade), answer: "p-10.0.0.4"},
		"removed, and its record as well":     {stored: objects{c}, told: ipamv1.ClaimReadyAddressConflictReason},
		"its pool offers nothing":             {stored: objects{c, its, recordA()}, prepare: func(w *site) { w.source.err = &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolNotReadyReason} }},
		"two came with it":                    {stored: objects{claimA(), its, stray}, want: together(recordMade, recordMade), told: ipamv1.ClaimReadyAddressConflictReason},
		"two came with it, one is named":      {stored: objects{c, its, stray}, want: together(recordMade, recordMade), answer: "p-10.0.0.4"},
		"one came beside one made here":       {stored: objects{claimA(), its, stray, recordA()}, want: recordMade, answer: "p-10.0.0.5"},
		"a dead one's came beside it":         {stored: objects{claimA(), its, numbered("10.0.0.5", "22", ownedBy("dead")), recordA()}, want: together(recordMade, recordOwned), answer: "p-10.0.0.4"},
		"a dead one's, of whom nothing is":    {stored: objects{claimA(), dead}, want: together(recordMade, answerOwned), answer: "p-10.0.0.4"},
		"a dead one's, which was chosen here": {stored: objects{claimA(), dead, recordA(formerUID)}, want: answerGoes},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, byStatus{})
		})
	}
}

// ahead has a record be stored when records are listed, so that the index does not show it yet.
func ahead(record *ipamv1.IPAllocation) func(*site) {
	return func(w *site) {
		isStored := false
		w.Before = func(request string) {
			if request == "list IPAllocationList" && !isStored {
				isStored = true
				if err := w.Raw.Create(context.Background(), record.DeepCopy()); err != nil {
					panic(err)
				}
			}
		}
	}
}

// shared has answers that another controller has named as it likes.
var shared = clusterapi.Form{Others: map[schema.GroupKind]clusterapi.Ways{
	{Group: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind}: {
		Conventions:       door.Conventions{ClaimFinalizer: ipamv1.ClaimFinalizer, AnswerFinalizer: ipamv1.AddressFinalizer, IsShared: true},
		AddressAnnotation: ipamv1.AddressAnnotation,
	},
}}

// TestAnAnswerThatAnotherControllerHasNamed is found by the name of its claim, where pools are shared with that.
func TestAnAnswerThatAnotherControllerHasNamed(t *testing.T) {
	t.Parallel()
	otherwise, othersName := answerA(called("x"), withoutFinalizers), func(o client.Object) {
		if a, ok := o.(*ipamv1beta2.IPAddress); ok {
			a.Spec.ClaimRef.Name = "b"
		}
	}
	for sentence, test := range map[string]situation{
		"it is the claim's":                     {stored: objects{claimA(), otherwise}, want: together(recordMade, answerOwned), answer: "x"},
		"it is another claim's":                 {stored: objects{claimA(), answerA(called("x"), othersName)}, want: together(recordMade, recordMade, answerMade), answer: "a"},
		"it is out of a pool that is not one":   {stored: objects{claimA(), answerA(called("x"), othersPool)}, want: together(recordMade, answerMade), answer: "a"},
		"one has the name of the claim as well": {stored: objects{claimA(), answerA(), recordA(), answerA(called("x"), withAddress("10.0.0.9"), withUID("x"))}, want: together(recordMade, recordOwned, answerOwned), answer: "a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, shared)
		})
	}
}
