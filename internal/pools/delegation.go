// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// federationClosed is why a delegated pool is refused while the gate is closed.
const federationClosed = "delegated pools need the feature gate Federation: start the manager with --feature-gates=Federation=true"

// CheckFederation refuses a delegated pool while the gate for them is closed.
func (r *Registry) CheckFederation(says poolspec.Pool) *field.Error {
	if says.DelegateTo == "" || r.Federation {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", "delegateTo"), federationClosed)
}

// DelegatedTo says of a pool, after its name, that another cluster hands it out.
func DelegatedTo(says poolspec.Pool) string {
	return fmt.Sprintf("is delegated to cluster %q, which hands out its addresses", says.DelegateTo)
}

// TemplateOf returns the pool at the hub that a copy was made of.
func TemplateOf(p Object) poolspec.Template {
	return poolspec.TemplateOf(p.GetUID(), p.GetAnnotations())
}

// HandBackOf returns the record by which the block of the copy was handed back for its template; false
// if none has won. One that has ended says so, too: the hub has delegated the block here again, but not
// by that template.
func (r *Registry) HandBackOf(p Object) (ledger.Holding, bool) {
	says := r.Says(p)
	if says.Place != poolspec.Delegated {
		return ledger.Holding{}, false
	}
	template := TemplateOf(p).UID
	all := r.Ledger.Of(says.Ref).HandedBack()
	i := slices.IndexFunc(all, func(h ledger.Holding) bool {
		return (h.Confirmed || h.Purpose == ledger.ForEnded) && h.Claim.UID == template
	})
	if i < 0 {
		return ledger.Holding{}, false
	}
	return all[i], true
}

// IsHandedBack reports whether the block of the copy was handed back for its template.
func (r *Registry) IsHandedBack(p Object) bool {
	_, isBack := r.HandBackOf(p)
	return isBack
}
