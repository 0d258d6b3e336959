// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	// secured is a manager that only the API server may call, and open one that everybody may.
	secured, open *framework.Manager
	// anybody trusts the certificate that the managers serve, and shows none.
	anybody *tls.Config
)

// servePort has each spec of a container begin with both managers.
func servePort() {
	BeforeEach(func(ctx SpecContext) {
		env := []string{"GOGC=100"} // as in production: the memory is measured
		var err error
		secured, err = site.StartManager(ctx, framework.ManagerOptions{Name: "secured", Env: env})
		Expect(err).NotTo(HaveOccurred())
		open, err = site.StartManager(ctx, framework.ManagerOptions{
			Name: "open", Env: env, Args: []string{"--webhook-client-ca-file=", "--webhook-client-name="},
		})
		Expect(err).NotTo(HaveOccurred())
		ca, err := os.ReadFile(filepath.Join(site.WebhookCerts(), "ca.crt"))
		Expect(err).NotTo(HaveOccurred())
		anybody = &tls.Config{RootCAs: x509.NewCertPool()}
		Expect(anybody.RootCAs.AppendCertsFromPEM(ca)).To(BeTrue())
		DeferCleanup(site.RemoveWebhooks)
	}, NodeTimeout(2*time.Minute))
}

// newSpec makes the namespace of a spec, whose forged records go with the spec: repair would need the grace for that.
func newSpec(ctx context.Context) *suite.Spec {
	GinkgoHelper()
	s := suite.New(ctx, site)
	DeferCleanup(func(ctx SpecContext) {
		for _, record := range s.InSpace(ctx) {
			if record.Spec.ClaimRef.Kind == ipamv1.IPClaimKind && strings.HasPrefix(record.Spec.ClaimRef.Name, "forged-") {
				Expect(k.Patch(ctx, &record, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
				Expect(client.IgnoreNotFound(k.Delete(ctx, &record))).To(Succeed())
			}
		}
	})
	return s
}

// as returns a client of the port with a certificate.
func as(cert tls.Certificate) *http.Client {
	config := anybody.Clone()
	config.Certificates = []tls.Certificate{cert}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}, Timeout: time.Minute}
}

// nobody returns a client without a certificate.
func nobody() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: anybody, DisableKeepAlives: true}, Timeout: time.Minute}
}

// forgery is a review by the administrator, who has not asked for anything.
func forgery(operation admissionv1.Operation, kind string, object, old client.Object) *admissionv1.AdmissionReview {
	GinkgoHelper()
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: uuid.NewUUID(), Operation: operation,
			Kind:     metav1.GroupVersionKind{Group: ipamv1.GroupVersion.Group, Version: ipamv1.GroupVersion.Version, Kind: kind},
			UserInfo: authenticationv1.UserInfo{Username: "weir-admin", Groups: []string{"system:masters", "system:authenticated"}},
		},
	}
	for from, to := range map[client.Object]*runtime.RawExtension{object: &review.Request.Object, old: &review.Request.OldObject} {
		if from == nil {
			continue
		}
		from.GetObjectKind().SetGroupVersionKind(ipamv1.GroupVersion.WithKind(kind))
		review.Request.Namespace, review.Request.Name = from.GetNamespace(), from.GetName()
		var err error
		to.Raw, err = json.Marshal(from)
		Expect(err).NotTo(HaveOccurred())
	}
	return review
}

// post returns what the manager answers. It errs where the manager does not listen.
func post(ctx context.Context, c *http.Client, m *framework.Manager, path string, review *admissionv1.AdmissionReview) (*admissionv1.AdmissionResponse, error) {
	GinkgoHelper()
	body, err := json.Marshal(review)
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+m.WebhookAddress()+path, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	answer := &admissionv1.AdmissionReview{}
	Expect(json.Unmarshal(text, answer)).To(Succeed(), "%d %s", resp.StatusCode, text)
	return answer.Response, nil
}
