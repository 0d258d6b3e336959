// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// lifecycle is the namespace of the specs about starting and stopping.
const lifecycle = "lifecycle"

var _ = It("a manager that is restarted, by signal or killed, leaves every answer as it was and goes on from there", func(ctx SpecContext) {
	p := pool("restarts", "198.51.100.0/24")
	p.Namespace = lifecycle
	create(ctx, p)
	m := suite.StartManager(ctx, site)
	before := answer(ctx, "before")
	Expect(m.Stop()).To(Succeed())
	Expect(m.ExitCode()).To(BeZero())

	Expect(k.Create(ctx, lifecycleClaim("meanwhile"))).To(Succeed())
	Expect(m.Restart(ctx)).To(Succeed())
	Expect(answer(ctx, "meanwhile").Spec.Address).To(Equal("198.51.100.2"))

	Expect(m.Restart(ctx)).To(Succeed())
	Expect(answer(ctx, "after").Spec.Address).To(Equal("198.51.100.3"))
	unchanged := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(before), unchanged)).To(Succeed())
	Expect(unchanged.ResourceVersion).To(Equal(before.ResourceVersion))
	report, err := fsck.Check(ctx, config)
	Expect(err).NotTo(HaveOccurred())
	Expect(report.Safe()).To(Succeed())
}, SpecTimeout(5*time.Minute))

var _ = It("a manager that may not watch all IPAllocations refuses to start and says why", func(ctx SpecContext) {
	narrow, err := site.RESTConfigAs(ctx, "narrow")
	Expect(err).NotTo(HaveOccurred())
	Expect(k.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: lifecycle, Name: "narrow"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "narrow"}},
	})).To(Succeed())
	m, err := site.Launch(ctx, framework.ManagerOptions{Name: "narrow", Config: narrow})
	Expect(err).NotTo(HaveOccurred())
	Eventually(m.Done(), "1m").Should(BeClosed())
	Expect(m.ExitCode()).NotTo(BeZero())
	log, err := os.ReadFile(m.LogPath())
	Expect(err).NotTo(HaveOccurred())
	Expect(string(log)).To(ContainSubstring("listing IPAllocations of all namespaces"))
}, SpecTimeout(5*time.Minute))

func lifecycleClaim(name string) *ipamv1beta2.IPAddressClaim {
	c := claim(1)
	c.Namespace, c.Name = lifecycle, name
	c.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "restarts"}
	return c
}

// answer makes a claim unless it is there, and waits for its address.
func answer(ctx context.Context, name string) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	c := lifecycleClaim(name)
	Expect(client.IgnoreAlreadyExists(k.Create(ctx, c))).To(Succeed())
	address := &ipamv1beta2.IPAddress{}
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.Status.AddressRef.Name).To(Equal(name))
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), address)).To(Succeed())
	}, "1m", "100ms").Should(Succeed())
	return address
}
