// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// wire counts what the API server answers creates with, also those that a client repeats by itself.
type wire struct {
	mu    sync.Mutex
	codes map[int]int
}

func newWire() *wire { return &wire{codes: map[int]int{}} }

// client returns a client whose creates are counted.
func (w *wire) client() client.Client {
	GinkgoHelper()
	cfg := rest.CopyConfig(config)
	cfg.QPS = -1
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counting{next: next, wire: w} })
	c, err := site.ClientFor(cfg)
	Expect(err).NotTo(HaveOccurred())
	return c
}

type counting struct {
	next http.RoundTripper
	wire *wire
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost {
		c.wire.mu.Lock()
		defer c.wire.mu.Unlock()
		c.wire.codes[response.StatusCode]++
	}
	return response, err
}

// of returns how many creates were answered so.
func (w *wire) of(code int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.codes[code]
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := make([]string, 0, len(w.codes))
	for _, code := range slices.Sorted(maps.Keys(w.codes)) {
		parts = append(parts, fmt.Sprintf("%d: %d", code, w.codes[code]))
	}
	return strings.Join(parts, ", ")
}
