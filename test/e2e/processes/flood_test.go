// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// refusedCreates is how many creates with long texts there are.
var refusedCreates = size.Of(60, 2000, 2000)

const (
	// longText is the number of characters of a text that etcd could store.
	longText = 900_000
	// flooders is how many clients send them at once: as many large reviews as a manager reads at once.
	flooders = 4
)

// logged returns how many bytes a manager has logged.
func logged(m *framework.Manager) int64 {
	GinkgoHelper()
	info, err := os.Stat(m.LogPath())
	Expect(err).NotTo(HaveOccurred())
	return info.Size()
}

// forgedIn is a review of a claim of that namespace to a pool of the cluster, of which the API server knows nothing.
func forgedIn(namespace, pool string, n int) *admissionv1.AdmissionReview {
	GinkgoHelper()
	claim := builder.IPClaim(namespace, fmt.Sprint("forged-", n)).From(ipamv1.GlobalIPPoolKind, pool).Build()
	claim.UID = uuid.NewUUID()
	claim.Spec.CIDR = fmt.Sprintf("10.0.%d.%d/32", (n+1)/256, (n+1)%256)
	return forgery(admissionv1.Create, ipamv1.IPClaimKind, claim, nil)
}

var _ = Describe("The port of the webhooks", func() {
	servePort()

	It("Refused creates with texts of 900,000 characters leave a manager under 200 MiB, and its log under 2 MiB", func(ctx SpecContext) {
		Expect(site.PointWebhooks(ctx, secured.WebhookAddress())).To(Succeed())
		s, text := newSpec(ctx), strings.Repeat("a", longText)
		before, lines := peak(secured), logged(secured)
		var done sync.WaitGroup
		for flooder := range flooders {
			done.Go(func() {
				defer GinkgoRecover()
				for i := flooder; i < refusedCreates; i += flooders {
					Expect(s.Client.Create(ctx, s.Claim(fmt.Sprint("flood-", i), text).Build())).NotTo(Succeed())
				}
			})
		}
		done.Wait()
		AddReportEntry(fmt.Sprintf("%d creates: peak memory %d MiB, %d MiB before; %d kB logged",
			refusedCreates, peak(secured), before, (logged(secured)-lines)/1024))
		Expect(peak(secured)).To(BeNumerically("<", 200), "it was %d MiB before", before)
		Expect(logged(secured) - lines).To(BeNumerically("<", 2*mebibyte))

		By("saying which text is too long, and not that text")
		err := s.Client.Create(ctx, s.Claim("told", text).Build())
		Expect(err).To(MatchError(ContainSubstring("spec.poolRef.name: Too long")))
		Expect(len(err.Error())).To(BeNumerically("<", 1000))
	}, SpecTimeout(size.Of[time.Duration](10, 30, 30)*time.Minute))

	size.FromLong(func() {
		It("30 claims with a megabyte of finalizers and labels each take less than 60 MiB of a manager", func(ctx SpecContext) {
			Expect(site.PointWebhooks(ctx, secured.WebhookAddress())).To(Succeed())
			s := newSpec(ctx)
			pool := s.Root("pool", "10.0.0.0/24").Build()
			s.Create(ctx, pool)
			s.Ready(ctx, pool)
			before := peak(secured)
			fat := make([]*ipamv1.IPClaim, 0, 30)
			for i := range 30 {
				claim := s.Claim(fmt.Sprint("fat-", i), "pool").Build()
				claim.Labels = map[string]string{}
				for n := range 4000 {
					claim.Labels[fmt.Sprintf("example.com/%04d-%s", n, strings.Repeat("l", 50))] = strings.Repeat("v", 60)
					claim.Finalizers = append(claim.Finalizers, fmt.Sprintf("example.com/%04d-%s", n, strings.Repeat("f", 50)))
				}
				s.Create(ctx, claim)
				s.Ready(ctx, claim)
				fat = append(fat, claim)
			}
			AddReportEntry(fmt.Sprintf("peak memory: %d MiB, %d MiB before", peak(secured), before))
			Expect(peak(secured)-before).To(BeNumerically("<", 60), "it was %d MiB before", before)

			By("giving them up")
			for _, claim := range fat {
				suite.Change(ctx, k, claim, func() { claim.Finalizers = []string{ipamv1.ClaimFinalizer} })
				s.Delete(ctx, claim)
			}
		}, SpecTimeout(10*time.Minute))
	})

	It("Without a client CA, 510 forged reviews over 18 namespaces leave more than half of a /23 to others", func(ctx SpecContext) {
		Expect(site.PointWebhooks(ctx, open.WebhookAddress())).To(Succeed())
		s, c := newSpec(ctx), nobody()
		pool := s.GlobalRoot("pool", "10.0.0.0/23").WithVisibility(ipamv1.SharedVisibility).Build()
		s.Create(ctx, pool)
		s.Ready(ctx, pool)
		before := len(s.InSpace(ctx))
		namespaces := make([]string, 0, 18)
		for range 18 {
			namespaces = append(namespaces, s.Another(ctx, nil))
		}
		const forgeries = 510
		for n := range forgeries {
			_, err := post(ctx, c, open, createClaim, forgedIn(namespaces[n%len(namespaces)], pool.Name, n))
			Expect(err).NotTo(HaveOccurred())
		}
		taken := len(s.InSpace(ctx)) - before
		AddReportEntry(fmt.Sprintf("%d of %d addresses taken", taken, forgeries))
		Expect(taken).To(And(BeNumerically(">", 0), BeNumerically("<", forgeries/2)))
	}, SpecTimeout(5*time.Minute))
})
