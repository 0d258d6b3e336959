// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
)

// otherClaims is how many claims of the other front door there are at a time, for so few addresses that some wait.
const otherClaims = 20

// otherName is a name that claims of Cluster API have as well: those of the first pool, in the first batch.
func otherName(i int) string { return fmt.Sprintf("%s-0-%d", pools[0].name, i*smallShare) }

// createOtherPool makes a pool of the other front door, named like the smallest one and with its addresses.
func createOtherPool(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Create(ctx, &otherdoor.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pools[0].name},
		Spec:       otherdoor.IPPoolSpec{Start: "192.0.2.0", End: "192.0.2.15"},
	})).To(Succeed())
}

// makeOtherClaims makes and deletes claims of the other front door until ctx ends.
func makeOtherClaims(ctx context.Context) {
	defer GinkgoRecover()
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 300))
	for ctx.Err() == nil {
		claim := &otherdoor.IPClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: otherName(random.IntN(otherClaims))},
			Spec:       otherdoor.IPClaimSpec{Pool: pools[0].name},
		}
		err := k.Create(context.WithoutCancel(ctx), claim)
		if err != nil {
			err = client.IgnoreNotFound(k.Delete(context.WithoutCancel(ctx), claim))
		}
		Expect(ignorePassing(err)).To(Succeed())
		expectOthersDisjoint(context.WithoutCancel(ctx))
		faults.Sleep(ctx, faults.UpTo(random, 200*time.Millisecond))
	}
}

// expectOthersDisjoint expects that no two of the other front door's claims that live are answered with one address.
func expectOthersDisjoint(ctx context.Context) {
	answers, living := &otherdoor.IPAddressList{}, &otherdoor.IPClaimList{}
	if k.List(ctx, answers, client.InNamespace(namespace)) != nil || k.List(ctx, living, client.InNamespace(namespace)) != nil {
		return // the API server has too much to do
	}
	lives := map[types.UID]bool{}
	for i := range living.Items {
		lives[living.Items[i].UID] = living.Items[i].DeletionTimestamp == nil
	}
	told := map[string]string{}
	for i := range answers.Items {
		a := &answers.Items[i]
		if owner := metav1.GetControllerOf(a); owner == nil || !lives[owner.UID] {
			continue
		}
		Expect(told).NotTo(HaveKey(a.Spec.Address), "%s has it, and %s", a.Spec.Claim, told[a.Spec.Address])
		told[a.Spec.Address] = a.Spec.Claim
	}
}

// deleteOthers deletes the other front door's claims, and expects that nothing is left of them but the pool's blocks.
func deleteOthers(ctx context.Context) {
	GinkgoHelper()
	Expect(k.DeleteAllOf(ctx, &otherdoor.IPClaim{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func(g Gomega) {
		claims, answers, records := &otherdoor.IPClaimList{}, &otherdoor.IPAddressList{}, &ipamv1.IPAllocationList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(k.List(ctx, answers)).To(Succeed())
		g.Expect(k.List(ctx, records)).To(Succeed())
		g.Expect(claims.Items).To(BeEmpty())
		g.Expect(answers.Items).To(BeEmpty())
		for i := range records.Items {
			r := &records.Items[i]
			g.Expect(r.Spec.PoolRef.GroupKind() != otherdoor.IPPoolKind || r.Spec.IsRootBlock()).To(BeTrue(), r.Name)
		}
	}, "5m", "1s").Should(Succeed())
}
