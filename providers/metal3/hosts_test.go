// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// servedVersion is another one than CAPM3's today: any may be served.
const servedVersion = "v1beta7"

// chain is what leads from the claim data-0-w to host-0, in namespace ns.
type chain struct {
	claim                    *ipamv1beta2.IPAddressClaim
	offer                    *door.Offer
	data, dataClaim, machine *unstructured.Unstructured
	// served is whether CAPM3's kinds are; get, if it is not nil, errs for a read.
	served bool
	get    error
}

func newChain() *chain {
	stored := func(kind schema.GroupKind, name, uid string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetGroupVersionKind(kind.WithVersion(servedVersion))
		o.SetNamespace("ns")
		o.SetName(name)
		o.SetUID(types.UID(uid))
		return o
	}
	c := &chain{
		claim:     &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data-0-w"}},
		offer:     &door.Offer{Pool: kinds.Pool(kinds.IPPool, "ns", "w")},
		data:      stored(dataKind, "data-0", "uid of data-0"),
		dataClaim: stored(dataClaimKind, "machine-0", "uid of the claim"),
		machine:   stored(machineKind, "machine-0", "uid of machine-0"),
		served:    true,
	}
	c.keep("host-9-w")
	c.claim.OwnerReferences = []metav1.OwnerReference{ownedBy(c.data, "v1beta1")}
	c.dataClaim.SetOwnerReferences([]metav1.OwnerReference{ownedBy(c.machine, "v1beta1")})
	c.pointTo("machine-0", "ns")
	c.runsOn("ns/host-0")
	return c
}

func ownedBy(o *unstructured.Unstructured, version string) metav1.OwnerReference {
	kind := o.GroupVersionKind()
	return metav1.OwnerReference{APIVersion: kind.Group + "/" + version, Kind: kind.Kind, Name: o.GetName(), UID: o.GetUID(), Controller: ptr.To(true)}
}

func (c *chain) keep(names ...string) {
	c.offer.Kept = nil
	for _, name := range names {
		c.offer.Kept = append(c.offer.Kept, pooltree.Kept{For: pooltree.Claimant{
			Group: kinds.IPAddressClaim.Group, Kind: kinds.IPAddressClaim.Kind, Namespace: "ns", Name: name,
		}})
	}
}

func (c *chain) pointTo(name, namespace string) {
	c.data.Object["spec"] = map[string]any{"claim": map[string]any{"name": name, "namespace": namespace}}
}

func (c *chain) runsOn(host string) {
	c.machine.SetAnnotations(map[string]string{hostAnnotation: host})
}

// alias asks for the claim's alias, and counts the reads.
func (c *chain) alias() (alias string, reads int, err error) {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{dataKind.WithVersion(servedVersion).GroupVersion()})
	if c.served {
		for _, kind := range []schema.GroupKind{dataKind, dataClaimKind, machineKind} {
			mapper.Add(kind.WithVersion(servedVersion), meta.RESTScopeNamespace)
		}
	}
	builder := fake.NewClientBuilder().WithScheme(runtime.NewScheme())
	for _, o := range []*unstructured.Unstructured{c.data, c.dataClaim, c.machine} {
		if o != nil {
			builder = builder.WithObjects(o)
		}
	}
	live := interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, to client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			if reads++; c.get != nil {
				return c.get
			}
			return to.Get(ctx, key, obj, options...)
		},
	})
	alias, err = (&Hosts{Live: live, Mapper: mapper}).Alias(context.Background(), c.claim, c.offer)
	return alias, reads, err
}

func TestAliasIsTheHostsName(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		edit  func(*chain)
		want  string
		reads int
	}{
		"a host's claim": {edit: func(*chain) {}, want: "host-0-w", reads: 3},
		"one of a pool of all namespaces": {edit: func(c *chain) {
			c.offer.Pool = kinds.Pool(kinds.GlobalIPPool, "", "w")
		}, want: "host-0-w", reads: 3},
		"a host whose name has dots":                  {edit: func(c *chain) { c.runsOn("ns/rack-1.host-0") }, want: "rack-1.host-0-w", reads: 3},
		"a Metal3Data that does not say where its is": {edit: func(c *chain) { c.pointTo("machine-0", "") }, want: "host-0-w", reads: 3},
		"a claim with owners beside": {edit: func(c *chain) {
			c.dataClaim.SetOwnerReferences(append(c.dataClaim.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap"}))
		}, want: "host-0-w", reads: 3},
		"a host of another namespace is none of this":         {edit: func(c *chain) { c.runsOn("elsewhere/host-0") }, reads: 3},
		"a claim of nobody":                                   {edit: func(c *chain) { c.claim.OwnerReferences = nil }},
		"a claim that a Metal3Data owns and does not control": {edit: func(c *chain) { c.claim.OwnerReferences[0].Controller = nil }},
		"a claim of a Metal3Data of another group":            {edit: func(c *chain) { c.claim.OwnerReferences[0].APIVersion = "example.com/v1beta1" }},
		"a claim of another kind of CAPM3's":                  {edit: func(c *chain) { c.claim.OwnerReferences[0].Kind = "Metal3Machine" }},
		"a pool that keeps nothing":                           {edit: func(c *chain) { c.keep() }},
		"a pool that keeps nothing for hosts":                 {edit: func(c *chain) { c.keep("vip", "vip-x", "w") }},
		"a pool that keeps something for the claim":           {edit: func(c *chain) { c.keep("host-0-w", "data-0-w") }},
		"a pool that keeps something in other places":         {edit: func(c *chain) { c.offer.Kept[0].For.Namespace = "elsewhere" }},
		"a pool that keeps something for other kinds":         {edit: func(c *chain) { c.offer.Kept[0].For.Kind = ipamv1.IPClaimKind }},
		"a pool of Metal3's":                                  {edit: func(c *chain) { c.offer.Pool.APIGroup = PoolKind.Group }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c := newChain()
			test.edit(c)
			alias, reads, err := c.alias()
			if alias != test.want || reads != test.reads || err != nil {
				t.Errorf("%q after %d reads (%v), want %q after %d", alias, reads, err, test.want, test.reads)
			}
		})
	}
}

