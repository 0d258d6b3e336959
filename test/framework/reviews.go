// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"
)

// ServeReviews serves a webhook until stop. It allows whatever the API server asks it, unless judge
// changes the answer. The API server reaches it at the client configuration that is returned.
func (s *Site) ServeReviews(judge func(context.Context, *admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)) (
	at admissionregistrationv1.WebhookClientConfig, stop func() error, err error,
) {
	ca, err := os.ReadFile(filepath.Join(s.WebhookCerts(), "ca.crt"))
	if err != nil {
		return at, nil, fmt.Errorf("reading the webhooks' CA: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return at, nil, fmt.Errorf("serving a webhook: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		judge(r.Context(), review.Request, review.Response)
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	})}
	go func() {
		_ = server.ServeTLS(listener, filepath.Join(s.WebhookCerts(), "tls.crt"), filepath.Join(s.WebhookCerts(), "tls.key"))
	}()
	at = admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://" + listener.Addr().String()), CABundle: ca}
	return at, server.Close, nil
}
