// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// namespaced has pools of any kind, in the claim's namespace.
type namespaced struct{ door.Source }

func (namespaced) Reference(name door.PoolName, namespace string) ipamv1.PoolReference {
	return kinds.Pool(name.GroupKind, namespace, name.Name)
}

func TestARecordHoldsAnAnswerOfItsVeryPoolOnly(t *testing.T) {
	t.Parallel()
	r := New(Options{Source: namespaced{}})
	held := ledger.Holding{CIDR: netip.MustParsePrefix("10.0.0.1/32"), Pool: kinds.Pool(kinds.IPPool, "team", "p")}
	for name, test := range map[string]struct {
		pool    door.PoolName
		address string
		want    bool
	}{
		"the same":                     {door.PoolName{GroupKind: kinds.IPPool, Name: "p"}, "10.0.0.1", true},
		"another address":              {door.PoolName{GroupKind: kinds.IPPool, Name: "p"}, "10.0.0.2", false},
		"another pool":                 {door.PoolName{GroupKind: kinds.IPPool, Name: "q"}, "10.0.0.1", false},
		"a pool of another kind":       {door.PoolName{GroupKind: kinds.GlobalIPPool, Name: "p"}, "10.0.0.1", false},
		"a pool of the kind elsewhere": {door.PoolName{GroupKind: schema.GroupKind{Group: "other.dev", Kind: "IPPool"}, Name: "p"}, "10.0.0.1", false},
	} {
		answer := &door.Answer{Object: &metav1.ObjectMeta{Namespace: "team", Name: "a"}, Says: door.Says{Pool: test.pool, Address: test.address}}
		if got := r.observer.holdsAnswer(held, answer); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
