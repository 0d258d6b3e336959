// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// CheckSpace refuses an address space, named by an annotation, that Weir's own pools could not have: the name of a space of a pool's own is not
// to be had by another. "" names none.
func CheckSpace(annotation, space string) field.ErrorList {
	problems := validation.IsDNS1123Subdomain(space)
	if space == "" || len(problems) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(annotation), excerpt.Of(space), strings.Join(problems, "; "))}
}
