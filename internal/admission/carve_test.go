// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// newCarver carves from IPPool ns/parent, 10.0.0.0/24 without its last /28 and with a DNS server, for users whose rights these are.
func newCarver(t *testing.T, rights Rights, stored ...client.Object) (carver, *memory.Site) {
	t.Helper()
	s := scheme(t)
	if err := corev1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "parent", UID: "pool parent"}, Spec: ipamv1.IPPoolSpec{
		CIDR: "10.0.0.0/24", ExcludedAddresses: []ipamv1.AddressEntry{"10.0.0.240/28"}, Network: &ipamv1.Network{DNSServers: []ipamv1.DNSServer{"192.0.2.53"}},
	}}
	block := allocations.Root("parent", "10.0.0.0/24", allocations.Confirmed)
	w := memory.New(t, memory.Options{
		Scheme: s, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
		Objects: append(stored, parent, block, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}),
	})
	registry := &pools.Registry{
		Client: w, Live: w, Ledger: w.Ledger, Namespace: "weir-system", Rules: &tenancy.Rules{Client: w, Platform: "platform", Namespace: "weir-system"},
		Federation: true,
	}
	registry.Register(parent)
	return carver{dispenser{w.Ledger, registry, &audit.Refusals{}}, rights}, w
}

// child is a new pool that is carved from the parent.
func child(edits ...func(*ipamv1.IPPool)) *ipamv1.IPPool {
	p := &ipamv1.IPPool{
		TypeMeta:   metav1.TypeMeta{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPPoolKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child"},
		Spec:       ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "parent"}, PrefixLength: ptr.To[int32](28)},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

func ofLength(bits int32) func(*ipamv1.IPPool) {
	return func(p *ipamv1.IPPool) { p.Spec.PrefixLength = &bits }
}

func ofBlock(cidr string) func(*ipamv1.IPPool) {
	return func(p *ipamv1.IPPool) { p.Spec.CIDR, p.Spec.PrefixLength = cidr, nil }
}

func ofParent(kind, name string) func(*ipamv1.IPPool) {
	return func(p *ipamv1.IPPool) { p.Spec.ParentRef = &ipamv1.ParentReference{Kind: kind, Name: name} }
}

func hasLabels(labels map[string]string) func(*ipamv1.IPPool) {
	return func(p *ipamv1.IPPool) { p.Labels = labels }
}

func ofMember(p *ipamv1.IPPool) { p.Spec.DelegateTo = "edge" }

func hasFinalizer(p *ipamv1.IPPool) { p.Finalizers = []string{ipamv1.PoolFinalizer} }

func isMarked(p *ipamv1.IPPool) {
	p.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "true"}
}

// proposed is what a pool has of a proposal.
type proposed struct {
	CIDR, Space                       string
	IsLabelled, HasArrived, IsGuarded bool
}

func proposedIn(p *ipamv1.IPPool) proposed {
	return proposed{p.Spec.CIDR, p.Spec.AddressSpace, p.Labels[ipamv1.AllocatedLabel] == "true", hasArrived(p), slices.Contains(p.Finalizers, ipamv1.PoolFinalizer)}
}

