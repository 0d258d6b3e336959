// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// An applied is a spec whose objects come by kubectl, as people and GitOps tools send them.
type applied struct{ *suite.Spec }

// kubectl runs it in the spec's namespace, with this manifest to read.
func (s applied) kubectl(ctx SpecContext, manifest string, args ...string) (string, error) {
	return site.Kubectl(ctx, manifest, append(args, "--namespace="+s.Namespace, "-f-")...)
}

// objects makes a manifest of objects, each of which is written without its apiVersion. SPACE is the spec's address space.
func (s applied) objects(objects ...string) string {
	for i, o := range objects {
		version := "ipam.weir.dev/v1alpha1"
		if strings.Contains(o, "kind: IPAddress") {
			version = "ipam.cluster.x-k8s.io/v1beta2"
		}
		objects[i] = "apiVersion: " + version + "\n" + strings.ReplaceAll(o, "SPACE", s.Namespace)
	}
	return strings.Join(objects, "\n---\n")
}

// claimOf is a claim of Cluster API's to an IPPool.
func claimOf(name, pool string) string {
	return "kind: IPAddressClaim\nmetadata: {name: " + name + "}\nspec: {poolRef: {apiGroup: ipam.weir.dev, kind: IPPool, name: " + pool + "}}"
}

// madeFor is an IPAddress that somebody, or another provider, has made.
func madeFor(name, address, group, kind, pool string) string {
	return "kind: IPAddress\nmetadata: {name: " + name + "}\nspec: {address: " + address + ", prefix: 24, claimRef: {name: " + name + "}, " +
		"poolRef: {apiGroup: " + group + ", kind: " + kind + ", name: " + pool + "}}"
}

// answer waits for the IPAddress of a claim.
func (s applied) answer(ctx SpecContext, name string) (address string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claim := &ipamv1beta2.IPAddressClaim{}
		g.Expect(k.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, claim)).To(Succeed())
		g.Expect(claim.Status.AddressRef.Name).NotTo(BeEmpty(), "%v", claim.Status.Conditions)
		made := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: claim.Status.AddressRef.Name}}
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
		address = made.Spec.Address
	}, patience, "100ms").Should(Succeed())
	return address
}

var _ = Describe("In one commit", func() {
	var s applied

	BeforeEach(func(ctx SpecContext) { s = applied{suite.New(ctx, site)} })

	It("a range moves from one pool to another: diff and dry run warn, and one apply does it", func(ctx SpecContext) {
		lan := func(addresses string) string {
			return "kind: IPPool\nmetadata: {name: lan}\nspec: {addressSpace: SPACE, addresses: [" + addresses + "], network: {prefixLength: 24, gateway: 192.0.2.1}}"
		}
		_, err := s.kubectl(ctx, s.objects(lan("192.0.2.2-192.0.2.254")), "apply")
		Expect(err).NotTo(HaveOccurred())
		s.Ready(ctx, s.Root("lan", "").Build())
		after := s.objects(lan("192.0.2.130-192.0.2.254"),
			"kind: IPPool\nmetadata: {name: lan-endpoints}\nspec: {addressSpace: SPACE, addresses: [192.0.2.129], network: {prefixLength: 32}}", claimOf("api", "lan-endpoints"))
		for _, diff := range [][]string{{"diff"}, {"diff", "--server-side"}} {
			shown, differs := s.kubectl(ctx, after, diff...)
			Expect(exitCode(differs)).To(Equal(1), "differences, and no failure: %v", differs)
			Expect(shown).To(ContainSubstring("+  - 192.0.2.129"))
		}
		dryRun := []string{"apply", "--server-side", "--dry-run=server", "--force-conflicts"}
		_, err = s.kubectl(ctx, after, dryRun...)
		Expect(err).NotTo(HaveOccurred())
		_, err = s.kubectl(ctx, after, append(dryRun, "--warnings-as-errors")...)
		Expect(err).To(MatchError(ContainSubstring("192.0.2.129 shares 192.0.2.129 with IPPool " + s.Namespace + "/lan; it is refused for as long as that is so")))

		_, err = s.kubectl(ctx, after, "apply")
		Expect(err).NotTo(HaveOccurred())
		s.Ready(ctx, s.Root("lan", "").Build(), s.Root("lan-endpoints", "").Build())
		Expect(s.answer(ctx, "api")).To(Equal("192.0.2.129"))
		_, err = s.kubectl(ctx, after, "diff")
		Expect(err).NotTo(HaveOccurred())
	}, SpecTimeout(5*time.Minute))

	It("an IPAddress made by hand comes with its pool, and the claim after it gets another address", func(ctx SpecContext) {
		_, err := s.kubectl(ctx, s.objects(
			"kind: IPPool\nmetadata: {name: res}\nspec: {addressSpace: SPACE, addresses: [192.0.2.50-192.0.2.52], network: {prefixLength: 24}}",
			madeFor("jumphost", "192.0.2.50", "ipam.weir.dev", "IPPool", "res"), claimOf("web", "res"),
		), "apply")
		Expect(err).NotTo(HaveOccurred())
		Expect(s.answer(ctx, "web")).To(Equal("192.0.2.51"))
	}, SpecTimeout(5*time.Minute))

	It("an IPAddress of another provider comes before a pool around it, and the claim after it gets another address", func(ctx SpecContext) {
		_, err := s.kubectl(ctx, s.objects(
			madeFor("other-provider", "100.64.200.2", "ipam.cluster.x-k8s.io", "InClusterIPPool", "other"),
			"kind: IPPool\nmetadata: {name: beside}\nspec: {cidr: 100.64.200.0/24, network: {gateway: 100.64.200.1}}", claimOf("beside", "beside"),
		), "apply")
		Expect(err).NotTo(HaveOccurred())
		Expect(s.answer(ctx, "beside")).To(Equal("100.64.200.3"))
		s.Delete(ctx, &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "other-provider"}})
	}, SpecTimeout(5*time.Minute))
})
