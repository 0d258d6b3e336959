// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What certificates say besides the Service's name.
const (
	caName       = "weir-webhook-ca"
	organization = "weir-ipam"
)

// fileInterval is how often it is looked whether the certificate's files are there.
const fileInterval = 500 * time.Millisecond

// Options say where the certificate is kept, and for whom.
type Options struct {
	// Secret has tls.crt, tls.key, ca.crt and ca.key. It must exist; at first it may be empty.
	Secret types.NamespacedName
	// Dir is where the Secret is mounted.
	Dir string
	// DNSName is the webhooks' Service, as API servers name it.
	DNSName string
	// Mutating and Validating are the names of the webhook configurations.
	Mutating, Validating string
}

// Add has a manager make and replace the certificate, elected or not: webhooks are served by all managers.
func Add(mgr ctrl.Manager, o Options) error {
	config := rest.CopyConfig(mgr.GetConfig())
	config.Wrap(o.narrow)
	err := rotator.AddRotator(scoped{mgr, config, bridging{mgr.GetClient(), mgr.GetAPIReader()}}, &rotator.CertRotator{
		SecretKey: o.Secret, CertDir: o.Dir, CAName: caName, CAOrganization: organization, DNSName: o.DNSName,
		Webhooks: []rotator.WebhookInfo{{Name: o.Mutating, Type: rotator.Mutating}, {Name: o.Validating, Type: rotator.Validating}},
		IsReady:  make(chan struct{}), // Await is quicker
	})
	if err != nil {
		return fmt.Errorf("keeping the webhooks' certificate in Secret %s: %w", o.Secret, err)
	}
	return nil
}

// Await waits until there is a certificate and its key in the folder. It errs only when ctx ends. The kubelet may take a minute to write
// there what a Secret has.
func (o Options) Await(ctx context.Context) error {
	ctrl.LoggerFrom(ctx).WithName("certificate").Info("Waiting for the certificate of the webhooks", "secret", o.Secret, "folder", o.Dir)
	return wait.PollUntilContextCancel(ctx, fileInterval, true, func(context.Context) (bool, error) {
		_, err := tls.LoadX509KeyPair(filepath.Join(o.Dir, "tls.crt"), filepath.Join(o.Dir, "tls.key"))
		return err == nil, nil
	})
}

// scoped is a manager whose caches see the three objects alone, and whose client changes a CA as bridging does.
type scoped struct {
	ctrl.Manager

	config *rest.Config
	client client.Client
}

// GetConfig returns what caches read with.
func (s scoped) GetConfig() *rest.Config { return s.config }

// GetClient returns what changes are written with.
func (s scoped) GetClient() client.Client { return s.client }

// narrow has lists and watches name the one object that is meant: RBAC knows no other way to grant them of one.
func (o Options) narrow(next http.RoundTripper) http.RoundTripper {
	return narrowed{next, map[string]string{
		"secrets": o.Secret.Name, "mutatingwebhookconfigurations": o.Mutating, "validatingwebhookconfigurations": o.Validating,
	}}
}

// narrowed adds a field selector to requests for all objects of a resource.
type narrowed struct {
	next http.RoundTripper
	// names are those of the objects, by their resources.
	names map[string]string
}

// RoundTrip sends a request.
func (n narrowed) RoundTrip(r *http.Request) (*http.Response, error) {
	name, isNarrowed := n.names[path.Base(r.URL.Path)]
	if !isNarrowed || r.Method != http.MethodGet {
		return n.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("fieldSelector", "metadata.name="+name)
	r.URL.RawQuery = query.Encode()
	return n.next.RoundTrip(r)
}
