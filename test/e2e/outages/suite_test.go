// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outages takes away what managers rest on: the API server, etcd or its leader, the processor, the way to their
// webhooks. Etcd has three members throughout.
package outages

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// claimsPerRun is how many claims are made around each outage.
var claimsPerRun = framework.Scale(150, 3000)

var (
	cluster *framework.ControlPlane
	k       client.Client
	root    string
	// started counts the managers: each has files of its own.
	started int
)

func TestOutages(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Outages")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	root, err = framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	cluster, err = framework.StartControlPlane(ctx, framework.Options{EtcdMembers: 3})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	Expect(framework.InstallCRDs(ctx, cluster.Config(), root+"/config/crd/bases")).To(Succeed())
	Expect(framework.InstallCAPICRDs(ctx, cluster.Config())).To(Succeed())
	scheme, err := setup.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k, err = client.New(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(k.Create(ctx, namespace("weir-system"))).To(Succeed())
}, NodeTimeout(2*time.Minute))

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// server is a manager and what belongs to it.
type server struct {
	*framework.ManagerProcess
	// ca is that of its webhooks, which are at this port.
	ca          []byte
	webhookPort int
}

// startManager starts a manager without leader election, to be killed at the end of the spec.
func startManager(ctx context.Context) *server {
	GinkgoHelper()
	certs := GinkgoT().TempDir()
	ca, err := framework.ServingCerts(certs, "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	started++
	m, err := framework.StartManager(framework.ManagerOptions{
		Name: fmt.Sprint("manager-", started), Config: cluster.Config(), Dir: cluster.Dir(),
		Args: []string{
			"--leader-elect=false", "--diagnostics-address=0", "--webhook-host=127.0.0.1",
			fmt.Sprintf("--webhook-port=%d", port), "--webhook-cert-dir=" + certs,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = m.Kill() })
	Expect(m.WaitReady(ctx)).To(Succeed())
	return &server{ManagerProcess: m, ca: ca, webhookPort: port}
}

// town is a namespace with an address space and a pool of its own.
type town struct{ name string }

func newTown(ctx context.Context, name string) town {
	GinkgoHelper()
	Expect(k.Create(ctx, namespace(name))).To(Succeed())
	t := town{name}
	Expect(k.Create(ctx, t.pool(name, "10.0.0.0/16"))).To(Succeed())
	return t
}

func (t town) pool(name, cidr string) *ipamv1.IPPool {
	return builder.IPPool(t.name, name).WithCIDR(cidr).WithSpace(t.name).Build()
}

func (t town) claim(name string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(t.name, name, ipamv1.IPPoolKind, t.name).Build()
}

// create makes claims one after the other, each as soon as the API server takes it.
func (t town) create(ctx context.Context, prefix string, n int) {
	GinkgoHelper()
	for i := range n {
		Eventually(func() error {
			return client.IgnoreAlreadyExists(k.Create(ctx, t.claim(fmt.Sprintf("%s-%d", prefix, i))))
		}, "2m", "100ms").Should(Succeed())
	}
}

// creating makes claims in the background.
func (t town) creating(ctx context.Context, prefix string, n int) *sync.WaitGroup {
	var done sync.WaitGroup
	done.Go(func() {
		defer GinkgoRecover()
		t.create(ctx, prefix, n)
	})
	return &done
}

func (t town) claims(ctx context.Context) ([]ipamv1beta2.IPAddressClaim, error) {
	list := &ipamv1beta2.IPAddressClaimList{}
	err := k.List(ctx, list, client.InNamespace(t.name))
	return list.Items, err
}

// expectAnswers waits until there are n claims, all of them answered, and has the checker look.
func (t town) expectAnswers(ctx context.Context, n int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		claims, err := t.claims(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		var unanswered []string
		for i := range claims {
			if claims[i].Status.AddressRef.Name == "" || !claims[i].DeletionTimestamp.IsZero() {
				unanswered = append(unanswered, claims[i].Name)
			}
		}
		g.Expect(unanswered).To(BeEmpty())
		g.Expect(claims).To(HaveLen(n))
	}, "5m", "200ms").Should(Succeed())
	expectRest(ctx)
}

// deleteHalf deletes every other claim and returns how many are left.
func (t town) deleteHalf(ctx context.Context) int {
	GinkgoHelper()
	claims, err := t.claims(ctx)
	Expect(err).NotTo(HaveOccurred())
	for i := 0; i < len(claims); i += 2 {
		Expect(k.Delete(ctx, &claims[i])).To(Succeed())
	}
	return len(claims) / 2
}

// expectRest waits until nothing overlaps, lacks a record, leaks or is silent. Nothing may ever be unsafe meanwhile.
func expectRest(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() error {
		report, err := framework.Check(ctx, cluster.Config())
		if err != nil {
			return err
		}
		if err := report.Safe(); err != nil {
			return StopTrying("unsafe").Wrap(err)
		}
		return report.AtRest()
	}, "3m", "500ms").Should(Succeed())
}

// linkTo is a link to a port of this machine.
func linkTo(port int) *framework.Link {
	GinkgoHelper()
	link, err := framework.NewLink(fmt.Sprintf("127.0.0.1:%d", port))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(link.Close)
	return link
}

func isWebhookConfiguration(kind string) bool { return strings.HasSuffix(kind, "WebhookConfiguration") }
