// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// annotationPrefix begins the names of Weir's annotations.
const annotationPrefix = "ipam.weir.dev/"

// knownAnnotations are all of Weir's.
var knownAnnotations = []string{
	ipamv1.AddressAnnotation, ipamv1.DNSServersAnnotation, ipamv1.ArrivedAnnotation, ipamv1.HomeAnnotation, ipamv1.LeaveBehindAnnotation,
	ipamv1.HeldAnnotation, ipamv1.MovedAnnotation, ipamv1.ForceReleaseAnnotation, ipamv1.OpenStackAnnotation,
	ipamv1.TemplateAnnotation, ipamv1.SiblingOfAnnotation,
}

// unknownAnnotations warns of annotations that look like Weir's and mean
// nothing, such as misspelt ones, if they were not there before.
func unknownAnnotations(updated, old map[string]string) admission.Warnings {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(updated)) {
		if _, had := old[key]; strings.HasPrefix(key, annotationPrefix) && !slices.Contains(knownAnnotations, key) && !had {
			unknown = append(unknown, excerpt.Of(key))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("metadata.annotations: %s without meaning to Weir%s", count(len(unknown), "annotation is", "annotations are"), someOf(unknown, len(unknown)))}
}