// TestTheBlockOfANewPool is proposed for a pool that is made here, and for no other.
func TestTheBlockOfANewPool(t *testing.T) {
	t.Parallel()
	sibling := allocations.Named("sibling-block", "10.0.0.0/25", allocations.FromPool("parent"), allocations.Carved("sibling"), allocations.Confirmed)
	own := allocations.Named("child-block", "10.0.0.0/28", allocations.FromPool("parent"), allocations.Carved("child"), allocations.Confirmed)
	lab := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "pool lab"}, Spec: ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: "other"}}
	labBlock := allocations.Root("lab", "10.0.0.0/24", allocations.Elsewhere, allocations.Confirmed)
	for sentence, test := range map[string]struct {
		pool      *ipamv1.IPPool
		stored    []client.Object
		operation admissionv1.Operation
		dry       bool
		rights    Rights
		cidr      string
		space     string
		code      int32
		warns     bool
		// arrived and finalizer are whether the patch leaves these on the pool.
		arrived, finalizer bool
	}{
		"of a length":                        {cidr: "10.0.0.0/28", finalizer: true},
		"the next one":                       {stored: []client.Object{sibling}, cidr: "10.0.0.128/28", finalizer: true},
		"one that it asks for":               {pool: child(ofBlock("10.0.0.32/28")), cidr: "10.0.0.32/28", finalizer: true},
		"one that is taken":                  {pool: child(ofBlock("10.0.0.32/28")), stored: []client.Object{sibling}, code: http.StatusConflict},
		"in a dry run":                       {dry: true, cidr: "10.0.0.0/28", finalizer: true},
		"one that is taken, in a dry run":    {pool: child(ofBlock("10.0.0.32/28")), stored: []client.Object{sibling}, dry: true, cidr: "10.0.0.32/28", warns: true, finalizer: true},
		"a larger one, in a dry run":         {pool: child(ofLength(25)), stored: []client.Object{sibling, allocations.Named("other", "10.0.0.128/25", allocations.FromPool("parent"), allocations.Carved("other"))}, dry: true, warns: true},
		"a larger one":                       {pool: child(ofLength(25)), stored: []client.Object{sibling, allocations.Named("other", "10.0.0.128/25", allocations.FromPool("parent"), allocations.Carved("other"))}, code: http.StatusInsufficientStorage},
		"one that is excluded":               {pool: child(ofBlock("10.0.0.240/28")), code: http.StatusUnprocessableEntity},
		"one that is excluded, in a dry run": {pool: child(ofBlock("10.0.0.240/28")), dry: true, cidr: "10.0.0.240/28", warns: true, finalizer: true},
		"beside labels":                      {pool: child(hasLabels(map[string]string{"a": "b"})), cidr: "10.0.0.0/28", finalizer: true},
		"it says that it has none":           {pool: child(hasLabels(map[string]string{ipamv1.AllocatedLabel: "false"})), cidr: "10.0.0.0/28", finalizer: true},
		"an update":                          {operation: admissionv1.Update},
		"without a parent":                   {pool: child(ofBlock("10.1.0.0/24"), func(p *ipamv1.IPPool) { p.Spec.ParentRef = nil })},
		"of addresses":                       {pool: child(func(p *ipamv1.IPPool) { p.Spec.Addresses, p.Spec.PrefixLength = []ipamv1.AddressEntry{"10.0.0.1"}, nil })},
		"of no parent that is there":         {pool: child(func(p *ipamv1.IPPool) { p.Spec.ParentRef.Name = "none" }), code: http.StatusNotFound},
		"of a parent of another space":       {pool: child(ofParent(ipamv1.IPPoolKind, "lab")), stored: []client.Object{lab, labBlock}, cidr: "10.0.0.0/28", space: "other", finalizer: true},
		"of a parent that is no pool":        {pool: child(ofParent("Pod", "parent"))},
		"of its own":                         {pool: child(func(p *ipamv1.IPPool) { p.Name = "parent" }), code: http.StatusUnprocessableEntity},
		"of a name that is none":             {pool: child(func(p *ipamv1.IPPool) { p.Name = "x_" })},
		"of a name that is there":            {pool: child(), stored: []client.Object{child(), own}, code: http.StatusConflict},
		"of a name that was there":           {pool: child(), stored: []client.Object{own}, cidr: "10.0.0.16/28", finalizer: true},
		"it came with it":                    {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer), rights: everybody, cidr: "10.0.0.32/28", arrived: true, finalizer: true},
		"it came with it, marked":            {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer, isMarked), rights: everybody, cidr: "10.0.0.32/28", arrived: true, finalizer: true},
		"it came with it, by anybody":        {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer, isMarked), cidr: "10.0.0.32/28", finalizer: true},
		"it came without, by who may":        {pool: child(hasFinalizer), rights: everybody, cidr: "10.0.0.0/28", finalizer: true},
		"it came with it, not released":      {pool: child(ofBlock("10.0.0.32/28")), rights: everybody, cidr: "10.0.0.32/28", finalizer: true},
		"it came with it, rights unknown":    {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer), rights: unknowing{}, code: http.StatusInternalServerError},
		"it came with one, and it is taken":  {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer), stored: []client.Object{sibling}, rights: everybody, cidr: "10.0.0.32/28", arrived: true, finalizer: true},
		"it is taken, and anybody made that": {pool: child(ofBlock("10.0.0.32/28"), hasFinalizer), stored: []client.Object{sibling}, code: http.StatusConflict},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			created := child()
			if test.pool != nil {
				created = test.pool
			}
			if test.rights == nil {
				test.rights = nobody
			}
			c, w := newCarver(t, test.rights, test.stored...)
			req := requestOf(t, created, test.operation, test.dry)
			w.Requests()
			response := poolDefaulter{c, ""}.Handle(t.Context(), req)
			if code := response.Result.Code; test.code != 0 && (response.Allowed || code != test.code) || test.code == 0 && !response.Allowed {
				t.Fatalf("%d: %s", response.Result.Code, response.Result.Message)
			}
			if test.code != 0 {
				return
			}
			stored := &ipamv1.IPPool{}
			if err := json.Unmarshal(patched(t, req.Object.Raw, response), stored); err != nil {
				t.Fatal(err)
			}
			wanted := proposed{cmp.Or(test.cidr, created.Spec.CIDR), test.space, test.cidr != "" && !test.arrived, test.arrived, test.finalizer}
			if got := proposedIn(stored); got != wanted {
				t.Errorf("got %+v, want %+v", got, wanted)
			}
			if (len(response.Warnings) > 0) != test.warns {
				t.Errorf("warnings %v", response.Warnings)
			}
			if writes := memory.Writes(w.Requests()); len(writes) > 0 {
				t.Errorf("written: %v", writes)
			}
		})
	}
}

