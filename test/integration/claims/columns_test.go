// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// shown returns what kubectl get prints, each object by its name: its cells by the columns' heads.
func shown(ctx context.Context, args ...string) map[string]map[string]string {
	GinkgoHelper()
	text, err := site.Kubectl(ctx, "", append([]string{"get", "-o", "wide"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	heads := strings.Fields(lines[0])
	begins, at := make([]int, 0, len(heads)+1), 0
	for _, head := range heads { // a column begins where its head does
		at += strings.Index(lines[0][at:], head)
		begins, at = append(begins, at), at+len(head)
	}
	objects := map[string]map[string]string{}
	for _, line := range lines[1:] {
		line += strings.Repeat(" ", len(lines[0]))
		cells := map[string]string{}
		for i, head := range heads {
			cells[head] = strings.TrimSpace(line[begins[i]:slices.Concat(begins, []int{len(line)})[i+1]])
		}
		objects[cells["NAME"]] = cells
	}
	return objects
}

var _ = Describe("kubectl get", func() {
	var ns, in string

	BeforeEach(func(ctx SpecContext) {
		ns = newBareNamespace(ctx)
		in = "--namespace=" + ns
	})

	It("shows of a pool what it consists of, its space, whether it drains or is paused, and its use in percent", func(ctx SpecContext) {
		create(ctx, newPool(ns, "block", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns, Mode: ipamv1.DrainingMode}))
		create(ctx, newPool(ns, "list", ipamv1.IPPoolSpec{AddressSpace: ns, Addresses: []ipamv1.AddressEntry{"10.2.0.1-10.2.0.2", "10.3.0.0/31"}}))
		create(ctx, newPool(ns, "long", ipamv1.IPPoolSpec{
			AddressSpace: ns, Addresses: []ipamv1.AddressEntry{"10.4.0.1", "10.4.0.3", "10.4.0.5", "10.4.0.7", "10.4.0.9"},
		}))
		answered(ctx, create(ctx, newClaim(ns, "a", "IPPool", "list")))
		Eventually(func(g Gomega) {
			pools := shown(ctx, "ippools.ipam.weir.dev", in)
			g.Expect(pools["block"]).To(And(
				HaveKeyWithValue("CIDR", "10.1.0.0/30"), HaveKeyWithValue("ADDRESSES", ""), HaveKeyWithValue("USED", "50%"),
				HaveKeyWithValue("SPACE", ns), HaveKeyWithValue("MODE", "Draining"), HaveKeyWithValue("PAUSED", "False")))
			g.Expect(pools["list"]).To(And(HaveKeyWithValue("CIDR", ""), HaveKeyWithValue("ADDRESSES", "10.2.0.1-10.2.0.2, 10.3.0.0/31"),
				HaveKeyWithValue("USED", "25%"), HaveKeyWithValue("MODE", "")))
			g.Expect(pools["long"]).To(HaveKeyWithValue("ADDRESSES", "10.4.0.1, 10.4.0.3, 10.4.0.5, 2 more"))
		}, "1m", "200ms").Should(Succeed())
	})

	It("shows of a record the claim's kind, the pool's namespace and its state, and selects by the pool's namespace", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/29", AddressSpace: ns, Allocation: &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](600)},
		}))
		answered(ctx, create(ctx, newClaim(ns, "stays", "IPPool", "p")))
		cools := create(ctx, newClaim(ns, "cools", "IPPool", "p"))
		answered(ctx, cools)
		Expect(k.Delete(ctx, cools)).To(Succeed())
		gone(ctx, cools)
		Eventually(func(g Gomega) {
			byClaim := map[string]map[string]string{}
			for _, record := range shown(ctx, "ipallocations.ipam.weir.dev", in, "--field-selector=spec.poolRef.namespace="+ns) {
				byClaim[record["CLAIM"]] = record
			}
			g.Expect(byClaim).To(HaveLen(3))
			g.Expect(byClaim["p"]).To(And(HaveKeyWithValue("KIND", "IPPool"), HaveKeyWithValue("STATE", "Confirmed"), HaveKeyWithValue("POOLNAMESPACE", ns)))
			g.Expect(byClaim["stays"]).To(And(HaveKeyWithValue("KIND", "IPAddressClaim"), HaveKeyWithValue("RELEASED", "")))
			g.Expect(byClaim["cools"]).To(HaveKeyWithValue("RELEASED", Not(BeEmpty())))
		}, "1m", "200ms").Should(Succeed())
		none, err := site.Kubectl(ctx, "", "get", "ipallocations.ipam.weir.dev", in, "--field-selector=spec.poolRef.namespace=elsewhere", "-o", "name")
		Expect(err).NotTo(HaveOccurred())
		Expect(none).To(BeEmpty())
	})

	It("shows of an IPClaim why it is not ready", func(ctx SpecContext) {
		create(ctx, &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lost"}, Spec: ipamv1.IPClaimSpec{
			PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "nowhere"},
		}})
		Eventually(func() map[string]string { return shown(ctx, "ipclaims.ipam.weir.dev", in)["lost"] }, "1m", "200ms").
			Should(HaveKeyWithValue("REASON", "PoolNotReady"))
	})
})
