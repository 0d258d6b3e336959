// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// grant lets a user do something in namespace team.
func grant(ctx context.Context, user, group, resource string, verbs ...string) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: "team", Name: user + "-" + resource}
	Expect(k.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs},
	}})).To(Succeed())
	Expect(k.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})).To(Succeed())
}

// as returns a client of a user who may do everything with the pools of namespace team.
func as(ctx context.Context, user string) client.Client {
	GinkgoHelper()
	grant(ctx, user, ipamv1.GroupVersion.Group, "ippools", rbacv1.VerbAll)
	config, err := site.RESTConfigAs(ctx, user)
	Expect(err).NotTo(HaveOccurred())
	c, err := site.ClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error { return c.List(ctx, &ipamv1.IPPoolList{}, client.InNamespace("team")) }, "1m", "100ms").Should(Succeed())
	return c
}

var _ = Describe("What a refusal names is what the user may get:", func() {
	of := func(namespace string, h ledger.Holding) ledger.Holding {
		h.Claim.Namespace = namespace
		return h
	}
	var pool *ipamv1.IPPool

	BeforeEach(func(ctx SpecContext) {
		pool = stored(ctx, builder.IPPool("team", "p").WithAddresses("192.0.2.0/24").WithNetwork(24, "").Build())
		block := claimed("198.51.100.0/24", "rack")
		block.Purpose, block.Pool = ledger.ForRoot, ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "secret", Name: "rack"}
		records.hold(claimed("192.0.2.1/32", "seen"), of("secret", claimed("192.0.2.2/32", "hidden")), block)
	})
	expectSilence := func(err error) {
		GinkgoHelper()
		Expect(err).To(HaveOccurred())
		for _, name := range []string{"secret", "hidden", "192.0.2.2", "198.51.100.0/24 of"} {
			Expect(strings.ReplaceAll(err.Error(), `"192.0.2.2"`, "")).NotTo(ContainSubstring(name))
		}
	}

	It("nothing to who may get pools alone", func(ctx SpecContext) {
		u := as(ctx, "pools-only")
		err := u.Delete(ctx, pool)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(HaveSuffix("2 prefixes are allocated from it")))

		pool.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "mine", Address: "192.0.2.2"}}
		err = u.Update(ctx, pool)
		expectInvalid(err, "spec.preAllocations[0].address", "is in use")
		expectSilence(err)

		err = u.Create(ctx, builder.IPPool("team", "q").WithCIDR("198.51.0.0/16").Build())
		expectInvalid(err, "spec.cidr", "overlaps other pools of address space default")
		expectSilence(err)
	})

	It("the claims of his namespace to who may get those", func(ctx SpecContext) {
		u := as(ctx, "member")
		grant(ctx, "member", "ipam.cluster.x-k8s.io", "ipaddressclaims", "get")
		Eventually(func() error { return u.Delete(ctx, pool) }, "1m", "100ms").
			Should(MatchError(HaveSuffix("2 prefixes are allocated from it: 192.0.2.1 for IPAddressClaim team/seen, ...")))
		pool.Spec.Addresses = []ipamv1.AddressEntry{"192.0.2.128/25"}
		err := u.Update(ctx, pool)
		expectInvalid(err, "spec.addresses", "2 prefixes are in use and would fall out of the pool: 192.0.2.1 for IPAddressClaim team/seen, ...")
		expectSilence(err)
	})

	It("everything to the administrator", func(ctx SpecContext) {
		Expect(k.Delete(ctx, pool)).To(MatchError(HaveSuffix("192.0.2.1 for IPAddressClaim team/seen, 192.0.2.2 for IPAddressClaim secret/hidden")))
		err := k.Create(ctx, builder.IPPool("team", "q").WithCIDR("198.51.0.0/16").Build())
		expectInvalid(err, "spec.cidr", "198.51.0.0/16 shares 198.51.100.0/24 with IPPool secret/rack")
	})
})
