// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// Names that stand for several kinds.
const (
	// AnyClaim is a claim of any kind.
	AnyClaim = "claim"
	// AnyPool is a pool of any kind.
	AnyPool = "pool"
)

var (
	// poolKinds are served by every Weir that has them; see Survey.poolKinds.
	poolKinds  = []schema.GroupKind{kinds.IPPool, kinds.GlobalIPPool, {Group: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind}}
	claimKinds = []schema.GroupKind{claimForms[0].kind, claimForms[1].kind, claimForms[2].kind}
)

// Told is what Weir has committed to the status of a claim or pool.
type Told struct {
	Object
	IsPool     bool
	Generation int64
	// DeletingSince is zero unless the object is being deleted. Finalizers keep it then.
	DeletingSince time.Time
	Finalizers    []string
	Conditions    []metav1.Condition
	// ErrorMessage is that of a claim of Metal3's.
	ErrorMessage string
	// Address is what the claim has.
	Address *Address
	// Pool is that of the claim; nil if it is another provider's.
	Pool *NamedPool
}

// NamedPool is a pool that a claim names.
type NamedPool struct {
	Object
	Presence Presence
	// State is a reason of the condition Ready, or a state of pools. It is empty unless the pool is
	// Present.
	State, Message string
}

// Answer is what Weir has told those that a name stands for.
type Answer struct {
	// Owner is what owns the claims; nil if the name is that of claims or pools.
	Owner *Object
	Told  []*Told
	// IsHidden: the user may not see all that the name may stand for.
	IsHidden bool
}

// Told reads what Weir has told the claims and pools of a name, or the claims of an owner. Without a
// kind the name is that of claims or pools.
func (s *Survey) Told(ctx context.Context, namespace, kind, name string) (*Answer, error) {
	pools, err := s.poolKinds(ctx)
	if err != nil {
		return nil, err
	}
	candidates, err := s.kindsOf(kind, pools)
	if err != nil {
		return nil, err
	}
	answer := &Answer{}
	for _, candidate := range candidates {
		object, presence, err := s.object(ctx, candidate, namespace, name)
		if err != nil {
			return nil, err
		}
		answer.IsHidden = answer.IsHidden || presence == Hidden
		if object == nil {
			continue
		}
		found := []*unstructured.Unstructured{object}
		if !slices.Contains(slices.Concat(claimKinds, pools), candidate) {
			answer.Owner = ObjectOf(object)
			if found, err = s.ownedClaims(ctx, object); err != nil {
				return nil, err
			}
		}
		for _, o := range found {
			told, err := s.told(ctx, o, pools)
			if err != nil {
				return nil, err
			}
			answer.Told = append(answer.Told, told)
		}
	}
	return answer, nil
}

// kindsOf returns the kinds that a word stands for, where Weir serves these kinds of pools.
func (s *Survey) kindsOf(word string, pools []schema.GroupKind) ([]schema.GroupKind, error) {
	switch word = strings.ToLower(word); word {
	case "":
		return slices.Concat(claimKinds, pools), nil
	case AnyClaim, AnyClaim + "s":
		return claimKinds, nil
	case AnyPool, AnyPool + "s":
		return pools, nil
	}
	resource := schema.ParseGroupResource(word)
	served, err := s.mapper.KindsFor(resource.WithVersion(""))
	switch {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the API server has no kind %q; write claim/NAME, pool/NAME, machine/NAME or KIND.GROUP/NAME", word)
	case err != nil:
		return nil, fmt.Errorf("looking up kind %s: %w", word, err)
	}
	var found []schema.GroupKind
	for _, kind := range served {
		if !slices.Contains(found, kind.GroupKind()) {
			found = append(found, kind.GroupKind())
		}
	}
	return found, nil
}

// ObjectOf returns how an object is named.
func ObjectOf(o *unstructured.Unstructured) *Object {
	kind := o.GroupVersionKind()
	return &Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// IsClaim reports whether an object is a claim of a kind that Weir answers, for whatever pool.
func IsClaim(o *unstructured.Unstructured) bool {
	return slices.Contains(claimKinds, o.GroupVersionKind().GroupKind())
}

// IsPool reports whether an object is a pool of a kind that Weir serves here.
func (s *Survey) IsPool(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	served, err := s.poolKinds(ctx)
	return slices.Contains(served, o.GroupVersionKind().GroupKind()), err
}

// PoolOf returns the pool of Weir's that a claim names; nil if it names none.
func (s *Survey) PoolOf(ctx context.Context, claim *unstructured.Unstructured) (*Object, error) {
	served, err := s.poolKinds(ctx)
	if err != nil {
		return nil, err
	}
	var fields claimFields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(claim.Object, &fields); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s", ObjectOf(claim)), err)
	}
	read := fields.claim(*ObjectOf(claim), served)
	if read == nil {
		return nil, nil
	}
	kind := read.Pool.GroupKind()
	return &Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: read.Pool.Namespace, Name: read.Pool.Name}, nil
}

// told reads one object, where Weir serves these kinds of pools.
func (s *Survey) told(ctx context.Context, object *unstructured.Unstructured, pools []schema.GroupKind) (*Told, error) {
	var fields claimFields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s", ObjectOf(object)), err)
	}
	t := &Told{
		Object: *ObjectOf(object), Generation: object.GetGeneration(), Conditions: fields.Status.Conditions, ErrorMessage: fields.Status.ErrorMessage,
	}
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		t.DeletingSince, t.Finalizers = deleted.Time, object.GetFinalizers()
	}
	kind := object.GroupVersionKind().GroupKind()
	if t.IsPool = slices.Contains(pools, kind); t.IsPool {
		return t, nil
	}
	claim := fields.claim(t.Object, pools)
	if claim == nil {
		return t, nil
	}
	var err error
	if t.Address, err = s.address(ctx, object); err != nil {
		return nil, err
	}
	t.Pool, err = s.stateOfPool(ctx, claim.Pool)
	return t, err
}

// stateOfPool reads how the pool of a claim stands.
func (s *Survey) stateOfPool(ctx context.Context, ref ipamv1.PoolReference) (*NamedPool, error) {
	kind := ref.GroupKind()
	p := &NamedPool{Object: Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: ref.Namespace, Name: ref.Name}}
	object, presence, err := s.object(ctx, kind, ref.Namespace, ref.Name)
	if p.Presence = presence; err != nil || object == nil {
		return p, err
	}
	var fields claimFields
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s", p.Object), err)
	}
	p.State, p.Message = stateOf(object, fields.Status.Conditions)
	return p, nil
}
