// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// firstPool is expanded below 20 % by up to three /25.
func firstPool() *ipamv1.IPPool {
	p := &ipamv1.IPPool{}
	p.Namespace, p.Name, p.UID = "fleet", "edge", "edge-uid"
	p.Labels = map[string]string{"ipam.weir.dev/project": "red", "cluster.x-k8s.io/watch-filter": "hub", "own": "label"}
	p.Spec = ipamv1.IPPoolSpec{
		ParentRef: &ipamv1.ParentReference{Kind: "GlobalIPPool", Name: "plan"}, PrefixLength: ptr.To[int32](24), CIDR: "10.0.0.0/24",
		AddressSpace: "lab", DelegateTo: "edge-a", ExcludedAddresses: []ipamv1.AddressEntry{"10.0.0.9"},
		PreAllocations: []ipamv1.PreAllocation{{ClaimName: "c", Namespace: "fleet", Address: "10.0.0.10"}},
		Expansion:      &ipamv1.Expansion{ThresholdPercent: 20, PrefixLength: 25, MaxPools: 3, Labels: map[string]string{"tier": "edge"}},
	}
	return p
}

// siblingPool is a /25 that was created beside it.
func siblingPool(n int) *ipamv1.IPPool {
	p := &ipamv1.IPPool{}
	p.Namespace, p.Name, p.UID = "fleet", fmt.Sprintf("edge-%d", n), types.UID(fmt.Sprintf("uid-%d", n))
	p.Annotations = map[string]string{ipamv1.SiblingOfAnnotation: "edge"}
	p.Spec = ipamv1.IPPoolSpec{CIDR: "10.0.1.0/25", DelegateTo: "edge-a"}
	return p
}

// reports has edge-a report how much of a pool is available.
func reports(p *ipamv1.IPPool, available, total string) *ipamv1.IPPool {
	p.Status.Member = &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: total, Available: available}}
	return p
}

// terminating has a pool be deleted, and held.
func terminating(p *ipamv1.IPPool) *ipamv1.IPPool {
	p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Unix(1, 0)), []string{ipamv1.PoolFinalizer}
	return p
}

// familyOf returns what a list of these pools shows of the first.
func familyOf(listed ...*ipamv1.IPPool) *family {
	f := &family{siblings: map[int]pools.Own{}}
	for _, p := range listed {
		f.add(p, firstPool())
	}
	return f
}

