// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// Options of a Reconciler.
type Options struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Ledger   *ledger.Ledger
	Form     door.Form
	Source   door.Source
	Rules    *tenancy.Rules
	Recorder events.EventRecorder
	// WatchFilter serves only claims with this value of the label cluster.x-k8s.io/watch-filter; empty serves all.
	WatchFilter string
	// Namespace is the only one that is served; empty means all are.
	Namespace   string
	Concurrency int
	// Outside gives back what backs the addresses of some pools outside of the cluster.
	Outside claimant.Outside
	// Charts are shared by all forms whose claims may name the same pools.
	Charts *Charts
	// Hints are what is known of finalizers of others.
	Hints claimant.Hints
	// Alias finds the other name of a claim; nil: none has one.
	Alias door.Alias
	// Arrivals is what has arrived and is not complete.
	Arrivals *Arrivals
	Clock    clock.PassiveClock
}

// Reconciler answers and releases the claims of one form. It decides what is next; its parts do one job each. Itself it writes only the
// finalizer of a claim that begins.
type Reconciler struct {
	// Client, Form and Source are those of the Options.
	Client client.Client
	Form   door.Form
	Source door.Source

	ledger      *ledger.Ledger
	arrivals    *Arrivals
	clock       clock.PassiveClock
	watchFilter string
	namespace   string
	concurrency int

	observer *observer
	executor *executor
	reporter *reporter

	controller controller.Controller
}

// observer reads claims, their answers, Clusters and what is recorded, and tells them apart. It writes nothing.
type observer struct {
	Client client.Reader
	Live   client.Reader
	Ledger *ledger.Ledger
	Form   door.Form
	Source door.Source

	untold untold
	shown  shown
}

// executor does what was decided about a claim: it answers and releases it. It creates answers, and takes finalizers and marks off claims;
// all else is written by its parts, and records go out by the Exit.
type executor struct {
	Client   client.Client
	Live     client.Reader
	Ledger   *ledger.Ledger
	Form     door.Form
	Source   door.Source
	Arrivals *Arrivals
	Clock    clock.PassiveClock

	observer *observer
	objects  *objects
	records  *records
	reporter *reporter
}

// objects writes answers, their metadata and that of claims, and removes answers. It proves before that the claim is stored, where somebody
// else's could be hit.
type objects struct {
	Client   client.Client
	Live     client.Reader
	Ledger   *ledger.Ledger
	Form     door.Form
	Outside  claimant.Outside
	Arrivals *Arrivals

	observer *observer
}

// records has what claims and answers stand for recorded in the ledger. It writes nothing else, and releases nothing.
type records struct {
	Client client.Reader
	Live   client.Reader
	Ledger *ledger.Ledger
	Form   door.Form
	Source door.Source
	Charts *Charts
	Alias  door.Alias

	observer *observer
	objects  *objects
}

// reporter tells claims, people and the audit trail what became of a claim. It writes the status of claims and nothing else.
type reporter struct {
	Client   client.Client
	Form     door.Form
	Rules    *tenancy.Rules
	Recorder events.EventRecorder
	Hints    claimant.Hints
	Clock    clock.PassiveClock

	observer *observer
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Charts == nil {
		o.Charts = &Charts{}
	}
	observes := &observer{Client: o.Client, Live: o.Live, Ledger: o.Ledger, Form: o.Form, Source: o.Source, untold: newUntold(), shown: shown{Clock: o.Clock}}
	objs := &objects{Client: o.Client, Live: o.Live, Ledger: o.Ledger, Form: o.Form, Outside: o.Outside, Arrivals: o.Arrivals, observer: observes}
	recs := &records{
		Client: o.Client, Live: o.Live, Ledger: o.Ledger, Form: o.Form, Source: o.Source, Charts: o.Charts, Alias: o.Alias,
		observer: observes, objects: objs,
	}
	reports := &reporter{
		Client: o.Client, Form: o.Form, Rules: o.Rules, Recorder: o.Recorder, Hints: o.Hints, Clock: o.Clock, observer: observes,
	}
	o.Charts.add(part{recs.secureKnown, recs.secureStored})
	return &Reconciler{
		Client: o.Client, Form: o.Form, Source: o.Source, ledger: o.Ledger, arrivals: o.Arrivals, clock: o.Clock,
		watchFilter: o.WatchFilter, namespace: o.Namespace, concurrency: o.Concurrency,
		observer: observes, reporter: reports,
		executor: &executor{
			Client: o.Client, Live: o.Live, Ledger: o.Ledger, Form: o.Form, Source: o.Source, Arrivals: o.Arrivals, Clock: o.Clock,
			observer: observes, objects: objs, records: recs, reporter: reports,
		},
	}
}

