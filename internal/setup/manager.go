// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/flags"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/webhookserver"
)

// leaseName is the name of the lease that a leader holds.
const leaseName = "weir-leader.ipam.weir.dev"

// shutdownTimeout lets an allocation that is under way come to its end.
const shutdownTimeout = 20 * time.Second

// fieldValidation spares the API server the search for unknown fields in what Weir writes: it would only warn, and the types
// are those of the CRDs.
const fieldValidation = metav1.FieldValidationIgnore

// Scheme returns a scheme with every kind that the manager reads or writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, clusterapi.AddToScheme, ipamv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// Run runs the manager until ctx ends.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	if err := o.Complete(); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = o.KubeAPIQPS, o.KubeAPIBurst
	config.WarningHandlerWithContext = newWarnings()
	scheme, err := Scheme()
	for _, door := range o.Doors {
		if door.AddToScheme != nil {
			err = errors.Join(err, door.AddToScheme(scheme))
		}
	}
	if o.isOn(metal3Gate) {
		err = errors.Join(err, m3v1.AddToScheme(scheme))
	}
	if o.isOn(inClusterGate) {
		err = errors.Join(err, icv1.AddToScheme(scheme))
	}
	if err != nil {
		return err
	}
	mgr, err := newManager(config, scheme, o)
	if err != nil {
		return err
	}
	book, err := newLedger(ctx, config, scheme, o)
	if err != nil {
		return err
	}
	if err := wire(ctx, mgr, book, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, scheme *runtime.Scheme, o Options) (ctrl.Manager, error) {
	tlsOptions, metrics, err := flags.GetManagerOptions(o.Manager)
	if err != nil {
		return nil, fmt.Errorf("reading manager options: %w", err)
	}
	metrics.TLSOpts = append(slices.Clone(metrics.TLSOpts), webhookserver.WithoutCBC)
	clients, err := o.webhookClients()
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme: scheme,
		Client: client.Options{FieldValidation: fieldValidation},
		// The priority queue of controller-runtime 0.24 can wait for a worker that has gone already when the manager stops,
		// which then takes until shutdownTimeout.
		Controller:                    ctrlconfig.Controller{UsePriorityQueue: ptr.To(false)},
		Metrics:                       *metrics,
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       o.OwnNamespace,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        o.HealthAddress,
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
		Cache: cache.Options{
			SyncPeriod:       &o.SyncPeriod,
			DefaultTransform: o.cached(),
		},
		WebhookServer: webhookserver.New(webhookserver.Options{
			Host: o.WebhookHost, Port: o.WebhookPort, CertDir: o.WebhookCertDir, TLS: tlsOptions, Clients: clients,
			Ready: o.certificateReady(),
		}),
	}
	if o.Namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// newLedger returns the ledger with a client of its own: it reads no cache, and its watch of IPAllocations is never
// narrowed. Where RBAC does not grant that watch the manager must not start.
func newLedger(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, o Options) (*ledger.Ledger, error) {
	direct, err := client.NewWithWatch(config, client.Options{Scheme: scheme, FieldValidation: fieldValidation})
	if err != nil {
		return nil, fmt.Errorf("creating the ledger's client: %w", err)
	}
	if err = proveWatch(ctx, direct, &ipamv1.IPAllocationList{}, "", "IPAllocations of all namespaces"); err != nil {
		return nil, fmt.Errorf("%w, without which nothing can be handed out safely", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the host name: %w", err)
	}
	lists, err := ledger.ListClient(config)
	if err != nil {
		return nil, err
	}
	return ledger.New(ledger.Options{
		Client: direct, REST: lists, Instance: host + "-" + rand.String(8), Clock: clock.RealClock{}, Grace: o.RepairGrace,
	}), nil
}

// proveWatch lists and watches objects once, as is to be done from then on. The name is for errors.
func proveWatch(ctx context.Context, direct client.WithWatch, list client.ObjectList, namespace, name string) error {
	if err := direct.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("listing %s: %w", name, err)
	}
	from := &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
	events, err := direct.Watch(ctx, list, &client.ListOptions{Namespace: namespace, Raw: from})
	if err != nil {
		return fmt.Errorf("watching %s: %w", name, err)
	}
	events.Stop()
	return nil
}

// wire registers everything that the manager runs.
func wire(ctx context.Context, mgr ctrl.Manager, book *ledger.Ledger, o Options) error {
	if err := mgr.Add(book); err != nil {
		return fmt.Errorf("adding the ledger: %w", err)
	}
	if err := wireDoors(ctx, mgr, book, o); err != nil {
		return err
	}
	if err := wireCertificate(mgr, &o); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the health check: %w", err)
	}
	ready := map[string]healthz.Checker{
		"ledger":   func(*http.Request) error { return book.Synced() },
		"webhooks": mgr.GetWebhookServer().StartedChecker(),
	}
	for name, check := range ready {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("adding readiness check %s: %w", name, err)
		}
	}
	return nil
}