// TestWhenASiblingIsDue: by what one list shows.
func TestWhenASiblingIsDue(t *testing.T) {
	t.Parallel()
	with := func(p *ipamv1.IPPool, change func(*ipamv1.IPPool)) *ipamv1.IPPool {
		change(p)
		return p
	}
	full := func() *ipamv1.IPPool { return reports(firstPool(), "0", "256") }
	for name, test := range map[string]struct {
		listed []*ipamv1.IPPool
		// want is the reason of the condition: "" for none, "due" for none and a sibling that is due.
		want string
	}{
		"at the threshold":                       {listed: []*ipamv1.IPPool{reports(firstPool(), "20", "100")}, want: "Sufficient"},
		"just below it":                          {listed: []*ipamv1.IPPool{reports(firstPool(), "1999", "10000")}, want: "due"},
		"no address counts":                      {listed: []*ipamv1.IPPool{reports(firstPool(), "0", "0")}, want: "Sufficient"},
		"beyond 64 bits":                         {listed: []*ipamv1.IPPool{reports(firstPool(), "68056473384187692692674921486353642291", "340282366920938463463374607431768211455")}, want: "Sufficient"},
		"beyond 64 bits, just below":             {listed: []*ipamv1.IPPool{reports(firstPool(), "68056473384187692692674921486353642290", "340282366920938463463374607431768211455")}, want: "due"},
		"no report of the pool":                  {listed: []*ipamv1.IPPool{firstPool()}, want: "NotReported"},
		"a report of another cluster":            {listed: []*ipamv1.IPPool{with(full(), func(p *ipamv1.IPPool) { p.Status.Member.Cluster = "edge-b" })}, want: "NotReported"},
		"a report without numbers":               {listed: []*ipamv1.IPPool{reports(firstPool(), "", "")}, want: "NotReported"},
		"no report, and full siblings":           {listed: []*ipamv1.IPPool{firstPool(), reports(siblingPool(2), "0", "1000000")}, want: "NotReported"},
		"a sibling that helps":                   {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "128", "128")}, want: "Sufficient"},
		"a sibling that does not help":           {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "5", "128")}, want: "due"},
		"a sibling without a report":             {listed: []*ipamv1.IPPool{full(), siblingPool(2)}, want: "Sufficient"},
		"one that would not be enough":           {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "0", "1024"), siblingPool(3)}, want: "SiblingPending"},
		"one without a block yet":                {listed: []*ipamv1.IPPool{full(), with(siblingPool(2), func(p *ipamv1.IPPool) { p.Spec.CIDR = "" })}, want: "SiblingPending"},
		"one that the member refuses":            {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "0", "1024"), with(siblingPool(3), func(p *ipamv1.IPPool) { p.Status.Member = &ipamv1.MemberStatus{Cluster: "edge-a", Applied: "False"} })}, want: "SiblingPending"},
		"a sibling that is being deleted":        {listed: []*ipamv1.IPPool{full(), terminating(reports(siblingPool(2), "128", "128"))}, want: "due"},
		"one without a report, being deleted":    {listed: []*ipamv1.IPPool{full(), terminating(siblingPool(2))}, want: "due"},
		"as many as may be":                      {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "0", "9"), reports(siblingPool(3), "0", "9"), reports(siblingPool(4), "0", "9")}, want: "MaxPoolsReached"},
		"as many, one being deleted":             {listed: []*ipamv1.IPPool{full(), reports(siblingPool(2), "0", "9"), reports(siblingPool(3), "0", "9"), terminating(siblingPool(4))}, want: "MaxPoolsReached"},
		"as many, of numbers beyond the bound":   {listed: []*ipamv1.IPPool{full(), reports(siblingPool(7), "0", "9"), reports(siblingPool(8), "0", "9"), reports(siblingPool(9), "0", "9")}, want: "MaxPoolsReached"},
		"draining":                               {listed: []*ipamv1.IPPool{with(full(), func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.DrainingMode })}, want: "NotServing"},
		"serving, as it says":                    {listed: []*ipamv1.IPPool{with(full(), func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.ServingMode })}, want: "due"},
		"being deleted":                          {listed: []*ipamv1.IPPool{terminating(full())}},
		"gone":                                   {listed: []*ipamv1.IPPool{siblingPool(2)}},
		"another pool of the name":               {listed: []*ipamv1.IPPool{with(full(), func(p *ipamv1.IPPool) { p.UID = "another" })}},
		"not to be expanded any more":            {listed: []*ipamv1.IPPool{with(full(), func(p *ipamv1.IPPool) { p.Spec.Expansion = nil })}},
		"others' pools, whose names begin alike": {listed: []*ipamv1.IPPool{full(), with(siblingPool(2), func(p *ipamv1.IPPool) { p.Annotations = nil }), with(siblingPool(3), func(p *ipamv1.IPPool) { p.Spec.DelegateTo = "edge-b" }), siblingPool(1), with(siblingPool(4), func(p *ipamv1.IPPool) { p.Name = "edge-04" })}, want: "due"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, isDue := familyOf(test.listed...).judge()
			got := c.Reason
			if isDue {
				got += "due"
			}
			if got != test.want {
				t.Errorf("%q, want %q: %s", got, test.want, c.Message)
			}
			if (c.Type == "") != (c.Reason == "") || c.Type != "" && c.Type != "Expanded" {
				t.Errorf("condition %+v", c)
			}
		})
	}
}

