// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// everybody are all tenants of a spec.
var everybody = []string{"own", "own, gold", "other", "other, gold", "none", "platform"}

// parents returns a GlobalIPPool of the project that "own" is of, and an IPPool of that namespace.
func parents(s *suite.Spec, tenants map[string]string, change func(*ipamv1.IPPoolSpec)) map[string]pools.Own {
	namespaced := builder.IPPool(tenants["own"], "parent").WithCIDR("10.1.0.0/16").WithSpace(s.Namespace).Build()
	of := map[string]pools.Own{
		ipamv1.GlobalIPPoolKind: s.GlobalRoot("parent", "10.0.0.0/16").WithLabel(ipamv1.ProjectLabel, s.Namespace).Build(),
		ipamv1.IPPoolKind:       namespaced,
	}
	for _, p := range of {
		change(p.PoolSpec())
	}
	return of
}

// childOf begins a child in some namespace.
func childOf(parent pools.Own, namespace, name string) *poolBuilder {
	ref := parent.PoolReference()
	return builder.IPPool(namespace, name).WithParent(ref.Kind, ref.Namespace, ref.Name)
}

// absentParent is what is said of a parent that there is not, or that is not visible.
func absentParent(parent pools.Own, namespace string) string {
	ref, in := parent.PoolReference(), ""
	if ref.Namespace != "" {
		in = " in namespace " + ref.Namespace
	}
	return fmt.Sprintf("spec.parentRef.name: there is no %s %q%s, or it is not visible to namespace %s", ref.Kind, ref.Name, in, namespace)
}

var _ = DescribeTable("A pool is carved from by those that it is visible to, and by nobody else:",
	func(ctx SpecContext, change func(*ipamv1.IPPoolSpec), fromGlobal, fromNamespaced []string) {
		s := suite.New(ctx, site)
		tenants := s.Tenants(ctx)
		admitted := map[string][]string{ipamv1.GlobalIPPoolKind: fromGlobal, ipamv1.IPPoolKind: fromNamespaced}
		for kind, parent := range parents(s, tenants, change) {
			parent.PoolSpec().Allocation = &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](16)}
			s.Create(ctx, parent)
			for who, namespace := range tenants {
				child := childOf(parent, namespace, "of-"+parent.GetName()).WithBits(24).Build()
				if !slices.Contains(admitted[kind], who) {
					s.Refuses(ctx, child, http.StatusForbidden, absentParent(parent, namespace))
					continue
				}
				s.Create(ctx, child)
				s.Ready(ctx, child)
				s.Delete(ctx, child)
			}
		}
		Expect(s.HandedOut(ctx)).To(BeEmpty())
	},
	Entry("by default", func(*ipamv1.IPPoolSpec) {}, everybody, []string{"own", "own, gold"}, SpecTimeout(5*time.Minute)),
	Entry("Shared", func(spec *ipamv1.IPPoolSpec) { spec.Visibility = ipamv1.SharedVisibility }, everybody, everybody, SpecTimeout(5*time.Minute)),
	Entry("Shared with those that are selected", func(spec *ipamv1.IPPoolSpec) {
		spec.Visibility = ipamv1.SharedVisibility
		spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	}, []string{"own, gold", "other, gold"}, []string{"own", "own, gold", "other, gold"}, SpecTimeout(5*time.Minute)),
	Entry("Consumer", func(spec *ipamv1.IPPoolSpec) { spec.Visibility = ipamv1.ConsumerVisibility },
		[]string{"own", "own, gold"}, []string{"own", "own, gold"}, SpecTimeout(5*time.Minute)),
	Entry("Platform", func(spec *ipamv1.IPPoolSpec) { spec.Visibility = ipamv1.PlatformVisibility },
		[]string{"platform"}, []string{"own", "platform"}, SpecTimeout(5*time.Minute)),
)

var _ = DescribeTable("From a pool without bounds others than its own project carve nothing but the default length:",
	func(ctx SpecContext, change func(*ipamv1.IPPoolSpec), free ...string) {
		s := suite.New(ctx, site)
		tenants := s.Tenants(ctx)
		for _, parent := range parents(s, tenants, change) {
			parent.PoolSpec().Visibility = ipamv1.SharedVisibility
			s.Create(ctx, parent)
			for who, namespace := range tenants {
				granted := childOf(parent, namespace, "granted").WithBits(24).Build()
				s.Create(ctx, granted)
				s.Delete(ctx, granted)
				longer := childOf(parent, namespace, "longer").WithBits(25).Build()
				if !slices.Contains(free, who) {
					s.Refuses(ctx, longer, http.StatusForbidden, "spec.prefixLength", "another project", "gives a /24 only")
					continue
				}
				s.Create(ctx, longer)
				s.Delete(ctx, longer)
			}
		}
		Expect(s.HandedOut(ctx)).To(BeEmpty())
	},
	Entry("with a default length alone", func(spec *ipamv1.IPPoolSpec) {
		spec.Allocation = &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To[int32](24)}
	}, "own", "own, gold", SpecTimeout(5*time.Minute)),
	Entry("but with bounds everybody carves what they allow", func(spec *ipamv1.IPPoolSpec) {
		spec.Allocation = &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To[int32](24), MaxPrefixLength: ptr.To[int32](28)}
	}, "own", "own, gold", "other", "other, gold", "none", "platform", SpecTimeout(5*time.Minute)),
)

var _ = It("A GlobalIPPool is carved from one that is visible to its own project", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	hidden := s.GlobalRoot("hidden", "10.0.0.0/16").WithLabel(ipamv1.ProjectLabel, s.Namespace).WithVisibility(ipamv1.ConsumerVisibility).Build()
	s.Create(ctx, hidden)
	child := func(name, project string) *ipamv1.GlobalIPPool {
		return builder.GlobalIPPool(s.Global(name)).WithParent(ipamv1.GlobalIPPoolKind, "", hidden.Name).WithBits(24).WithLabel(ipamv1.ProjectLabel, project).Build()
	}
	refusal := fmt.Sprintf("there is no GlobalIPPool %q, or it is not visible here", hidden.Name)
	for _, project := range []string{"", s.Namespace + "-other", "platform"} {
		s.Refuses(ctx, child("child", project), http.StatusForbidden, "spec.parentRef.name", refusal)
	}
	own := child("child", s.Namespace)
	s.Create(ctx, own)
	Expect(own.Spec.CIDR).To(Equal("10.0.0.0/24"))
	s.Ready(ctx, own)
	s.Delete(ctx, own)
}, SpecTimeout(5*time.Minute))
