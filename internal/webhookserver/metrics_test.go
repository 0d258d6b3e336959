// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func TestTheExpiryIsThatOfWhatIsLoaded(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), caFile(t)
	if _, err := framework.ServingCerts(dir); err != nil {
		t.Fatal(err)
	}
	serving, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	own, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	former, next := newAuthority(t), newAuthority(t)
	next.cert.NotAfter = next.cert.NotAfter.Add(24 * time.Hour)
	next.cert, next.key = next.sign(t, next.cert)
	write(t, file, next, former)
	clients, err := NewClients(file, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil { // what is loaded counts
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		certificates

		want map[string]time.Time
	}{
		"with clients of a CA":    {certificates{serving, clients}, map[string]time.Time{"webhook": own.NotAfter, "client CA": next.cert.NotAfter}},
		"with clients of no kind": {certificates{serving, nil}, map[string]time.Time{"webhook": own.NotAfter}},
	} {
		got := map[string]time.Time{}
		test.expiries(func(use string, at time.Time) { got[use] = at })
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
