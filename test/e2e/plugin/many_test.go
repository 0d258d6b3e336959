// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
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
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// many is how many records there are.
var many = size.Of(2000, 20000, 20000)

const (
	// rowBytes is more than a row of a table has, and less than half of an object.
	rowBytes = 450
	// creators make records at once.
	creators = 16
)

// manySpecs are about a pool whose records are there, and not their claims.
func manySpecs() {
	BeforeAll(func(ctx SpecContext) {
		pool := builder.IPPool(blue, "big").WithCIDR("172.16.0.0/16").WithSpace("big").Build()
		Expect(k.Create(ctx, pool)).To(Succeed())
		await(ctx, pool, func() bool { return isReady(pool) })
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

	It("reads objects where the CRD is older", func(ctx SpecContext) {
		older(ctx)
		found, _, bytes := whoCounted(ctx)
		hasNeighbours(found)
		Expect(bytes).To(BeNumerically(">", rowBytes*many), "bytes")
	}, SpecTimeout(3*time.Minute))
}

// record is the i-th record of the pool: of every second address.
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
	return netip.AddrFrom4([4]byte{172, 16, byte((2*i + 2) >> 8), byte(2*i + 2)})
}

// whoCounted looks for the address of a record in the middle, and counts requests and bytes. Neighbours
// are asked for, however many claims the pool says it has.
func whoCounted(ctx context.Context) (found *survey.Whereabouts, asked, bytes int) {
	GinkgoHelper()
	count := &counting{}
	config := site.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { count.next = next; return count })
	s, err := survey.New(config, k.RESTMapper(), survey.Scope{Fallback: metav1.NamespaceDefault})
	Expect(err).NotTo(HaveOccurred())
	found, err = s.Who(ctx, netip.PrefixFrom(address(many/2), 32), survey.AllNeighbours)
	Expect(err).NotTo(HaveOccurred())
	AddReportEntry("account", fmt.Sprintf("%d records: %d requests, %d bytes", many, count.asked.Load(), count.bytes.Load()))
	return found, int(count.asked.Load()), int(count.bytes.Load())
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

// counting counts requests, and the bytes of their answers.
type counting struct {
	next         http.RoundTripper
	asked, bytes atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	response, err := c.next.RoundTrip(r)
	if err == nil {
		response.Body = &countingBody{response.Body, &c.bytes}
	}
	return response, err
}

type countingBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countingBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes.Add(int64(n))
	return n, err
}
