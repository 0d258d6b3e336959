// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"net/http"
	"slices"
)

// dryRunAll is the value of the parameter dryRun that keeps a request from being stored.
const dryRunAll = "All"

// readOnly refuses requests that would write.
type readOnly struct{ next http.RoundTripper }

// RoundTrip sends reads and dry runs on.
func (t readOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if isRead(r.Method) || slices.Contains(r.URL.Query()["dryRun"], dryRunAll) {
		return t.next.RoundTrip(r)
	}
	return nil, fmt.Errorf("%s %s would write; the plugin only reads", r.Method, r.URL.Path)
}

func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}
