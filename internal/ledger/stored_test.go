// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
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

// TestAManagerTakesNoRecordWhoseFinalizersItCannotRead: others have one, and the patch would take that off.
func TestAManagerTakesNoRecordWhoseFinalizersItCannotRead(t *testing.T) {
	t.Parallel()
	errAway := errors.New("the API server does not answer")
	notFound := apierrors.NewNotFound(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a")
	for sentence, test := range map[string]struct{ fails, want error }{"it does not answer": {errAway, errAway}, "the record is gone": {notFound, ErrBusy}} {
		patched := false
		c := storedIn(t, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return test.fails
			},
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				patched = true
				return nil
			},
		})
		w, id := &writer{client: c, instance: "m2"}, records.Identity{Key: nameOf(recordNamed("a", "")), UID: "u", Version: "7", Foreign: true}
		_, errTaken := w.setManager(t.Context(), id, ipamv1.ActiveState)
		_, errOwned := w.own(t.Context(), id, claimFor("a"))
		if patched || !errors.Is(errTaken, test.want) || !errors.Is(errOwned, test.want) {
			t.Errorf("%s: patched %t, %v, %v", sentence, patched, errTaken, errOwned)
		}
	}
}

// TestWhatThisManagerHasDeletedIsMarked before the watch shows that it is gone.
func TestWhatThisManagerHasDeletedIsMarked(t *testing.T) {
	t.Parallel()
	l := newFed()
	l.client = storedIn(t, interceptor.Funcs{}, recordNamed("a", "10.0.0.1/32"))
	a := &ipamv1.IPAllocation{}
	if err := l.client.Get(t.Context(), nameOf(recordNamed("a", "")), a); err != nil {
		t.Fatal(err)
	}
	l.show(a)
	if err := l.delete(t.Context(), records.IdentityOf(a)); err != nil {
		t.Fatal(err)
	}
	if r := ask(l.x, (*book.Book).Named, nameOf(a)); r == nil || !r.Deleted {
		t.Errorf("the ledger shows %+v", r)
	}
}

// TestANameThatIsTakenIsBusy: another manager is answering the claim.
func TestANameThatIsTakenIsBusy(t *testing.T) {
	t.Parallel()
	taken := apierrors.NewAlreadyExists(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a")
	if err := (&writer{}).createError(taken); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
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
	errAway := errors.New("the API server does not answer")
	l.client = storedIn(t, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errAway }})
	if err := l.proveByList(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("without an answer: %v", err)
	}
}
