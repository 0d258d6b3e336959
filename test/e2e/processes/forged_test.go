// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	createClaim = "/validate-ipam-weir-dev-v1alpha1-ipclaim"
	proposeTo   = "/mutate-ipam-weir-dev-v1alpha1-ipclaim"
	changePool  = "/validate-ipam-weir-dev-v1alpha1-ippool"
)

// shown returns a client certificate of the CA that the secured manager knows.
func shown(ctx SpecContext, user string) tls.Certificate {
	GinkgoHelper()
	config, err := site.RESTConfigAs(ctx, user)
	Expect(err).NotTo(HaveOccurred())
	cert, err := tls.X509KeyPair(config.CertData, config.KeyData)
	Expect(err).NotTo(HaveOccurred())
	return cert
}

// foreign returns a certificate by the API server's name of a CA that the manager does not know.
func foreign() tls.Certificate {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	_, err := framework.ServingCerts(dir, framework.WebhookClient)
	Expect(err).NotTo(HaveOccurred())
	cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	Expect(err).NotTo(HaveOccurred())
	return cert
}

// stored is a pool with one claim's address, which webhooks of this manager have let in.
func stored(ctx SpecContext, m *framework.Manager) (*suite.Spec, *ipamv1.IPPool) {
	GinkgoHelper()
	Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	s := newSpec(ctx)
	pool, claim := s.Root("pool", "10.0.0.0/23").Build(), s.Claim("holder", "pool").Build()
	s.Create(ctx, pool)
	s.Ready(ctx, pool)
	s.Create(ctx, claim)
	s.Ready(ctx, claim)
	return s, pool
}

// forged is a review of the n-th claim to the pool, of which the API server knows nothing. The last ones' addresses are free.
func forged(s *suite.Spec, n int) *admissionv1.AdmissionReview {
	GinkgoHelper()
	claim := s.Claim(fmt.Sprint("forged-", n), "pool").Build()
	claim.UID = uuid.NewUUID()
	claim.Spec.CIDR = fmt.Sprintf("10.0.%d.%d/32", n/250, 2+n%250)
	return forgery(admissionv1.Create, ipamv1.IPClaimKind, claim, nil)
}

var _ = Describe("The port of the webhooks", func() {
	servePort()

	It("With a client CA, 500 forged reviews store nothing and learn nothing, and the API server's are answered", func(ctx SpecContext) {
		s, pool := stored(ctx, secured)
		before := s.HandedOut(ctx)
		forgers := map[string]*http.Client{
			"no certificate": nobody(), "another CA, the right name": as(foreign()), "the CA, another name": as(shown(ctx, "kubelet")),
		}
		var done sync.WaitGroup
		for who, c := range forgers {
			done.Go(func() {
				defer GinkgoRecover()
				for n := range 500/len(forgers) + 1 {
					for path, review := range map[string]*admissionv1.AdmissionReview{
						createClaim: forged(s, n), changePool: forgery(admissionv1.Delete, ipamv1.IPPoolKind, nil, pool.DeepCopy()),
					} {
						answer, err := post(ctx, c, secured, path, review)
						Expect(answer).To(BeNil(), who)
						Expect(err).To(HaveOccurred(), who)
					}
				}
			})
		}
		done.Wait()
		Expect(s.HandedOut(ctx)).To(Equal(before))
		claim := s.Claim("honest", "pool").Build()
		s.Create(ctx, claim)
		s.Ready(ctx, claim)
		Expect(secured.WaitReady(ctx)).To(Succeed())

		By("showing the API server's own certificate, and to who may read it, naming the holder")
		api := as(shown(ctx, framework.WebhookClient))
		answer, err := post(ctx, api, secured, createClaim, forged(s, 499))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Allowed).To(BeTrue(), "%v", answer.Result)
		Expect(s.Client.Delete(ctx, pool)).To(MatchError(ContainSubstring("IPClaim " + s.Namespace + "/holder")))
	}, SpecTimeout(5*time.Minute))

	It("Without a client CA, forged reviews are believed, and are told how much is in use, not by whom", func(ctx SpecContext) {
		s, pool := stored(ctx, open)
		answer, err := post(ctx, nobody(), open, createClaim, forged(s, 499))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Allowed).To(BeTrue(), "%v", answer.Result)
		Expect(s.HandedOut(ctx)).To(HaveLen(2)) // this is what the client CA is for

		answer, err = post(ctx, nobody(), open, proposeTo, forged(s, 498))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Allowed).To(BeTrue(), "%v", answer.Result)

		By("asking as the administrator what is in use, forged and honestly")
		answer, err = post(ctx, nobody(), open, changePool, forgery(admissionv1.Delete, ipamv1.IPPoolKind, nil, pool.DeepCopy()))
		Expect(err).NotTo(HaveOccurred())
		Expect(answer.Allowed).To(BeFalse())
		Expect(answer.Result.Message).To(HaveSuffix("2 prefixes are allocated from it"))
		Expect(s.Client.Delete(ctx, pool)).To(MatchError(HaveSuffix("2 prefixes are allocated from it")))
		overlapping := s.Root("other", "10.0.0.0/16").Build()
		Expect(s.Client.Create(ctx, overlapping)).To(MatchError(HaveSuffix("overlaps other pools of address space " + s.Namespace)))
	}, SpecTimeout(5*time.Minute))
})
