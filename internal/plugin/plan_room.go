// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// planned is what is asked of pools: by claims that wait, which come first, by the manifests' claims, and by machines.
type planned struct {
	namespace string
	asks      []rehearsal.Ask
	err       error
}

// planAsks collects what is asked of the pools of which more is needed.
func planAsks(answer *demand.Answer, pools map[ipamv1.PoolReference]*survey.UsablePool, namespace string) *planned {
	p := &planned{namespace: namespace}
	for i := range answer.Needs {
		need := &answer.Needs[i]
		if !asksMore(need, pools[need.Pool]) {
			continue
		}
		for _, claim := range pools[need.Pool].Waiters {
			p.addWaiter(need.Pool, claim)
		}
		machines := need.AtMost
		for j := range answer.Sets {
			set := &answer.Sets[j]
			if set.Claim == nil || set.Now > 0 || set.Each[0] != need.Pool {
				continue
			}
			p.addClaim(need.Pool, set)
			if set.Length == 0 {
				machines--
			}
		}
		if machines > 0 {
			p.asks = append(p.asks, rehearsal.Ask{Pool: need.Pool, Ref: ipamv1.ClaimReference{Namespace: namespace}, Count: machines})
		}
	}
	return p
}

// asksMore reports whether anything is asked of a pool that it has not handed out: more is needed at once, or claims wait already, and the pool is
// not left for another one.
func asksMore(need *demand.Need, pool *survey.UsablePool) bool {
	if pool.Waiting > 0 && !need.IsLeft() {
		return true
	}
	for _, amount := range need.Prefixes {
		if amount.AtMost > 0 {
			return true
		}
	}
	return need.AtMost > 0
}

// addWaiter adds a claim that has nothing yet.
func (p *planned) addWaiter(pool ipamv1.PoolReference, claim *survey.ListedClaim) {
	ask := rehearsal.Ask{
		Pool: pool, Count: 1, Ref: ipamv1.ClaimReference{APIGroup: claim.APIGroup, Kind: claim.Kind, Namespace: claim.Namespace, Name: claim.Name},
	}
	if claim.APIGroup == ipamv1.GroupVersion.Group {
		ask.IPClaim = &ipamv1.IPClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name},
			Spec: ipamv1.IPClaimSpec{
				PoolRef: &ipamv1.ClaimPoolReference{Kind: pool.Kind, Name: pool.Name}, PrefixLength: claim.PrefixLength, CIDR: claim.CIDR,
			},
		}
	}
	p.asks = append(p.asks, ask)
}

// addClaim adds a claim of the manifests.
func (p *planned) addClaim(pool ipamv1.PoolReference, set *demand.Set) {
	ask := rehearsal.Ask{
		Pool: pool, Count: 1, Ref: ipamv1.ClaimReference{APIGroup: set.APIGroup, Kind: set.Kind, Namespace: p.namespace, Name: set.Claim.GetName()},
	}
	if set.APIGroup == ipamv1.GroupVersion.Group {
		claim, err := ipclaimOf(set.Claim)
		if err != nil {
			p.err = err
			return
		}
		ask.IPClaim = claim
		ask.IPClaim.Namespace = p.namespace
	}
	p.asks = append(p.asks, ask)
}

func ipclaimOf(object *unstructured.Unstructured) (*ipamv1.IPClaim, error) {
	claim := &ipamv1.IPClaim{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, claim); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kinds.IPClaim.Kind, object.GetName(), err)
	}
	return claim, nil
}

// rehearse has Weir's allocator answer all that is asked, with the user's rights.
func (p *planning) rehearse(ctx context.Context, s *survey.Survey, asked *planned) (map[ipamv1.PoolReference]*rehearsal.Room, error) {
	if asked.err != nil || len(asked.asks) == 0 {
		return nil, asked.err
	}
	stage, err := p.stage(ctx, s)
	if err != nil {
		return nil, err
	}
	return stage.Room(ctx, asked.asks)
}
