// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Annotations that Karmada leaves on what it propagates: which object at the hub that is, and which
// version of it.
const (
	karmadaTemplate   = "resourcetemplate.karmada.io/uid"
	karmadaGeneration = "resourcetemplate.karmada.io/generation"
)

const (
	// unknownTemplate begins what stands for the template of a copy that names none.
	unknownTemplate = "copy/"
	// maxTemplate is how long the UID in a record may be.
	maxTemplate = 128
)

// Template is the pool at the hub that a copy was made of.
type Template struct {
	// UID is that of the pool at the hub. Where the copy does not name it, one of the copy's own stands
	// in, which is no UID of any object.
	UID     string
	IsKnown bool
	// Generation of the pool at the hub; nil where that is not known.
	Generation *int64
}

// TemplateOf returns the template of a copy that has this UID and these annotations.
func TemplateOf(uid types.UID, annotations map[string]string) Template {
	t := Template{UID: unknownTemplate + string(uid)}
	for _, key := range []string{ipamv1.TemplateAnnotation, karmadaTemplate} {
		if named := annotations[key]; isUID(named) {
			t.UID, t.IsKnown = named, true
			break
		}
	}
	if n, err := strconv.ParseInt(annotations[karmadaGeneration], 10, 64); err == nil && n >= 0 {
		t.Generation = &n
	}
	return t
}

// isUID reports whether a record can name it: printable, and short enough. What stands for an unknown
// template is none.
func isUID(text string) bool {
	isOdd := func(r rune) bool { return r <= ' ' || r > '~' }
	return text != "" && len(text) <= maxTemplate && !strings.ContainsFunc(text, isOdd) && !strings.HasPrefix(text, unknownTemplate)
}
