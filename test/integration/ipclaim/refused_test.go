// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience bounds what a spec waits for.
const patience = 2 * time.Minute

const (
	claimQuota  corev1.ResourceName = "count/ipclaims.ipam.weir.dev"
	recordQuota corev1.ResourceName = "count/ipallocations.ipam.weir.dev"
)

// limit has a quota count no more than these objects in the namespace.
func limit(ctx context.Context, ns string, what corev1.ResourceName, most string) {
	GinkgoHelper()
	quota := create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limit"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse(most)}},
	})
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Hard).To(HaveKey(what))
	}, "1m", "100ms").Should(Succeed())
}

// tryOnce creates a claim and returns the code and text of the answer. Unlike the usual client it does not repeat what gets 429.
func tryOnce(ctx context.Context, claim *ipamv1.IPClaim) (code int, text string) {
	GinkgoHelper()
	claim = claim.DeepCopy()
	claim.SetGroupVersionKind(ipamv1.GroupVersion.WithKind(ipamv1.IPClaimKind))
	body, err := json.Marshal(claim)
	Expect(err).NotTo(HaveOccurred())
	web, err := rest.HTTPClientFor(site.Config())
	Expect(err).NotTo(HaveOccurred())
	url := fmt.Sprintf("%s/apis/%s/namespaces/%s/ipclaims", site.Config().Host, ipamv1.GroupVersion, claim.Namespace)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	response, err := web.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	var answer struct {
		Message string `json:"message"`
	}
	Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
	return response.StatusCode, answer.Message
}

var _ = Describe("What the API server refuses after Weir's webhooks", func() {
	var ns string

	claimOf := func(name, pool string) *ipamv1.IPClaim {
		claim := newClaim(ns, name, pool)
		claim.Spec.PoolRef.Kind = ipamv1.GlobalIPPoolKind
		return claim
	}

	// shared makes a pool of the address space that both tenants may use, and waits until it serves.
	shared := func(ctx context.Context, cidr string) string {
		GinkgoHelper()
		pool := create(ctx, &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: ipamv1.IPPoolSpec{CIDR: cidr, AddressSpace: ns}})
		becomes(ctx, pool, ipamv1.ReadyCondition)
		return pool.Name
	}

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("takes one prefix however often one name is tried", func(ctx SpecContext) {
		pool := shared(ctx, "10.0.0.0/28")
		limit(ctx, ns, claimQuota, "0")
		for range 20 {
			code, text := tryOnce(ctx, claimOf("web", pool))
			Expect(code).To(Equal(http.StatusForbidden), text)
			Expect(text).To(ContainSubstring("exceeded quota"))
		}
		prefixes := map[string]int{}
		for _, held := range records(ctx, ns) {
			prefixes[held]++
		}
		Expect(prefixes).To(Equal(map[string]int{"web 10.0.0.1/32": 20}))
		tenant := newNamespace(ctx)
		for i := range 13 {
			claim := claimOf(fmt.Sprint("c", i), pool)
			claim.Namespace = tenant
			Expect(k.Create(ctx, claim)).To(Succeed())
			Expect(claim.Spec.CIDR).NotTo(Equal("10.0.0.1/32"))
		}
	}, NodeTimeout(patience))

	It("is stored with the prefix of its first try once nothing refuses it", func(ctx SpecContext) {
		pool := shared(ctx, "10.0.0.0/28")
		limit(ctx, ns, claimQuota, "0")
		code, text := tryOnce(ctx, claimOf("web", pool))
		Expect(code).To(Equal(http.StatusForbidden), text)
		Expect(k.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limit"}})).To(Succeed())
		claim := claimOf("web", pool)
		Eventually(func() error { return k.Create(ctx, claim) }, "1m", "100ms").Should(Succeed())
		Expect(claim.Spec.CIDR).To(Equal("10.0.0.1/32"))
		becomes(ctx, claim, ipamv1.ReadyCondition)
	}, NodeTimeout(patience))

	It("leaves a /24 usable for everybody else, whatever one namespace tries", func(ctx SpecContext) {
		pool := shared(ctx, "10.0.0.0/24")
		limit(ctx, ns, claimQuota, "0")
		codes, told := map[int]int{}, ""
		for i := range 300 {
			code, text := tryOnce(ctx, claimOf(fmt.Sprint("c", i), pool))
			if codes[code]++; code == http.StatusTooManyRequests {
				told = text
			}
		}
		Expect(codes).To(Equal(map[int]int{http.StatusForbidden: 128, http.StatusTooManyRequests: 172}))
		Expect(told).To(And(ContainSubstring("128 prefixes are reserved for creates in namespace "+ns), ContainSubstring("quota")))
		tenant, got := newNamespace(ctx), map[netip.Prefix]bool{}
		for i := range 254 - 128 {
			claim := claimOf(fmt.Sprint("c", i), pool)
			claim.Namespace = tenant
			Expect(k.Create(ctx, claim)).To(Succeed())
			got[netip.MustParsePrefix(claim.Spec.CIDR)] = true
		}
		Expect(got).To(HaveLen(254 - 128))
	}, NodeTimeout(patience))
})

