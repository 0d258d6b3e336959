// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// tenant may list the records of some namespaces only; "" is all.
type tenant struct {
	client.Client
	namespaces []string
}

func (c tenant) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	in := (&client.ListOptions{}).ApplyOptions(opts).Namespace
	if _, isRecords := list.(*ipamv1.IPAllocationList); isRecords && !slices.Contains(c.namespaces, "") && !slices.Contains(c.namespaces, in) {
		return apierrors.NewForbidden(schema.GroupResource{Group: ipamv1.GroupVersion.Group, Resource: "ipallocations"}, "", nil)
	}
	return c.Client.List(ctx, list, opts...)
}

// Get forbids namespaces.
func (c tenant) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if obj.GetObjectKind().GroupVersionKind().Kind == "Namespace" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, key.Name, nil)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// TestNamespacesThatMayNotBeRead: whether a claim may ask for a length that its pool does not name goes by the projects of both.
func TestNamespacesThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	pool := builder.IPPool("red", "p").WithCIDR("10.0.0.0/24").WithSpace("s").Build()
	s := stage(t, pool, block(pool, pool, "10.0.0.0/24"))
	s.Client = tenant{s.Client, []string{"red"}}
	ref, claim := pool.PoolReference(), builder.IPClaim("red", "c").From(ipamv1.IPPoolKind, "p").WithBits(25).Build()
	rooms, err := s.Room(t.Context(), []Ask{{Pool: ref, IPClaim: claim}})
	if err != nil || !apierrors.IsForbidden(rooms[ref].Unknown) {
		t.Errorf("%v, %+v", err, rooms[ref])
	}
}

// block is the record of a pool's block, which lives beside the pool.
func block(pool, parent *ipamv1.IPPool, cidr string) *ipamv1.IPAllocation {
	return allocations.Named(pool.Name+"-block", cidr, allocations.Carved(pool.Name), allocations.Confirmed, func(a *ipamv1.IPAllocation) {
		a.Namespace, a.OwnerReferences, a.ManagedFields = pool.Namespace, nil, nil
		a.Spec.AddressSpace, a.Spec.PoolRef = "s", parent.PoolReference()
		a.Spec.ClaimRef = kinds.Claim(kinds.IPPool, client.ObjectKeyFromObject(pool), pool.UID)
	})
}

// TestPoolsCarvedAcrossNamespaces: two claims ask for half of red/cluster-a each, and one for an address of blue/x, which has the first half of
// that.
func TestPoolsCarvedAcrossNamespaces(t *testing.T) {
	t.Parallel()
	const missing, enough, unknown = "missing", "enough", "unknown"
	for name, tc := range map[string]struct {
		// namespaces are those whose records the user may list; "" is all.
		namespaces []string
		// isAlone: nothing is carved from red/cluster-a.
		isAlone bool
		// parent and child are whether the pools have room; freeIn is what the first claim of each would get.
		parent, child             string
		freeInParent, freeInChild string
	}{
		"all are read": {
			namespaces: []string{""}, parent: missing, child: enough, freeInParent: "10.0.0.128/25 is free", freeInChild: "10.0.0.1/32 is free",
		},
		"those of either namespace are, and the room of both is asked for together": {
			namespaces: []string{"red", "blue"}, parent: missing, child: enough, freeInParent: unknown, freeInChild: "10.0.0.1/32 is free",
		},
		"those of the parent's namespace are": {
			namespaces: []string{"red"}, parent: unknown, child: unknown, freeInParent: unknown, freeInChild: unknown,
		},
		"those of the child's namespace are": {
			namespaces: []string{"blue"}, parent: unknown, child: unknown, freeInParent: unknown, freeInChild: unknown,
		},
		"all are read, of a pool that is not carved": {namespaces: []string{""}, isAlone: true, parent: enough, freeInParent: "10.0.0.0/25 is free"},
		"those of its namespace are":                 {namespaces: []string{"red"}, isAlone: true, parent: enough, freeInParent: "10.0.0.0/25 is free"},
		"none are":                                   {isAlone: true, parent: unknown, freeInParent: unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := builder.IPPool("red", "cluster-a").WithCIDR("10.0.0.0/24").WithSpace("s").WithLengths(25, 32, 32).Build()
			child := builder.IPPool("blue", "x").WithCIDR("10.0.0.0/25").WithSpace("s").WithParent(ipamv1.IPPoolKind, "red", "cluster-a").Build()
			parent.UID, child.UID = "cluster-a", "x"
			half := builder.IPClaim("red", "half").From(ipamv1.IPPoolKind, "cluster-a").WithBits(25).Build()
			other := builder.IPClaim("red", "other").From(ipamv1.IPPoolKind, "cluster-a").WithBits(25).Build()
			one := builder.IPClaim("blue", "one").From(ipamv1.IPPoolKind, "x").Build()
			objects := []client.Object{parent, block(parent, parent, "10.0.0.0/24"), half, one}
			asks := []Ask{{Pool: parent.PoolReference(), IPClaim: half}, {Pool: parent.PoolReference(), IPClaim: other}}
			if !tc.isAlone {
				parent.Status.Children = ptr.To[int32](1)
				objects = append(objects, child, block(child, parent, "10.0.0.0/25"))
				asks = append(asks, Ask{Pool: child.PoolReference(), IPClaim: one})
			}
			s := stage(t, objects...)
			s.Client = tenant{s.Client, tc.namespaces}
			rooms, err := s.Room(t.Context(), asks)
			if err != nil {
				t.Fatal(err)
			}
			if got := verdictOf(rooms[parent.PoolReference()]); got != tc.parent {
				t.Errorf("room of the parent: %s, want %s", got, tc.parent)
			}
			if got := explained(t, s, half); got != tc.freeInParent {
				t.Errorf("a claim of the parent: %s, want %s", got, tc.freeInParent)
			}
			if tc.isAlone {
				return
			}
			if got := verdictOf(rooms[child.PoolReference()]); got != tc.child {
				t.Errorf("room of the child: %s, want %s", got, tc.child)
			}
			if got := explained(t, s, one); got != tc.freeInChild {
				t.Errorf("a claim of the child: %s, want %s", got, tc.freeInChild)
			}
		})
	}
}

func verdictOf(room *Room) string {
	switch {
	case room.Unknown != nil:
		return "unknown"
	case len(room.Missing) > 0:
		return "missing"
	case len(room.Refused) > 0:
		return strings.Join(room.Refused, ", ")
	}
	return "enough"
}

// explained is what a claim would get, or why nothing.
func explained(t *testing.T, s *Stage, claim *ipamv1.IPClaim) string {
	t.Helper()
	e, err := s.Explain(t.Context(), kinds.IPClaim, client.ObjectKeyFromObject(claim))
	if err != nil {
		t.Fatal(err)
	}
	if _, isUnknown := e.First(explanation.Unknown); isUnknown {
		return "unknown"
	}
	if stop, isStopped := e.StoppedBy(); isStopped {
		return stop.Text
	}
	return e.Steps[len(e.Steps)-1].Text
}