// TestAPoolThatArrivesIsNotPropagated before its block is confirmed here: another pool may have that.
func TestAPoolThatArrivesIsNotPropagated(t *testing.T) {
	t.Parallel()
	allocated, both := map[string]string{ipamv1.AllocatedLabel: "true"}, map[string]string{ipamv1.AllocatedLabel: "true", ipamv1.DelegatedToLabel: "edge"}
	tier := map[string]string{"tier": "edge"}
	with := func(labels map[string]string) map[string]string {
		all := maps.Clone(labels)
		all["tier"] = "edge"
		return all
	}
	made := func(labels map[string]string, edits ...func(*ipamv1.IPPool)) *ipamv1.IPPool {
		return child(append([]func(*ipamv1.IPPool){ofBlock("10.0.0.32/28"), hasFinalizer, hasLabels(labels), ofMember}, edits...)...)
	}
	template := func(uid string) func(*ipamv1.IPPool) {
		return func(p *ipamv1.IPPool) {
			p.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "true", ipamv1.TemplateAnnotation: uid}
		}
	}
	forHere := func(p *ipamv1.IPPool) { p.Spec.DelegateTo = "" }
	for sentence, test := range map[string]struct {
		created, old *ipamv1.IPPool
		cluster      string
		rights       Rights
		want         map[string]string
	}{
		"it arrives with labels":                      {created: made(both), want: nil},
		"it arrives with labels of its own, too":      {created: made(with(both)), want: tier},
		"it arrives with one of them":                 {created: made(with(allocated)), want: tier},
		"it arrives without":                          {created: made(tier), want: tier},
		"it arrives, and is no member's":              {created: made(with(allocated), forHere), want: with(allocated)},
		"it is a copy, at its member":                 {created: made(with(both)), cluster: "edge", want: with(both)},
		"it is made here":                             {created: made(tier), rights: nobody, want: with(both)},
		"it gets them before its block is confirmed":  {old: made(nil, isMarked), created: made(both, isMarked), want: nil},
		"it gets them, and the mark is left out":      {old: made(tier, isMarked), created: made(with(both)), want: tier},
		"it gets them, as the copy of another":        {old: made(nil, isMarked), created: made(both, template("another")), want: nil},
		"it gets them with its name, once it is":      {old: made(nil, isMarked), created: made(both, template("pool child")), want: both},
		"it gets them back, once its block was":       {old: made(nil, template("pool child")), created: made(both, isMarked), want: both},
		"it had them before, and they are left out":   {old: made(both, isMarked), created: made(nil, isMarked), want: both},
		"it had them before, and they are kept":       {old: made(both, isMarked), created: made(with(both), isMarked), want: with(both)},
		"it gets them, and was made here":             {old: made(nil), created: made(both), want: both},
		"it gets them, and is no member's":            {old: made(nil, isMarked, forHere), created: made(allocated, isMarked, forHere), want: allocated},
		"it gets them at its member":                  {old: made(nil, isMarked), created: made(both, isMarked), cluster: "edge", want: both},
		"it gets them with a change of what it gives": {old: made(nil, isMarked), created: made(both, isMarked, func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.DrainingMode }), want: nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if test.rights == nil {
				test.rights = everybody
			}
			c, _ := newCarver(t, test.rights)
			c.registry.Cluster = test.cluster
			req := requestOf(t, test.created, admissionv1.Create, false)
			if test.old != nil {
				req = requestOf(t, test.created, admissionv1.Update, false)
				req.OldObject.Raw = requestOf(t, test.old, "", false).Object.Raw
			}
			stored := &ipamv1.IPPool{}
			if err := json.Unmarshal(patched(t, req.Object.Raw, poolDefaulter{c, ""}.Handle(t.Context(), req)), stored); err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(stored.Labels, test.want) {
				t.Errorf("labels %v, want %v", stored.Labels, test.want)
			}
		})
	}
}

