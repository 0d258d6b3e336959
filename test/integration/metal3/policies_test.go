// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const onePool = `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`

// refuses says that the patch is refused with these words. A policy is compiled some moments after it is stored.
func refuses(ctx context.Context, obj client.Object, patch, words string) {
	GinkgoHelper()
	Eventually(func() error {
		return k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}, patience, "100ms").Should(MatchError(ContainSubstring(words)))
}

func allows(ctx context.Context, obj client.Object, patch string) {
	GinkgoHelper()
	Expect(k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)).To(Succeed())
}

var _ = DescribeTable("Of a pool", func(ctx SpecContext, patch, words string) {
	ns := suite.Namespace(ctx, k, nil)
	pool(ctx, ns, onePool)
	p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
	if words == "" {
		allows(ctx, p, patch)
	} else {
		refuses(ctx, p, patch, words)
	}
},
	Entry("the address space stays", `{"metadata":{"annotations":{"ipam.weir.dev/address-space":"x"}}}`, "is set when the pool is created, and never changed"),
	Entry("a parent is not given later", `{"metadata":{"annotations":{"ipam.weir.dev/parent":"GlobalIPPool/g"}}}`, "is set when the pool is created, and never changed"),
	Entry("the family stays one", `{"spec":{"pools":[{"start":"10.0.0.1","end":"10.0.0.9"},{"start":"2001:db8::1"}]}}`, "spec.pools: mixes IPv4 and IPv6"),
	Entry("the name prefix stays", `{"spec":{"namePrefix":"other"}}`, "spec.namePrefix: is immutable"),
	Entry("the strategy stays", `{"spec":{"allocationStrategy":"random"}}`, "spec.allocationStrategy: is immutable"),
	Entry("the strategy may be written out", `{"spec":{"allocationStrategy":"sequential"}}`, ""),
	Entry("the entries may change", `{"spec":{"pools":[{"start":"10.0.0.1","end":"10.0.0.20"}]}}`, ""),
)

func annotated(ns, spec string, annotations map[string]string) *m3v1.IPPool {
	p := newPool(ns, "p", spec)
	p.Annotations = annotations
	return p
}

