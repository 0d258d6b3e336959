// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	namespace = "race"
	creators  = 8
	// smallPool has room for fewer claims than are made for it: /27 without network and broadcast address.
	smallPoolRoom = 30
)

var (
	claimsPerRun = size.Of(300, 5000, 50000)
	// smallShare: one claim of so many is for the small pool, which has no room for all of these.
	smallShare = size.Of(5, 20, 20)
)

var _ = It("two managers without a leader never hand out an address twice, lose none and answer everybody, though one is killed on the way", func(ctx SpecContext) {
	create(ctx, pool("large", "10.0.0.0/16"))
	create(ctx, pool("small", "192.0.2.0/27"))
	first := suite.StartManager(ctx, site)
	suite.StartManager(ctx, site)

	By("creating claims while one manager is killed and started again")
	created := createAll(ctx)
	Eventually(func() int { return answers(ctx) }, "5m", "200ms").Should(BeNumerically(">", claimsPerRun/4))
	Expect(first.Restart(ctx)).To(Succeed())
	created.Wait()

	By("waiting for every claim to be answered or told why not")
	Eventually(func() (int, error) { return untold(ctx) }, "10m", "1s").Should(BeZero())
	// The one that was killed may have left records that only the other one's sweep finds.
	suite.AtRest(ctx, config, suite.Safe)
	Eventually(func() int { return answers(ctx) }, "3m", "1s").Should(Equal(claimsPerRun - claimsPerRun/smallShare + smallPoolRoom))

	By("deleting what holds the small pool, so that who waits moves up")
	deleteHalf(ctx)
	Eventually(func() (int, error) { return untold(ctx) }, "5m", "1s").Should(BeZero())
	suite.AtRest(ctx, config, suite.Safe)
	Eventually(func() int { return smallAnswers(ctx) }, "3m", "1s").Should(Equal(smallPoolRoom))
}, SpecTimeout(40*time.Minute))

// pool is in an address space of its own, so that no spec minds what another has left.
func pool(name, cidr string) *ipamv1.IPPool {
	return &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       ipamv1.IPPoolSpec{CIDR: cidr, AddressSpace: name},
	}
}

// create creates a spec's first object. The API server may ask webhooks for a moment that another spec has removed.
func create(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(func() error { return k.Create(ctx, obj) }, "1m", "100ms").Should(Succeed())
}

func claim(i int) *ipamv1beta2.IPAddressClaim {
	name := "large"
	if i%smallShare == 0 {
		name = "small"
	}
	return &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i)},
		Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
			APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: name,
		}},
	}
}

// createAll creates all claims with several creators at once.
func createAll(ctx context.Context) *sync.WaitGroup {
	next := make(chan int)
	var done sync.WaitGroup
	for range creators {
		done.Go(func() {
			defer GinkgoRecover()
			for i := range next {
				Expect(k.Create(ctx, claim(i))).To(Succeed())
			}
		})
	}
	done.Go(func() {
		defer close(next)
		for i := range claimsPerRun {
			next <- i
		}
	})
	return &done
}

func answers(ctx context.Context) int {
	GinkgoHelper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(ipamv1beta2.GroupVersion.WithKind("IPAddressList"))
	Expect(k.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return len(list.Items)
}

func allClaims(ctx context.Context) ([]ipamv1beta2.IPAddressClaim, error) {
	list := &ipamv1beta2.IPAddressClaimList{}
	err := k.List(ctx, list, client.InNamespace(namespace))
	return list.Items, err
}

// untold counts the claims that are neither answered nor told that the pool is exhausted.
func untold(ctx context.Context) (int, error) {
	claims, err := allClaims(ctx)
	n := 0
	for i := range claims {
		ready := conditions.Get(&claims[i], "Ready")
		told := ready != nil && (ready.Status == metav1.ConditionTrue || ready.Reason == "PoolExhausted")
		if !told || !claims[i].DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n, err
}

func smallAnswers(ctx context.Context) int {
	GinkgoHelper()
	claims, err := allClaims(ctx)
	Expect(err).NotTo(HaveOccurred())
	n := 0
	for i := range claims {
		if claims[i].Spec.PoolRef.Name == "small" && claims[i].Status.AddressRef.Name != "" {
			n++
		}
	}
	return n
}

// deleteHalf deletes every other answered claim of the small pool, and a tenth of the large pool's.
func deleteHalf(ctx context.Context) {
	GinkgoHelper()
	claims, err := allClaims(ctx)
	Expect(err).NotTo(HaveOccurred())
	small := 0
	for i := range claims {
		c := &claims[i]
		if c.Status.AddressRef.Name == "" {
			continue
		}
		if c.Spec.PoolRef.Name == "small" {
			small++
		}
		if (c.Spec.PoolRef.Name == "small" && small%2 == 0) || (c.Spec.PoolRef.Name == "large" && i%10 == 0) {
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
	}
}
