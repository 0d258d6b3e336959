// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// addClaims adds the manifests' claims: for single addresses, and for prefixes of any length.
func (r *reckoning) addClaims(ctx context.Context) error {
	for _, object := range r.claims() {
		k := keyOf(object)
		pool, isPool := r.poolOfClaim(object)
		if !isPool {
			continue
		}
		set := Set{
			Object: survey.Object{APIGroup: k.kind.Group, Kind: k.kind.Kind, Namespace: r.q.Namespace, Name: cmp.Or(k.name, object.GetGenerateName())},
			Wanted: 1, AtMost: 1, Each: []ipamv1.PoolReference{pool}, Length: lengthOf(object), Claim: object,
		}
		if k.name != "" {
			now, _, err := r.read(ctx, k.kind, k.name)
			if err != nil {
				return err
			}
			if now != nil {
				set.Now, set.eachNow = 1, set.Each
			}
		}
		r.answer.Sets = append(r.answer.Sets, set)
	}
	return nil
}

// claims are the manifests' claims, by kind and name. Of several with one name the last counts; each without a name is one.
func (r *reckoning) claims() (all []*unstructured.Unstructured) {
	for _, object := range r.q.Manifests {
		k := keyOf(object)
		isClaim := k.kind == kinds.IPAddressClaim || k.kind == kinds.IPClaim
		isOurs := cmp.Or(object.GetNamespace(), r.q.Namespace) == r.q.Namespace
		if isClaim && isOurs && (k.name == "" || r.files[k] == object) {
			all = append(all, object)
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// poolOfClaim returns the pool that a claim names; false if it names none of Weir's.
func (r *reckoning) poolOfClaim(claim *unstructured.Unstructured) (ipamv1.PoolReference, bool) {
	kind, name := reference(claim, []string{"spec", "poolRef"})
	if keyOf(claim).kind == kinds.IPClaim {
		if name == "" {
			r.notLookedAt("%s %s, whose pool is chosen by labels", claim.GetKind(), cmp.Or(claim.GetName(), claim.GetGenerateName()))
			return ipamv1.PoolReference{}, false
		}
		kind = schema.GroupKind{Group: ipamv1.GroupVersion.Group, Kind: kind.Kind}
	}
	return r.q.poolOf(kind.Group, kind.Kind, name)
}

// lengthOf is the prefix length that a claim says; 0 for none.
func lengthOf(claim *unstructured.Unstructured) int {
	if keyOf(claim).kind != kinds.IPClaim {
		return 0
	}
	if cidr, err := netip.ParsePrefix(text(claim, "spec", "cidr")); err == nil {
		return cidr.Bits()
	}
	return number(claim, 0, "spec", "prefixLength")
}

// isCarved reports whether an object is one of Weir's pools that takes a block of another one.
func isCarved(object *unstructured.Unstructured) bool {
	kind := keyOf(object).kind
	_, found, _ := unstructured.NestedMap(object.Object, "spec", "parentRef")
	return found && (kind == kinds.IPPool || kind == kinds.GlobalIPPool)
}
