// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestARecordThatMovesWithoutItsPoolKeepsItsFinalizer looks at clusterctl's last write on the source.
func TestARecordThatMovesWithoutItsPoolKeepsItsFinalizer(t *testing.T) {
	t.Parallel()
	const moves = "clusterctl.cluster.x-k8s.io/delete-for-move"
	for name, test := range map[string]struct {
		pool        ipamv1.PoolReference
		root        bool
		annotations map[string]string
		finalizers  []string
		kept        bool
	}{
		"out of a GlobalIPPool":                 {pool: ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}, annotations: map[string]string{moves: ""}, kept: true},
		"out of a pool of another namespace":    {pool: ipamv1.PoolReference{Kind: "IPPool", Namespace: "b", Name: "p"}, annotations: map[string]string{moves: ""}, kept: true},
		"out of a pool that moves as well":      {pool: ipamv1.PoolReference{Kind: "IPPool", Namespace: "a", Name: "p"}, annotations: map[string]string{moves: ""}},
		"a block of a root":                     {pool: ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}, root: true, annotations: map[string]string{moves: ""}},
		"held already":                          {pool: ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}, annotations: map[string]string{moves: "", ipamv1.HeldAnnotation: "h"}},
		"not moving":                            {pool: ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}},
		"somebody else's finalizer goes or not": {pool: ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}, annotations: map[string]string{moves: ""}, finalizers: []string{"x/y"}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r", Annotations: test.annotations, Finalizers: test.finalizers}}
			record.Spec.PoolRef, record.Spec.Purpose = test.pool, ipamv1.ClaimPurpose
			if test.root {
				record.Spec.Purpose, record.Spec.ClaimRef = ipamv1.PoolBlockPurpose, ledger.ClaimOf(test.pool, "p")
			}
			old := record.DeepCopy()
			old.Finalizers = append(old.Finalizers, ipamv1.AllocationFinalizer)
			response := keepMoved(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Update, Object: raw(t, record), OldObject: raw(t, old),
			}})
			if !response.Allowed || (len(response.Patches) == 1) != test.kept {
				t.Errorf("got %v %v, want the finalizer kept: %v", response.Allowed, response.Patches, test.kept)
			}
		})
	}
}

// TestAClaimThatMovesWithoutItsPoolKeepsItsFinalizer looks at clusterctl's last write on the source.
func TestAClaimThatMovesWithoutItsPoolKeepsItsFinalizer(t *testing.T) {
	t.Parallel()
	const global, namespaced = `{poolRef: {apiGroup: ipam.weir.dev, kind: GlobalIPPool}}`, `{poolRef: {apiGroup: ipam.weir.dev, kind: IPPool}}`
	const moves, moved = `clusterctl.cluster.x-k8s.io/delete-for-move: ""`, `ipam.weir.dev/moved: u`
	const deleted = `uid: u, deletionTimestamp: "2026-11-22T00:00:00Z"`
	for sentence, test := range map[string]struct{ spec, metadata, had, want string }{
		"of a GlobalIPPool": {
			global, deleted + ", annotations: {" + moves + "}", "a/b, ipam.weir.dev/claim",
			deleted + ", finalizers: [ipam.weir.dev/claim], annotations: {" + moves + ", " + moved + "}",
		},
		"of an IPPool, which moves as well": {namespaced, deleted + ", annotations: {" + moves + "}", "ipam.weir.dev/claim", ""},
		"of another provider":               {`{poolRef: {apiGroup: b, kind: GlobalIPPool}}`, deleted + ", annotations: {" + moves + "}", "ipam.weir.dev/claim", ""},
		"that Weir has let go of":           {global, deleted + ", annotations: {" + moves + "}", "", ""},
		"that does not move":                {global, deleted + ", annotations: {a: b}", "ipam.weir.dev/claim", ""},
		"that lives":                        {global, "uid: u, annotations: {" + moves + "}", "ipam.weir.dev/claim", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			claim := func(metadata string) []byte {
				return rawYAML(t, fmt.Sprintf("{metadata: {%s}, spec: %s}", metadata, test.spec))
			}
			old, updated := claim(test.metadata+", finalizers: ["+test.had+"]"), claim(test.metadata)
			req := request(admissionv1.Update, runtime.RawExtension{Raw: updated}, runtime.RawExtension{Raw: old}, "jo")
			req.Kind = kindNamed("IPAddressClaim")
			response := departures{clusterAPI}.keep(t.Context(), req)
			want := claim(cmp.Or(test.want, test.metadata))
			if diff := gocmp.Diff(decoded(t, want), decoded(t, patched(t, updated, response))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClaimWhosePoolMayMoveKeepsItsFinalizer if the pool stays. One that is gone may have moved.
func TestAClaimWhosePoolMayMoveKeepsItsFinalizer(t *testing.T) {
	t.Parallel()
	odd := schema.GroupKind{Group: "b", Kind: "OddPool"}
	pool := func(name string, labels map[string]string) client.Object {
		return &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels}}
	}
	doors := Doors{
		Forms: clusterAPI.Forms,
		Pools: []pools.Kind{{
			GroupKind: odd, New: func() pools.Object { return &ipamv1.IPPool{} },
			Moves: func(o client.Object) bool { return o.GetLabels()["moves"] != "" },
		}},
		Live: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(pool("stays", nil), pool("moves", map[string]string{"moves": "yes"})).Build(),
	}
	const deleted = `uid: u, deletionTimestamp: "2026-11-22T00:00:00Z", annotations: {clusterctl.cluster.x-k8s.io/delete-for-move: ""}`
	for name, want := range map[string]bool{"stays": true, "moves": false, "gone": false} {
		claim := func(finalizers string) []byte {
			return rawYAML(t, fmt.Sprintf("{metadata: {%s, finalizers: [%s]}, spec: {poolRef: {apiGroup: b, kind: OddPool, name: %s}}}", deleted, finalizers, name))
		}
		updated := claim("")
		req := request(admissionv1.Update, runtime.RawExtension{Raw: updated}, runtime.RawExtension{Raw: claim(ipamv1.ClaimFinalizer)}, "jo")
		req.Kind, req.Namespace = kindNamed("IPAddressClaim"), "ns"
		kept := strings.Contains(string(patched(t, updated, departures{doors}.keep(t.Context(), req))), ipamv1.ClaimFinalizer)
		if kept != want {
			t.Errorf("a claim of pool %s keeps its finalizer: %t", name, kept)
		}
	}
}

func raw(t *testing.T, obj any) runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}
