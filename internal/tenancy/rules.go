// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// Rules say who may use which pool. All methods are safe for use by any number of goroutines.
type Rules struct {
	// Client reads namespaces, as metadata only, and GlobalIPPools, from the manager's cache.
	Client client.Reader
	// Live reads a namespace from the API server that the cache does not know yet: it may just have been created. Nil: it is not
	// looked for.
	Live client.Reader
	// Platform is the name of the platform project.
	Platform string
	// Namespace is the manager's own: it belongs to the platform project, whatever its label says.
	Namespace string
}

// OfNamespace returns the project of a namespace: its label's, else one of its own. One that does not exist counts as unlabelled;
// "" is nobody's.
func (r *Rules) OfNamespace(ctx context.Context, namespace string) (Project, error) {
	switch namespace {
	case "":
		return Project{}, nil
	case r.Namespace:
		return labelledAs(r.Platform), nil
	}
	set, _, err := r.labelsOf(ctx, namespace)
	if project := labelledAs(set[ipamv1.ProjectLabel]); project != (Project{}) || err != nil {
		return project, err
	}
	return Project{alone, namespace}, nil
}

// OfPool returns the project of a pool: of an IPPool its namespace's, of a GlobalIPPool its label's or nobody.
func (r *Rules) OfPool(ctx context.Context, p poolspec.Pool) (Project, error) {
	if p.Ref.Namespace != "" {
		return r.OfNamespace(ctx, p.Ref.Namespace)
	}
	return labelledAs(p.Project), nil
}

// Owns says whether a namespace is of the pool's own project: where the pool has no bounds, others get nothing but the default
// length. A GlobalIPPool without label is nobody's own.
func (r *Rules) Owns(ctx context.Context, namespace string, p poolspec.Pool) (bool, error) {
	own, err := r.OfPool(ctx, p)
	if err != nil {
		return false, err
	}
	project, err := r.OfNamespace(ctx, namespace)
	return project.Sees(own), err
}

// MayClaim says whether claims in this namespace may take from the pool. The reason is for the user, and names nothing but the
// pool that was asked for and the namespace.
//
// An IPPool is for the claims of its own namespace, whatever its visibility.
func (r *Rules) MayClaim(ctx context.Context, namespace string, p poolspec.Pool) (ok bool, reason string, err error) {
	ref := p.Ref
	if ref.Namespace != "" {
		ok = namespace == ref.Namespace
	} else {
		ok, err = r.admits(ctx, p, asker{namespace: namespace})
	}
	return ok, reasonUnless(ok, ref, namespace), err
}

// MayCarve says whether child may be carved from parent, in the same manner. An IPPool's own namespace may always.
//
// A GlobalIPPool as child asks for its own project and has no namespace that a namespaceSelector could look at: where there is
// one, it must be of the parent's project.
func (r *Rules) MayCarve(ctx context.Context, child, parent poolspec.Pool) (ok bool, reason string, err error) {
	ref, namespace := parent.Ref, child.Ref.Namespace
	if ref.Namespace != "" && namespace == ref.Namespace {
		return true, "", nil
	}
	ok, err = r.admits(ctx, parent, asker{namespace: namespace, pool: &child})
	return ok, reasonUnless(ok, ref, namespace), err
}

// Absent is what somebody is told who asks for a pool that there is not, or that is not visible to him: which of the two is not
// told. The namespace is the asking one; "" for a cluster-scoped pool.
func Absent(pool ipamv1.PoolReference, namespace string) string {
	name, who := fmt.Sprintf("%s %q", excerpt.Of(pool.Kind), excerpt.Of(pool.Name)), "here"
	if pool.Namespace != "" {
		name += " in namespace " + pool.Namespace
	}
	if namespace != "" {
		who = "to namespace " + namespace
	}
	return fmt.Sprintf("there is no %s, or it is not visible %s", name, who)
}

func reasonUnless(ok bool, pool ipamv1.PoolReference, namespace string) string {
	if ok {
		return ""
	}
	return Absent(pool, namespace)
}

// asker is who wants to use a pool: a namespace, or a pool, which may have none.
type asker struct {
	namespace string
	pool      *poolspec.Pool
}

func (r *Rules) projectOf(ctx context.Context, a asker) (Project, error) {
	if a.namespace == "" && a.pool != nil {
		return r.OfPool(ctx, *a.pool)
	}
	return r.OfNamespace(ctx, a.namespace)
}

// admits says whether the pool's visibility admits who asks.
func (r *Rules) admits(ctx context.Context, p poolspec.Pool, a asker) (bool, error) {
	switch p.Visibility {
	case ipamv1.SharedVisibility:
		return r.selects(ctx, p, a)
	case ipamv1.PlatformVisibility:
		project, err := r.projectOf(ctx, a)
		return project.Sees(labelledAs(r.Platform)), err
	default:
		return r.isOf(ctx, p, a)
	}
}

// isOf says whether the pool and who asks are of one project.
func (r *Rules) isOf(ctx context.Context, p poolspec.Pool, a asker) (bool, error) {
	own, err := r.OfPool(ctx, p)
	if err != nil {
		return false, err
	}
	project, err := r.projectOf(ctx, a)
	return project.Sees(own), err
}

// selects says whether a shared pool's selector admits who asks. A selector that cannot be read selects nothing, nor does any
// select a namespace that is not known: it might be one for labels that are not there.
func (r *Rules) selects(ctx context.Context, p poolspec.Pool, a asker) (bool, error) {
	given := p.NamespaceSelector
	switch {
	case given == nil:
		return true, nil
	case a.namespace == "":
		return r.isOf(ctx, p, a)
	}
	selector, err := metav1.LabelSelectorAsSelector(given)
	if err != nil {
		return false, nil //nolint:nilerr // the pool's own mistake, shown in its Ready condition
	}
	set, known, err := r.labelsOf(ctx, a.namespace)
	return known && selector.Matches(set), err
}

// labelsOf returns the labels of a namespace, and whether it is known.
func (r *Rules) labelsOf(ctx context.Context, namespace string) (set labels.Set, known bool, err error) {
	meta, err := r.metaOf(ctx, namespace)
	if meta == nil {
		return nil, false, err
	}
	return meta.Labels, true, nil
}

// metaOf returns the metadata of a namespace, as the cache knows it, or else the API server; nil if there is none.
func (r *Rules) metaOf(ctx context.Context, namespace string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, meta)
	if apierrors.IsNotFound(err) && r.Live != nil {
		err = r.Live.Get(ctx, client.ObjectKey{Name: namespace}, meta)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // gone is an answer
	case err != nil:
		return nil, fmt.Errorf("getting namespace %s: %w", namespace, err)
	}
	return meta, nil
}
