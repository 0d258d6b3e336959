// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("A dry run records nothing and shows the very prefix that the next create gets", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
	for _, bits := range []int32{32, 28, 30} {
		c := s.Claim("web", "pool").WithBits(bits).Build()
		Expect(k.Create(ctx, c, client.DryRunAll)).To(Succeed())
		shown := c.Spec.CIDR
		Expect(shown).NotTo(BeEmpty())
		Expect(s.HandedOut(ctx)).To(BeEmpty())
		out, err := site.Kubectl(ctx, "{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: cli}, "+
			"spec: {poolRef: {kind: IPPool, name: pool}, prefixLength: "+strconv.Itoa(int(bits))+"}}",
			"create", "--namespace="+s.Namespace, "-f-", "--dry-run=server", "-o", "jsonpath={.spec.cidr}")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal(shown))
		c = s.Claim("web", "pool").WithBits(bits).Build()
		s.Create(ctx, c)
		Expect(c.Spec.CIDR).To(Equal(shown))
		s.Delete(ctx, c)
	}
	s.Create(ctx, s.Claim("all", "pool").WithBits(24).Build())
	Expect(k.Create(ctx, s.Claim("web", "pool").Build())).To(suite.Refused(http.StatusInsufficientStorage, "exhausted"))
	Expect(k.Create(ctx, s.Claim("web", "pool").WithCIDR("10.0.0.7/32").Build())).To(suite.Refused(http.StatusConflict, "in use"))
	for _, c := range []*ipamv1.IPClaim{s.Claim("web", "pool").Build(), s.Claim("web", "pool").WithCIDR("10.0.0.7/32").Build()} {
		Expect(k.Create(ctx, c, client.DryRunAll)).To(Succeed(), "what others have may be free by the time of the create")
	}
}, SpecTimeout(5*time.Minute))

// exitCode is what kubectl ended with; 0 where it did not fail.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

var _ = It("A dry run and a diff of pools and claims on an empty cluster warn of what is not there yet, and reserve nothing", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	child := "{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: child, labels: {tier: gold}}, spec: {parentRef: {kind: IPPool, name: root}, prefixLength: 24, " +
		"preAllocations: [{claimName: db, kind: IPClaim, address: 10.0.0.9}]}}"
	manifest := strings.Join([]string{
		"{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: root}, spec: {cidr: 10.0.0.0/16, addressSpace: " + s.Namespace + "}}",
		child,
		"{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: pinned}, spec: {parentRef: {kind: IPPool, name: root}, cidr: 10.0.9.0/24, " +
			"addressSpace: " + s.Namespace + "}}",
		"{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: web}, spec: {poolRef: {kind: IPPool, name: child}}}",
		"{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: any}, spec: {poolSelector: {kind: IPPool, matchLabels: {tier: gold}}}}",
	}, "\n---\n")
	in := "--namespace=" + s.Namespace

	for _, dryRun := range [][]string{{"apply", "--server-side"}, {"apply"}, {"create"}} {
		args := append(dryRun, "--dry-run=server", in, "-f-")
		_, err := site.Kubectl(ctx, manifest, args...)
		Expect(err).NotTo(HaveOccurred())
		_, err = site.Kubectl(ctx, manifest, append(args, "--warnings-as-errors")...)
		Expect(err).To(MatchError(And(
			ContainSubstring(`Warning: spec.parentRef.name: there is no IPPool "root" in namespace `+s.Namespace),
			ContainSubstring(`Warning: spec.poolRef.name: there is no IPPool "child" in namespace `+s.Namespace),
			ContainSubstring(`Warning: spec.poolSelector: no IPPool that this namespace may use has these labels; a create is refused until there is one`),
		)))
	}
	for _, diff := range [][]string{{"diff"}, {"diff", "--server-side"}} {
		shown, err := site.Kubectl(ctx, manifest, append(diff, in, "-f-")...)
		Expect(exitCode(err)).To(Equal(1), "differences, and no failure: %v", err)
		Expect(shown).To(And(ContainSubstring("+  prefixLength: 24"), ContainSubstring("+    name: child")))
	}
	_, err := site.Kubectl(ctx, child, "create", in, "-f-")
	Expect(err).To(MatchError(ContainSubstring(`there is no IPPool "root"`)), "a create is refused as ever")
	Expect(s.HandedOut(ctx)).To(BeEmpty())

	By("applying it, and finding no drift then")
	Eventually(func() error { // a selector goes by the manager's cache
		_, applied := site.Kubectl(ctx, manifest, "apply", "--server-side", in, "-f-")
		return applied
	}, patience, "100ms").Should(Succeed())
	_, err = site.Kubectl(ctx, manifest, "diff", "--server-side", in, "-f-")
	Expect(err).NotTo(HaveOccurred())
}, SpecTimeout(5*time.Minute))