// scope is one claim being worked on.
type scope struct {
	claim *door.Claim
	ref   ipamv1.ClaimReference
	offer *door.Offer
	// answers are those under its name, as the cache shows them; answer is the claim's, once there is one.
	answers []*door.Answer
	answer  *door.Answer
	// inTheWay is another claim's answer that has the name which the claim's would have; nil if none was met.
	inTheWay *door.Answer
	// unsettled: what is to go can go only once the claim's status names its answer.
	unsettled bool
	// unlisted: what wakes those that wait does not find the claim before the cache shows what it was told.
	unlisted bool
	// isNew: this pass has put the finalizer on, so that the claim has never had anything.
	isNew bool
	// announced: this pass has recorded an event of a refusal.
	announced bool
	// backing is what backs the claim's address in the cloud, once that was asked.
	backing external.Address
	// began is when work on the claim began.
	began time.Time
	// shown is a moment at which the claim was still there, as far as the cache shows.
	shown time.Time
}

func (r *observer) newScope(claim *door.Claim) *scope {
	return &scope{claim: claim, ref: r.reference(keyOf(claim), claim.GetUID())}
}

// about is what the ledger knows of the claims of that name at this moment.
func (r *observer) about(s *scope) *ledger.Account { return r.Ledger.About(s.ref) }

// kind is that of the form's claims.
func (r *observer) kind() schema.GroupKind { return r.Form.Kinds().Claim.GroupKind() }

// reference is how the ledger's records name a claim of the form.
func (r *observer) reference(key types.NamespacedName, uid types.UID) ipamv1.ClaimReference {
	return kinds.Claim(r.kind(), key, uid)
}

// Reconcile brings one claim and its answer to where they should be.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shown := r.observer.shown.moment() // before the claim is read
	claim, err := r.observer.getClaim(ctx, r.Client, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		return r.settle(r.executor.reconcileGone(ctx, req.NamespacedName))
	} else if err != nil {
		return ctrl.Result{}, err
	}
	r.observer.untold.told(claim)
	if !r.Source.Serves(claim.Pool) || !predicates.IsWatched(claim, r.watchFilter) {
		return ctrl.Result{}, nil
	}
	s := r.observer.newScope(claim)
	s.began = r.clock.Now()
	s.shown = wasThere(shown, claim, s.began)
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithValues("pool", klog.KRef(claim.GetNamespace(), claim.Pool.Name)))

	why, err := r.observer.halted(ctx, claim)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case why != nil:
		var result ctrl.Result
		result, err = r.settle(errors.Join(r.executor.rest(ctx, claim), r.reporter.tell(ctx, s, why)))
		return r.reporter.remind(s, result), err
	case !claim.GetDeletionTimestamp().IsZero():
		return r.settle(cmp.Or(r.reporter.tell(ctx, s, errWaiting), r.reporter.reportRelease(ctx, s, r.executor.release(ctx, s))))
	}
	if s.isNew, err = finalizer.Ensure(ctx, r.Client, claim.Stored, r.observer.claimFinalizer(claim)); err != nil {
		return r.settle(client.IgnoreNotFound(err))
	}
	outcome := r.reporter.report(ctx, s, r.executor.answer(ctx, s))
	result, err := r.settle(outcome)
	switch {
	case err != nil, result.RequeueAfter != 0:
	case s.unsettled, s.unlisted:
		result.RequeueAfter = retryBusy
	case isNameless(outcome):
		result = claimant.After(r.reporter.retryNameless(s))
	}
	return r.reporter.remind(s, result), err
}