var _ = DescribeTable("A pool is created", func(ctx SpecContext, spec string, annotations map[string]string, words string) {
	p := annotated(suite.Namespace(ctx, k, nil), spec, annotations)
	create := func() error {
		p.ResourceVersion, p.UID = "", ""
		return k.Create(ctx, p, client.DryRunAll)
	}
	if words == "" {
		Expect(create()).To(Succeed())
		return
	}
	Eventually(create, patience, "100ms").Should(MatchError(ContainSubstring(words)))
},
	Entry("with a parent", onePool, map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/g.1"}, ""),
	Entry("but not with one of another kind", onePool, map[string]string{m3v1.ParentAnnotation: "IPPool/g"}, "must be GlobalIPPool/<name>"),
	Entry("nor with an empty one", onePool, map[string]string{m3v1.ParentAnnotation: ""}, "must be GlobalIPPool/<name>"),
	Entry("nor with one that cannot be a name", onePool, map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/a/b"}, "must be GlobalIPPool/<name>"),
	Entry("nor with an address space beside it", onePool,
		map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/g", m3v1.AddressSpaceAnnotation: "x"}, "not together with ipam.weir.dev/parent"),
	Entry("nor with a range without an end", `{pools: [{start: 10.0.0.1}]}`, map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/g"}, "set end or subnet"),
	Entry("without a parent with a range without an end", `{pools: [{start: 10.0.0.1}]}`, nil, ""),
	Entry("but not of two families", `{pools: [{subnet: 192.0.2.0/24}, {subnet: '2001:db8::/64'}]}`, nil, "spec.pools: mixes IPv4 and IPv6"),
	Entry("nor with an entry of two", `{pools: [{start: 192.0.2.1, end: '2001:db8::1'}]}`, nil, "spec.pools: mixes IPv4 and IPv6"),
	Entry("with gateways and servers of another family", `{gateway: '2001:db8::1', pools: [{subnet: 192.0.2.0/24, dnsServers: ['2001:db8::53']}]}`, nil, ""),
	Entry("of IPv6, however it is written", `{pools: [{start: '2001:0DB8::0001', end: '2001:DB8:0:0::F'}, {subnet: 'fd00::/08'}]}`, nil, ""),
	Entry("of IPv4 addresses that are written as those of IPv6", `{pools: [{start: '::ffff:c000:201', end: '::ffff:c000:202'}, {subnet: 192.0.2.16/28}]}`, nil, ""),
	Entry("with an end that bounds nothing", `{pools: [{subnet: 192.0.2.0/24}, {end: '2001:db8::1'}]}`, nil, ""),
)

var _ = Describe("Policies on Metal3's kinds", func() {
	It("let a pool have thousands of entries", func(ctx SpecContext) {
		p := newPool(suite.Namespace(ctx, k, nil), "p", onePool)
		for i := range 4000 {
			text := fmt.Sprintf("10.1.%d.%d", i/250, i%250)
			p.Spec.Pools = append(p.Spec.Pools, m3v1.Pool{Start: address(text), End: address(text)})
		}
		Expect(k.Create(ctx, p)).To(Succeed())
		Expect(k.Delete(ctx, p)).To(Succeed())
	})

	It("keep a parent, but for who takes all annotations off what has moved", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, nil)
		p := annotated(ns, onePool, map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/g"})
		Expect(k.Create(ctx, p)).To(Succeed())
		for _, annotation := range []string{`"GlobalIPPool/h"`, "null"} {
			refuses(ctx, p, `{"metadata":{"annotations":{"ipam.weir.dev/parent":`+annotation+`}}}`, "is set when the pool is created, and never changed")
		}
		refuses(ctx, p, `{"spec":{"pools":[{"start":"10.0.0.1"}]}}`, "set end or subnet")
		allows(ctx, p, `{"metadata":{"annotations":{"ipam.weir.dev/parent":null,"clusterctl.cluster.x-k8s.io/delete-for-move":""}}}`)
	})

	It("let a claim ask once, and let its answer be for that claim", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, nil)
		pool(ctx, ns, onePool)
		c := claimOf(ns, "c")
		a := answer(ctx, c)
		refuses(ctx, c, `{"spec":{"pool":{"name":"q"}}}`, "spec: is immutable")
		for _, change := range []string{`{"address":"10.0.0.9"}`, `{"pool":{"name":"q"}}`, `{"claim":{"name":"d"}}`} {
			refuses(ctx, a, `{"spec":`+change+`}`, "address, pool and claim are immutable")
		}
		allows(ctx, a, `{"spec":{"prefix":16,"gateway":"10.0.0.254"}}`)
		d := addressClaim(ns, "c")
		Expect(k.Create(ctx, d)).To(Succeed())
		refuses(ctx, told(ctx, d), `{"spec":{"address":"10.0.0.9"}}`, "spec: is immutable")
	})

	It("let only who may bring address space in name one", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, nil)
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pools-" + ns}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{m3v1.GroupVersion.Group}, Resources: []string{"ippools"}, Verbs: []string{"create"}},
		}}
		bound := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tenant"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "tenant"}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		}
		Expect(k.Create(ctx, role)).To(Succeed())
		Expect(k.Create(ctx, bound)).To(Succeed())
		config := rest.CopyConfig(site.Config())
		config.Impersonate.UserName = "tenant"
		tenant, err := site.ClientFor(config)
		Expect(err).NotTo(HaveOccurred())
		p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: m3v1.IPPoolSpec{NamePrefix: "net"}}
		Eventually(func() error { return tenant.Create(ctx, p, client.DryRunAll) }, patience).Should(Succeed())
		p.ResourceVersion, p.UID = "", ""
		p.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: "corp"}
		Eventually(func() error { return tenant.Create(ctx, p, client.DryRunAll) }, patience).Should(MatchError(ContainSubstring("createroot")))
		Expect(k.Create(ctx, p, client.DryRunAll)).To(Succeed())
	})
})
