// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// delegated is a pool that was carved from IPPool root and delegated to edge-a.
func delegated(annotations map[string]string) *ipamv1.IPPool {
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "edge", UID: "edge", Generation: 1, Annotations: annotations}}
	p.Spec = ipamv1.IPPoolSpec{
		ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "root"}, CIDR: "10.0.1.0/24", DelegateTo: "edge-a", ClusterName: "hubs",
	}
	return p
}

// byKarmada is the mark of a copy for edge-a.
var byKarmada = map[string]string{"work.karmada.io/namespace": "karmada-es-edge-a"}

// TestADelegatedPoolInEachCluster: who hands out its addresses, and what it is carved from.
func TestADelegatedPoolInEachCluster(t *testing.T) {
	t.Parallel()
	root := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "root", UID: "root"}, Spec: ipamv1.IPPoolSpec{CIDR: "10.0.0.0/16"}}
	for name, test := range map[string]struct {
		cluster     string
		annotations map[string]string
		closedGate  bool
		// isOpen: it hands out; isKnown: its block is; closed is why it hands out nothing.
		isOpen, isKnown, isCarved bool
		closed                    string
	}{
		"at the hub":                {isKnown: true, isCarved: true, closed: `IPPool "edge" is delegated to cluster "edge-a", which hands out its addresses`},
		"at its member":             {cluster: "edge-a", annotations: byKarmada, isOpen: true, isKnown: true},
		"at its member, by hand":    {cluster: "edge-a", isOpen: true, isKnown: true},
		"at another member":         {cluster: "edge-b", annotations: byKarmada, closed: `IPPool "edge" is delegated to cluster "edge-a"`},
		"at a member without name":  {annotations: byKarmada, closed: `IPPool "edge" is delegated to cluster "edge-a"`},
		"at the hub, without gate":  {closedGate: true, isCarved: true, closed: `IPPool "edge" cannot be served; see its Ready condition`},
		"at a member, without gate": {cluster: "edge-a", annotations: byKarmada, closedGate: true, closed: `IPPool "edge" cannot be served; see its Ready condition`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := delegated(test.annotations)
			r := world(t, root.DeepCopy(), p)
			r.Cluster, r.Federation = test.cluster, !test.closedGate
			if says := r.Says(p); says.IsCarved() != test.isCarved || (says.ClusterName == "hubs") != test.isCarved {
				t.Errorf("it says %+v", says)
			}
			if test.isCarved {
				p.Spec.ClusterName = "" // there is no such Cluster
				if err := r.Client.Update(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			known, err := r.Open(t.Context(), p.PoolReference())
			var closed *ClosedError
			switch isClosed := errors.As(err, &closed); {
			case test.isOpen && err != nil, !test.isOpen && !isClosed:
				t.Fatal(err)
			case isClosed && !strings.HasPrefix(closed.Message, test.closed):
				t.Errorf("closed: %s", closed.Message)
			case isClosed && closed.Invalid == test.isKnown:
				t.Errorf("closed: %+v", closed)
			}
			if known.IsUnknown() == test.isKnown {
				t.Errorf("known: %+v", known.Registered)
			}
		})
	}
}

// TestACopyThatTurnsOutNotToBeForHere is registered no more, though its spec is the same.
func TestACopyThatTurnsOutNotToBeForHere(t *testing.T) {
	t.Parallel()
	p := delegated(nil)
	r := world(t, p)
	r.Cluster, r.Federation = "edge-a", true
	if r.Register(p).IsUnknown() {
		t.Fatal("it is not registered")
	}
	p.Annotations = map[string]string{"work.karmada.io/namespace": "karmada-es-edge-b"}
	if !r.Register(p).IsUnknown() {
		t.Error("it is registered still")
	}
}

// TestAGlobalPoolIsAtHomeWhereItWasDelegated, whatever the annotation says that came with it.
func TestAGlobalPoolIsAtHomeWhereItWasDelegated(t *testing.T) {
	t.Parallel()
	p := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "edge", Annotations: map[string]string{ipamv1.HomeAnnotation: "hub"}}}
	p.Spec = ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "root"}, CIDR: "10.0.1.0/24", DelegateTo: "edge-a"}
	r := &Registry{Home: "edge", Cluster: "edge-a", Federation: true}
	if r.IsForeign(p) {
		t.Error("a copy at its member is foreign")
	}
	r.Cluster = ""
	if !r.IsForeign(p) {
		t.Error("a pool of another cluster is not foreign")
	}
}
