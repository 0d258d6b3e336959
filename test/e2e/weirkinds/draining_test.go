// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("A namespace with pools, child pools and claims of both kinds goes by itself", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	global := s.GlobalRoot("root", "10.0.0.0/8").WithLengths(16, 32, 0).Build()
	s.Create(ctx, global,
		builder.IPPool(s.Namespace, "parent").WithParent(ipamv1.GlobalIPPoolKind, "", global.Name).WithBits(16).WithCooldown(3).Build(),
		s.Child("child", "parent", 24).Build(), s.Child("grandchild", "child", 28).Build())
	for i, pool := range []string{"parent", "child", "grandchild"} {
		s.Create(ctx, s.Claim(fmt.Sprintf("own-%d", i), pool).Build(), s.Claim(fmt.Sprintf("kept-%d", i), pool).Retained().Build(),
			s.Claim(fmt.Sprintf("global-%d", i), "").From(ipamv1.GlobalIPPoolKind, global.Name).Build(),
			builder.IPAddressClaim(s.Namespace, fmt.Sprintf("capi-%d", i), ipamv1.IPPoolKind, pool).Build())
	}
	gone := s.Claim("gone", "child").Retained().Build()
	s.Create(ctx, gone)
	s.Ready(ctx, gone)
	s.Delete(ctx, gone) // leaves a retained record

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}
	s.Delete(ctx, namespace)
	Eventually(func() []string { return s.HandedOut(ctx) }, patience, "100ms").Should(BeEmpty())
	s.Delete(ctx, global)
	Eventually(func() []ipamv1.IPAllocation { return s.InSpace(ctx) }, patience, "100ms").Should(BeEmpty())
}, SpecTimeout(5*time.Minute))
