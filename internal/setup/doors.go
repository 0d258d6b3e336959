// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/admission"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/federation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/repair"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

// doorInterval is how often a front door whose kinds are not served yet looks for them.
const doorInterval = 3 * time.Second

// afterInterval is how often a front door looks whether the one before it is open.
const afterInterval = 50 * time.Millisecond

// wiring is what all that a manager serves is made of.
type wiring struct {
	ctrl.Manager

	book     *ledger.Ledger
	registry *pools.Registry
	entitled *entitlement.IPClaims
	options  Options
	// clusters are the controllers that follow Clusters once there are any.
	clusters clusters

	// opening is held while a door opens; answering are the claims of those that are open.
	opening   sync.Mutex
	answering []*claim.Reconciler
	charts    claim.Charts
	// doors are all, open or not.
	doors []doors.Door
	// open are the names of the doors that are.
	open map[string]bool
}

// wireDoors registers what Weir serves by itself: its pools, claims and their webhooks, and the front doors.
func wireDoors(ctx context.Context, mgr ctrl.Manager, book *ledger.Ledger, o Options) error {
	home, err := homeOf(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	rules := &tenancy.Rules{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Platform: o.PlatformProject, Namespace: o.OwnNamespace}
	registry := &pools.Registry{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Ledger: book, Rules: rules, Namespace: o.OwnNamespace, Home: home,
		External: o.external(mgr.GetAPIReader()), Cluster: o.ClusterName, Federation: o.isOn(federationGate),
	}
	w := &wiring{
		Manager: mgr, book: book, registry: registry, options: o,
		entitled: &entitlement.IPClaims{Client: mgr.GetClient(), Registry: registry},
	}
	for name, kind := range map[string]pools.Kind{"ippool": pools.IPPools, "globalippool": pools.GlobalIPPools} {
		if err = w.pools(ctx, name, kind); err != nil {
			return err
		}
		if err = w.noteStored(ctx, kind.New(), kind.GroupKind); err != nil {
			return err
		}
	}
	if err = w.claims(ctx); err != nil {
		return err
	}
	if err = w.followForeign(); err != nil {
		return err
	}
	w.doors = append(o.ownDoors(), o.Doors...)
	if err = admission.SetupWithManager(mgr, admission.Options{
		Holdings: admission.Recorded{Ledger: book}, Ledger: book, Registry: registry, Entitled: w.entitled, Doors: w.known(), Recorder: w.recorder(),
		Authenticated: o.WebhookClientCAFile != "",
	}); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	for i := range w.doors {
		if err = mgr.Add(&opener{Door: w.doors[i], wiring: w}); err != nil {
			return fmt.Errorf("adding the door %s: %w", w.doors[i].Name, err)
		}
	}
	return nil
}

// known is what the webhooks know of the doors, open or not.
func (w *wiring) known() admission.Doors {
	known := admission.Doors{Live: w.GetAPIReader()}
	for _, door := range w.doors {
		known.Forms = slices.AppendSeq(known.Forms, maps.Values(door.Forms))
		known.Pools = slices.AppendSeq(known.Pools, maps.Values(door.Pools))
	}
	return known
}

// ownDoors are those that Weir brings along.
func (o *Options) ownDoors() []doors.Door { return doors.With(o.extensions()...) }

// pools registers the controller of a kind of pools.
func (w *wiring) pools(ctx context.Context, name string, kind pools.Kind) error {
	options := pool.Options{
		Client: w.GetClient(), Live: w.GetAPIReader(), Registry: w.registry, Ledger: w.book, Recorder: w.recorder(),
		Clock: clock.RealClock{}, Kind: kind, RecordStored: w.recordStored,
		WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
	}
	bindings := w.bindingsOf(kind)
	if bindings != nil {
		options.Members = bindings
		options.Expander = &federation.Expander{Kind: kind, Client: w.GetClient(), Live: w.GetAPIReader(), Recorder: w.recorder()}
	}
	r := pool.NewReconciler(options)
	if err := r.SetupWithManager(ctx, w, name); err != nil {
		return fmt.Errorf("setting up the controller of %ss: %w", kind.Kind, err)
	}
	if err := w.followMembers(r, bindings); err != nil {
		return err
	}
	if err := w.clusters.add(w, r); err != nil {
		return err
	}
	return w.repair(repair.Kind{GroupKind: kind.GroupKind, Living: r.Living, Settle: r.Settle})
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
func (w *wiring) claims(ctx context.Context) error {
	r := &ipclaim.Reconciler{
		Client: w.GetClient(), Live: w.GetAPIReader(), Ledger: w.book, Entitled: w.entitled, Recorder: w.recorder(),
		WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
	}
	if err := r.SetupWithManager(ctx, w); err != nil {
		return fmt.Errorf("setting up the controller of IPClaims: %w", err)
	}
	if err := w.noteStored(ctx, &ipamv1.IPClaim{}, kinds.IPClaim); err != nil {
		return err
	}
	if err := w.clusters.add(w, r); err != nil {
		return err
	}
	return w.repair(repair.Kind{GroupKind: kinds.IPClaim, Living: r.Living, Settle: r.Settle})
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

// follower is a controller that follows Clusters once there are any, and the claims of their front door.
type follower interface {
	WatchClusters(mgr ctrl.Manager, doors ...pools.Door) error
}

// clusters has controllers follow Clusters, whichever of the two is there first.
type clusters struct {
	mu      sync.Mutex
	open    bool
	doors   []pools.Door
	waiting []follower
}

// add has a controller follow Clusters, now or later.
func (c *clusters) add(mgr ctrl.Manager, f follower) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open {
		return f.WatchClusters(mgr, c.doors...)
	}
	c.waiting = append(c.waiting, f)
	return nil
}

// join has controllers that are still to come follow the claims of a door.
func (c *clusters) join(door pools.Door) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.doors = append(c.doors, door)
}

// appear is called when Clusters and their claims are served.
func (c *clusters) appear(mgr ctrl.Manager) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	for _, f := range c.waiting {
		if err := f.WatchClusters(mgr, c.doors...); err != nil {
			return err
		}
	}
	c.waiting = nil
	return nil
}

