// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// metaAt is the metadata of an object that was created at a minute.
func metaAt(namespace, name string, minute int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)),
	}
}

// registryOf returns a registry whose cache shows these pools.
func registryOf(t *testing.T, stored ...client.Object) *pools.Registry {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{icv1.AddToScheme, ipamv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	r := &pools.Registry{Client: fake.NewClientBuilder().WithScheme(s).WithObjects(stored...).Build(), Home: "here"}
	r.AddKind(Pools)
	r.AddKind(GlobalPools)
	return r
}

func TestPoolsThatOverlap(t *testing.T) {
	t.Parallel()
	with := func(excluded ...string) icv1.InClusterIPPoolSpec {
		return icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/28"}, Prefix: 28, Gateway: "10.0.0.1", ExcludedAddresses: excluded}
	}
	pool := func(name string, minute int, spec icv1.InClusterIPPoolSpec) *icv1.InClusterIPPool {
		return &icv1.InClusterIPPool{ObjectMeta: metaAt("a", name, minute), Spec: spec}
	}
	away := &icv1.GlobalInClusterIPPool{ObjectMeta: metaAt("", "away", 1), Spec: with()}
	away.Annotations = map[string]string{ipamv1.HomeAnnotation: "elsewhere"}
	p := pool("p", 5, with())
	for sentence, test := range map[string]struct {
		others []client.Object
		want   []string
	}{
		"with an equal one all but the gateway and what is reserved is shared": {
			[]client.Object{pool("q", 1, with())}, []string{"InClusterIPPool a/q, older: [10.0.0.2-10.0.0.14]"},
		},
		"what one of the two excludes is not": {
			[]client.Object{pool("q", 9, with("10.0.0.4-10.0.0.15"))}, []string{"InClusterIPPool a/q: [10.0.0.2-10.0.0.3]"},
		},
		"nor the gateway of one of them": {
			[]client.Object{pool("q", 9, icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1-10.0.0.2"}, Prefix: 24, Gateway: "10.0.0.2"})}, nil,
		},
		"the older ones come first, and of those of one second the name decides": {
			[]client.Object{
				pool("a", 9, with()), pool("r", 1, with()), pool("o", 5, with()), pool("q", 5, with()),
				&icv1.GlobalInClusterIPPool{ObjectMeta: metaAt("", "g", 2), Spec: with()},
			}, []string{
				"GlobalInClusterIPPool /g, older: [10.0.0.2-10.0.0.14]", "InClusterIPPool a/o, older: [10.0.0.2-10.0.0.14]",
				"InClusterIPPool a/r, older: [10.0.0.2-10.0.0.14]", "InClusterIPPool a/a: [10.0.0.2-10.0.0.14]", "InClusterIPPool a/q: [10.0.0.2-10.0.0.14]",
			},
		},
		"a pool that is at home elsewhere hands out nothing here": {[]client.Object{away}, nil},
		"nor does one that cannot be served":                      {[]client.Object{pool("q", 1, icv1.InClusterIPPoolSpec{Addresses: []string{"x"}})}, nil},
		"pools of Weir's own are of one space": {[]client.Object{&ipamv1.IPPool{
			ObjectMeta: metaAt("a", "own", 1), Spec: ipamv1.IPPoolSpec{Addresses: []ipamv1.AddressEntry{"10.0.0.0/28"}},
		}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			r := registryOf(t, append(test.others, p.DeepCopy())...)
			for range 2 { // what was computed is remembered
				found := r.Overlaps(t.Context(), p)
				got := make([]string, 0, len(found))
				for _, o := range found {
					text := fmt.Sprintf("%s %s/%s", o.Other.Kind, o.Other.Namespace, o.Other.Name)
					if o.IsOlder {
						text += ", older"
					}
					got = append(got, fmt.Sprintf("%s: %v", text, o.Shared.Ranges()))
				}
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestTwoNamedSpacesAreTwoNetworks: where only one of two pools names its space, or its parent, the other may be on the same network.
func TestTwoNamedSpacesAreTwoNetworks(t *testing.T) {
	t.Parallel()
	in := func(name, space string) *icv1.InClusterIPPool {
		p := &icv1.InClusterIPPool{ObjectMeta: metaAt("a", name, 1), Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/28"}, Prefix: 28}}
		switch space {
		case "":
		case "parent's":
			p.Annotations = map[string]string{icv1.ParentAnnotation: "GlobalIPPool/g"}
		default:
			p.Annotations = map[string]string{icv1.AddressSpaceAnnotation: space}
		}
		return p
	}
	for other, want := range map[string]int{"": 1, "x": 0, "y": 0, "parent's": 0} {
		for _, space := range []string{"x", "parent's"} {
			if got := registryOf(t, in("q", other)).Overlaps(t.Context(), in("p", space)); len(got) != want {
				t.Errorf("a pool of space %s and one of %q: %+v", space, other, got)
			}
		}
	}
}

func TestAPoolThatIsNewIsYoungerThanAllOthers(t *testing.T) {
	t.Parallel()
	spec := icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.2-10.0.0.3", "10.0.0.5", "10.0.0.8/30", "10.0.0.14"}, Prefix: 24}
	r := registryOf(t, &icv1.InClusterIPPool{ObjectMeta: metaAt("b", "q", 1), Spec: spec}, &icv1.GlobalInClusterIPPool{ObjectMeta: metaAt("", "g", 1), Spec: spec})
	p := &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: spec}
	found := r.Overlaps(t.Context(), p)
	if len(found) != 2 || !found[0].IsOlder || !found[1].IsOlder {
		t.Fatalf("%+v", found)
	}
	for want, isNamed := range map[string]func(ipamv1.PoolReference) bool{
		"with 2 other pools:":                                                func(ipamv1.PoolReference) bool { return false },
		"with 2 other pools (InClusterIPPool b/q, ...)":                      func(ref ipamv1.PoolReference) bool { return ref.Namespace == "b" },
		"with 2 other pools (GlobalInClusterIPPool g, InClusterIPPool b/q):": func(ipamv1.PoolReference) bool { return true },
	} {
		text := r.OverlapText(p, found, isNamed)
		if !strings.HasPrefix(text, "spec.addresses: shares 10.0.0.2/31, 10.0.0.5, 10.0.0.8/30 and 1 more range "+want) {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
