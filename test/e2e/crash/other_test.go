// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

func (w *world) otherPool(cooldown int32) *otherdoor.IPPool {
	return &otherdoor.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name},
		Spec:       otherdoor.IPPoolSpec{Start: "10.0.0.0", End: "10.0.0.3", CooldownSeconds: cooldown},
	}
}

func (w *world) otherClaim() *otherdoor.IPClaim {
	return &otherdoor.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: claimName}, Spec: otherdoor.IPClaimSpec{Pool: w.name}}
}

// populate has the other door's pool and claim beside the world's own.
func (w *world) populate(ctx context.Context) {
	GinkgoHelper()
	w.create(ctx, w.otherPool(0))
	w.create(ctx, w.otherClaim())
	Eventually(func(g Gomega) { w.isOtherAnswered(ctx, g) }, "1m", "100ms").Should(Succeed())
	w.others = w.otherUIDs(ctx, NewWithT(GinkgoT()))
}

// otherUIDs are those of the other door's claim and answers, and of its records.
func (w *world) otherUIDs(ctx context.Context, g Gomega) (uids []types.UID) {
	claims, answers := &otherdoor.IPClaimList{}, &otherdoor.IPAddressList{}
	g.Expect(k.List(ctx, claims, client.InNamespace(w.name))).To(Succeed())
	g.Expect(k.List(ctx, answers, client.InNamespace(w.name))).To(Succeed())
	for i := range claims.Items {
		uids = append(uids, claims.Items[i].UID)
	}
	for i := range answers.Items {
		uids = append(uids, answers.Items[i].UID)
	}
	for _, record := range w.otherRecords(ctx, g) {
		g.Expect(record.DeletionTimestamp).To(BeNil())
		uids = append(uids, record.UID)
	}
	return uids
}

// otherRecords are those of the other door's pool but for its blocks.
func (w *world) otherRecords(ctx context.Context, g Gomega) (found []ipamv1.IPAllocation) {
	for _, a := range w.recordsOfPools(ctx, g, otherdoor.IPPoolKind.Group) {
		if !a.Spec.IsRootBlock() {
			found = append(found, a)
		}
	}
	return found
}

func (w *world) isOtherAnswered(ctx context.Context, g Gomega) {
	claim, answer := w.otherClaim(), &otherdoor.IPAddress{}
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	g.Expect(conditions.IsTrue(claim, ipamv1.ReadyCondition)).To(BeTrue())
	g.Expect(k.Get(ctx, client.ObjectKey{Namespace: w.name, Name: claim.Status.Address}, answer)).To(Succeed())
	g.Expect(answer.Spec.Address).To(Equal(first))
	found := w.otherRecords(ctx, g)
	g.Expect(found).To(HaveLen(1))
	g.Expect(found[0].Spec.CIDR).To(Equal(first + "/32"))
	g.Expect(found[0].Spec.ClaimRef.UID).To(BeEquivalentTo(claim.UID))
}

func (w *world) isOtherGone(ctx context.Context, g Gomega) {
	claim := w.otherClaim()
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Satisfy(apierrors.IsNotFound))
	answers := &otherdoor.IPAddressList{}
	g.Expect(k.List(ctx, answers, client.InNamespace(w.name))).To(Succeed())
	g.Expect(answers.Items).To(BeEmpty())
}

// otherPaths are those of the other door; the world's own claim is answered all the while.
var otherPaths = map[string]path{
	"answering a claim of another form": {
		before: func(ctx context.Context, w *world) { w.answerBeside(ctx, 0) },
		event:  func(ctx context.Context, w *world) { w.create(ctx, w.otherClaim()) },
		done:   func(ctx context.Context, w *world, g Gomega) { w.isOtherAnswered(ctx, g); w.isAnswered(ctx, g) },
	},
	"releasing an address of another form": {
		before: func(ctx context.Context, w *world) { w.answerBeside(ctx, 0); w.answerOther(ctx) },
		event:  func(ctx context.Context, w *world) { w.delete(ctx, w.otherClaim()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isOtherGone(ctx, g)
			g.Expect(w.otherRecords(ctx, g)).To(BeEmpty())
			w.isAnswered(ctx, g)
		},
	},
	"letting an address of another form cool down": {
		before: func(ctx context.Context, w *world) { w.answerBeside(ctx, 3600); w.answerOther(ctx) },
		event:  func(ctx context.Context, w *world) { w.delete(ctx, w.otherClaim()) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.isOtherGone(ctx, g)
			g.Expect(w.otherRecords(ctx, g)).To(ConsistOf(HaveField("Spec.ReleasedAt", Not(BeZero()))))
			w.isAnswered(ctx, g)
		},
	},
	"letting a pool of another form go": {
		before: func(ctx context.Context, w *world) { w.answerBeside(ctx, 0) },
		event:  func(ctx context.Context, w *world) { w.delete(ctx, w.otherPool(0)) },
		done: func(ctx context.Context, w *world, g Gomega) {
			w.lacks(ctx, g, w.otherPool(0))
			g.Expect(w.recordsOfPools(ctx, g, otherdoor.IPPoolKind.Group)).To(BeEmpty())
			w.isAnswered(ctx, g)
		},
	},
}

// answerBeside has the world's own claim answered, beside a pool of the other door that is ready.
func (w *world) answerBeside(ctx context.Context, cooldown int32) {
	GinkgoHelper()
	w.createPool(ctx, "10.0.0.0/30")
	w.answerClaim(ctx)
	pool := w.otherPool(cooldown)
	w.create(ctx, pool)
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(conditions.IsTrue(pool, ipamv1.ReadyCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
}

func (w *world) answerOther(ctx context.Context) {
	GinkgoHelper()
	w.create(ctx, w.otherClaim())
	Eventually(func(g Gomega) { w.isOtherAnswered(ctx, g) }, "1m", "100ms").Should(Succeed())
}

var _ = Describe("A manager process with another front door that is killed", func() {
	size.FromLong(func() {
		for name, p := range otherPaths {
			It("at any write of "+name+" leaves nothing that another does not finish", p.walked(ipamv1.IPPoolKind), SpecTimeout(20*time.Minute))
		}
	})
})
