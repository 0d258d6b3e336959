// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"maps"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
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
			if known.isUnknown() == test.isKnown {
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
	if r.Register(p).isUnknown() {
		t.Fatal("it is not registered")
	}
	p.Annotations = map[string]string{"work.karmada.io/namespace": "karmada-es-edge-b"}
	if !r.Register(p).isUnknown() {
		t.Error("it is registered still")
	}
}

// TestAGlobalPoolIsAtHomeWhereItWasDelegated, whatever the annotation says that came with it.
func TestAGlobalPoolIsAtHomeWhereItWasDelegated(t *testing.T) {
	t.Parallel()
	p := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "edge", Annotations: map[string]string{ipamv1.HomeAnnotation: "hub"}}}
	p.Spec = ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "root"}, CIDR: "10.0.1.0/24", DelegateTo: "edge-a"}
	r := &Registry{Home: "edge", Cluster: "edge-a", Federation: true}
	if r.isForeign(p) {
		t.Error("a copy at its member is foreign")
	}
	r.Cluster = ""
	if !r.isForeign(p) {
		t.Error("a pool of another cluster is not foreign")
	}
}

// TestAMemberDoesNotKnowThePoolsAbove: what they say, the delegated pool must say itself.
func TestAMemberDoesNotKnowThePoolsAbove(t *testing.T) {
	t.Parallel()
	r := world(t)
	r.Federation = true
	parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "root", UID: "root"}}
	for name, test := range map[string]struct {
		above, own ipamv1.IPPoolSpec
		place      poolspec.Place
		arrived    bool
		// field and words are of the refusal; "" for none.
		field, words string
	}{
		"nothing above":                {place: poolspec.Elsewhere},
		"a gateway above":              {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Elsewhere, field: "spec.network", words: "must set gateway and dnsServers"},
		"DNS servers above":            {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{DNSServers: []ipamv1.DNSServer{"192.0.2.53"}}}, place: poolspec.Elsewhere, field: "spec.network", words: "for 10.0.1.0/24"},
		"a gateway of its own":         {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, own: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.1.1"}}, place: poolspec.Elsewhere},
		"a gateway above what arrived": {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Elsewhere, arrived: true},
		"a gateway, used locally":      {above: ipamv1.IPPoolSpec{Network: &ipamv1.Network{Gateway: "10.0.0.1"}}, place: poolspec.Local},
	} {
		above := parent.DeepCopy()
		above.Generation++
		above.UID = "of " + above.UID
		above.Spec = test.above
		above.Spec.CIDR = "10.0.0.0/16"
		r.Forget(above.PoolReference())
		if r.Register(above).isUnknown() {
			t.Fatalf("%s: the parent is not registered", name)
		}
		child := delegated(nil)
		child.Spec.Network = test.own.Network
		says := poolspec.Read(&child.Spec, kinds.Pool(kinds.IPPool, "fleet", "edge"), nil)
		says.Place, says.Arrived = test.place, test.arrived
		shape, errs := poolspec.Resolve(&child.Spec, says.Ref)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		err := r.checkSelfContained(says, shape, netip.MustParsePrefix("10.0.1.0/24"))
		var refusal *claimant.Refusal
		switch {
		case test.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.field != "" && (!errors.As(err, &refusal) || refusal.Field != test.field || !strings.Contains(refusal.Message, test.words)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestADelegatedPoolSaysWhoItIs: it has its own UID, whatever its manifest came with, and what selects it for propagation, at the hub alone.
func TestADelegatedPoolSaysWhoItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations, want map[string]string
		place             poolspec.Place
	}{
		"a new one":     {place: poolspec.Elsewhere, want: map[string]string{ipamv1.TemplateAnnotation: "edge"}},
		"made again":    {place: poolspec.Elsewhere, annotations: map[string]string{ipamv1.TemplateAnnotation: "earlier", "a": "b"}, want: map[string]string{ipamv1.TemplateAnnotation: "edge", "a": "b"}},
		"a copy":        {place: poolspec.Delegated, annotations: map[string]string{ipamv1.TemplateAnnotation: "hubs"}, want: map[string]string{ipamv1.TemplateAnnotation: "hubs"}},
		"a stray copy":  {place: poolspec.Stray, annotations: map[string]string{ipamv1.TemplateAnnotation: "hubs"}, want: map[string]string{ipamv1.TemplateAnnotation: "hubs"}},
		"not delegated": {place: poolspec.Local},
	} {
		p := delegated(maps.Clone(test.annotations))
		before := p.DeepCopy()
		s := &scope{pool: p, before: before, says: poolspec.Pool{Place: test.place, DelegateTo: "edge-a"}}
		markDelegated(s)
		if !maps.Equal(p.Annotations, test.want) || !maps.Equal(before.Annotations, test.annotations) {
			t.Errorf("%s: annotations %v, before %v", name, p.Annotations, before.Annotations)
		}
		if isLabelled := p.Labels[ipamv1.DelegatedToLabel] == "edge-a"; isLabelled != (test.place == poolspec.Elsewhere) {
			t.Errorf("%s: labels %v", name, p.Labels)
		}
	}
}
