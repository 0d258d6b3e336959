// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// object returns an object of the kind with this spec, in YAML.
func object(namespace, kind, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	var content map[string]any
	Expect(yaml.Unmarshal([]byte("spec: "+spec), &content)).To(Succeed())
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(m3v1.GroupVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetGenerateName("spec-")
	return o
}

// create creates an object and returns it as it is stored, for as long as the spec lasts.
func create(ctx context.Context, o *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	Expect(raw.Create(ctx, o)).To(Succeed())
	return o
}

var _ = Describe("CRDs of ipam.metal3.io", func() {
	var namespace string

	BeforeEach(func(ctx SpecContext) { namespace = suite.Namespace(ctx, raw, nil) })

	DescribeTable("store every field of a sample as it is", func(ctx SpecContext, file string) {
		objects, err := framework.ReadManifests(filepath.Join(samples, file))
		Expect(err).NotTo(HaveOccurred())
		Expect(objects).To(HaveLen(1))
		text, err := objects[0].MarshalJSON() // YAML has floats where the API server has integers
		Expect(err).NotTo(HaveOccurred())
		want := &unstructured.Unstructured{}
		Expect(want.UnmarshalJSON(text)).To(Succeed())
		want.SetNamespace(namespace)
		stored := want.DeepCopy()
		Expect(raw.Create(ctx, stored)).To(Succeed())
		if status, ok := want.Object["status"]; ok {
			Expect(stored.Object).NotTo(HaveKey("status"), "it is a subresource")
			stored.Object["status"] = status
			Expect(raw.Status().Update(ctx, stored)).To(Succeed())
		}
		Expect(raw.Get(ctx, client.ObjectKeyFromObject(want), stored)).To(Succeed())
		Expect(stored.Object["spec"]).To(Equal(want.Object["spec"]))
		if status, ok := want.Object["status"]; ok {
			Expect(stored.Object["status"]).To(Equal(status))
		}
	},
		Entry("IPPool", "ippool.yaml"),
		Entry("IPClaim", "ipclaim.yaml"),
		Entry("IPAddress", "ipaddress.yaml"),
	)

	DescribeTable("accept what Metal3 accepts", func(ctx SpecContext, kind, spec string) {
		create(ctx, object(namespace, kind, spec))
	},
		Entry("a pool without entries", "IPPool", "{namePrefix: p}"),
		Entry("an entry without bounds", "IPPool", "{namePrefix: p, pools: [{}]}"),
		Entry("an entry with an end only", "IPPool", "{namePrefix: p, pools: [{end: 192.0.2.9}]}"),
		Entry("an entry that is open", "IPPool", "{namePrefix: p, pools: [{start: 192.0.2.9}]}"),
		Entry("an entry that ends before it starts", "IPPool", "{namePrefix: p, pools: [{start: 192.0.2.9, end: 192.0.2.1}]}"),
		Entry("entries that overlap", "IPPool", "{namePrefix: p, pools: [{subnet: 192.0.2.0/24}, {subnet: 192.0.2.0/25}]}"),
		Entry("entries of two families", "IPPool", "{namePrefix: p, pools: [{subnet: 192.0.2.0/24}, {subnet: '2001:db8::/64'}]}"),
		Entry("a subnet written by a host's address", "IPPool", "{namePrefix: p, pools: [{subnet: 192.0.2.77/24}]}"),
		Entry("addresses that are not canonical", "IPPool", "{namePrefix: p, gateway: '2001:DB8:0:0::0001', pools: [{start: '::0005'}]}"),
		Entry("an IPv6 subnet whose length has a leading zero", "IPPool", "{namePrefix: p, pools: [{subnet: 'fd00::/08'}]}"),
		Entry("the greatest prefix in an IPv4 entry", "IPPool", "{namePrefix: p, prefix: 128, pools: [{subnet: 192.0.2.0/24, prefix: 128}]}"),
		Entry("a prefix that is negative", "IPPool", "{namePrefix: p, prefix: -1}"),
		Entry("preAllocations outside of all entries", "IPPool", "{namePrefix: p, preAllocations: {a: 192.0.2.1, b: 192.0.2.1}}"),
		Entry("a namePrefix that begins no name", "IPPool", "{namePrefix: 'Not a name_'}"),
		Entry("a claim that names no pool", "IPClaim", "{pool: {}}"),
		Entry("a claim that names a pool elsewhere", "IPClaim", "{pool: {name: p, namespace: elsewhere}}"),
		Entry("a claim without spec", "IPClaim", "null"),
		Entry("an address with nothing but what must be", "IPAddress", "{address: 192.0.2.1, claim: {}, pool: {}}"),
		Entry("an address of two families", "IPAddress", "{address: 192.0.2.1, claim: {name: c}, pool: {name: p}, gateway: '2001:db8::1', dnsServers: ['::']}"),
	)

	DescribeTable("refuse what Metal3 refuses", func(ctx SpecContext, kind, spec, field string) {
		err := raw.Create(ctx, object(namespace, kind, spec))
		Expect(err).To(Satisfy(apierrors.IsInvalid))
		Expect(err).To(MatchError(ContainSubstring(field)))
	},
		Entry("a pool without namePrefix", "IPPool", "{}", "spec.namePrefix: Required"),
		Entry("a namePrefix that is empty", "IPPool", "{namePrefix: ''}", "spec.namePrefix"),
		Entry("a prefix of more than 128", "IPPool", "{namePrefix: p, prefix: 129}", "spec.prefix"),
		Entry("that of an entry", "IPPool", "{namePrefix: p, pools: [{prefix: 129}]}", "spec.pools[0].prefix"),
		Entry("that of an address", "IPAddress", "{address: 192.0.2.1, claim: {}, pool: {}, prefix: 129}", "spec.prefix"),
		Entry("an unknown strategy", "IPPool", "{namePrefix: p, allocationStrategy: lowest}", "spec.allocationStrategy"),
		Entry("a number too big for IPv4", "IPPool", "{namePrefix: p, gateway: 192.0.2.256}", "spec.gateway"),
		Entry("a leading zero in IPv4", "IPPool", "{namePrefix: p, pools: [{start: 192.0.02.1}]}", "spec.pools[0].start"),
		Entry("an IPv4 address in IPv6", "IPPool", "{namePrefix: p, pools: [{end: '::ffff:192.0.2.1'}]}", "spec.pools[0].end"),
		Entry("a zone", "IPPool", "{namePrefix: p, dnsServers: ['fe80::1%eth0']}", "spec.dnsServers[0]"),
		Entry("a prefix for an address", "IPPool", "{namePrefix: p, preAllocations: {a: 192.0.2.0/24}}", "spec.preAllocations.a"),
		Entry("an address that is empty", "IPPool", "{namePrefix: p, pools: [{gateway: ''}]}", "spec.pools[0].gateway"),
		Entry("a subnet without length", "IPPool", "{namePrefix: p, pools: [{subnet: 192.0.2.0}]}", "spec.pools[0].subnet"),
		Entry("a length too great for IPv4", "IPPool", "{namePrefix: p, pools: [{subnet: 192.0.2.0/33}]}", "spec.pools[0].subnet"),
		Entry("a length too great for IPv6", "IPPool", "{namePrefix: p, pools: [{subnet: '2001:db8::/129'}]}", "spec.pools[0].subnet"),
		Entry("a claim without pool", "IPClaim", "{}", "spec.pool: Required"),
		Entry("an address without address", "IPAddress", "{claim: {}, pool: {}}", "spec.address: Required"),
		Entry("without claim", "IPAddress", "{address: 192.0.2.1, pool: {}}", "spec.claim: Required"),
		Entry("without pool", "IPAddress", "{address: 192.0.2.1, claim: {}}", "spec.pool: Required"),
	)

	It("set the strategy of a pool that names none", func(ctx SpecContext) {
		pool := create(ctx, object(namespace, "IPPool", "{namePrefix: p}"))
		Expect(pool.Object["spec"]).To(Equal(map[string]any{"namePrefix": "p", "allocationStrategy": "sequential"}))
	})

	DescribeTable("keep conditions where a writer does not know them", func(ctx SpecContext, kind, spec, known string) {
		o := create(ctx, object(namespace, kind, spec))
		patch := func(body string) {
			GinkgoHelper()
			Expect(raw.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(body)))).To(Succeed())
		}
		patch(`{"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"}]}}`)
		patch(known) // as Metal3's controller writes what it has changed
		delete(o.Object, "status")
		Expect(raw.Update(ctx, o)).To(Succeed()) // as it writes finalizers
		Expect(raw.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		Expect(conditions).To(ConsistOf(HaveKeyWithValue("type", "Ready")))
	},
		Entry("of a pool", "IPPool", "{namePrefix: p}", `{"status": {"indexes": {"a": "192.0.2.1"}, "lastUpdated": "2026-08-01T12:00:00Z"}}`),
		Entry("of a claim", "IPClaim", "{pool: {name: p}}", `{"status": {"address": {"name": "p-192-0-2-1"}, "errorMessage": null}}`),
	)

	It("are found by Metal3's short names and categories", func() {
		known, err := discovery.NewDiscoveryClientForConfig(idle.Config())
		Expect(err).NotTo(HaveOccurred())
		list, err := known.ServerResourcesForGroupVersion(m3v1.GroupVersion.String())
		Expect(err).NotTo(HaveOccurred())
		found := map[string][]string{}
		for _, resource := range list.APIResources {
			Expect(resource.Namespaced).To(BeTrue())
			found[resource.Name] = append(resource.ShortNames, resource.Categories...)
		}
		Expect(found).To(gstruct.MatchAllKeys(gstruct.Keys{
			"ippools": ContainElements("ipp", "metal3ippools", "cluster-api"), "ippools/status": BeEmpty(),
			"ipclaims": ContainElements("ipc", "metal3ipclaims", "cluster-api"), "ipclaims/status": BeEmpty(),
			"ipaddresses": ContainElements("ipa", "metal3ipaddresses", "metal3"),
		}))
	})
})
