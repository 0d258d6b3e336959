// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// parentPath is where a pool names what it is carved from.
var parentPath = field.NewPath("metadata", "annotations").Key(m3v1.ParentAnnotation)

// parentOf returns the pool that a pool is carved from, and false where it names none, or none that there can be.
func parentOf(p *m3v1.IPPool) (parent ipamv1.PoolReference, ok bool) {
	name, isGlobal := strings.CutPrefix(p.Annotations[m3v1.ParentAnnotation], kinds.GlobalIPPool.Kind+"/")
	if !isGlobal || name == "" || len(content.IsPathSegmentName(name)) > 0 {
		return ipamv1.PoolReference{}, false
	}
	return kinds.Pool(kinds.GlobalIPPool, "", name), true
}

// hasArrived says whether a pool has had its addresses before it was created here: all that its spec says was granted. What the spec says since
// it was changed, or said without having it, is judged like anything else that is carved.
func hasArrived(p *m3v1.IPPool) bool {
	if p.Annotations[ipamv1.ArrivedAnnotation] == "" || p.Generation > 1 {
		return false
	}
	shape, errs := Read(&p.Spec, p.Namespace)
	return len(errs) == 0 && p.Annotations[ipamv1.GrantedAnnotation] == pools.GrantOf(pooltree.New(shape.Config).Blocks())
}

// checkParent refuses an annotation that names no GlobalIPPool, and what a pool that is carved cannot have: an address space that is not its
// parent's, and a range whose end nobody has said.
func checkParent(p *m3v1.IPPool) (errs field.ErrorList) {
	text, isCarved := p.Annotations[m3v1.ParentAnnotation]
	if !isCarved {
		return nil
	}
	if _, ok := parentOf(p); !ok {
		errs = append(errs, field.Invalid(parentPath, excerpt.Of(text), "must be "+kinds.GlobalIPPool.Kind+"/<name>"))
	}
	if _, ok := p.Annotations[m3v1.AddressSpaceAnnotation]; ok {
		errs = append(errs, field.Forbidden(spacePath, "the pool is of the address space of its parent, "+parentPath.String()))
	}
	for i := range p.Spec.Pools {
		if isOpen(p.Spec.Pools[i]) {
			errs = append(errs, field.Required(field.NewPath("spec", "pools").Index(i).Child("end"),
				"a pool with a parent takes no more than it says: set end or subnet"))
		}
	}
	return errs
}
