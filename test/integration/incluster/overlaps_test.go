// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// warned collects the warnings that requests have had.
type warned []string

func (w *warned) HandleWarningHeaderWithContext(_ context.Context, _ int, _, message string) {
	*w = append(*w, message)
}

var _ = Describe("A pool that has addresses of another one", func() {
	ready := func(ctx context.Context, p *icv1.InClusterIPPool) func(Gomega) string {
		return func(g Gomega) string {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(conditions.IsTrue(p, ipamv1.ReadyCondition)).To(BeTrue())
			return conditions.GetMessage(p, ipamv1.ReadyCondition)
		}
	}

	It("is served, says so if it is the younger one, as long as it has, and its creator is warned", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, suite.Guarded)
		pool := func(name string, addresses ...string) *icv1.InClusterIPPool {
			return &icv1.InClusterIPPool{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: icv1.InClusterIPPoolSpec{Addresses: addresses, Prefix: 24, Gateway: "10.77.0.1"},
			}
		}
		older := create(ctx, pool("p", "10.77.0.0-10.77.0.9"))
		Eventually(ready(ctx, older), patience, interval).Should(BeEmpty())

		var heard warned
		config := rest.CopyConfig(site.Config())
		config.WarningHandlerWithContext = &heard
		warnedClient, err := client.New(config, client.Options{Scheme: k.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		younger := pool("q", "10.77.0.8-10.77.0.19")
		Eventually(func() []string {
			heard = nil
			Expect(warnedClient.Create(ctx, younger.DeepCopy(), client.DryRunAll)).To(Succeed())
			return heard
		}, patience, interval).Should(ConsistOf(ContainSubstring("shares 10.77.0.8/31 with another pool")))
		create(ctx, younger)
		Eventually(ready(ctx, younger), patience, interval).Should(And(
			ContainSubstring("spec.addresses: shares 10.77.0.8/31 with another pool (InClusterIPPool "+ns+"/p)"), ContainSubstring("in use twice")))
		Expect(ready(ctx, older)(Default)).To(BeEmpty())

		// After a write of its status a pool is looked at once more by itself. From then on a change of the other one must wake it.
		Consistently(ready(ctx, younger), "5s", "200ms").Should(ContainSubstring("shares 10.77.0.8/31 with another pool"))

		By("the older one shrinking")
		older.Spec.Addresses = []string{"10.77.0.0-10.77.0.8"}
		Expect(k.Update(ctx, older)).To(Succeed())
		Eventually(ready(ctx, younger), patience, interval).Should(ContainSubstring("shares 10.77.0.8 with another pool"))

		By("the older one going")
		Expect(k.Delete(ctx, older)).To(Succeed())
		Eventually(ready(ctx, younger), patience, interval).Should(BeEmpty())
	})
})