func TestAliasIsWaitedFor(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		edit func(*chain)
		want string
	}{
		"kinds that are not served": {func(c *chain) { c.served = false }, "the API server has no kind Metal3Data.infrastructure.cluster.x-k8s.io"},
		"reads that are forbidden": {func(c *chain) {
			c.get = apierrors.NewForbidden(schema.GroupResource{Resource: "metal3datas"}, "data-0", nil)
		}, `metal3datas "data-0" is forbidden: <nil>`},
		"no Metal3Data":                    {func(c *chain) { c.data = nil }, "there is no Metal3Data ns/data-0"},
		"another Metal3Data of the name":   {func(c *chain) { c.data.SetUID("later") }, "Metal3Data ns/data-0 is not the owner: its UID is another one"},
		"one without a spec":               {func(c *chain) { delete(c.data.Object, "spec") }, "Metal3Data ns/data-0: spec.claim.name: is not set yet"},
		"one whose spec is something else": {func(c *chain) { c.data.Object["spec"] = "claim" }, "Metal3Data ns/data-0: spec.claim.name: is not set yet"},
		"one that points elsewhere":        {func(c *chain) { c.pointTo("machine-0", "elsewhere") }, `Metal3Data ns/data-0: spec.claim.namespace: is "elsewhere": a Metal3DataClaim of its own namespace is followed only`},
		"one that names what is no name":   {func(c *chain) { c.pointTo("a/b", "ns") }, "there is no Metal3DataClaim ns/a/b"},
		"no Metal3DataClaim":               {func(c *chain) { c.dataClaim = nil }, "there is no Metal3DataClaim ns/machine-0"},
		"one without owner":                {func(c *chain) { c.dataClaim.SetOwnerReferences(nil) }, "Metal3DataClaim ns/machine-0: metadata.ownerReferences: 0 of them are of kind Metal3Machine, and it must be one"},
		"one of an owner of another group": {func(c *chain) {
			o := c.dataClaim.GetOwnerReferences()
			o[0].APIVersion = "example.com/v1"
			c.dataClaim.SetOwnerReferences(o)
		}, "Metal3DataClaim ns/machine-0: metadata.ownerReferences: 0 of them are of kind Metal3Machine, and it must be one"},
		"one of two machines":               {func(c *chain) { o := c.dataClaim.GetOwnerReferences(); c.dataClaim.SetOwnerReferences(append(o, o[0])) }, "Metal3DataClaim ns/machine-0: metadata.ownerReferences: 2 of them are of kind Metal3Machine, and it must be one"},
		"no Metal3Machine":                  {func(c *chain) { c.machine = nil }, "there is no Metal3Machine ns/machine-0"},
		"another Metal3Machine of the name": {func(c *chain) { c.machine.SetUID("later") }, "Metal3Machine ns/machine-0 is not the owner: its UID is another one"},
		"one that has no host yet":          {func(c *chain) { c.machine.SetAnnotations(nil) }, "Metal3Machine ns/machine-0: metadata.annotations[metal3.io/BareMetalHost]: is not set yet"},
		"one whose host has no namespace":   {func(c *chain) { c.runsOn("host-0") }, `Metal3Machine ns/machine-0: metadata.annotations[metal3.io/BareMetalHost]: "host-0" is not <namespace>/<name> of a BareMetalHost`},
		"one whose host is none":            {func(c *chain) { c.runsOn("ns/Host 0") }, `Metal3Machine ns/machine-0: metadata.annotations[metal3.io/BareMetalHost]: "ns/Host 0" is not <namespace>/<name> of a BareMetalHost`},
		"a name that is too long": {func(c *chain) { c.runsOn("ns/" + strings.Repeat("h", 199)) },
			"metadata.name of BareMetalHost " + strings.Repeat("h", 199) + ", with that of pool w, is too long: 201 characters together, 200 at most"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c := newChain()
			test.edit(c)
			alias, _, err := c.alias()
			var refusal *claimant.Refusal
			if alias != "" || !errors.As(err, &refusal) || refusal.Reason != ipamv1.ClaimReadyWaitingForHostReason {
				t.Fatalf("%q, %v: want to wait for the host", alias, err)
			}
			if want := "the pool keeps addresses for hosts, and the claim's host is not known: " + test.want; refusal.Message != want {
				t.Errorf("says %q, want %q", refusal.Message, want)
			}
		})
	}
}

func TestAliasIsOfAddressClaimsOnly(t *testing.T) {
	t.Parallel()
	c := newChain()
	other := &ipamv1.IPClaim{ObjectMeta: c.claim.ObjectMeta}
	if alias, err := (&Hosts{}).Alias(t.Context(), other, c.offer); alias != "" || err != nil {
		t.Errorf("an IPClaim of a Metal3Data is %q (%v)", alias, err)
	}
}

func TestAliasErrsWhereAReadFails(t *testing.T) {
	t.Parallel()
	c := newChain()
	c.get = apierrors.NewInternalError(errors.New("etcd"))
	var refusal *claimant.Refusal
	if _, _, err := c.alias(); err == nil || errors.As(err, &refusal) {
		t.Errorf("what may go by itself is tried again, not told: %v", err)
	}
}