// opener opens a door once its kinds are served.
type opener struct {
	doors.Door

	wiring *wiring
}

// Start waits until the door's kinds are served, and opens it.
func (o *opener) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("door").WithValues("door", o.Name)
	err := wait.PollUntilContextCancel(ctx, afterInterval, true, func(context.Context) (bool, error) { return o.wiring.isOpen(o.After), nil })
	if err == nil {
		err = wait.PollUntilContextCancel(ctx, doorInterval, true, func(context.Context) (bool, error) { return o.isServed(), nil })
	}
	if err != nil {
		return nil //nolint:nilerr // the manager stops before the kinds appeared
	}
	log.Info("Opening front door")
	if err := o.open(ctx); err != nil {
		return fmt.Errorf("opening the front door of %s: %w", o.Name, err)
	}
	<-ctx.Done()
	return nil
}

// NeedLeaderElection is false: controllers wait for leadership by themselves.
func (o *opener) NeedLeaderElection() bool { return false }

func (o *opener) isServed() bool {
	for _, kind := range o.Kinds {
		if _, err := o.wiring.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return false
		}
	}
	return true
}

// open registers the door's pools, then the controllers of its claims. What these have is to be recorded before anything of the pools is
// handed out, also to claims of doors that are open already.
func (o *opener) open(ctx context.Context) error {
	o.wiring.opening.Lock()
	defer o.wiring.opening.Unlock()
	var source door.Source
	if o.Source != nil {
		source = o.Source(o.wiring.registry)
	}
	claims := map[string]*claim.Reconciler{}
	for name, form := range o.Forms {
		claims[name] = o.wiring.newClaims(form, source)
	}
	if o.Follows != nil {
		o.wiring.clusters.join(o.Follows(o.wiring.GetClient(), source))
	}
	for _, kind := range o.Pools { // all at first: pools of one kind are compared with those of another
		o.wiring.registry.AddKind(kind)
	}
	for name, kind := range o.Pools {
		if err := o.wiring.openPools(ctx, name, kind); err != nil {
			return err
		}
	}
	for name, r := range claims {
		if err := o.wiring.openClaims(ctx, name, r); err != nil {
			return err
		}
	}
	if o.wiring.open == nil {
		o.wiring.open = map[string]bool{}
	}
	o.wiring.open[o.Name] = true
	if o.Follows == nil || len(o.Pools) > 0 {
		return nil // it is Cluster API's claims that all pools wait for
	}
	return o.wiring.clusters.appear(o.wiring)
}

// isOpen says whether the door is; one without a name is.
func (w *wiring) isOpen(door string) bool {
	w.opening.Lock()
	defer w.opening.Unlock()
	return door == "" || w.open[door]
}

// openPools registers the controller of a kind of pools, and has claims that may name them, and were there before, follow them.
func (w *wiring) openPools(ctx context.Context, name string, kind pools.Kind) error {
	for _, r := range w.answering {
		if !r.Source.Serves(door.PoolName{GroupKind: kind.GroupKind}) {
			continue
		}
		if err := r.WatchPools(w, kind.New()); err != nil {
			return err
		}
	}
	return w.pools(ctx, name, kind)
}

func (w *wiring) newClaims(form door.Form, source door.Source) *claim.Reconciler {
	return claim.New(claim.Options{
		Client: w.GetClient(), Live: w.GetAPIReader(), Ledger: w.book, Form: form, Source: source, Rules: w.registry.Rules, Outside: w.registry,
		Recorder: w.recorder(), Arrivals: claim.NewArrivals(clock.RealClock{}, w.options.RepairGrace), Clock: clock.RealClock{},
		Charts: &w.charts, Hints: metal3.Hints, Alias: (&metal3.Hosts{Live: w.GetAPIReader(), Mapper: w.GetRESTMapper()}).Alias,
		WatchFilter: w.options.WatchFilter, Namespace: w.options.Namespace, Concurrency: w.options.Concurrency,
	})
}

// openClaims registers the controller of a form of claims, and their repair.
func (w *wiring) openClaims(ctx context.Context, name string, r *claim.Reconciler) error {
	if err := r.SetupWithManager(ctx, w, name); err != nil {
		return err
	}
	w.answering = append(w.answering, r)
	return w.repair(repair.Kind{GroupKind: r.Form.Kinds().Claim.GroupKind(), Living: r.Living, Answers: r.Answers, Settle: r.Settle})
}