// TestTheBlockOfANewPoolIsRecorded for its UID, last of all, if it is made here.
func TestTheBlockOfANewPoolIsRecorded(t *testing.T) {
	t.Parallel()
	made := func(edits ...func(*ipamv1.IPPool)) *ipamv1.IPPool {
		return child(append([]func(*ipamv1.IPPool){ofBlock("10.0.0.32/28"), hasFinalizer}, edits...)...)
	}
	sibling := allocations.Named("sibling-block", "10.0.0.0/25", allocations.FromPool("parent"), allocations.Carved("sibling"), allocations.Confirmed)
	own := allocations.Named("child-block", "10.0.0.0/28", allocations.FromPool("parent"), allocations.Carved("child"), allocations.Confirmed)
	for sentence, test := range map[string]struct {
		pool   *ipamv1.IPPool
		stored []client.Object
		dry    bool
		want   []string
		err    bool
	}{
		"it is made here":                          {pool: made(), want: []string{"create IPAllocation"}},
		"it is made here, in a dry run":            {pool: made(), dry: true},
		"it came with it":                          {pool: made(isMarked)},
		"it has no parent":                         {pool: made(ofBlock("10.1.0.0/24"), func(p *ipamv1.IPPool) { p.Spec.ParentRef = nil })},
		"its parent is not there":                  {pool: made(func(p *ipamv1.IPPool) { p.Spec.ParentRef.Name = "none" }), err: true},
		"its parent is not there, in a dry run":    {pool: made(func(p *ipamv1.IPPool) { p.Spec.ParentRef.Name = "none" }), dry: true},
		"it came with it, before its parent":       {pool: made(isMarked, func(p *ipamv1.IPPool) { p.Spec.ParentRef.Name = "none" })},
		"it is more than its parent":               {pool: made(ofBlock("10.0.0.0/16")), err: true},
		"it is more than its parent, in a dry run": {pool: made(ofBlock("10.0.0.0/16")), dry: true, err: true},
		"its member lacks the network above it":    {pool: made(func(p *ipamv1.IPPool) { p.Spec.DelegateTo = "edge" }), err: true},
		"others have it":                           {pool: made(), stored: []client.Object{sibling}, err: true},
		"others have it, in a dry run":             {pool: made(), stored: []client.Object{sibling}, dry: true},
		"it is there already":                      {pool: made(), stored: []client.Object{child(), own}, err: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c, w := newCarver(t, nobody, test.stored...)
			v := poolValidator[*ipamv1.IPPool]{Recorded{w.Ledger}, everything, c}
			w.Requests()
			_, err := v.ValidateCreate(admission.NewContextWithRequest(t.Context(), requestOf(t, test.pool, "", test.dry)), test.pool)
			if writes := memory.Writes(w.Requests()); !slices.Equal(writes, test.want) || (err != nil) != test.err {
				t.Errorf("written: %v, %v", writes, err)
			}
			claim := ledger.ClaimOf(kinds.Pool(kinds.IPPool, "ns", "child"), "pool child")
			if isRecorded := slices.ContainsFunc(w.Ledger.About(claim).Recorded(), func(h ledger.Holding) bool { return h.CIDR.String() == "10.0.0.32/28" }); isRecorded != (len(test.want) > 0) {
				t.Errorf("recorded: %v", w.Ledger.About(claim).Recorded())
			}
		})
	}
}

// TestTheBlockOfANewPoolIsNotRecordedWithoutAReview, which says whether it is a dry run.
func TestTheBlockOfANewPoolIsNotRecordedWithoutAReview(t *testing.T) {
	t.Parallel()
	c, w := newCarver(t, nobody)
	v := poolValidator[*ipamv1.IPPool]{Recorded{w.Ledger}, everything, c}
	w.Requests()
	_, err := v.ValidateCreate(t.Context(), child(ofBlock("10.0.0.32/28"), hasFinalizer))
	if writes := memory.Writes(w.Requests()); err == nil || len(writes) > 0 {
		t.Errorf("written: %v, %v", writes, err)
	}
}

// TestAPoolIsToldWhichParentItWaitsFor, also where not even that could be read in time.
func TestAPoolIsToldWhichParentItWaitsFor(t *testing.T) {
	t.Parallel()
	c, w := newCarver(t, nobody)
	slow := interceptor.NewClient(w, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return context.DeadlineExceeded
		},
	})
	c.registry.Client, c.registry.Live = slow, slow
	response := poolDefaulter{c, ""}.Handle(t.Context(), requestOf(t, child(), "", false))
	verdict{code: http.StatusTooManyRequests, parts: []string{"concurrent allocation from IPPool ns/parent; retry"}}.check(t, response)
}

// requestOf is a review of a pool that jo creates, or updates.
func requestOf(t *testing.T, p *ipamv1.IPPool, operation admissionv1.Operation, dry bool) admission.Request {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	req := request(cmp.Or(operation, admissionv1.Create), runtime.RawExtension{Raw: raw}, runtime.RawExtension{}, "jo")
	req.Kind, req.Namespace, req.Name, req.DryRun = kindNamed(ipamv1.IPPoolKind), p.Namespace, p.Name, &dry
	return req
}

// mayManageRecords is a user's right to manage records, or not.
type mayManageRecords bool

var everybody, nobody = mayManageRecords(true), mayManageRecords(false)

// May implements Rights.
func (m mayManageRecords) May(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, error) {
	return bool(m), nil
}
