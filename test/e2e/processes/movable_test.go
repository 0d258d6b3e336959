// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("the condition Movable names what a move would leave behind, without a write for each claim, and the same across a restart", func(ctx SpecContext) {
	p := pool("movable", "203.0.113.0/24")
	p.Namespace = lifecycle
	create(ctx, p)
	m := suite.StartManager(ctx, site)
	Eventually(func() bool {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return conditions.IsTrue(p, ipamv1.MovableCondition)
	}, "1m", "100ms").Should(BeTrue())

	began, seen := time.Now(), follow(ctx, p)
	const number = 100
	for i := range number { // none of them has an owner
		c := lifecycleClaim(fmt.Sprintf("movable-%d", i))
		c.Spec.PoolRef.Name = p.Name
		Expect(k.Create(ctx, c)).To(Succeed())
	}
	Eventually(func() string {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return conditions.GetMessage(p, ipamv1.MovableCondition)
	}, "3m", "100ms").Should(HavePrefix(fmt.Sprintf("clusterctl move would leave %d behind: ", number)))
	versions := seen(p.ResourceVersion)
	// A status each three seconds, the annotation block-move, and the status after that.
	Expect(len(versions)).To(BeNumerically("<=", int(time.Since(began)/(3*time.Second))+4))
	Eventually(func() int {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return int(*p.Status.Claims)
	}, "3m", "100ms").Should(Equal(number))

	By("restarting")
	was, seen := conditions.Get(p, ipamv1.MovableCondition), follow(ctx, p)
	Expect(m.Restart(ctx)).To(Succeed())
	later := pool("movable-later", "198.18.0.0/24")
	later.Namespace = lifecycle
	Expect(k.Create(ctx, later)).To(Succeed())
	Eventually(func() bool {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(later), later)).To(Succeed())
		return conditions.Has(later, ipamv1.MovableCondition) // everything has been seen
	}, "1m", "100ms").Should(BeTrue())
	suite.Change(ctx, k, p, func() { p.Spec.Mode = ipamv1.DrainingMode })
	Eventually(func() string {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		return conditions.GetReason(p, ipamv1.ReadyCondition)
	}, "1m", "100ms").Should(Equal(ipamv1.PoolReadyDrainingReason))
	for _, version := range seen(p.ResourceVersion) {
		has := conditions.Get(version, ipamv1.MovableCondition)
		Expect(has.Message).To(Equal(was.Message))
		Expect(has.LastTransitionTime).To(Equal(was.LastTransitionTime))
		Expect(version.Annotations).To(HaveKey(clusterctlv1.BlockMoveAnnotation))
	}
}, SpecTimeout(5*time.Minute))

// follow returns a function that returns all versions of a pool from now to a given one.
func follow(ctx context.Context, p *ipamv1.IPPool) func(last string) []*ipamv1.IPPool {
	GinkgoHelper()
	w, err := site.Client().Watch(ctx, &ipamv1.IPPoolList{}, client.InNamespace(p.Namespace), client.MatchingFields{"metadata.name": p.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: p.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	return func(last string) []*ipamv1.IPPool {
		GinkgoHelper()
		var seen []*ipamv1.IPPool
		for {
			var e watch.Event
			Eventually(w.ResultChan(), "1m").Should(Receive(&e))
			version, ok := e.Object.(*ipamv1.IPPool)
			Expect(ok).To(BeTrue(), "%v", e)
			if seen = append(seen, version); version.ResourceVersion == last {
				return seen
			}
		}
	}
}
