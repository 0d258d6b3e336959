// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "3m"

var _ = Describe("Metrics", func() {
	BeforeEach(onRelease)

	It("are for who has the shipped role, and neither they nor profiles for anybody else", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		c := s.Claim("claim", "pool").Build()
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build(), c)
		s.Ready(ctx, c)
		prometheus, stranger := account(ctx, s.Namespace, "prometheus"), account(ctx, s.Namespace, "stranger")
		Expect(s.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "prometheus"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-metrics-reader-role"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "prometheus"}},
		})).To(Succeed())

		Eventually(func(g Gomega) { // the API server takes a moment to notice
			code, body := get(ctx, g, "/metrics", prometheus)
			g.Expect(code).To(Equal(http.StatusOK), body)
			g.Expect(body).To(ContainSubstring("weir_ledger_"))
			g.Expect(body).To(ContainSubstring("weir_admission_reservation_duration_seconds"))
		}, patience, "100ms").Should(Succeed())
		for _, refused := range []struct {
			path, token string
			code        int
		}{
			{"/metrics", "", http.StatusUnauthorized},
			{"/metrics", "forged", http.StatusInternalServerError}, // controller-runtime's word for it
			{"/metrics", stranger, http.StatusForbidden},
			{"/debug/pprof/heap", "", http.StatusUnauthorized},
			{"/debug/pprof/heap", stranger, http.StatusForbidden},
			{"/debug/pprof/heap", prometheus, http.StatusForbidden},
		} {
			code, body := get(ctx, NewWithT(GinkgoT()), refused.path, refused.token)
			Expect(code).To(Equal(refused.code), "%s: %s", refused.path, body)
			Expect(body).NotTo(ContainSubstring("weir_"))
		}
	}, NodeTimeout(10*time.Minute))
})

// account makes a service account and returns a token of its.
func account(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	Expect(site.Client().Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
	config, err := framework.ServiceAccountConfig(ctx, site.Config(), namespace, name)
	Expect(err).NotTo(HaveOccurred())
	return config.BearerToken
}

// get asks the manager, whose certificate it made itself.
func get(ctx context.Context, g Gomega, path, token string) (code int, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+diagnostics+path, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(read)
}
