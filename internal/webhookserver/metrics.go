// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/x509"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

// certificates are those that a server has loaded.
type certificates struct {
	serving *certwatcher.CertWatcher
	// clients may be nil.
	clients *Clients
}

// loaded are the certificates of the server that was started last; nil before the first.
var loaded atomic.Pointer[certificates]

func init() {
	metrics.Computed("certificate", "expiry_timestamp_seconds",
		"When what is loaded expires, in seconds since 1970: the webhooks' certificate, or the last certificate of the CA of their clients.",
		func(set func(float64, ...string)) {
			if c := loaded.Load(); c != nil {
				c.expiries(func(use string, at time.Time) { set(float64(at.Unix()), use) })
			}
		}, "use")
}

// expiries calls set for each use of certificates that are loaded and can be read.
func (c *certificates) expiries(set func(use string, at time.Time)) {
	if current, err := c.serving.GetCertificate(nil); err == nil && current != nil {
		if leaf, err := x509.ParseCertificate(current.Certificate[0]); err == nil {
			set("webhook", leaf.NotAfter)
		}
	}
	if c.clients == nil {
		return
	}
	var last time.Time
	authorities, _ := cert.ParseCertsPEM(c.clients.authority.CurrentCABundleContent()) // none that cannot be read is loaded
	for _, authority := range authorities {
		if authority.NotAfter.After(last) {
			last = authority.NotAfter
		}
	}
	if !last.IsZero() {
		set("client CA", last)
	}
}
