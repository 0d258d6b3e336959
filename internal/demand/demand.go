// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Reader reads objects with a user's rights.
type Reader interface {
	// Object reads one object; nil unless it is Present.
	Object(ctx context.Context, kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, survey.Presence, error)
	// Objects lists those of a namespace, and returns false if the user may not.
	Objects(ctx context.Context, kind schema.GroupKind, namespace string) ([]*unstructured.Unstructured, bool, error)
}

// Question is what to reckon.
type Question struct {
	Namespace string
	// Cluster is the one to look at; "" means those of the manifests.
	Cluster string
	// Manifests are objects as they shall be. They come before what the API server has.
	Manifests []*unstructured.Unstructured
	// Replicas are how many machines a set shall have, by its name.
	Replicas map[string]int
	// ToMax: sets shall have as many machines as the autoscaler may give them.
	ToMax bool
	// Forms are how providers name pools.
	Forms []Form
	// InCluster: Weir serves the in-cluster provider's pools.
	InCluster bool
}

// Set is a set of machines, or a claim.
type Set struct {
	survey.Object
	// Template is that of the machines' infrastructure.
	Template survey.Object
	// Now is how many machines there are, Wanted how many there shall be, AtMost how many at once while they are
	// replaced: Wanted and Surge.
	Now, Wanted, Surge, AtMost int
	// Each has a pool for each address of a machine.
	Each []ipamv1.PoolReference
	// Length is the prefix length that a claim says itself; 0 for the pool's own.
	Length int
	// Claim is the manifest of a claim; nil of machines.
	Claim *unstructured.Unstructured

	// eachNow is of the machines that there are.
	eachNow []ipamv1.PoolReference
}

// Need is what is needed of a pool.
type Need struct {
	Pool ipamv1.PoolReference
	Amount
	// Prefixes is what is needed by claims that say a length themselves, by that length.
	Prefixes map[int]Amount
	// Renewed is how many addresses machines shall have of the pool. Each machine that is replaced gives one back and asks for it anew, also
	// where no more are needed at once.
	Renewed int
}

// IsLeft reports whether the machines shall have nothing of the pool.
func (n *Need) IsLeft() bool { return n.Now+n.ForGood == 0 && len(n.Prefixes) == 0 }

// Amount is how many addresses or prefixes there are now, and how many more are needed for good and at most.
type Amount struct{ Now, ForGood, AtMost int }

// Answer is what is needed.
type Answer struct {
	Sets  []Set
	Needs []Need
	// NotLookedAt are what may need addresses as well.
	NotLookedAt []string
	// Unseen are objects that the user may not see.
	Unseen []string
}

// Reckon answers a question.
func Reckon(ctx context.Context, live Reader, q Question) (*Answer, error) {
	r := &reckoning{live: live, q: q, files: manifests(q)}
	r.noteOthers()
	clusters, err := r.clusters(ctx)
	if err != nil {
		return nil, err
	}
	for _, cluster := range clusters {
		if err = r.addCluster(ctx, cluster); err != nil {
			return nil, err
		}
	}
	if err = r.addClaims(ctx); err != nil {
		return nil, err
	}
	if err = r.checkReplicas(); err != nil {
		return nil, err
	}
	r.answer.Needs = needs(r.answer.Sets)
	slices.Sort(r.answer.NotLookedAt)
	r.answer.NotLookedAt = slices.Compact(r.answer.NotLookedAt)
	slices.Sort(r.answer.Unseen)
	r.answer.Unseen = slices.Compact(r.answer.Unseen)
	return &r.answer, nil
}

// needs sums up the sets, pool by pool.
func needs(sets []Set) []Need {
	byPool := map[ipamv1.PoolReference]*Need{}
	for i := range sets {
		for _, pool := range unique(slices.Concat(sets[i].eachNow, sets[i].Each)) {
			need := byPool[pool]
			if need == nil {
				need = &Need{Pool: pool, Prefixes: map[int]Amount{}}
				byPool[pool] = need
			}
			amount := sets[i].of(pool)
			if sets[i].Claim == nil {
				need.Renewed += amount.Now + amount.ForGood
			}
			if length := sets[i].Length; length != 0 {
				need.Prefixes[length] = need.Prefixes[length].plus(amount)
			} else {
				need.Amount = need.plus(amount)
			}
		}
	}
	all := make([]Need, 0, len(byPool))
	for _, need := range byPool {
		all = append(all, *need)
	}
	slices.SortFunc(all, func(a, b Need) int { return cmp.Compare(survey.Name(a.Pool), survey.Name(b.Pool)) })
	return all
}

// of is what a set needs of a pool. Its machines of before, which may have had more of the pool, go one by one while those to come take
// their places.
func (s *Set) of(pool ipamv1.PoolReference) Amount {
	before, after := 0, 0
	for _, ref := range s.eachNow {
		if ref == pool {
			before++
		}
	}
	for _, ref := range s.Each {
		if ref == pool {
			after++
		}
	}
	now := s.Now * before
	return Amount{Now: now, ForGood: s.Wanted*after - now, AtMost: max(s.AtMost*after, now+(s.AtMost-s.Now)*after) - now}
}

func (a Amount) plus(b Amount) Amount {
	return Amount{Now: a.Now + b.Now, ForGood: a.ForGood + b.ForGood, AtMost: a.AtMost + b.AtMost}
}

// poolOf returns the pool that a reference in the namespace is to; false if it is not one of Weir's.
func (q *Question) poolOf(group, kind, name string) (ipamv1.PoolReference, bool) {
	ref := ipamv1.PoolReference{APIGroup: group, Kind: kind, Namespace: q.Namespace, Name: name}
	isServed := group != "" && name != ""
	switch ref.GroupKind() {
	case kinds.GlobalIPPool:
		ref.Namespace = ""
	case kinds.IPPool, metal3Pool:
	case survey.GlobalInClusterPool:
		ref.Namespace = ""
		isServed = isServed && q.InCluster
	case survey.InClusterPool:
		isServed = isServed && q.InCluster
	default:
		return ref, false
	}
	return ref.Canonical(), isServed
}