var _ = Describe("A quota on records", func() {
	It("is named in the answer to an IPClaim, of which nothing is recorded", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		limit(ctx, ns, recordQuota, "1") // the pool's block
		code, text := tryOnce(ctx, newClaim(ns, "c", "root"))
		Expect(code).To(Equal(http.StatusForbidden), text)
		Expect(text).To(And(ContainSubstring("exceeded quota: limit"), ContainSubstring(string(recordQuota))))
		Expect(records(ctx, ns)).To(BeEmpty())
	}, NodeTimeout(patience))

	It("is named by an IPClaim that is being deleted, and keeps its record, until it succeeds", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "c", "root"))
		becomes(ctx, claim, ipamv1.ReadyCondition)
		end := suite.KeepAll(ctx, k, ns, ipamv1.GroupVersion.WithKind("IPAllocation"), "ipallocations", "records stay for the audit")
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.DeletingCondition)).To(Equal(ipamv1.WaitingForAPIServerReason))
			g.Expect(conditions.GetMessage(claim, ipamv1.DeletingCondition)).To(ContainSubstring("records stay for the audit"))
		}, "1m", "100ms").Should(Succeed())
		end()
		suite.Gone(ctx, k, claim)
	}, NodeTimeout(3*patience))

	It("is named in the condition of an IPAddressClaim, which is answered when there is room in it", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		limit(ctx, ns, recordQuota, "1")
		claim := create(ctx, &ipamv1beta2.IPAddressClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"},
			Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
				APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "root",
			}},
		})
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			ready := conditions.Get(claim, ipamv1beta2.IPAddressClaimReadyCondition)
			g.Expect(ready).NotTo(BeNil())
			g.Expect(ready.Reason).To(Equal(ipamv1.ClaimReadyRefusedByAPIServerReason))
			g.Expect(ready.Message).To(ContainSubstring("exceeded quota: limit"))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limit"}})).To(Succeed())
		becomes(ctx, claim, ipamv1beta2.IPAddressClaimReadyCondition)
	}, NodeTimeout(3*patience))

	It("is named in the condition of an IPClaim that no webhook has seen, which is answered when there is room in it", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, map[string]string{withoutWebhooks: ""})
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		limit(ctx, ns, recordQuota, "1")
		claim := create(ctx, newClaim(ns, "c", "root"))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.GetReason(claim, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyRefusedByAPIServerReason))
			g.Expect(conditions.GetMessage(claim, ipamv1.ReadyCondition)).To(ContainSubstring("exceeded quota: limit"))
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Delete(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "limit"}})).To(Succeed())
		becomes(ctx, claim, ipamv1.ReadyCondition)
	}, NodeTimeout(3*patience))
})
