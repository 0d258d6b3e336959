// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is what suites share: sites and managers that end with the suite (site.go), what
// they do with any object (objects.go), waiting until a site is at rest, and, for those about Weir
// kinds, a namespace with an address space of its own for every spec, so that all of them may use
// the same prefixes, and what is expected of the objects in it. A failed expectation fails the spec.
package suite

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "2m"

// Spec is the namespace and the address space of one spec.
type Spec struct {
	Site *framework.Site
	// Client is the administrator's.
	Client client.WithWatch
	// Namespace is new, and the name of the address space of its root pools.
	Namespace string
}

// New makes a namespace.
func New(ctx context.Context, site *framework.Site) *Spec {
	GinkgoHelper()
	s := &Spec{Site: site, Client: site.Client()}
	s.Namespace = s.Another(ctx, nil)
	return s
}

// Another makes a namespace more, and returns its name.
func (s *Spec) Another(ctx context.Context, labels map[string]string) string {
	GinkgoHelper()
	return Namespace(ctx, s.Client, labels)
}

// Tenants makes namespaces of two projects, of none and of the platform, and returns their names. "own" is of the project that is
// named like the spec's namespace; one of "own" and "other" each is labelled tier: gold.
func (s *Spec) Tenants(ctx context.Context) map[string]string {
	GinkgoHelper()
	own, other := map[string]string{ipamv1.ProjectLabel: s.Namespace}, map[string]string{ipamv1.ProjectLabel: s.Namespace + "-other"}
	gold := func(labels map[string]string) map[string]string {
		labels = maps.Clone(labels)
		labels["tier"] = "gold"
		return labels
	}
	return map[string]string{
		"own": s.Another(ctx, own), "own, gold": s.Another(ctx, gold(own)), "other": s.Another(ctx, other), "other, gold": s.Another(ctx, gold(other)),
		"none": s.Another(ctx, nil), "platform": s.Another(ctx, map[string]string{ipamv1.ProjectLabel: "platform"}),
	}
}

// Root begins a root pool in the spec's namespace and address space.
func (s *Spec) Root(name, cidr string) *builder.PoolBuilder[*ipamv1.IPPool] {
	return builder.IPPool(s.Namespace, name).WithCIDR(cidr).WithSpace(s.Namespace)
}

// Global returns the name of a GlobalIPPool of the spec.
func (s *Spec) Global(name string) string { return s.Namespace + "-" + name }

// GlobalRoot begins a cluster-scoped root pool in the spec's address space.
func (s *Spec) GlobalRoot(name, cidr string) *builder.PoolBuilder[*ipamv1.GlobalIPPool] {
	return builder.GlobalIPPool(s.Global(name)).WithCIDR(cidr).WithSpace(s.Namespace)
}

// Child begins a pool carved from an IPPool of the spec's namespace.
func (s *Spec) Child(name, parent string, bits int32) *builder.PoolBuilder[*ipamv1.IPPool] {
	return builder.IPPool(s.Namespace, name).WithParent(ipamv1.IPPoolKind, "", parent).WithBits(bits)
}

// Claim begins a claim to an IPPool of the spec's namespace.
func (s *Spec) Claim(name, pool string) *builder.IPClaimBuilder {
	return builder.IPClaim(s.Namespace, name).From(ipamv1.IPPoolKind, pool)
}

// Create creates objects.
func (s *Spec) Create(ctx context.Context, objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		Expect(s.Client.Create(ctx, obj)).To(Succeed(), "%T %s", obj, obj.GetName())
	}
}

// Refuses expects that the creation of the object is refused with this code and
// these words, that nothing is stored, and nothing recorded under its name.
func (s *Spec) Refuses(ctx context.Context, obj client.Object, code int32, words ...string) {
	GinkgoHelper()
	Expect(s.Client.Create(ctx, obj)).To(Refused(code, words...))
	Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Satisfy(apierrors.IsNotFound))
	Expect(s.recordsNamed(ctx, obj)).To(BeEmpty())
}

// Delete deletes objects, one after the other, and waits until each is gone.
func (s *Spec) Delete(ctx context.Context, objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		Expect(client.IgnoreNotFound(s.Client.Delete(ctx, obj))).To(Succeed())
		s.Gone(ctx, obj)
	}
}

// Gone waits until objects of these names are gone.
func (s *Spec) Gone(ctx context.Context, objs ...client.Object) {
	GinkgoHelper()
	Gone(ctx, s.Client, objs...)
}

// Conditioned is an object of Weir's own kinds.
type Conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Ready waits until the Ready conditions of objects are true, for their present generation.
func (s *Spec) Ready(ctx context.Context, objs ...Conditioned) {
	GinkgoHelper()
	for _, obj := range objs {
		Eventually(func(g Gomega) {
			ready := s.condition(ctx, g, obj)
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), "%s: %s", ready.Reason, ready.Message)
			g.Expect(ready.ObservedGeneration).To(Equal(obj.GetGeneration()))
		}, patience, "100ms").Should(Succeed(), "%T %s", obj, obj.GetName())
	}
}

