// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("two managers that serve a namespace each share a GlobalIPPool, and leave alone what is not theirs", func(ctx SpecContext) {
	const blue, green, unserved = "scoped-blue", "scoped-green", "scoped-unserved"
	for _, name := range []string{blue, green, unserved} {
		Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	}
	claimIn := func(namespace, name string) *ipamv1beta2.IPAddressClaim {
		return builder.IPAddressClaim(namespace, name, ipamv1.GlobalIPPoolKind, "scoped").Build()
	}
	create(ctx, builder.GlobalIPPool("scoped").WithCIDR("10.1.0.0/30").WithSpace("scoped").WithReserved(ipamv1.ReservedAddressesAllocate).Build())
	stranger := claimIn(unserved, "a")
	Expect(k.Create(ctx, stranger)).To(Succeed())
	started(ctx, "--namespace="+blue)
	others := started(ctx, "--namespace="+green)
	for _, namespace := range []string{blue, green} {
		for _, name := range []string{"a", "b"} {
			Expect(k.Create(ctx, claimIn(namespace, name))).To(Succeed())
		}
	}
	for _, namespace := range []string{blue, green} {
		isAnswered(ctx, claimIn(namespace, "a"), claimIn(namespace, "b"))
	}
	isSafe(ctx)
	isUntouched(ctx, stranger)

	By("deleting all claims while nobody serves the one namespace")
	Expect(others.Kill()).To(Succeed())
	for _, namespace := range []string{blue, green} {
		Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(namespace))).To(Succeed())
	}
	areGone(ctx, claimIn(blue, "a"), claimIn(blue, "b"))
	waits := claimIn(blue, "e")
	Expect(k.Create(ctx, claimIn(blue, "c"))).To(Succeed())
	Expect(k.Create(ctx, claimIn(blue, "d"))).To(Succeed())
	isAnswered(ctx, claimIn(blue, "c"), claimIn(blue, "d"))
	Expect(k.Create(ctx, waits)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(waits), waits)).To(Succeed())
		g.Expect(conditions.GetReason(waits, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyPoolExhaustedReason), "what the other namespace has is taken")
	}, "1m", "100ms").Should(Succeed())
	isSafe(ctx)

	Expect(others.Restart(ctx)).To(Succeed())
	areGone(ctx, claimIn(green, "a"), claimIn(green, "b"))
	isAnswered(ctx, waits)
	isUntouched(ctx, stranger)
	Expect(k.Delete(ctx, stranger)).To(Succeed())
	suite.AtRest(ctx, config, suite.Safe)
}, SpecTimeout(5*time.Minute))

var _ = It("two managers that serve a label's value each do not hand out each other's addresses, and leave alone what is not theirs", func(ctx SpecContext) {
	poolOf := func(value string) *ipamv1.IPPool {
		return builder.IPPool(lifecycle, "filtered-"+value).WithAddresses("10.2.0.0/24").WithSpace("filtered").WithLabel(clusterv1.WatchLabel, value).Build()
	}
	claimOf := func(value string) *ipamv1beta2.IPAddressClaim {
		return builder.IPAddressClaim(lifecycle, "filtered-"+value, ipamv1.IPPoolKind, "filtered-"+value).WithLabel(clusterv1.WatchLabel, value).Build()
	}
	stranger := builder.IPAddressClaim(lifecycle, "filtered", ipamv1.IPPoolKind, "filtered-blue").Build()
	unserved := poolOf("red")
	create(ctx, unserved)
	Expect(k.Create(ctx, stranger)).To(Succeed())
	Expect(k.Create(ctx, poolOf("blue"))).To(Succeed())
	started(ctx, "--watch-filter=blue")
	Expect(k.Create(ctx, claimOf("blue"))).To(Succeed())
	isAnswered(ctx, claimOf("blue"))

	started(ctx, "--watch-filter=green")
	overlapping := poolOf("green")
	Expect(k.Create(ctx, overlapping)).To(Succeed())
	Expect(k.Create(ctx, claimOf("green"))).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(overlapping), overlapping)).To(Succeed())
		g.Expect(conditions.GetReason(overlapping, ipamv1.ReadyCondition)).To(Equal(ipamv1.PoolReadyOverlapReason))
	}, "1m", "100ms").Should(Succeed())
	isSafe(ctx)

	By("moving the pool away, so that the claim is answered")
	moved := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"addresses":["10.3.0.0/24"]}}`))
	Expect(k.Patch(ctx, overlapping, moved)).To(Succeed())
	isAnswered(ctx, claimOf("green"))
	isUntouched(ctx, stranger, unserved)
	Expect(k.Delete(ctx, stranger)).To(Succeed())
	suite.AtRest(ctx, config, suite.Safe)
}, SpecTimeout(5*time.Minute))

// started starts a manager with flags and waits until it is ready.
func started(ctx context.Context, flags ...string) *framework.Manager {
	GinkgoHelper()
	m, err := site.StartManager(ctx, framework.ManagerOptions{Args: flags})
	Expect(err).NotTo(HaveOccurred())
	return m
}

func isAnswered(ctx context.Context, claims ...*ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	for _, c := range claims {
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.AddressRef.Name).To(Equal(c.Name), "%v", c.Status.Conditions)
		}, "1m", "100ms").Should(Succeed(), "%s/%s", c.Namespace, c.Name)
	}
}

func areGone(ctx context.Context, claims ...*ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	for _, c := range claims {
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(c), c) }, "1m", "100ms").Should(Satisfy(apierrors.IsNotFound))
	}
}

// isUntouched says that nobody has written to the objects since they were created.
func isUntouched(ctx context.Context, objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		made := obj.GetResourceVersion()
		Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		Expect(obj.GetResourceVersion()).To(Equal(made), fmt.Sprintf("%T %s", obj, obj.GetName()))
	}
}

func isSafe(ctx context.Context) {
	GinkgoHelper()
	report, err := fsck.Check(ctx, config)
	Expect(err).NotTo(HaveOccurred())
	Expect(report.Safe()).To(Succeed())
}
