// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// delegatedPool is a pool of either kind.
type delegatedPool interface {
	client.Object
	PoolSpec() *ipamv1.IPPoolSpec
}

func closing(s *ipamv1.IPPoolSpec) {
	carved(s)
	s.Mode = ipamv1.ClosingMode
}

// forMember begins a delegated pool of each kind, with a name of its own.
func forMember() []delegatedPool {
	global := builder.GlobalIPPool("delegated-" + rand.String(5)).Build()
	delegated(&global.Spec)
	return []delegatedPool{pool(home, "delegated-"+rand.String(5), delegated), global}
}

// inMode writes a pool's mode.
func inMode(ctx context.Context, u client.Client, p delegatedPool, mode ipamv1.PoolMode) error {
	changed, _ := p.DeepCopyObject().(delegatedPool)
	changed.PoolSpec().Mode = mode
	return u.Patch(ctx, changed, client.MergeFrom(p))
}

// propagates returns a client that may do what Karmada does at a member.
func propagates(ctx context.Context) client.Client {
	GinkgoHelper()
	const user = "propagator"
	grant(ctx, user, "", rbacv1.PolicyRule{Resources: []string{"*"}, Verbs: plain})
	grant(ctx, user, "", rbacv1.PolicyRule{Resources: []string{"ippools", "globalippools"}, Verbs: []string{"createroot"}})
	grant(ctx, user, "", rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"manage"}})
	u := as(ctx, user)
	copied := pool(home, "probe", delegated)
	annotate(copied, ipamv1.TemplateAnnotation, "probe")
	Eventually(func() error { return u.Create(ctx, copied.DeepCopy(), client.DryRunAll) }, "1m").Should(Succeed())
	return u
}

var _ = Describe("The order to hand a block back", func() {
	BeforeEach(onPolicies)

	It("is not for pools that are not delegated, whoever gives it", func(ctx SpecContext) {
		for _, u := range []client.Client{as(ctx, admin), k} {
			denied(u.Create(ctx, pool(home, "closing", closing)), "Closing is for pools with spec.delegateTo")
		}
		for _, u := range []client.Client{as(ctx, admin), k, weir(ctx)} {
			p := pool(home, "carved-"+rand.String(5), carved)
			Expect(k.Create(ctx, p)).To(Succeed())
			denied(inMode(ctx, u, p, ipamv1.ClosingMode), "Closing is for pools with spec.delegateTo")
			Expect(inMode(ctx, as(ctx, admin), p, ipamv1.DrainingMode)).To(Succeed())
		}
	}, NodeTimeout(10*time.Minute))

	It("is given at the hub by Weir alone, once the pool is being deleted, and is never taken back", func(ctx SpecContext) {
		u := as(ctx, admin)
		for _, p := range forMember() {
			p.SetFinalizers([]string{ipamv1.PoolFinalizer})
			Expect(k.Create(ctx, p)).To(Succeed())
			annotate(p, ipamv1.TemplateAnnotation, string(p.GetUID()))
			Expect(weir(ctx).Update(ctx, p)).To(Succeed())
			for _, who := range []client.Client{u, k, weir(ctx)} {
				denied(inMode(ctx, who, p, ipamv1.ClosingMode), "Closing is set by Weir, once the pool is being deleted")
			}
			Expect(inMode(ctx, u, p, ipamv1.DrainingMode)).To(Succeed())
			Expect(k.Delete(ctx, p)).To(Succeed())
			Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			for _, who := range []client.Client{u, k} {
				denied(inMode(ctx, who, p, ipamv1.ClosingMode), "Closing is set by Weir")
			}
			forbidden(inMode(ctx, client.WithFieldOwner(u, ipamv1.FieldManager), p, ipamv1.ClosingMode), "manage")
			Expect(inMode(ctx, weir(ctx), p, ipamv1.ClosingMode)).To(Succeed())

			By("taking it back, and changing anything else")
			Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			for _, who := range []client.Client{u, k, weir(ctx)} {
				for _, mode := range []ipamv1.PoolMode{"", ipamv1.ServingMode, ipamv1.DrainingMode} {
					denied(inMode(ctx, who, p, mode), "Closing is not taken back")
				}
			}
			p.SetLabels(map[string]string{"harmless": "x"})
			Expect(u.Update(ctx, p)).To(Succeed())
			p.SetFinalizers(nil)
			Expect(weir(ctx).Update(ctx, p)).To(Succeed())
		}
	}, NodeTimeout(10*time.Minute))

	It("is carried to copies by who may manage, who may also make a copy again that has it", func(ctx SpecContext) {
		u, propagator := as(ctx, admin), propagates(ctx)
		for name, marks := range map[string]map[string]string{
			"by Karmada":      {"work.karmada.io/namespace": "karmada-es-edge-a", "resourcetemplate.karmada.io/uid": "hubs", ipamv1.TemplateAnnotation: "hubs"},
			"by another tool": {ipamv1.TemplateAnnotation: "hubs"},
			"by hand":         nil,
		} {
			By(name)
			for _, p := range forMember() {
				p.SetAnnotations(marks)
				sent, _ := p.DeepCopyObject().(delegatedPool)
				Expect(propagator.Create(ctx, p)).To(Succeed())
				forbidden(inMode(ctx, u, p, ipamv1.ClosingMode), "manage")
				Expect(inMode(ctx, propagator, p, ipamv1.ClosingMode)).To(Succeed())
				denied(propagator.Update(ctx, served(ctx, p)), "Closing is not taken back")
				Expect(k.Delete(ctx, p)).To(Succeed())
				sent.PoolSpec().Mode = ipamv1.ClosingMode
				Expect(propagator.Create(ctx, sent)).To(Succeed())
			}
		}
	}, NodeTimeout(10*time.Minute))

	DescribeTable("names a pool of the hub by annotations that take the verb manage to be set, changed and removed, on delegated pools",
		func(ctx SpecContext, key string) {
			u := as(ctx, admin)
			for _, p := range forMember() {
				Expect(k.Create(ctx, p)).To(Succeed())
				annotate(p, key, "hubs")
				denied(u.Update(ctx, p), key)
				Expect(k.Update(ctx, p)).To(Succeed())
				annotate(p, key, "anothers")
				denied(u.Update(ctx, p), key)
				p.SetAnnotations(nil)
				denied(u.Update(ctx, p), key)
				annotate(p, key, "hubs")
				p.SetLabels(map[string]string{"harmless": "x"})
				Expect(u.Update(ctx, p)).To(Succeed())
			}
			free := pool(home, "carved-"+rand.String(5), carved)
			annotate(free, key, "nothings")
			Expect(u.Create(ctx, free)).To(Succeed())
		},
		Entry("Weir's", NodeTimeout(10*time.Minute), ipamv1.TemplateAnnotation),
		Entry("Karmada's", NodeTimeout(10*time.Minute), "resourcetemplate.karmada.io/uid"),
		Entry("Karmada's for the member", NodeTimeout(10*time.Minute), "work.karmada.io/namespace"),
	)
})

// denied expects that a policy refuses a request in these words.
func denied(err error, words string) {
	GinkgoHelper()
	Expect(err).To(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(words))))
}

// served returns a pool as it is stored, but that it serves.
func served(ctx context.Context, p delegatedPool) delegatedPool {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	changed, _ := p.DeepCopyObject().(delegatedPool)
	changed.PoolSpec().Mode = ipamv1.ServingMode
	return changed
}
