// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// world is an API server, of which every request is noted, and a ledger that knows no records. Nothing is to be read from the cache: that
// fails.
type world struct {
	*Exit

	requests []string
	// failAt is the number of the request that fails; 0 for none.
	failAt int
	// forbidden is the kind that must not be read.
	forbidden string
	// failList: no list is answered.
	failList bool
}

var (
	errFailed = errors.New("the API server does not answer")
	errCached = errors.New("read from the cache")
)

// note notes a request, and errs if it is to fail.
func (w *world) note(request string) error {
	w.requests = append(w.requests, request)
	switch {
	case len(w.requests) == w.failAt:
		return errFailed
	case w.forbidden != "" && request == "get "+w.forbidden:
		return apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	}
	return nil
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, ipamv1beta2.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	copies := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		o, _ = o.DeepCopyObject().(client.Object)
		o.SetManagedFields(nil) // those of the records are not complete
		copies = append(copies, o)
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{ipamv1beta2.GroupVersion, ipamv1.GroupVersion})
	mapper.Add(ipamv1beta2.GroupVersion.WithKind("IPAddressClaim"), meta.RESTScopeNamespace)
	mapper.Add(ipamv1.GroupVersion.WithKind(ipamv1.IPPoolKind), meta.RESTScopeNamespace)
	w := &world{}
	kindOf := func(c client.WithWatch, obj runtime.Object) string {
		kind, _ := c.GroupVersionKindFor(obj)
		return kind.Kind
	}
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(copies...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if w.failList {
				return errFailed
			}
			return c.List(ctx, list, o...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, o ...client.GetOption) error {
			if err := w.note("get " + kindOf(c, obj)); err != nil {
				return err
			}
			return c.Get(ctx, key, obj, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, o ...client.PatchOption) error {
			body, _ := p.Data(obj)
			if err := w.note(patched(string(body))); err != nil {
				return err
			}
			return c.Patch(ctx, obj, p, o...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.UpdateOption) error {
			if err := w.note("update " + kindOf(c, obj)); err != nil {
				return err
			}
			return c.Update(ctx, obj, o...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, o ...client.DeleteOption) error {
			if err := w.note("delete " + kindOf(c, obj)); err != nil {
				return err
			}
			return c.Delete(ctx, obj, o...)
		},
	})
	cache := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errCached
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errCached
		},
	})
	l := ledger.New(ledger.Options{Client: c, Instance: "m", Clock: clocktesting.NewFakePassiveClock(time.Unix(100, 0))})
	w.Exit = &Exit{Client: cache, Live: c, Ledger: l}
	return w
}

// patched says what a patch of a record does.
func patched(body string) string {
	for text, what := range map[string]string{
		`"Cooling"`: "cool", `"Retained"`: "retain", ipamv1.MovedAnnotation: "mark as moved", `"finalizers":null`: "take the finalizer off",
		`"Ended"`:                 "end",
		`"finalizers":["others"]`: "leave others' finalizer on",
	} {
		if strings.Contains(body, text) {
			return what
		}
	}
	return body
}

// free registers pool p without a cooldown: what is released in it is deleted.
func (w *world) free(t *testing.T) {
	t.Helper()
	block, err := ipspace.ParseEntry("10.0.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	area := pooltree.Area{Range: block, Network: pooltree.Network{Bits: 24}}
	w.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{area}}),
	})
}

// shown returns a record as the ledger shows it.
func (w *world) shown(t *testing.T, a *ipamv1.IPAllocation) ledger.Holding {
	t.Helper()
	stored := a.DeepCopy()
	if err := client.IgnoreNotFound(w.Live.Get(t.Context(), allocations.KeyOf(a), stored)); err != nil {
		t.Fatal(err)
	}
	r, err := records.Decode(stored, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.requests = nil
	return book.HoldingOf(r)
}

// inCluster labels the record as one of Cluster c.
func inCluster(a *ipamv1.IPAllocation) { a.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"} }

func held(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }

func withoutFinalizers(a *ipamv1.IPAllocation) { a.Finalizers = nil }

// pausedRecord has the annotation that pauses objects of Cluster API; on a record it says nothing.
func pausedRecord(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
}

func claimRef(edit func(*ipamv1.ClaimReference)) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { edit(&a.Spec.ClaimRef) }
}

func withOthers(a *ipamv1.IPAllocation) { a.Finalizers = append(a.Finalizers, "others") }

func leftToOthers(a *ipamv1.IPAllocation) {
	allocations.Terminating(a)
	a.Finalizers = []string{"others"}
}

// block makes the record one of a carved pool, and rootBlock one of a root.
var block, rootBlock = allocations.Carved("child"), allocations.Carved("p")

func withoutOwners(a *ipamv1.IPAllocation) { a.OwnerReferences = nil }

// back makes the block of a root one that was handed back.
func back(a *ipamv1.IPAllocation) {
	a.Spec.Purpose, a.Spec.ClaimRef.UID = ipamv1.HandBackPurpose, "template"
}

// withMember makes it a block that edge-a may use.
var withMember = allocations.DelegatedTo("edge-a")
