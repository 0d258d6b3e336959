// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestListsAndWatchesNameTheObject(t *testing.T) {
	t.Parallel()
	var sent string
	o := Options{Secret: types.NamespacedName{Namespace: "ns", Name: "cert"}, Mutating: "m", Validating: "v"}
	narrow := o.narrow(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r.URL.RequestURI()
		return nil, errors.New("sent")
	}))
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/ns/secrets?watch=true":                                     "/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dcert&watch=true",
		"GET /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?limit=5":  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?fieldSelector=metadata.name%3Dm&limit=5",
		"GET /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations":        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?fieldSelector=metadata.name%3Dv",
		"GET /api/v1/namespaces/ns/secrets/cert":                                           "/api/v1/namespaces/ns/secrets/cert",
		"PUT /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m?dry=no": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m?dry=no",
		"GET /api/v1/namespaces": "/api/v1/namespaces",
	} {
		r, err := http.NewRequestWithContext(t.Context(), request[:3], "https://server"+request[4:], http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		before := r.URL.String()
		if response, _ := narrow.RoundTrip(r); response != nil {
			_ = response.Body.Close()
		}
		if sent != want {
			t.Errorf("%s: sent %s", request, sent)
		}
		if r.URL.String() != before {
			t.Errorf("%s: the caller's request is changed", request)
		}
	}
}

func TestAwaitWaitsForCertificateAndKey(t *testing.T) {
	t.Parallel()
	o, secret := Options{Dir: t.TempDir()}, made(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Await(ended); err == nil {
		t.Error("there is no certificate")
	}
	done := make(chan error, 1)
	go func() { done <- o.Await(t.Context()) }()
	for _, name := range []string{certKey, "tls.key"} {
		select {
		case err := <-done:
			t.Fatalf("it came back before %s was there: %v", name, err)
		default:
		}
		if err := os.WriteFile(filepath.Join(o.Dir, name), secret[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