var _ = It("Claims whose names are generated are answered, many at once", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
	claims := make([]*ipamv1.IPClaim, 20)
	var done sync.WaitGroup
	for i := range claims {
		done.Go(func() {
			defer GinkgoRecover()
			claims[i] = s.Claim("web", "pool").Generated().Build()
			Expect(createPatiently(ctx, claims[i])).To(Succeed())
		})
	}
	done.Wait()
	prefixes := map[string]bool{}
	for _, c := range claims {
		Expect(c.Name).To(HavePrefix("web-"))
		prefixes[c.Spec.CIDR] = true
		s.Ready(ctx, c)
		Expect(s.Record(ctx, c).Spec.CIDR).To(Equal(c.Spec.CIDR))
	}
	Expect(prefixes).To(HaveLen(len(claims)))
	Expect(s.HandedOut(ctx)).To(HaveLen(len(claims)))
}, SpecTimeout(5*time.Minute))

var _ = It("A claim that has no name yet gets nothing that is kept for what its name begins with", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	pool := s.Root("pool", "10.0.0.0/24").Build()
	pool.Spec.PreAllocations = []ipamv1.PreAllocation{{ClaimName: "db", Kind: ipamv1.IPClaimKind, Address: "10.0.0.5"}}
	lives, kept := s.Claim("web", "pool").WithCIDR("10.0.0.9/32").Build(), s.Claim("db", "pool").Build()
	s.Create(ctx, pool, lives)
	s.Ready(ctx, lives)
	long := strings.Repeat("a-long-name-", 9) // of which the API server leaves 58 characters
	for _, stem := range []string{"db", "web", long} {
		c := s.Claim("", "pool").Build()
		c.GenerateName = stem
		s.Create(ctx, c)
		Expect(c.Spec.CIDR).NotTo(Or(BeEmpty(), Equal("10.0.0.5/32"), Equal(lives.Spec.CIDR)), stem)
		s.Ready(ctx, c)
	}
	s.Create(ctx, kept)
	Expect(kept.Spec.CIDR).To(Equal("10.0.0.5/32"))
}, SpecTimeout(5*time.Minute))

var _ = It("Names that no object can have are refused by the API server, and take nothing from the pool", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	pool := s.Root("pool", "10.0.0.0/29").Build()
	s.Create(ctx, pool)
	s.Ready(ctx, pool)
	for _, name := range []string{strings.Repeat("x", 254), strings.Repeat("x", 1040), strings.Repeat("x", 70000), "Web", "a/b", "ü"} {
		for range 10 { // more than the pool has room for, were something kept for them for a moment
			Expect(k.Create(ctx, s.Claim(name, "pool").Build())).To(suite.Refused(http.StatusUnprocessableEntity, "metadata.name"))
			Expect(k.Create(ctx, s.Child(name, "pool", 31).Build())).To(suite.Refused(http.StatusUnprocessableEntity, "metadata.name"))
		}
	}
	longest := s.Claim(strings.Repeat("x", 253), "pool").WithBits(30).Build()
	s.Create(ctx, longest)
	s.Ready(ctx, longest)
	Expect(s.HandedOut(ctx)).To(ConsistOf(longest.Spec.CIDR))
}, SpecTimeout(5*time.Minute))

var _ = It("A claim whose name is taken is refused, and takes nothing from the pool", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	c := s.Claim("web", "pool").Build()
	s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build(), c)
	s.Ready(ctx, c) // so that the manager knows it
	for range 5 {
		Expect(k.Create(ctx, s.Claim("web", "pool").Build())).To(Satisfy(apierrors.IsAlreadyExists))
	}
	Expect(s.HandedOut(ctx)).To(ConsistOf(c.Spec.CIDR))
}, SpecTimeout(5*time.Minute))
