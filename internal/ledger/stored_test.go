// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// storedIn returns a client of an API server that has those records, and what it answers otherwise.
func storedIn(t *testing.T, faults interceptor.Funcs, stored ...*ipamv1.IPAllocation) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := ipamv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	for _, a := range stored {
		a = a.DeepCopy()
		a.ManagedFields = nil // those of the records are not complete
		b = b.WithObjects(a)
	}
	return interceptor.NewClient(b.Build(), faults)
}

// TestAManagerTakesNoRecordThatHasChanged: between the watch's event and the patch, somebody else has put a finalizer on the record. The
// patch would take that off.
func TestAManagerTakesNoRecordThatHasChanged(t *testing.T) {
	t.Parallel()
	const others = "example.com/backup"
	c := storedIn(t, interceptor.Funcs{}, recordNamed("a", "10.0.0.1/32"))
	stored := func() *ipamv1.IPAllocation {
		a := &ipamv1.IPAllocation{}
		if err := c.Get(t.Context(), nameOf(recordNamed("a", "")), a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	seen := records.IdentityOf(stored())
	changed := stored()
	changed.Finalizers = append(changed.Finalizers, others)
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}

	w := &writer{client: c, instance: "m2"}
	for what, write := range map[string]func() (records.Identity, error){
		"a takeover":     func() (records.Identity, error) { return w.setManager(t.Context(), seen, ipamv1.ActiveState) },
		"a confirmation": func() (records.Identity, error) { return w.setManager(t.Context(), seen, ipamv1.ConfirmedState) },
		"new owners":     func() (records.Identity, error) { return w.own(t.Context(), seen, claimFor("a")) },
	} {
		if _, err := write(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", what, err)
		}
		if got := stored(); got.Spec.Manager.Instance != "m" || !slices.Contains(got.Finalizers, others) {
			t.Errorf("%s has changed the record: manager %s, finalizers %v", what, got.Spec.Manager.Instance, got.Finalizers)
		}
	}
}

// TestAProofByListReadsEveryPage: the API server answers in pages of one record.
func TestAProofByListReadsEveryPage(t *testing.T) {
	t.Parallel()
	all := []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32"), recordNamed("b", "10.0.0.2/32")}
	paged := interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		asked, page := (&client.ListOptions{}).ApplyOptions(options), 0
		if asked.Continue == "b" {
			page = 1
		}
		into, _ := list.(*ipamv1.IPAllocationList)
		into.Items = []ipamv1.IPAllocation{*all[page]}
		into.Continue = []string{"b", ""}[page]
		return nil
	}}
	l := newFed()
	l.client = storedIn(t, paged)
	l.put(all[0])
	if err := l.proveByList(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("with a record on the second page that the watch has not shown: %v, want ErrBusy", err)
	}
	l.put(all[1])
	if err := l.proveByList(t.Context()); err != nil {
		t.Errorf("with all records seen: %v", err)
	}
}