// answer gives the claim its answer. Where an earlier claim's record stood in the way, it is tried again.
func (r *executor) answer(ctx context.Context, s *scope) error {
	outcome := r.allocate(ctx, s)
	if outcome != nil && !errors.Is(outcome, ledger.ErrExhausted) && !errors.Is(outcome, ledger.ErrTaken) {
		return outcome
	}
	dropped, err := r.tidy(ctx, s)
	switch {
	case err != nil:
		return err
	case outcome != nil && dropped:
		return fmt.Errorf("dropped the record of an earlier claim: %w", ledger.ErrBusy)
	}
	return outcome
}

// halted says why nothing of the claim but its status must be touched, if that is so: its Cluster is paused, it is itself, or the Cluster
// is missing, in which case only a deletion goes on (contract: "IPAddressClaim reconciliation"). clusterctl pauses what it moves until it
// is done.
func (r *observer) halted(ctx context.Context, claim *door.Claim) (why, err error) {
	return r.haltedBy(ctx, r.Client, claim)
}

// haltedBy is halted, by the Cluster that this reader shows.
func (r *observer) haltedBy(ctx context.Context, clusters client.Reader, claim *door.Claim) (why, err error) {
	if r.hasLeft(claim) {
		return nil, nil
	}
	name := clusterOf(claim)
	cluster, err := claimant.Cluster(ctx, clusters, claim.GetNamespace(), name)
	if err != nil {
		return nil, err
	}
	if paused := predicates.WhyPaused(cluster, r.kind().Kind, claim); paused != "" {
		return &claimant.Refusal{Paused: paused}, nil
	}
	if name == "" || cluster != nil || !claim.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return r.clusterless(ctx, claim, name)
}

// clusterless says that there is no such Cluster, once a live read has shown it: the cache may be behind. What is answered says nothing.
func (r *observer) clusterless(ctx context.Context, claim *door.Claim, name string) (why, err error) {
	if hasAnswer(claim) {
		return errWaiting, nil
	}
	if conditions.GetReason(claim.Stored, ipamv1.ReadyCondition) != ipamv1.ClaimReadyClusterNotFoundReason {
		if cluster, err := claimant.Cluster(ctx, r.Live, claim.GetNamespace(), name); cluster != nil || err != nil {
			return errWaiting, err
		}
	}
	field := "spec.clusterName"
	if claim.ClusterName == "" {
		field = "metadata.labels[" + clusterv1.ClusterNameLabel + "] or metadata.ownerReferences"
	}
	return refuse(ipamv1.ClaimReadyClusterNotFoundReason, "%s: %s", field, claimant.NoCluster(claim.GetNamespace(), name)), nil
}

// exit is the way out of the ledger.
func (r *objects) exit() *claimant.Exit {
	return &claimant.Exit{Client: r.Client, Live: r.Live, Ledger: r.Ledger, Outside: r.Outside}
}

// clusterOf returns the name of the claim's Cluster: the spec's, else the label's, else the owner's, else none.
func clusterOf(claim *door.Claim) string {
	return cmp.Or(claim.ClusterName, claimant.ClusterName(claim))
}

// retries are those of claims; what is exhausted or not ready the ledger tells.
var retries = claimant.Retries{Busy: retryBusy, Taken: retryTaken, Ending: retryEnding}

// settle turns an error into what controller-runtime is to do.
func (r *Reconciler) settle(err error) (ctrl.Result, error) {
	var refusal *claimant.Refusal
	switch {
	case errors.Is(err, errArriving) && errors.As(err, &refusal):
		return claimant.After(min(retryWaiting, max(retryArriving, r.arrivals.grace))), nil
	case errors.Is(err, errArriving):
		return claimant.After(retryArriving), nil
	case errors.Is(err, errWaiting):
		return ctrl.Result{}, nil
	}
	return retries.Result(err)
}
