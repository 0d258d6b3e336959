// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// claimsAround is how many claims are made around each outage.
var claimsAround = size.Of(60, 150, 3000)

// tenant is a namespace with an address space and a pool of its own.
type tenant struct{ name string }

func newTenant(ctx context.Context, name string) tenant {
	GinkgoHelper()
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	t := tenant{name}
	Expect(k.Create(ctx, t.pool(name, "10.0.0.0/16"))).To(Succeed())
	return t
}

func (t tenant) pool(name, cidr string) *ipamv1.IPPool {
	return builder.IPPool(t.name, name).WithCIDR(cidr).WithSpace(t.name).Build()
}

func (t tenant) claim(name string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(t.name, name, ipamv1.IPPoolKind, t.name).Build()
}

// create makes claims one after the other, each as soon as the API server takes it.
func (t tenant) create(ctx context.Context, prefix string, n int) {
	GinkgoHelper()
	for i := range n {
		Eventually(func() error {
			return client.IgnoreAlreadyExists(k.Create(ctx, t.claim(fmt.Sprintf("%s-%d", prefix, i))))
		}, "2m", "100ms").Should(Succeed())
	}
}

// creating makes claims in the background.
func (t tenant) creating(ctx context.Context, prefix string, n int) *sync.WaitGroup {
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		t.create(ctx, prefix, n)
	})
	return &done
}

func (t tenant) claims(ctx context.Context) ([]ipamv1beta2.IPAddressClaim, error) {
	list := &ipamv1beta2.IPAddressClaimList{}
	err := k.List(ctx, list, client.InNamespace(t.name))
	return list.Items, err
}

// expectAnswers waits until there are n claims, all of them answered, and has the checker look.
func (t tenant) expectAnswers(ctx context.Context, n int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claims, err := t.claims(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		var unanswered []string
		for i := range claims {
			if claims[i].Status.AddressRef.Name == "" || !claims[i].DeletionTimestamp.IsZero() {
				unanswered = append(unanswered, claims[i].Name)
			}
		}
		g.Expect(unanswered).To(BeEmpty())
		g.Expect(claims).To(HaveLen(n))
	}, "5m", "200ms").Should(Succeed())
	suite.AtRest(ctx, site.Config(), suite.Safe)
}

// deleteHalf deletes every other claim and returns how many are left.
func (t tenant) deleteHalf(ctx context.Context) int {
	GinkgoHelper()
	claims, err := t.claims(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := 0; i < len(claims); i += 2 {
		Expect(k.Delete(ctx, &claims[i])).To(Succeed())
	}
	return len(claims) / 2
}
