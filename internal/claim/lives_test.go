// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
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
	// told is the reason that the claim's Ready condition has in the end, if that is looked at.
	told string
}

// site is where the claim is about to be reconciled.
func (test situation) site(t *testing.T, form door.Form) *site {
	t.Helper()
	w := newSiteOf(t, form, test.stored, test.cached)
	if test.prepare != nil {
		test.prepare(w)
	}
	if test.late {
		if _, err := w.once(t); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(now.Add(grace))
	}
	return w
}

// run reconciles the claim once, and then again with each request failing in turn: that is reported, and nothing is written after it.
func (test situation) run(t *testing.T, form door.Form) {
	t.Helper()
	w := test.site(t, form)
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
	requests := w.Requests()
	if diff := cmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("writes (-want +got):\n%s%v", diff, err)
	}
	if got := w.readyReason(t); test.told != "" && got != test.told {
		t.Errorf("told %s, want %s", got, test.told)
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

// readyReason is the reason that the Ready condition of claim a has.
func (w *site) readyReason(t *testing.T) string {
	t.Helper()
	c := &ipamv1beta2.IPAddressClaim{}
	if err := client.IgnoreNotFound(w.Raw.Get(t.Context(), allocations.At("a"), c)); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, ipamv1.ReadyCondition); ready != nil {
		return ready.Reason
	}
	return ""
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
		"it is in the way":           {stored: objects{claimA(), former, record}, want: together(answerGoes, recordGoes)},
		"there is another claim":     {stored: objects{claimA(withUID("next")), former, record}, cached: objects{claimA(), former}},
		"it is the answer's":         {stored: objects{claimA(withUID("former")), former, record}, cached: objects{claimA(), former}},
		"there is no claim":          {stored: objects{former, record}, cached: objects{claimA(), former}},
		"it moves":                   {stored: objects{claimA(), answerA(ownedBy("former"), moving), record}},
		"others use it":              {stored: objects{claimA(), answerA(ownedBy("former"), withOthers), record}, want: answerGoes[:1]},
		"it is of no claim, deleted": {stored: objects{claimA(), answerA(ownedBy(""), deleted)}, want: answerGoes[1:]},
		"of no claim, not Weir's":    {stored: objects{claimA(), answerA(ownedBy(""), withoutFinalizers, withOthers, deleted)}},
		"it is its own":              {stored: objects{claimA(), answerA(atVersion("14")), recordA()}, cached: objects{claimA(), answerA(ownedBy("former"))}, want: answerGoes[:1]},
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
		"its answer and its record":         {stored: objects{c, former, recordA(formerUID)}, want: together(recordMade, answerOwned, recordGoes)},
		"its answer":                        {stored: objects{c, former}, want: together(recordMade, answerOwned)},
		"its answer, which is marked":       {stored: objects{claimA(), answerA(ownedBy("former"), arrived)}, want: together(recordMade, answerOwned)},
		"its answer, which is deleted":      {stored: objects{c, answerA(ownedBy("former"), deleted)}, want: together(recordMade, answerGoes[1:], answerMade)},
		"its answer cannot be read":         {stored: objects{c, answerA(ownedBy("former"), withAddress("x"))}},
		"its answer is deleted, unreadable": {stored: objects{c, answerA(ownedBy("former"), withAddress("x"), deleted)}},
		"its answer, to another claim":      {stored: objects{claimA(arrived, withUID("next")), former, recordA(formerUID)}, cached: objects{c, former}},
		"its answer, to no claim":           {stored: objects{former, recordA(formerUID)}, cached: objects{c, former}},
		"its answer has no owner":           {stored: objects{c, answerA(ownedBy(""))}, want: together(recordMade, answerOwned)},
		"its answer, of a pool before":      {stored: objects{claimA(), answerA(ownedBy("former"), ofPool("pool before"))}, want: together(recordMade, answerOwned)},
		"its record":                        {stored: objects{c, recordA(formerUID)}, want: together(recordMade, answerMade, recordGoes)},
		"its own record":                    {stored: objects{c, recordA()}, want: together(recordOwned, answerMade)},
		"two records":                       {stored: objects{c, recordA(formerUID), recordOf("former", "two", "10.0.0.5/32")}},
		"a record of another pool":          {stored: objects{c, recordA(formerUID, allocations.FromPool("q"))}},
		"a hold":                            {stored: objects{c, recordA(formerUID, movedState)}},
		"nothing":                           {stored: objects{c}},
		"nothing, for long":                 {stored: objects{c}, late: true, want: together([]string{"patch IPAddressClaim"}, recordMade, answerMade)},
		"its answer, a moment ago":          {stored: objects{c, former}, cached: objects{c}, late: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhoseAnAnswerIs: one that names no claim is the claim's if nothing else controls it, and its pool would hand it out to the claim.
func TestWhoseAnAnswerIs(t *testing.T) {
	t.Parallel()
	c, byHand := claimA(), []edit{ownedBy(""), withoutFinalizers}
	hand := func(edits ...edit) *ipamv1beta2.IPAddress { return answerA(append(byHand, edits...)...) }
	for sentence, test := range map[string]situation{
		"somebody made it by hand":               {stored: objects{c, hand()}, want: together(recordMade, answerOwned), told: ipamv1.ClaimReadyAllocatedReason},
		"by hand, and the claim has gone":        {stored: objects{hand()}, cached: objects{c, hand()}, want: recordMade},
		"by hand, and the claim is another one":  {stored: objects{claimA(withUID("next")), hand()}, cached: objects{c, hand()}, want: recordMade},
		"by hand, and the claim is deleted":      {stored: objects{claimA(deleted), hand()}, cached: objects{c, hand()}, want: recordMade},
		"by hand, and is deleted":                {stored: objects{c, hand(deleted, withOthers)}},
		"by hand, outside of the pool":           {stored: objects{c, hand(withAddress("10.1.0.4"))}},
		"by hand, and another claim has it":      {stored: objects{c, hand(), allocations.Named("b", "10.0.0.4/32")}},
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
		"its record is of another pool": {stored: objects{c, its, stray, own, recordOf("claim a", "second", "10.0.0.5/32", allocations.FromPool("q"))}, want: together(proved, recordGoes)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, byStatus{})
		})
	}
}
