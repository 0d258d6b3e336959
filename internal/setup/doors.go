// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/admission"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/repair"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/incluster"
)

// doorInterval is how often a front door whose kinds are not served yet looks for them.
const doorInterval = 3 * time.Second

// wiring is what all that a manager serves is made of.
type wiring struct {
	ctrl.Manager

	book     *ledger.Ledger
	registry *pool.Registry
	desk     *ipclaim.Desk
	options  Options
}

// wireDoors registers what Weir serves by itself: its pools, claims and their webhooks, and the front doors.
func wireDoors(ctx context.Context, mgr ctrl.Manager, book *ledger.Ledger, o Options) error {
	home, err := homeOf(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	rules := &tenancy.Rules{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Platform: o.PlatformProject, Namespace: o.OwnNamespace}
	registry := &pool.Registry{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Ledger: book, Rules: rules, Namespace: o.OwnNamespace, Home: home,
	}
	w := &wiring{
		Manager: mgr, book: book, registry: registry, options: o,
		desk: &ipclaim.Desk{Client: mgr.GetClient(), Registry: registry, Rules: rules},
	}
	controllers, err := w.pools(ctx)
	if err != nil {
		return err
	}
	claims, err := w.claims(ctx)
	if err != nil {
		return err
	}
	if err = admission.SetupWithManager(mgr, admission.Options{
		Holdings: book, Ledger: book, Registry: registry, Desk: w.desk, Authenticated: o.WebhookClientCAFile != "",
	}); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	return mgr.Add(w.clusterAPI(append(controllers, claims)))
}

// pools registers the controllers of pools.
func (w *wiring) pools(ctx context.Context) (controllers []follower, err error) {
	for name, kind := range map[string]pool.Kind{"ippool": pool.IPPools, "globalippool": pool.GlobalIPPools} {
		r := &pool.Reconciler{
			Client: w.GetClient(), Live: w.GetAPIReader(), Registry: w.registry, Ledger: w.book, Recorder: w.recorder(),
			Clock: clock.RealClock{}, Kind: kind,
			WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
		}
		if err = r.SetupWithManager(ctx, w, name); err != nil {
			return nil, fmt.Errorf("setting up the controller of %ss: %w", kind.Kind, err)
		}
		controllers = append(controllers, r)
		if err = w.noteStored(ctx, kind.New(), kind.GroupKind); err != nil {
			return nil, err
		}
		if err = w.repair(repair.Kind{GroupKind: kind.GroupKind, Living: r.Living, Settle: r.Settle}); err != nil {
			return nil, err
		}
	}
	return controllers, nil
}

// homeOf returns what tells this cluster from all others.
func homeOf(ctx context.Context, live client.Reader) (string, error) {
	system := &metav1.PartialObjectMetadata{}
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return "", fmt.Errorf("getting namespace %s, whose UID tells this cluster from others: %w", metav1.NamespaceSystem, err)
	}
	return string(system.UID), nil
}

// claims registers the controller of Weir's own claims.
func (w *wiring) claims(ctx context.Context) (*ipclaim.Reconciler, error) {
	r := &ipclaim.Reconciler{
		Client: w.GetClient(), Live: w.GetAPIReader(), Ledger: w.book, Desk: w.desk, Recorder: w.recorder(),
		WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
	}
	if err := r.SetupWithManager(ctx, w); err != nil {
		return nil, fmt.Errorf("setting up the controller of IPClaims: %w", err)
	}
	if err := w.noteStored(ctx, &ipamv1.IPClaim{}, kinds.IPClaim); err != nil {
		return nil, err
	}
	return r, w.repair(repair.Kind{GroupKind: kinds.IPClaim, Living: r.Living, Settle: r.Settle})
}

// noteStored tells the ledger, on every replica, which objects of the kind are stored.
func (w *wiring) noteStored(ctx context.Context, obj client.Object, kind schema.GroupKind) error {
	note := func(stored any) {
		if o, ok := stored.(client.Object); ok {
			w.book.Stored(kinds.Claim(kind, client.ObjectKeyFromObject(o), o.GetUID()))
		}
	}
	informer, err := w.GetCache().GetInformer(ctx, obj)
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, stored any) { note(stored) }})
	}
	if err != nil {
		return fmt.Errorf("following %ss: %w", kind.Kind, err)
	}
	return nil
}

func (w *wiring) repair(kind repair.Kind) error {
	if err := w.Add(&repair.Repairer{Ledger: w.book, Kind: kind, Namespace: w.options.Namespace, Grace: w.options.RepairGrace}); err != nil {
		return fmt.Errorf("adding the repair of %ss: %w", kind.Kind, err)
	}
	return nil
}

// follower is a controller that follows Clusters once there are any.
type follower interface {
	WatchClusters(mgr ctrl.Manager, doors ...pool.Door) error
}

// door is a front door whose kinds may be installed later than Weir.
type door struct {
	name   string
	kinds  []schema.GroupVersionKind
	mapper meta.RESTMapper
	open   func(ctx context.Context) error
}

// clusterAPI is the front door of IPAddressClaims. With it these controllers begin to follow Clusters.
func (w *wiring) clusterAPI(controllers []follower) *door {
	source := incluster.Source(w.registry)
	return &door{
		name: "Cluster API",
		kinds: []schema.GroupVersionKind{
			clusterv1.GroupVersion.WithKind(kinds.Cluster.Kind),
			clusterapi.Form{}.Kinds().Claim,
			clusterapi.Form{}.Kinds().Answer,
		},
		mapper: w.GetRESTMapper(),
		open: func(ctx context.Context) error {
			if err := w.openClaims(ctx, clusterapi.Form{}, source); err != nil {
				return err
			}
			for _, c := range controllers {
				if err := c.WatchClusters(w, &clusterapi.Door{Client: w.GetClient(), Source: source}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// openClaims registers the controller of a form of claims, and their repair.
func (w *wiring) openClaims(ctx context.Context, form claim.Form, source claim.Source) error {
	r := &claim.Reconciler{
		Client: w.GetClient(), Live: w.GetAPIReader(), Ledger: w.book, Form: form, Source: source, Rules: w.registry.Rules,
		Recorder: w.recorder(), Arrivals: claim.NewArrivals(clock.RealClock{}, w.options.RepairGrace), Clock: clock.RealClock{},
		WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
	}
	kind := form.Kinds().Claim.GroupKind()
	if err := r.SetupWithManager(ctx, w, strings.ToLower(kind.Kind)); err != nil {
		return err
	}
	return w.repair(repair.Kind{GroupKind: kind, Living: r.Living, Answers: r.Answers, Settle: r.Settle})
}

// Start waits until the door's kinds are served, and opens it.
func (d *door) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("door").WithValues("door", d.name)
	err := wait.PollUntilContextCancel(ctx, doorInterval, true, func(context.Context) (bool, error) { return d.isServed(), nil })
	if err != nil {
		return nil //nolint:nilerr // the manager stops before the kinds appeared
	}
	log.Info("Opening front door")
	if err := d.open(ctx); err != nil {
		return fmt.Errorf("opening the front door of %s: %w", d.name, err)
	}
	<-ctx.Done()
	return nil
}

// NeedLeaderElection is false: controllers wait for leadership by themselves.
func (d *door) NeedLeaderElection() bool { return false }

func (d *door) isServed() bool {
	for _, kind := range d.kinds {
		if _, err := d.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return false
		}
	}
	return true
}
