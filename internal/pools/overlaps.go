// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// shownRanges is how many ranges a text names.
const shownRanges = 3

// Overlap is another pool, of another address space, that hands out addresses of a pool, too.
type Overlap struct {
	Other ipamv1.PoolReference
	// IsOlder: the other pool was created first.
	IsOlder bool
	// Shared is what both hand out.
	Shared *netipx.IPSet
}

// Overlaps returns the pools of other address spaces that hand out addresses of a pool, too, as the cache shows them: the older ones first, then by
// name. Only pools of kinds with ReportsOverlaps count, and of these only what they hand out here.
func (r *Registry) Overlaps(ctx context.Context, p Object) (found []Overlap) {
	kind, known := r.kindOfPool(p)
	if !known || !kind.ReportsOverlaps || r.IsForeign(p) {
		return nil
	}
	mine, space, isNamed, ref := openOf(&kind, p), r.Says(p).Space, kind.namesSpace(p), kind.Reference(p)
	for _, other := range r.Kinds() {
		if !other.ReportsOverlaps {
			continue
		}
		list := other.NewList()
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing pools")
			continue
		}
		_ = meta.EachListItem(list, func(obj runtime.Object) error {
			q, ok := obj.(Object)
			if !ok || other.Reference(q) == ref || r.Says(q).Space == space || r.IsForeign(q) || isNamed && other.namesSpace(q) {
				return nil // two spaces that somebody has named are two networks
			}
			if shared := mine.and(r.open.of(&other, q)); shared != nil {
				found = append(found, Overlap{Other: other.Reference(q), IsOlder: isOlder(q, p), Shared: shared})
			}
			return nil
		})
	}
	slices.SortFunc(found, func(a, b Overlap) int {
		return cmp.Or(compareBools(b.IsOlder, a.IsOlder), cmp.Compare(a.Other.Kind, b.Other.Kind),
			cmp.Compare(a.Other.Namespace, b.Other.Namespace), cmp.Compare(a.Other.Name, b.Other.Name))
	})
	return found
}

// namesSpace reports whether a pool names its address space by an annotation, or has that of its parent.
func (k *Kind) namesSpace(p Object) bool {
	says := k.Says(p)
	return says.IsCarved() || k.SpaceAnnotation != "" && p.GetAnnotations()[k.SpaceAnnotation] != ""
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// isOlder reports whether a pool was created before another one. One that has not been stored yet is the younger one; of two that were
// created in the same second the name decides.
func isOlder(q, p Object) bool {
	created, than := q.GetCreationTimestamp(), p.GetCreationTimestamp()
	switch {
	case than.IsZero() || created.Before(&than):
		return true
	case than.Before(&created):
		return false
	}
	return cmp.Or(cmp.Compare(q.GetNamespace(), p.GetNamespace()), cmp.Compare(q.GetName(), p.GetName())) < 0
}

// open is what a pool hands out; the zero value for nothing.
type open struct {
	*netipx.IPSet

	// span is from the first address to the last.
	span netipx.IPRange
}

// and returns what two pools both hand out; nil for nothing.
func (o open) and(other open) *netipx.IPSet {
	if o.IPSet == nil || other.IPSet == nil || !o.span.Overlaps(other.span) {
		return nil
	}
	var builder netipx.IPSetBuilder
	builder.AddSet(o.IPSet)
	builder.Intersect(other.IPSet)
	shared, err := builder.IPSet()
	if err != nil || len(shared.Ranges()) == 0 {
		return nil
	}
	return shared
}

// openOf computes what a pool hands out: all but its exclusions, reserved addresses and gateways. A pool that cannot be served hands out
// nothing.
func openOf(kind *Kind, p Object) open {
	shape, errs := kind.Resolve(p, nil)
	if len(errs) > 0 {
		return open{}
	}
	return openIn(shape)
}

func openIn(shape *pooltree.Pool) open {
	var builder netipx.IPSetBuilder
	builder.AddSet(shape.Addresses())
	for _, never := range shape.Excluded() {
		builder.RemovePrefix(never)
	}
	set, err := builder.IPSet()
	if err != nil {
		return open{}
	}
	ranges := set.Ranges()
	if len(ranges) == 0 {
		return open{}
	}
	return open{set, netipx.IPRangeFrom(ranges[0].From(), ranges[len(ranges)-1].To())}
}

// openSets remembers what pools hand out. The zero value is empty.
type openSets struct {
	mu    sync.Mutex
	known map[ipamv1.PoolReference]openVersion
}

// openVersion is what a version of a pool hands out.
type openVersion struct {
	uid        types.UID
	generation int64
	open       open
}

// of returns what a stored pool hands out.
func (s *openSets) of(kind *Kind, p Object) open {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := kind.Reference(p)
	if v, ok := s.known[ref]; ok && v.uid == p.GetUID() && v.generation == p.GetGeneration() {
		return v.open
	}
	if s.known == nil {
		s.known = map[ipamv1.PoolReference]openVersion{}
	}
	v := openVersion{p.GetUID(), p.GetGeneration(), openOf(kind, p)}
	s.known[ref] = v
	return v.open
}

// forget drops what is known of a pool that has gone.
func (s *openSets) forget(ref ipamv1.PoolReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, ref)
}

// SharedBy returns what any of these pools shares.
func SharedBy(overlaps []Overlap) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, o := range overlaps {
		builder.AddSet(o.Shared)
	}
	set, err := builder.IPSet()
	if err != nil { // all are of sets
		return &netipx.IPSet{}
	}
	return set
}

// shownOthers is how many pools a text names.
const shownOthers = 5

// OverlapText says what a pool shares with others. It names those of them that may be named.
func (r *Registry) OverlapText(p Object, overlaps []Overlap, mayName func(ipamv1.PoolReference) bool) string {
	kind, _ := r.kindOfPool(p)
	others := fmt.Sprintf("%d other pools", len(overlaps))
	if len(overlaps) == 1 {
		others = "another pool"
	}
	var names []string
	for _, o := range overlaps {
		if len(names) < shownOthers && mayName(o.Other) {
			names = append(names, excerpt.Of(o.Other.Kind)+" "+strings.TrimPrefix(o.Other.Namespace+"/"+o.Other.Name, "/"))
		}
	}
	switch {
	case len(names) == len(overlaps):
		others += " (" + strings.Join(names, ", ") + ")"
	case len(names) > 0:
		others += " (" + strings.Join(names, ", ") + ", ...)"
	}
	return fmt.Sprintf("spec.%s: shares %s with %s: none of these pools knows of the others' claims, so on one network an address may be in use twice",
		kind.AddressField, textOf(SharedBy(overlaps)), others)
}

// textOf names the first ranges of a set.
func textOf(set *netipx.IPSet) string {
	ranges := set.Ranges()
	shown := make([]string, 0, shownRanges)
	for _, r := range ranges[:min(len(ranges), shownRanges)] {
		shown = append(shown, textOfRange(r))
	}
	text := strings.Join(shown, ", ")
	switch more := len(ranges) - len(shown); more {
	case 0:
	case 1:
		text += " and 1 more range"
	default:
		text += fmt.Sprintf(" and %d more ranges", more)
	}
	return text
}

func textOfRange(r netipx.IPRange) string {
	if r.From() == r.To() {
		return r.From().String()
	}
	if p, ok := r.Prefix(); ok {
		return p.String()
	}
	return r.String()
}