// TestWhatASiblingIs: what is the first pool's own it does not have.
func TestWhatASiblingIs(t *testing.T) {
	t.Parallel()
	own, _ := familyOf(firstPool()).sibling(pools.IPPools, 2)
	got, _ := own.(*ipamv1.IPPool)
	want := &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "fleet", Name: "edge-2",
			Labels:      map[string]string{"tier": "edge", "ipam.weir.dev/project": "red", "cluster.x-k8s.io/watch-filter": "hub"},
			Annotations: map[string]string{"ipam.weir.dev/sibling-of": "edge"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "ipam.weir.dev/v1alpha1", Kind: "IPPool", Name: "edge", UID: "edge-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: ipamv1.IPPoolSpec{
			ParentRef: &ipamv1.ParentReference{Kind: "GlobalIPPool", Name: "plan"}, PrefixLength: ptr.To[int32](25), DelegateTo: "edge-a",
			ExcludedAddresses: []ipamv1.AddressEntry{"10.0.0.9"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if numberOf(got, firstPool()) != 2 {
		t.Error("it is not known for a sibling")
	}
}

// hub is an API server with one delegated pool.
type hub struct {
	t *testing.T
	client.WithWatch
}

func newHub(t *testing.T, stored ...*ipamv1.IPPool) hub {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := ipamv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&ipamv1.IPPool{}, "spec.delegateTo", func(o client.Object) []string {
		p, _ := o.(*ipamv1.IPPool)
		return []string{p.Spec.DelegateTo}
	})
	for _, p := range stored {
		builder.WithObjects(p)
	}
	return hub{t, builder.Build()}
}

// manager returns one that does this between its live list and its create, and whose creates come to
// what the hub, or denied, says.
func (h hub) manager(between func(), denied error) *Expander {
	created := interceptor.NewClient(h.WithWatch, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.CreateOption) error {
		if denied != nil {
			return denied
		}
		return c.Create(ctx, obj, o...)
	}})
	listed := interceptor.NewClient(h.WithWatch, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		err := c.List(ctx, list, o...)
		between()
		return err
	}})
	return &Expander{Kind: pools.IPPools, Client: created, Live: listed, Recorder: events.NewFakeRecorder(100)}
}

