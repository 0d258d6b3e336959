// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledger tests the ledger alone on a real API server: several in one process that know nothing of each other,
// with clients that fail, hang and fall behind. Claims and pools need not exist for it, but for copies.
//
//   - race_test.go, clock_test.go: three ledgers at once, also cut off, or with clocks that jump.
//   - crash_test.go: a ledger dies at each of its writes.
//   - takeover_test.go: half-made records of others, conflicts, holds, and what is exhausted.
//   - release_test.go: a ledger that is late to release.
//   - handback_test.go, copies_test.go: blocks that are handed back to a hub, and the copies that have them.
//   - external_test.go: records of what lives outside of the cluster.
//   - proof_test.go: how a ledger proves that it knows all records.
//   - faults_test.go: clients that fail, hang and fall behind.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
)

func TestLedger(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Ledger")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallWeirCRDs, framework.InstallCAPICRDs}, Scheme: kinds})
	k = site.Client()
}, NodeTimeout(2*time.Minute))

func kinds() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, errors.Join(scheme.AddToScheme(s), ipamv1.AddToScheme(s), ipamv1beta2.AddToScheme(s), clusterv1.AddToScheme(s))
}

// manager is one ledger, as a manager process would run it.
type manager struct {
	*book.Ledger
	*faults
	name string
	// stop ends it at once; nothing that it still has under way reaches the API server.
	stop func()
}

// managers counts the ledgers: each has an instance name of its own.
var managers atomic.Int64

// startManager starts a ledger on the clock and waits until it has synced.
func startManager(ctx context.Context, c clock.PassiveClock) *manager {
	GinkgoHelper()
	direct, err := site.ClientFor(site.Config())
	Expect(err).NotTo(HaveOccurred())
	lists, err := book.ListClient(site.Config())
	Expect(err).NotTo(HaveOccurred())
	m := &manager{name: fmt.Sprint("manager-", managers.Add(1)), faults: newFaults()}
	m.Ledger = book.New(book.Options{Client: m.wrap(direct), REST: lists, Instance: m.name, Clock: c})
	run, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Start(run) }()
	m.stop = func() {
		m.die()
		cancel()
		Eventually(done, "1m").Should(Receive(Succeed()))
		done <- nil
	}
	DeferCleanup(m.stop)
	Expect(m.WaitForSync(ctx)).To(Succeed())
	return m
}

// longClock returns a clock that stands still until it is stepped.
func longClock() *clocktesting.FakePassiveClock {
	return clocktesting.NewFakePassiveClock(time.Now())
}

// pass lets more time pass than a manager leaves another one's record alone.
func pass(c *clocktesting.FakePassiveClock) { c.SetTime(c.Now().Add(time.Minute)) }

// namespaces counts the specs' namespaces; each is an address space of its own.
var namespaces int

func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespaces++
	name := fmt.Sprintf("ledger-%d", namespaces)
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	return name
}

// newPool describes a pool of these entries, without reserved addresses. There is no object of it.
func newPool(ns, name, entries string) book.Pool {
	GinkgoHelper()
	var shape pooltree.Config
	shape.Reserved = pooltree.AllocateReserved
	for text := range strings.FieldsSeq(entries) {
		r, err := ipspace.ParseEntry(text)
		Expect(err).NotTo(HaveOccurred())
		shape.Areas = append(shape.Areas, pooltree.Area{Range: r, Network: pooltree.Network{Bits: r.From().BitLen()}})
	}
	return book.Pool{
		Ref: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: name},
		UID: uuid.NewUUID(), Space: ns, Shape: pooltree.New(shape), Namespace: ns,
	}
}

// open registers the pool with every manager and has its blocks confirmed by the first.
func open(ctx context.Context, p book.Pool, all ...*manager) {
	GinkgoHelper()
	for _, m := range all {
		m.SetPool(p)
	}
	for _, block := range p.Shape.Blocks() {
		Eventually(func() error { return all[0].ReserveBlock(ctx, p, block, nil) }, "1m", "20ms").Should(Succeed())
	}
	for _, m := range all {
		Eventually(func() int { c, _ := m.Of(p.Ref).Capacity(); return c.LargestFree }, "1m", "10ms").Should(BeNumerically(">=", 0))
	}
}

// newClaim describes a claim of its own UID. There is no object of it.
func newClaim(p book.Pool, name string) book.Claim {
	return book.Claim{
		Ref: ipamv1.ClaimReference{
			APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: p.Ref.Namespace, Name: name, UID: string(uuid.NewUUID()),
		},
		Pool: p.Ref, Bits: p.Shape.HostBits(), Purpose: book.ForClaim,
	}
}

