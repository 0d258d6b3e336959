// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// MayName says whether an object, a claim or a pool as records name them, may be named in what is written into this namespace:
// conditions and events, which its project reads. What cannot be found out may not be named. Where namespace is "", on a
// GlobalIPPool, nothing may: it is read by every project that it is visible to.
func (r *Rules) MayName(ctx context.Context, namespace string, object ipamv1.ClaimReference) bool {
	if namespace == "" {
		return false
	}
	if object.Namespace == namespace {
		return true
	}
	reader, err := r.OfNamespace(ctx, namespace)
	if err != nil {
		return false
	}
	owner, err := r.ofObject(ctx, object)
	return err == nil && reader.Sees(owner)
}

// MayNameReleased says whether a claim may be named that released a prefix at that time; the zero value is for one that has not. One
// of a namespace that has ended since may not: the namespace of that name is another tenant's now, or will be.
func (r *Rules) MayNameReleased(ctx context.Context, namespace string, claim ipamv1.ClaimReference, released time.Time) bool {
	return r.MayName(ctx, namespace, claim) && (released.IsZero() || claim.Namespace == "" || r.isSince(ctx, claim.Namespace, released))
}

// isSince says whether the namespace that there is now was there at a time. Both have whole seconds, and a release is rounded up.
func (r *Rules) isSince(ctx context.Context, namespace string, released time.Time) bool {
	meta, err := r.metaOf(ctx, namespace)
	return err == nil && meta != nil && released.After(meta.CreationTimestamp.Add(time.Second))
}

// ofObject returns the project of what a record is held for.
func (r *Rules) ofObject(ctx context.Context, object ipamv1.ClaimReference) (Project, error) {
	if object.Namespace != "" || object.GroupKind() != kinds.GlobalIPPool {
		return r.OfNamespace(ctx, object.Namespace)
	}
	p := &ipamv1.GlobalIPPool{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: object.Name}, p)
	switch {
	case apierrors.IsNotFound(err):
		return Project{}, nil
	case err != nil:
		return Project{}, fmt.Errorf("getting %s %s: %w", object.Kind, object.Name, err)
	}
	return r.OfPool(ctx, poolspec.Read(&p.Spec, p.PoolReference(), p.Labels))
}
