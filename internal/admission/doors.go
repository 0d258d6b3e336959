// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Doors are what the webhooks know of the front doors, whether or not their kinds are served: the forms of their claims, and the kinds of
// their pools.
type Doors struct {
	Forms []door.Form
	Pools []pools.Kind
	// Live reads pools, past the cache.
	Live client.Reader
}

// knows says whether claims or answers of a door are of the kind.
func (d Doors) knows(kind schema.GroupKind) bool {
	return slices.ContainsFunc(d.Forms, func(f door.Form) bool {
		return kind == f.Kinds().Claim.GroupKind() || kind == f.Kinds().Answer.GroupKind()
	})
}

// doorClaim is what a claim asks of which pool, and the finalizer that it has once a controller has looked after it.
type doorClaim struct {
	pool      door.PoolName
	finalizer string
}

// asks returns what a claim asks, and false for what is none.
func (d Doors) asks(kind schema.GroupKind, raw []byte) (doorClaim, bool) {
	for _, form := range d.Forms {
		stored := form.Kinds().NewClaim()
		if kind == form.Kinds().Claim.GroupKind() && read(raw, stored) {
			name := form.Asks(stored).Pool
			return doorClaim{name, form.Conventions(name).ClaimFinalizer}, true
		}
	}
	return doorClaim{}, false
}

// finalizer returns the one that a claim, answer or pool has once a controller has looked after it; "" for anything else.
func (d Doors) finalizer(kind schema.GroupKind, raw []byte) string {
	for _, pools := range d.Pools {
		if kind == pools.GroupKind {
			return pools.Finalizer
		}
	}
	if claim, ok := d.asks(kind, raw); ok {
		return claim.finalizer
	}
	answer, _ := d.answers(kind, raw)
	return answer.AnswerFinalizer
}

// doorAnswer is the pool that an answer is of, and what depends on that.
type doorAnswer struct {
	door.Conventions

	pool door.PoolName
}

// answers returns what an answer says, and false for what is none.
func (d Doors) answers(kind schema.GroupKind, raw []byte) (doorAnswer, bool) {
	for _, form := range d.Forms {
		stored := form.Kinds().NewAnswer()
		if kind == form.Kinds().Answer.GroupKind() && read(raw, stored) {
			name := form.Says(stored).Pool
			return doorAnswer{*form.Conventions(name), name}, true
		}
	}
	return doorAnswer{}, false
}

// stays says whether the pool that a claim of the namespace names stays where it is when clusterctl moves the claim. One that is gone, or
// unknown, does not.
func (d Doors) stays(ctx context.Context, name door.PoolName, namespace string) (bool, error) {
	kind, known := d.poolKind(name)
	if !known || kind.ClusterScoped || kind.Moves == nil {
		return known && kind.ClusterScoped, nil
	}
	stored, err := d.pool(ctx, name, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("getting %s %s: %w", name.Kind, excerpt.Of(name.Name), err)
	}
	return !kind.Moves(stored), nil
}

func (d Doors) poolKind(name door.PoolName) (pools.Kind, bool) {
	known := slices.Concat([]pools.Kind{pools.IPPools, pools.GlobalIPPools}, d.Pools)
	i := slices.IndexFunc(known, func(k pools.Kind) bool { return k.GroupKind == name.GroupKind })
	if i < 0 {
		return pools.Kind{}, false
	}
	return known[i], true
}

// pool reads live the pool that a claim or an answer of the namespace names. The error is the API server's; NotFound also where the kind is
// none.
func (d Doors) pool(ctx context.Context, name door.PoolName, namespace string) (pools.Object, error) {
	kind, known := d.poolKind(name)
	if !known || len(name.Name) > validation.DNS1123SubdomainMaxLength {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: name.Group, Resource: name.Kind}, excerpt.Of(name.Name))
	}
	if kind.ClusterScoped {
		namespace = ""
	}
	stored := kind.New()
	return stored, d.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name.Name}, stored)
}
