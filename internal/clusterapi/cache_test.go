// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
)

// fat is the metadata of an object that others have written much on.
func fat() metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: "team", Name: "a", UID: "u", ResourceVersion: "7", Generation: 2, Finalizers: []string{"example.com/user"},
		DeletionTimestamp: ptr.To(metav1.Unix(1, 0)),
		OwnerReferences:   []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Machine", Name: "m"}},
		Labels:            map[string]string{"cluster.x-k8s.io/cluster-name": "c"},
		Annotations:       map[string]string{"ipam.weir.dev/address": "10.0.0.7", "example.com/notes": strings.Repeat("x", 100_000)},
		ManagedFields:     []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("x", 1000))}},
	}
	for i := range 1000 {
		m.Labels[fmt.Sprint("example.com/label-", i)] = "x"
	}
	return m
}

// servesKinds serves pools of these kinds.
func servesKinds(kinds ...schema.GroupKind) Serves {
	return func(pool schema.GroupKind) bool { return slices.Contains(kinds, pool) }
}

func TestTheCacheKeepsWhatWeirReads(t *testing.T) {
	t.Parallel()
	ours, theirs := ipamv1beta2.IPPoolReference{APIGroup: "ipam.weir.dev", Kind: "IPPool", Name: "p"},
		ipamv1beta2.IPPoolReference{APIGroup: "ipam.weir.dev", Kind: "OtherPool", Name: "p"} // a group may be several providers'
	known := fat()
	known.Labels, known.Annotations = map[string]string{"cluster.x-k8s.io/cluster-name": "c"}, map[string]string{"ipam.weir.dev/address": "10.0.0.7"}
	known.ManagedFields = nil
	stub := metav1.ObjectMeta{Namespace: "team", Name: "a", UID: "u", ResourceVersion: "7", DeletionTimestamp: known.DeletionTimestamp}
	status := ipamv1beta2.IPAddressClaimStatus{Conditions: []metav1.Condition{{Type: "Theirs", Message: strings.Repeat("x", 1000)}}}
	claim := func(meta metav1.ObjectMeta, pool ipamv1beta2.IPPoolReference, cluster string) *ipamv1beta2.IPAddressClaim {
		return &ipamv1beta2.IPAddressClaim{
			TypeMeta: metav1.TypeMeta{}, ObjectMeta: meta,
			Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: pool, ClusterName: cluster}, Status: status,
		}
	}
	address := func(meta metav1.ObjectMeta, pool ipamv1beta2.IPPoolReference, text string) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{ObjectMeta: meta, Spec: ipamv1beta2.IPAddressSpec{PoolRef: pool, Address: text}}
	}
	bare := claim(stub, theirs, "")
	bare.Status = ipamv1beta2.IPAddressClaimStatus{}
	for sentence, test := range map[string]struct{ stored, want any }{
		"a claim of Weir's":                     {claim(fat(), ours, "c"), claim(known, ours, "c")},
		"a claim of another provider's, a stub": {claim(fat(), theirs, "c"), bare},
		"an address of Weir's":                  {address(fat(), ours, "10.0.0.7"), address(known, ours, "10.0.0.7")},
		"an address of another provider's":      {address(fat(), theirs, "10.0.0.7"), address(stub, theirs, "10.0.0.7")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			got, err := Transform(servesKinds(schema.GroupKind{Group: "ipam.weir.dev", Kind: "IPPool"}))(test.stored)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text, err := json.Marshal(got); err != nil || len(text) > 2000 {
				t.Errorf("%d bytes are kept (%v)", len(text), err)
			}
		})
	}
}
