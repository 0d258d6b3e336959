// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizers shows what becomes of an object that is made again while two managers take the last finalizer off the one before it. The API
// server has no watch cache: so it keeps to what it has read when it asked the webhooks, as one does for a moment that has such a cache.
package finalizers

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// k reads from and writes to the API server, with no cache.
	k client.Client
)

func TestFinalizers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Finalizers")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{APIServerArgs: []string{"--watch-cache=false"}}, Install: []framework.Step{framework.InstallWeirCRDs},
	})
	k = site.Client()
}, NodeTimeout(2*time.Minute))

var _ = DescribeTable("An object that is made again while two managers take the last finalizer off the one before it stays", func(ctx SpecContext,
	managers func(context.Context, *ipamv1.IPAllocation) []func(context.Context) error,
) {
	ns := suite.Namespace(ctx, k, nil)
	dying := newRecord(ns)
	Expect(k.Create(ctx, dying)).To(Succeed())
	Expect(k.Delete(ctx, dying)).To(Succeed())
	held := suite.HoldRelease(ctx, site, dying)
	letGo := managers(ctx, dying)

	late := make(chan error, 1)
	go func() { late <- letGo[0](ctx) }()
	Eventually(held.Arrived, "1m").Should(BeClosed())
	Expect(letGo[1](ctx)).To(Succeed())
	suite.Gone(ctx, k, dying)
	successor := newRecord(ns)
	Expect(k.Create(ctx, successor)).To(Succeed())
	held.Release()
	err := <-late

	stored := newRecord(ns)
	Expect(k.Get(ctx, client.ObjectKeyFromObject(successor), stored)).To(Succeed(), "it is gone, too; the late manager: %v", err)
	Expect(stored.UID).To(Equal(successor.UID))
	Expect(stored.DeletionTimestamp).To(BeNil())
	Expect(err).To(Or(Satisfy(apierrors.IsConflict), MatchError(ledger.ErrBusy)))
},
	Entry("by the version that they have read", by(finalizer.Remove)),
	Entry("whatever its version is", by(finalizer.RemoveLast)),
	Entry("as records of the ledger", ledgers(func(ctx context.Context, out ledger.Out, h ledger.Holding) error { return out.Drop(ctx, h) })),
	Entry("as records of the ledger that have moved, and are held", ledgers(func(ctx context.Context, out ledger.Out, h ledger.Holding) error {
		return out.Hold(ctx, h, h.Claim.Namespace)
	})),
)

// by takes finalizers off with this function.
func by(remove func(context.Context, client.Client, client.Object, string) error) func(context.Context, *ipamv1.IPAllocation) []func(context.Context) error {
	return func(_ context.Context, dying *ipamv1.IPAllocation) (managers []func(context.Context) error) {
		for range 2 {
			seen := dying.DeepCopy()
			managers = append(managers, func(ctx context.Context) error { return remove(ctx, k, seen, ipamv1.AllocationFinalizer) })
		}
		return managers
	}
}

// ledgers end with the record that they have seen.
func ledgers(end func(context.Context, ledger.Out, ledger.Holding) error) func(context.Context, *ipamv1.IPAllocation) []func(context.Context) error {
	return func(ctx context.Context, dying *ipamv1.IPAllocation) (managers []func(context.Context) error) {
		GinkgoHelper()
		for _, name := range []string{"late", "other"} {
			l := startLedger(ctx, name)
			seen := l.RecordsOf(dying.Spec.ClaimRef)
			Expect(seen).To(ConsistOf(HaveField("Version.Version", dying.ResourceVersion)))
			managers = append(managers, func(ctx context.Context) error { return end(ctx, l.Out(), seen[0]) })
		}
		return managers
	}
}

// startLedger starts a manager's ledger, which knows what is recorded.
func startLedger(ctx context.Context, name string) *ledger.Ledger {
	GinkgoHelper()
	direct, err := site.ClientFor(site.Config())
	Expect(err).NotTo(HaveOccurred())
	lists, err := ledger.ListClient(site.Config())
	Expect(err).NotTo(HaveOccurred())
	l := ledger.New(ledger.Options{Client: direct, REST: lists, Instance: name, Clock: clock.RealClock{}})
	run, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Start(run) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended, "1m").Should(Receive(Succeed()))
	})
	Expect(l.WaitForSync(ctx)).To(Succeed())
	return l
}

func newRecord(ns string) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a", Finalizers: []string{ipamv1.AllocationFinalizer}},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "p"}, AddressSpace: ns, CIDR: "10.0.0.3/32",
			ClaimRef: ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: ns, Name: "a", UID: "uid-" + ns},
			Purpose:  ipamv1.ClaimPurpose, Manager: ipamv1.AllocationManager{Instance: "a dead manager"},
		},
	}
}
