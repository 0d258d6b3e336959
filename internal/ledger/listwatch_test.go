// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// TestOnlyAWholeListIsRead: what a list lacks counts as gone, so that half of one must not pass for
// all of it.
func TestOnlyAWholeListIsRead(t *testing.T) {
	t.Parallel()
	const item = `{"metadata":{"name":"a","resourceVersion":"7"},"spec":{"cidr":"10.0.0.1/32"}}`
	whole := `{"apiVersion":"v1","items":[` + item + `,` + item + `],"kind":"L","metadata":{"resourceVersion":"9"}}`
	for sentence, test := range map[string]struct {
		text string
		want int // records, or -1 for an error
	}{
		"a whole one":                {text: whole, want: 2},
		"with the metadata first":    {text: `{"metadata":{"resourceVersion":"9"},"items":[` + item + `]}`, want: 1},
		"an empty one":               {text: `{"items":[],"metadata":{"resourceVersion":"9"}}`, want: 0},
		"with fields nobody knows":   {text: `{"items":[],"more":{"items":[1]},"metadata":{"resourceVersion":"9","x":1}}`, want: 0},
		"a part":                     {text: `{"items":[],"metadata":{"resourceVersion":"9","continue":"x"}}`, want: -1},
		"without a revision":         {text: `{"items":[]}`, want: -1},
		"an error in its place":      {text: `{"kind":"Status","metadata":{},"code":410}`, want: -1},
		"not a list":                 {text: `[]`, want: -1},
		"an item that is no object":  {text: `{"items":[1],"metadata":{"resourceVersion":"9"}}`, want: -1},
		"nothing at all":             {text: ``, want: -1},
		"no items but one":           {text: `{"items":` + item + `,"metadata":{"resourceVersion":"9"}}`, want: -1},
		"metadata that nobody reads": {text: `{"items":[],"metadata":"x"}`, want: -1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			list := &internalversion.List{}
			err := readList(strings.NewReader(test.text), list)
			if (err != nil) != (test.want < 0) {
				t.Fatalf("error %v", err)
			}
			if err == nil && (len(list.Items) != test.want || list.ResourceVersion != "9") {
				t.Errorf("%d records at %s, want %d", len(list.Items), list.ResourceVersion, test.want)
			}
		})
	}
	t.Run("cut anywhere", func(t *testing.T) {
		t.Parallel()
		for n := range whole {
			if err := readList(strings.NewReader(whole[:n]), &internalversion.List{}); err == nil {
				t.Errorf("%q passes for a list", whole[:n])
			}
		}
	})
}

// TestAListTellsWhatTheWatchTells: of the same object the index keeps the same, whichever way it
// came.
func TestAListTellsWhatTheWatchTells(t *testing.T) {
	t.Parallel()
	foreign := func(a *ipamv1.IPAllocation) { a.Finalizers = append(a.Finalizers, "example.com/foreign") }
	for sentence, edits := range map[string][]edit{
		"as created":                nil,
		"changed by others":         {touched},
		"changed by Weir":           {createdAt("7")},
		"touched by Weir":           {func(a *ipamv1.IPAllocation) { a.Annotations = map[string]string{records.TouchedAnnotation: "x"} }},
		"with a foreign finalizer":  {foreign},
		"without its finalizer":     {func(a *ipamv1.IPAllocation) { a.Finalizers = nil }},
		"without one of its owners": {func(a *ipamv1.IPAllocation) { a.OwnerReferences = a.OwnerReferences[:1] }},
		"terminating":               {terminating},
		"released":                  {released},
		"a confirmed block":         {carved("child"), confirmed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			a := recordNamed("a", "10.0.0.1/32", edits...)
			a.ResourceVersion = "42"
			a.Labels = map[string]string{"a": "b"}
			a.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{}}`)
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			list := &internalversion.List{}
			if err = readList(strings.NewReader(fmt.Sprintf(`{"items":[%s],"metadata":{"resourceVersion":"42"}}`, text)), list); err != nil {
				t.Fatal(err)
			}
			listed, _ := list.Items[0].(*ipamv1.IPAllocation)
			got, err := records.Decode(listed, 7)
			want, watched := records.Decode(a, 7)
			if err != nil || watched != nil {
				t.Fatal(err, watched)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("a list tells otherwise:\n%s", diff)
			}
			if got.UID != types.UID("uid of a") {
				t.Errorf("read as %s", got.UID)
			}
		})
	}
}