// NotReady waits until an object's Ready condition is false for this reason, and says all these words.
func (s *Spec) NotReady(ctx context.Context, obj Conditioned, reason string, words ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		ready := s.condition(ctx, g, obj)
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Reason).To(Equal(reason), ready.Message)
		for _, word := range words {
			g.Expect(ready.Message).To(ContainSubstring(word))
		}
	}, patience, "100ms").Should(Succeed())
}

// Exhausted waits until a pool says that nothing of it is available, and that it is healthy all the same.
func (s *Spec) Exhausted(ctx context.Context, pool Conditioned) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(s.condition(ctx, g, pool).Status).To(Equal(metav1.ConditionTrue))
		g.Expect(meta.IsStatusConditionTrue(pool.GetConditions(), ipamv1.ExhaustedCondition)).To(BeTrue())
	}, patience, "100ms").Should(Succeed())
}

func (s *Spec) condition(ctx context.Context, g Gomega, obj Conditioned) metav1.Condition {
	g.Expect(s.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	ready := meta.FindStatusCondition(obj.GetConditions(), ipamv1.ReadyCondition)
	g.Expect(ready).NotTo(BeNil())
	return *ready
}

// Records returns the records of exactly this object.
func (s *Spec) Records(ctx context.Context, obj client.Object) []ipamv1.IPAllocation {
	GinkgoHelper()
	return slices.DeleteFunc(s.recordsNamed(ctx, obj), func(r ipamv1.IPAllocation) bool { return r.Spec.ClaimRef.UID != string(obj.GetUID()) })
}

// Record returns the one record of an object.
func (s *Spec) Record(ctx context.Context, obj client.Object) *ipamv1.IPAllocation {
	GinkgoHelper()
	records := s.Records(ctx, obj)
	Expect(records).To(HaveLen(1))
	return &records[0]
}

// recordsNamed returns the records of objects of this kind, namespace and name.
func (s *Spec) recordsNamed(ctx context.Context, obj client.Object) []ipamv1.IPAllocation {
	GinkgoHelper()
	kind, err := s.Client.GroupVersionKindFor(obj)
	Expect(err).NotTo(HaveOccurred())
	records := &ipamv1.IPAllocationList{}
	Expect(s.Client.List(ctx, records, client.MatchingFields{"spec.claimRef.name": obj.GetName()})).To(Succeed())
	return slices.DeleteFunc(records.Items, func(r ipamv1.IPAllocation) bool {
		return r.Spec.ClaimRef.Kind != kind.Kind || r.Spec.ClaimRef.Namespace != obj.GetNamespace()
	})
}

// HandedOut returns the prefixes that are recorded in the spec's address space, but for those of root pools.
func (s *Spec) HandedOut(ctx context.Context) []string {
	GinkgoHelper()
	var prefixes []string
	for _, r := range s.InSpace(ctx) {
		if !r.Spec.IsRootBlock() {
			prefixes = append(prefixes, r.Spec.CIDR)
		}
	}
	return prefixes
}

// InSpace returns all records of the spec's address space.
func (s *Spec) InSpace(ctx context.Context) []ipamv1.IPAllocation {
	GinkgoHelper()
	records := &ipamv1.IPAllocationList{}
	Expect(s.Client.List(ctx, records)).To(Succeed())
	return slices.DeleteFunc(records.Items, func(r ipamv1.IPAllocation) bool { return r.Spec.AddressSpace != s.Namespace })
}

// AtRest waits until the checker finds nothing that overlaps, lacks a record, leaks or is silent. On the way, its reports can be looked
// at.
func AtRest(ctx context.Context, cfg *rest.Config, look ...func(*fsck.Report)) {
	GinkgoHelper()
	Eventually(func() error {
		report, err := fsck.Check(ctx, cfg)
		if err != nil {
			return err
		}
		for _, f := range look {
			f(report)
		}
		return report.AtRest()
	}, "5m", "500ms").Should(Succeed())
}

// Safe expects that a report, of whatever moment, shows nothing unsafe.
func Safe(report *fsck.Report) {
	GinkgoHelper()
	Expect(report.Safe()).To(Succeed())
}

// Refused matches an error of the API with this code and all these words.
func Refused(code int32, words ...string) types.GomegaMatcher {
	says := make([]types.GomegaMatcher, 0, len(words))
	for _, word := range words {
		says = append(says, ContainSubstring(word))
	}
	hasCode := gcustom.MakeMatcher(func(err error) (bool, error) {
		status, ok := err.(apierrors.APIStatus)
		return ok && status.Status().Code == code, nil
	}).WithMessage(fmt.Sprintf("be refused with %d %s", code, http.StatusText(int(code))))
	return And(HaveOccurred(), hasCode, MatchError(And(says...)))
}
