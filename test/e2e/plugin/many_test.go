// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// many is how many records there are.
var many = size.Of(1100, 20000, 20000)

const (
	// rowBytes is more than a row of a table has, and less than half of an object.
	rowBytes = 450
	// objectBytes is more than a record has as JSON.
	objectBytes = 1100
	// fixedBytes is what discovery and the few objects of the site take at most.
	fixedBytes = 300_000
	// creators make records at once.
	creators = 16
)

// manySpecs are about a pool whose records are there, and not their claims.
func manySpecs() {
	BeforeAll(func(ctx SpecContext) {
		pool := builder.IPPool(blue, "big").WithCIDR("172.16.0.0/16").WithSpace("big").Build()
		Expect(k.Create(ctx, pool)).To(Succeed())
		await(ctx, pool, func() bool { return isReady(pool) })
		claim := builder.IPClaim(blue, "first").From(ipamv1.IPPoolKind, "big").Build()
		Expect(k.Create(ctx, claim)).To(Succeed())
		await(ctx, claim, func() bool { return isReady(claim) })
		group, created := errgroup.WithContext(ctx)
		group.SetLimit(creators)
		for i := range many {
			group.Go(func() error { return k.Create(created, record(i), client.FieldOwner(ipamv1.FieldManager)) })
		}
		Expect(group.Wait()).To(Succeed())
	}, NodeTimeout(size.Of(3*time.Minute, 10*time.Minute, 10*time.Minute)))

	It("asks for little to find an address", func(ctx SpecContext) {
		found, asked, bytes := whoCounted(ctx)
		hasNeighbours(found)
		Expect(asked).To(BeNumerically("<=", 30), "requests")
		Expect(bytes).To(BeNumerically("<", rowBytes*many+200_000), "bytes")
	}, SpecTimeout(3*time.Minute))

	// So many requests are enough for any number of records, and so many bytes for each. Where a pool has many records, who does not list them: it
	// asks once for each length that the pool may hand out, here from /16 to /32.
	DescribeTable("asks for few requests and bytes", func(ctx SpecContext, code, requests, perRecord int, args ...string) {
		meter := metered()
		began := time.Now()
		got, stdout, stderr := run(ctx, "", append(args, "--server="+meter.URL())...)
		took := time.Since(began)
		asked, bytes := meter.Read()
		AddReportEntry("account", fmt.Sprintf("%v, %d records: %d requests, %d bytes, %s", args, many, asked, bytes, took))
		Expect(got).To(Equal(code), "%.2000s%.2000s", stdout, stderr)
		Expect(asked).To(BeNumerically("<=", requests), "requests")
		Expect(bytes).To(BeNumerically("<", perRecord*many+fixedBytes), "bytes")
	},
		Entry("for the tree", plugin.ExitOK, 8, 0, "tree"),
		Entry("for the tree with claims", plugin.ExitOK, 20, rowBytes, "tree", "--claims"),
		Entry("for an address", plugin.ExitOK, 24, rowBytes, "who", address(0).String()),
		Entry("for a claim", plugin.ExitOK, 20, objectBytes, "why", "-n", blue, "claim/first"),
		Entry("for a manifest", plugin.ExitOK, 20, objectBytes, "why", "-n", blue, "-f", "testdata/manifests/big.yaml"),
		Entry("for what pools have", plugin.ExitOK, 12, 0, "pools", "-n", blue),
		Entry("for how all is, without managers' pods", plugin.ExitBadNews, 20, rowBytes, "status"),
		Entry("for a plan", plugin.ExitOK, 30, 0, "plan", "-n", red, "--filename=testdata/plan.yaml"),
		Entry("for a check, which finds that the claims are missing", plugin.ExitBadNews, 50, 2*objectBytes, "fsck"),
		Entry("for the map", plugin.ExitOK, 12, rowBytes, "map", "-o", "json"),
	)

	It("reads objects where the CRD is older", func(ctx SpecContext) {
		older(ctx)
		found, _, bytes := whoCounted(ctx)
		hasNeighbours(found)
		Expect(bytes).To(BeNumerically(">", rowBytes*many), "bytes")
	}, SpecTimeout(3*time.Minute))
}

// record is the i-th record of the pool: of every second address, but for the first two.
func record(i int) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: fmt.Sprintf("many-%d", i)},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: blue, Name: "big"},
			AddressSpace: "big", CIDR: address(i).String() + "/32", Purpose: ipamv1.ClaimPurpose,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: blue,
				Name: fmt.Sprintf("many-%d", i), UID: fmt.Sprintf("uid-%d", i),
			},
			Manager: ipamv1.AllocationManager{Instance: "test"},
		},
	}
}

func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 16, byte((2*i + 4) >> 8), byte(2*i + 4)})
}

// whoCounted looks for the address of a record in the middle, and counts requests and bytes. Neighbours
// are asked for, however many claims the pool says it has.
func whoCounted(ctx context.Context) (found *survey.Whereabouts, asked, bytes int) {
	GinkgoHelper()
	meter := metered()
	s, err := survey.New(meter.Config(), k.RESTMapper(), survey.Scope{Fallback: metav1.NamespaceDefault})
	Expect(err).NotTo(HaveOccurred())
	found, err = s.Who(ctx, netip.PrefixFrom(address(many/2), 32), survey.AllNeighbours)
	Expect(err).NotTo(HaveOccurred())
	asked, bytes = meter.Read()
	AddReportEntry("account", fmt.Sprintf("%d records: %d requests, %d bytes", many, asked, bytes))
	return found, asked, bytes
}

// metered returns a meter for the rest of the spec.
func metered() *framework.Meter {
	GinkgoHelper()
	meter, err := framework.NewMeter(site.Config())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(meter.Stop)
	return meter
}

func hasNeighbours(found *survey.Whereabouts) {
	GinkgoHelper()
	Expect(found.Holders).To(HaveLen(1))
	holder := found.Holders[0]
	Expect(holder.Claim.Name).To(Equal(fmt.Sprintf("many-%d", many/2)))
	Expect(holder.Object.Presence).To(Equal(survey.Gone))
	Expect(holder.Before.Prefix.Addr()).To(Equal(address(many/2 - 1)))
	Expect(holder.After.Prefix.Addr()).To(Equal(address(many/2 + 1)))
}

// older takes a column away, and waits until tables lack it. It comes back after the spec.
func older(ctx context.Context) {
	GinkgoHelper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "ipallocations.ipam.weir.dev"}}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(crd), crd)).To(Succeed())
	columns := crd.Spec.Versions[0].AdditionalPrinterColumns
	set := func(ctx context.Context, to []apiextensionsv1.CustomResourceColumnDefinition) {
		suite.Change(ctx, k, crd, func() { crd.Spec.Versions[0].AdditionalPrinterColumns = to })
	}
	DeferCleanup(func(ctx SpecContext) { set(ctx, columns) })
	set(ctx, slices.DeleteFunc(slices.Clone(columns), func(c apiextensionsv1.CustomResourceColumnDefinition) bool {
		return c.Name == "ClaimNamespace"
	}))
	Eventually(func(g Gomega) {
		table, err := tableOf(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(table).NotTo(ContainSubstring("ClaimNamespace"))
	}, patience).WithContext(ctx).Should(Succeed())
}

// tableOf is the text of a table of one record.
func tableOf(ctx context.Context) (string, error) {
	config := site.Config()
	config.APIPath, config.GroupVersion = "/apis", &ipamv1.GroupVersion
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return "", err
	}
	text, err := c.Get().Resource("ipallocations").Param("limit", "1").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	return string(text), err
}