func (h hub) expand(e *Expander) metav1.Condition {
	h.t.Helper()
	c, err := e.Expand(h.t.Context(), firstPool())
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// siblings are the names of those that are stored.
func (h hub) siblings() (names []string) {
	h.t.Helper()
	list := &ipamv1.IPPoolList{}
	if err := h.List(h.t.Context(), list); err != nil {
		h.t.Fatal(err)
	}
	for _, p := range list.Items {
		if p.Name != "edge" {
			names = append(names, p.Name)
		}
	}
	return names
}

// report has edge-a report how much of a /25 is available.
func (h hub) report(name, available string) {
	h.t.Helper()
	p := &ipamv1.IPPool{}
	if err := h.Get(h.t.Context(), client.ObjectKey{Namespace: "fleet", Name: name}, p); err != nil {
		h.t.Fatal(err)
	}
	if err := h.Update(h.t.Context(), reports(p, available, "128")); err != nil {
		h.t.Fatal(err)
	}
}

func nothing() {}

// TestThreeManagersAndOneShortage: each lists before any creates, or after; and a cache of before
// makes no difference.
func TestThreeManagersAndOneShortage(t *testing.T) {
	t.Parallel()
	h := newHub(t, reports(firstPool(), "10", "256"))
	before := newHub(t, reports(firstPool(), "10", "256"))
	lists := 0
	third := h.manager(func() { lists++ }, nil)
	second := h.manager(func() { lists++; h.expand(third) }, nil)
	first := h.manager(func() { lists++; h.expand(second) }, nil)
	for i, e := range []*Expander{first, third, second, first} {
		if c := h.expand(e); i == 0 && c.Reason != "SiblingPending" {
			t.Errorf("the last to create: %+v", c)
		}
		h.expand(&Expander{Kind: e.Kind, Client: staleReader{h.WithWatch, before}, Live: e.Live, Recorder: e.Recorder})
		if got := h.siblings(); !slices.Equal(got, []string{"edge-2"}) {
			t.Fatalf("siblings %v after %d", got, i)
		}
	}
	if lists < 3 {
		t.Errorf("%d live lists", lists)
	}
	told := 0
	for _, e := range []*Expander{first, second, third} {
		recorder, _ := e.Recorder.(*events.FakeRecorder)
		told += len(recorder.Events)
	}
	if told != 1 {
		t.Errorf("%d events", told)
	}
}

// staleReader lists what another hub has.
type staleReader struct {
	client.WithWatch

	stale client.Reader
}

func (s staleReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.stale.List(ctx, list, options...)
}

// TestTenShortagesGiveTenSiblings: with two managers, each of which sees every shortage before the other
// creates.
func TestTenShortagesGiveTenSiblings(t *testing.T) {
	t.Parallel()
	p := reports(firstPool(), "0", "256")
	p.Spec.Expansion.MaxPools = 10
	h := newHub(t, p)
	other := h.manager(nothing, nil)
	one := h.manager(func() { h.expand(other) }, nil)
	for n := 2; n <= 11; n++ {
		h.expand(one)
		h.expand(other)
		name := fmt.Sprintf("edge-%d", n)
		if got := h.siblings(); len(got) != n-1 || !slices.Contains(got, name) {
			t.Fatalf("siblings %v after shortage %d", got, n-1)
		}
		h.report(name, "128")
		if c := h.expand(one); n < 5 && c.Reason != "Sufficient" {
			t.Fatalf("while %s is empty: %+v", name, c)
		}
		h.report(name, "0")
	}
	if c := h.expand(one); c.Reason != "MaxPoolsReached" || !strings.Contains(c.Message, "10 further pools of spec.expansion.maxPools 10") || len(h.siblings()) != 10 {
		t.Errorf("%+v with %v", c, h.siblings())
	}
}

// TestADeletedSiblingFreesItsNumber: once it has gone, and not before.
func TestADeletedSiblingFreesItsNumber(t *testing.T) {
	t.Parallel()
	h := newHub(t, reports(firstPool(), "0", "256"), terminating(siblingPool(2)), reports(siblingPool(3), "0", "128"))
	e := h.manager(nothing, nil)
	h.expand(e)
	if got := h.siblings(); !slices.Equal(got, []string{"edge-2", "edge-3", "edge-4"}) {
		t.Errorf("siblings %v while one is being deleted", got)
	}
	h.report("edge-4", "0")
	if c := h.expand(e); c.Reason != "MaxPoolsReached" {
		t.Errorf("%+v", c)
	}
	gone := siblingPool(2)
	if err := h.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); err != nil {
		t.Fatal(err)
	}
	gone.Finalizers = nil
	if err := h.Update(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	h.expand(e)
	if got := h.siblings(); !slices.Equal(got, []string{"edge-2", "edge-3", "edge-4"}) {
		t.Errorf("siblings %v once it has gone", got)
	}
}

// TestNamesThatOtherPoolsHaveArePassedOver: they are left alone, and named where no other is left.
func TestNamesThatOtherPoolsHaveArePassedOver(t *testing.T) {
	t.Parallel()
	stranger := func(n int) *ipamv1.IPPool {
		p := siblingPool(n)
		p.Annotations = nil
		return p
	}
	h := newHub(t, reports(firstPool(), "0", "256"), stranger(2), stranger(4))
	e := h.manager(nothing, nil)
	if c := h.expand(e); !strings.Contains(c.Message, "pool edge-3 is to follow") {
		t.Errorf("%+v", c)
	}
	h.report("edge-3", "0")
	if c := h.expand(e); c.Reason != "MaxPoolsReached" || !strings.HasSuffix(c.Message, "other pools have edge-2, edge-4") {
		t.Errorf("%+v", c)
	}
	if got := h.siblings(); !slices.Equal(got, []string{"edge-2", "edge-3", "edge-4"}) {
		t.Errorf("siblings %v", got)
	}
}

// TestASiblingThatIsNotCreated: what would be refused again is said, anything else is tried again.
func TestASiblingThatIsNotCreated(t *testing.T) {
	t.Parallel()
	status := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: "in words"}}
	}
	for _, code := range []int32{http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInsufficientStorage} {
		h := newHub(t, reports(firstPool(), "0", "256"))
		if c := h.expand(h.manager(nothing, status(code))); c.Reason != "Refused" || c.Message != "pool edge-2 is refused: in words" {
			t.Errorf("%d: %+v", code, c)
		}
	}
	for _, failed := range []error{status(http.StatusTooManyRequests), status(http.StatusInternalServerError), errors.New("cut off")} {
		h := newHub(t, reports(firstPool(), "0", "256"))
		if c, err := h.manager(nothing, failed).Expand(t.Context(), firstPool()); !errors.Is(err, failed) || c.Type != "" {
			t.Errorf("%v: %+v, %v", failed, c, err)
		}
	}
}