func reserved(ctx context.Context, m *manager, c book.Claim) netip.Prefix {
	GinkgoHelper()
	var got book.Allocation
	Eventually(func() (err error) { got, err = m.Reserve(ctx, c); return err }, "1m", "20ms").Should(Succeed())
	return got.CIDR
}

// releaseAll releases what is recorded for the claim of that UID, as its controller does.
func releaseAll(ctx context.Context, m *manager, claim ipamv1.ClaimReference) error {
	records := m.RecordsOf(claim)
	errs := make([]error, 0, len(records))
	for _, h := range records {
		errs = append(errs, m.Out().Release(ctx, h))
	}
	return errors.Join(errs...)
}

// release goes on until the manager has seen all records of the claim go.
func release(ctx context.Context, m *manager, c book.Claim) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(releaseAll(ctx, m, c.Ref)).To(Succeed())
		g.Expect(m.About(c.Ref).Recorded()).To(BeEmpty())
	}, "1m", "20ms").Should(Succeed())
}

// follow waits until the manager knows the one record of the claim.
func follow(m *manager, c book.Claim) {
	GinkgoHelper()
	Eventually(func() []book.Holding { return m.About(c.Ref).Recorded() }, "1m", "5ms").Should(HaveLen(1))
}

// stored lists the records of a namespace, and fails if two that must not overlap do. It trusts net/netip only.
func stored(ctx context.Context, ns string) []ipamv1.IPAllocation {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	for i := range list.Items {
		for j := range i {
			a, b := &list.Items[i], &list.Items[j]
			overlap := netip.MustParsePrefix(a.Spec.CIDR).Overlaps(netip.MustParsePrefix(b.Spec.CIDR))
			holds := a.Spec.State != ipamv1.EndedState && b.Spec.State != ipamv1.EndedState
			if overlap && holds && a.Spec.AddressSpace == b.Spec.AddressSpace && !isBlockFor(a, b) && !isBlockFor(b, a) {
				Fail(fmt.Sprintf("%s for %s and %s for %s overlap", a.Spec.CIDR, a.Spec.ClaimRef.Name, b.Spec.CIDR, b.Spec.ClaimRef.Name))
			}
		}
	}
	return list.Items
}

// isBlockFor says whether a is the block of the pool that b comes from.
func isBlockFor(a, b *ipamv1.IPAllocation) bool {
	return a.Spec.IsRootBlock() && a.Spec.PoolRef == b.Spec.PoolRef && !b.Spec.IsRootBlock()
}

// recordsFor are the records of a UID.
func recordsFor(all []ipamv1.IPAllocation, uid string) []ipamv1.IPAllocation {
	var found []ipamv1.IPAllocation
	for _, a := range all {
		if a.Spec.ClaimRef.UID == uid {
			found = append(found, a)
		}
	}
	return found
}

// counter reads one of the ledger's counters, which all managers of this process share.
func counter(name string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() == "weir_ledger_"+name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	Fail("no counter " + name)
	return 0
}

// rival makes a record as another manager would and dies at once: nobody judges it.
func rival(ctx context.Context, c book.Claim, space string, cidr netip.Prefix) *ipamv1.IPAllocation {
	GinkgoHelper()
	a := rivalFor(c, space, cidr)
	Expect(k.Create(ctx, a)).To(Succeed())
	return a
}

func rivalFor(c book.Claim, space string, cidr netip.Prefix) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Ref.Namespace, Name: "rival-" + c.Ref.Name, Finalizers: []string{ipamv1.AllocationFinalizer},
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef: c.Pool, AddressSpace: space, CIDR: cidr.String(), ClaimRef: c.Ref, Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "a dead manager"},
		},
	}
}

// erase removes a record behind the ledger's back.
func erase(ctx context.Context, a *ipamv1.IPAllocation) {
	GinkgoHelper()
	Expect(k.Patch(ctx, a, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	Expect(client.IgnoreNotFound(k.Delete(ctx, a))).To(Succeed())
}

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// sizeOf counts the addresses of a pool.
func sizeOf(p book.Pool) int {
	n := 0
	for _, r := range p.Shape.Addresses().Ranges() {
		for a := r.From(); netipx.IPRangeFrom(r.From(), r.To()).Contains(a); a = a.Next() {
			n++
		}
	}
	return n
}
