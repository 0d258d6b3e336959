// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// Annotations are the keys of those by which pools of other APIs name their address space and their parent.
type Annotations struct{ Space, Parent string }

// ParentOf returns the pool that a pool with these annotations is carved from, and false where it names none, or none that there can be.
func (a Annotations) ParentOf(annotations map[string]string) (parent ipamv1.PoolReference, ok bool) {
	name, isGlobal := strings.CutPrefix(annotations[a.Parent], kinds.GlobalIPPool.Kind+"/")
	if !isGlobal || name == "" || len(content.IsPathSegmentName(name)) > 0 {
		return ipamv1.PoolReference{}, false
	}
	return kinds.Pool(kinds.GlobalIPPool, "", name), true
}

// ParentPath is where a pool names its parent.
func (a Annotations) ParentPath() *field.Path { return annotationPath(a.Parent) }

// Check refuses an address space that Weir's own pools could not have, for the name of a space of a pool's own is not to be had by another; a parent
// that is no GlobalIPPool; and both together.
func (a Annotations) Check(annotations map[string]string) (errs field.ErrorList) {
	space, hasSpace := annotations[a.Space]
	if problems := validation.IsDNS1123Subdomain(space); space != "" && len(problems) > 0 {
		errs = append(errs, field.Invalid(annotationPath(a.Space), excerpt.Of(space), strings.Join(problems, "; ")))
	}
	text, hasParent := annotations[a.Parent]
	if _, ok := a.ParentOf(annotations); hasParent && !ok {
		errs = append(errs, field.Invalid(a.ParentPath(), excerpt.Of(text), "must be "+kinds.GlobalIPPool.Kind+"/<name>"))
	}
	if hasParent && hasSpace {
		errs = append(errs, field.Forbidden(annotationPath(a.Space), "the pool is of the address space of its parent, "+a.ParentPath().String()))
	}
	return errs
}

func annotationPath(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }
