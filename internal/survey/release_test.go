// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"errors"
	"net/http"
	"testing"
)

// TestOnlyIPClaimsAreWritten: what frees sends reads, the create of one IPClaim and its delete.
func TestOnlyIPClaimsAreWritten(t *testing.T) {
	t.Parallel()
	const claims = "http://a/apis/ipam.weir.dev/v1alpha1/namespaces/n/ipclaims"
	for _, tc := range []struct {
		method, url string
		isSent      bool
	}{
		{http.MethodGet, "http://a/x", true},
		{http.MethodPost, claims, true},
		{http.MethodDelete, claims + "/a", true},
		{http.MethodDelete, claims, false},
		{http.MethodPut, claims + "/a", false},
		{http.MethodPatch, claims + "/a", false},
		{http.MethodPost, claims + "/a/eviction", false},
		{http.MethodPost, "http://a/apis/ipam.weir.dev/v1alpha1/namespaces/n/ipallocations", false},
		{http.MethodDelete, "http://a/apis/ipam.weir.dev/v1alpha1/namespaces/n/ipallocations/a", false},
		{http.MethodDelete, "http://a/apis/ipam.metal3.io/v1alpha1/namespaces/n/ipclaims/a", false},
	} {
		isSent := false
		transport := onlyIPClaims{roundTripper(func(*http.Request) (*http.Response, error) {
			isSent = true
			return nil, errors.New("sent")
		})}
		request, err := http.NewRequestWithContext(t.Context(), tc.method, tc.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(request)
		if response != nil {
			_ = response.Body.Close()
		}
		if err == nil || isSent != tc.isSent {
			t.Errorf("%s %s: sent %v, error %v", tc.method, tc.url, isSent, err)
		}
	}
}
