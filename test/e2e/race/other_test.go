// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
)

const (
	// otherAddresses is the room in the other front door's pool.
	otherAddresses = 16
	// otherClaims is how many claims of the other front door there may be at a time: at times some wait.
	otherClaims = 20
)

// otherPool is a pool of the other front door, with the name and the addresses of the first one.
func otherPool() *otherdoor.IPPool {
	return &otherdoor.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: busyPools[0].name},
		Spec:       otherdoor.IPPoolSpec{Start: "192.0.2.0", End: "192.0.2.15"},
	}
}

// otherClaim is a claim of the other front door, with the name of a Cluster API claim for the first pool.
func otherClaim(i int) *otherdoor.IPClaim {
	return &otherdoor.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim(i%batches, i/batches*smallShare).Name},
		Spec:       otherdoor.IPClaimSpec{Pool: busyPools[0].name},
	}
}

// makeOtherClaims makes claims of the other front door and deletes fewer, always under the same names, until ctx ends.
func makeOtherClaims(ctx context.Context) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 300))
	for ctx.Err() == nil {
		claim := otherClaim(random.IntN(otherClaims))
		if random.IntN(5) > 0 {
			Expect(client.IgnoreAlreadyExists(ignorePassing(k.Create(context.WithoutCancel(ctx), claim)))).To(Succeed())
		} else {
			Expect(client.IgnoreNotFound(ignorePassing(k.Delete(context.WithoutCancel(ctx), claim)))).To(Succeed())
		}
		faults.Sleep(ctx, faults.UpTo(random, 200*time.Millisecond))
	}
}

// others are the addresses that claims of the other front door were told first.
type others map[types.UID]string

// findings are what is wrong with the claims that live: one has another address than it was told first, or none any more, shares
// it, or lacks its record in the door's own pool. Answers, records and claims are read in this order: what a claim that lives in
// the end has in the first list, it has all the time.
func (o others) findings(ctx context.Context) (found []string, err error) {
	answers, records, claims := &otherdoor.IPAddressList{}, &ipamv1.IPAllocationList{}, &otherdoor.IPClaimList{}
	for _, list := range []client.ObjectList{answers, records, claims} {
		if err := k.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	recorded, has := othersRecorded(records), othersAnswered(answers)
	sharers := map[string]types.UID{}
	for i := range claims.Items {
		uid := claims.Items[i].UID
		address, first := has[uid], o[uid]
		switch {
		case !claims.Items[i].DeletionTimestamp.IsZero() || address == "" && first == "":
			continue
		case first != "" && address != first:
			found = append(found, fmt.Sprintf("the other door's claim %s, told %s, has %q", uid, first, address))
		case sharers[address] != "":
			found = append(found, fmt.Sprintf("the other door's claims %s and %s have %s/32", sharers[address], uid, address))
		case !recorded[otherRecord{uid, address + "/32"}]:
			found = append(found, fmt.Sprintf("the other door's claim %s has %s/32 without a record", uid, address))
		}
		o[uid], sharers[address] = address, uid
	}
	return found, nil
}

// otherRecord is what a record of the other front door's pool is held for, and its prefix.
type otherRecord struct {
	uid  types.UID
	cidr string
}

func othersRecorded(list *ipamv1.IPAllocationList) map[otherRecord]bool {
	recorded := map[otherRecord]bool{}
	for i := range list.Items {
		if r := &list.Items[i]; r.Spec.PoolRef == otherdoor.IPPools.Reference(otherPool()) && r.Spec.ReleasedAt.IsZero() {
			recorded[otherRecord{types.UID(r.Spec.ClaimRef.UID), r.Spec.CIDR}] = true
		}
	}
	return recorded
}

func othersAnswered(list *otherdoor.IPAddressList) map[types.UID]string {
	has := map[types.UID]string{}
	for i := range list.Items {
		if owner := metav1.GetControllerOf(&list.Items[i]); owner != nil {
			has[owner.UID] = list.Items[i].Spec.Address
		}
	}
	return has
}

// expectOthers fails with the history of what is wrong with the other front door's claims.
func (r *race) expectOthers(ctx context.Context) {
	GinkgoHelper()
	var found []string
	Eventually(func() (err error) { // an API server that has too much to do may be too slow
		found, err = r.others.findings(ctx)
		return err
	}, "2m", "1s").Should(Succeed())
	if findings := strings.Join(found, "\n"); findings != "" {
		Fail(findings + "\n" + r.journal.Of(findings))
	}
}

// deleteOthers deletes the other front door's claims, of which nothing has gone with those of Cluster API.
func (r *race) deleteOthers(ctx context.Context) {
	GinkgoHelper()
	Expect(r.others).NotTo(BeEmpty())
	expectOthersOnly(ctx)
	r.expectOthers(ctx)
	Expect(k.DeleteAllOf(ctx, &otherdoor.IPClaim{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func(g Gomega) {
		claims := &otherdoor.IPClaimList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(claims.Items).To(BeEmpty())
	}, "5m", "1s").Should(Succeed())
	expectOthersOnly(ctx)
}

// expectOthersOnly waits until as many of the other front door's claims are answered as can be, and only its own pool counts them.
func expectOthersOnly(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claims, answers := &otherdoor.IPClaimList{}, &otherdoor.IPAddressList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(k.List(ctx, answers)).To(Succeed())
		g.Expect(answers.Items).To(HaveLen(min(len(claims.Items), otherAddresses)))
		pool, first := otherPool(), &ipamv1.IPPool{}
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), first)).To(Succeed())
		g.Expect(ptr.Deref(pool.Status.Claims, 0)).To(BeEquivalentTo(len(answers.Items)))
		g.Expect(ptr.Deref(first.Status.Claims, 0)).To(BeZero())
	}, "5m", "1s").Should(Succeed())
}
