// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// TestWhatAPatchLeavesAlone: what is absent from a merge patch stays, what is null goes.
func TestWhatAPatchLeavesAlone(t *testing.T) {
	t.Parallel()
	w := &writer{instance: "m"}
	id := records.Identity{UID: "u", Version: "7", Created: "5"}
	for sentence, test := range map[string]struct {
		edit func(*recordPatch)
		want string
	}{
		"a plain one": {
			edit: func(*recordPatch) {},
			want: `{"metadata":{"uid":"u","resourceVersion":"7"},"spec":{"manager":{"createdRevision":"5"}}}`,
		},
		"of any version": {
			edit: func(p *recordPatch) { p.Metadata.ResourceVersion = "" },
			want: `{"metadata":{"uid":"u"},"spec":{"manager":{"createdRevision":"5"}}}`,
		},
		"one that takes all owners away": {
			edit: func(p *recordPatch) { p.Metadata.OwnerReferences = new([]metav1.OwnerReference) },
			want: `{"metadata":{"uid":"u","resourceVersion":"7","ownerReferences":null},"spec":{"manager":{"createdRevision":"5"}}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := w.patchOf(id)
			touched := p.Metadata.Annotations[records.TouchedAnnotation]
			if !strings.HasPrefix(touched, "m/") || touched == w.patchOf(id).Metadata.Annotations[records.TouchedAnnotation] {
				t.Errorf("touched with %q: the watch may have nothing to show", touched)
			}
			p.Metadata.Annotations = nil
			test.edit(&p)
			if got, err := json.Marshal(p); err != nil || string(got) != test.want {
				t.Errorf("%s, %v, want %s", got, err, test.want)
			}
		})
	}
}
