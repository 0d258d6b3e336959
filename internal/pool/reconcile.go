// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

const (
	// retryBusy is when a pool whose block is being judged is looked at again.
	retryBusy = 200 * time.Millisecond
	// retryOverlap is when a pool whose block somebody else holds asks again. The watch does not tell: it is another pool's.
	retryOverlap = 10 * time.Second
)

// Options of a Reconciler.
type Options struct {
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Registry *pools.Registry
	Ledger   *ledger.Ledger
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Kind     pools.Kind
	// RecordStored has whatever is stored out of a pool recorded, and errs unless all of it is: claims'
	// answers, and claims that are their own. It is asked before a block is handed back.
	RecordStored func(ctx context.Context, pool ipamv1.PoolReference) error
	// Members are asked what is reported of delegated pools; nil where nobody follows that.
	Members Members
	// Expander creates further pools beside delegated ones that run low; nil where none are.
	Expander    Expander
	WatchFilter string
	// Namespace is the only one that is served; empty means all are.
	Namespace   string
	Concurrency int
}

// Reconciler keeps the pools of one kind.
type Reconciler struct {
	reporter

	controller controller.Controller
}

// reporter says in a pool's status, and in events, how the pool stands.
type reporter struct {
	Options

	// doors are set before remains is complete.
	doors []pools.Door
	// remains is what a move would leave behind.
	remains preflight.Remains
	// looks remembers how pools stand outside of the cluster, and surveys how that differs from the records.
	looks   looks
	surveys surveys
	// overlaps remembers what pools share with others.
	overlaps overlaps
	// outdated remembers how many answers carry other network settings than their pool.
	outdated outdated
}

// NewReconciler returns a Reconciler.
func NewReconciler(o Options) *Reconciler { return &Reconciler{reporter: reporter{Options: o}} }

// scope is one pool being worked on, with the facts that its status is computed from.
type scope struct {
	pool pools.Object
	// before is the pool as it was read.
	before pools.Object
	// says is what the pool says of itself.
	says       poolspec.Pool
	registered ledger.Pool
	invalid    field.ErrorList
	// doubts say what the cloud of a pool of floating IPs does not have as the pool lists it.
	doubts []string
	// secretStays: a move would leave the Secret behind that the pool names.
	secretStays bool
	// survey is how the floating IPs of the pool differ from its records; nil if that is not known.
	survey *external.Survey
	// nextSurvey is when they are to be compared again; 0 for never.
	nextSurvey time.Duration
	// overlap is set when somebody else holds one of the pool's blocks.
	overlap *ledger.TakenError
	// overlaps are the pools of other address spaces that hand out addresses of this one, too.
	overlaps []pools.Overlap
	// holdings are what keeps a pool that is being deleted, or whose block the hub takes back, and users the finalizers of others that do.
	holdings []ledger.Holding
	users    []string
	// unrecorded says what is stored out of a pool whose block the hub takes back, and not recorded; "" for nothing.
	unrecorded string
	// awaits is what a pool that is being deleted waits for while its block is with a member; "" for nothing.
	awaits string
	// expanded is the condition Expanded; the zero value where that is not known.
	expanded metav1.Condition
	// tidying is what went wrong with what the pool does not need any more, or with the order to hand its block back: it serves, or goes, all the same.
	tidying error
	// released: the pool's finalizer is off, so there is nothing left to write a status to.
	released bool
}

// hasNoAddresses says whether the pool has none, and so no blocks, which would be recorded before it serves.
func (s *scope) hasNoAddresses() bool {
	return s.registered.Shape != nil && s.registered.Shape.Total().IsZero()
}

// Reconcile brings one pool to where it should be.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := r.Kind.New()
	if err := r.Client.Get(ctx, req.NamespacedName, p); apierrors.IsNotFound(err) {
		return r.gone(ctx, kinds.Pool(r.Kind.GroupKind, req.Namespace, req.Name))
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting %s: %w", r.Kind.Kind, err)
	}
	if !predicates.IsWatched(p, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	if err := r.Registry.RegisterAbove(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	known := r.Registry.Register(p) // also a pool that is paused: its claims are released, by what it says now
	if halted, result, err := r.halt(ctx, known); halted {
		return r.rest(ctx, known, result, err)
	}
	if added, err := finalizer.Ensure(ctx, r.Client, p, r.Kind.Finalizer); added || err != nil {
		return r.result(client.IgnoreNotFound(err))
	}
	leaving := r.leave(ctx, known.Says.Ref)
	wake, thawing := r.thaw(ctx, known.Says.Ref, known.Says.Cooldown)
	before, _ := p.DeepCopyObject().(pools.Object)
	s := &scope{pool: p, before: before, says: known.Says}
	outcome := claimant.Denied(r.bring(ctx, s), p, r.Clock.Now())
	if !s.released {
		outcome = errors.Join(outcome, r.updateStatus(ctx, s, outcome))
	}
	result, err := r.result(errors.Join(outcome, s.tidying, thawing, leaving))
	if result.RequeueAfter == 0 {
		result.RequeueAfter = s.next(wake)
	}
	return result, err
}

// retryDoubts is when a pool is looked at again in whose cloud something is not as the pool lists it, whose Secret lacks a label, or whose sibling
// was refused: no watch tells when that changes.
const retryDoubts = time.Minute

// next is when a pool is looked at again that is as it should be, given when something cools down; 0 for never.
func (s *scope) next(wake time.Duration) time.Duration {
	if len(s.doubts) > 0 || s.secretStays || s.expanded.Reason == ipamv1.ExpandedRefusedReason {
		wake = sooner(wake, retryDoubts)
	}
	return sooner(wake, s.nextSurvey)
}

// sooner returns the shorter one of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// bring brings the pool's blocks to where they should be.
func (r *Reconciler) bring(ctx context.Context, s *scope) error {
	if !s.pool.GetDeletionTimestamp().IsZero() {
		return r.release(ctx, s)
	}
	return r.serve(ctx, s)
}

// halt says whether nothing of the pool but its status must be touched now, has that say why, and says when to look again if no watch
// will tell: the pool is paused, or its Cluster is not there, in which case only a deletion goes on.
func (r *Reconciler) halt(ctx context.Context, p *pools.Known) (bool, ctrl.Result, error) {
	cluster, missing, err := r.Registry.ClusterOf(ctx, r.Client, p)
	if missing && p.GetDeletionTimestamp().IsZero() && conditions.GetReason(p, ipamv1.ReadyCondition) != ipamv1.PoolReadyClusterNotFoundReason {
		_, missing, err = r.Registry.ClusterOf(ctx, r.Live, p) // the cache may be behind
		if !missing && err == nil {
			return true, ctrl.Result{RequeueAfter: retryBusy}, nil
		}
	}
	why := predicates.WhyPaused(cluster, r.Kind.Kind, p)
	ready := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse}
	switch {
	case err != nil:
		return true, ctrl.Result{}, err
	case why != "":
		ready.Reason, ready.Message = ipamv1.PoolReadyPausedReason, why
		return true, ctrl.Result{}, r.showHalt(ctx, p.Object, claimant.PausedCondition(why), ready)
	case missing && p.GetDeletionTimestamp().IsZero():
		ready.Reason = ipamv1.PoolReadyClusterNotFoundReason
		ready.Message = "spec.clusterName: " + claimant.NoCluster(p.GetNamespace(), p.Says.ClusterName)
		before := conditions.Get(p, ipamv1.ReadyCondition).DeepCopy() // it is changed in place
		if err = r.showHalt(ctx, p.Object, claimant.PausedCondition(""), ready); err != nil {
			return true, ctrl.Result{}, err
		}
		r.announce(p.Object, before, ready)
		return true, ctrl.Result{RequeueAfter: retryOverlap}, nil
	}
	return false, ctrl.Result{}, nil
}

// showHalt writes conditions, Ready=False among them, of a pool of which nothing else may be touched, if they say something new.
func (r *reporter) showHalt(ctx context.Context, p pools.Object, shown ...metav1.Condition) error {
	before, _ := p.DeepCopyObject().(pools.Object)
	for _, c := range shown {
		conditions.Set(p, c)
	}
	observeReady(r.Kind.Reference(p), false)
	err := r.write(ctx, &scope{pool: p, before: before})
	if apierrors.IsConflict(err) { // the watch shows what has changed
		return nil
	}
	return client.IgnoreNotFound(err)
}

// serve registers the pool and has its blocks recorded. Blocks that it no longer has are given up last.
func (r *Reconciler) serve(ctx context.Context, s *scope) error {
	if s.says.Place == poolspec.Stray {
		return nil
	}
	if err := r.join(ctx, s); err != nil {
		return err
	}
	if err := r.settleHome(ctx, s); err != nil {
		return err
	}
	if own, ok := s.pool.(pools.Own); ok && s.says.IsCarved() && s.says.CIDR == "" {
		return r.carve(ctx, s, own)
	}
	known := r.Registry.Register(s.pool)
	s.registered, s.invalid = known.Registered, known.Invalid
	if len(s.invalid) > 0 {
		return nil
	}
	if s.says.External {
		return r.serveOutside(ctx, s)
	}
	if err := r.awaitParent(ctx, s, known); err != nil {
		return err
	}
	s.says = known.Says
	if err := r.checkSpace(s); err != nil {
		return err
	}
	if s.invalid = r.heldElsewhere(s); len(s.invalid) > 0 {
		return nil
	}
	blocks := s.registered.Shape.Blocks()
	if err := r.redelegate(ctx, s, blocks); err != nil {
		return err
	}
	if _, isBack := r.Registry.HandBackOf(s.pool); isBack {
		s.tidying = r.shed(ctx, s, blocks)
		return nil
	}
	if err := r.recordBlocks(ctx, s, blocks); err != nil {
		return err
	}
	r.grant(s, blocks)
	markDelegated(s)
	s.tidying = errors.Join(r.dropHeld(ctx, s), r.shed(ctx, s, blocks), r.expand(ctx, s))
	return r.letGo(ctx, s)
}

// awaitParent errs as long as the pool is not known, because its parent is not.
func (r *Reconciler) awaitParent(ctx context.Context, s *scope, known *pools.Known) error {
	if !known.IsUnknown() {
		return nil
	}
	if err := r.children().CheckParent(ctx, s.says); err != nil {
		return err
	}
	return ledger.ErrNotReady
}

// recordBlocks records the blocks that the pool may have.
func (r *Reconciler) recordBlocks(ctx context.Context, s *scope, blocks []netip.Prefix) error {
	for _, block := range blocks {
		if err := r.mayHave(ctx, s, block); err != nil {
			return err
		}
		err := r.Ledger.ReserveBlock(ctx, s.registered, block, []metav1.OwnerReference{r.owner(s.pool)})
		if errors.As(err, &s.overlap) {
			return err
		}
		if err != nil {
			return fmt.Errorf("recording block %s: %w", block, err)
		}
	}
	return nil
}

// grant notes on a carved pool of another API which blocks it has: its spec says what it asks for, granted or not. Metadata is written with the
// status; a pool that moves before that counts as new elsewhere.
func (r *Reconciler) grant(s *scope, blocks []netip.Prefix) {
	if _, isOwn := s.pool.(pools.Own); isOwn || !s.registered.IsCarved() {
		return
	}
	annotations := maps.Clone(s.pool.GetAnnotations())
	annotations[ipamv1.GrantedAnnotation] = pools.GrantOf(blocks)
	s.pool.SetAnnotations(annotations)
}

// checkSpace refuses a pool what it has in another address space already: its parent was made again in one. What was handed out there is unknown
// to those who judge in this one.
func (r *Reconciler) checkSpace(s *scope) error {
	if s.registered.IsCarved() && r.Ledger.About(ledger.ClaimOf(s.says.Ref, string(s.pool.GetUID()))).IsInOtherSpace(s.registered.Space) {
		return entitlement.CannotCarve(claimant.Invalid, entitlement.FieldOf(s.says, "spec.parentRef"),
			"the pool has blocks in another address space than %s, which its parent is of now; make the pool anew", s.registered.Space)
	}
	return nil
}

// spaceField is where a pool of another API names its address space.
const spaceField = "metadata.annotations[ipam.weir.dev/address-space]"

// heldElsewhere refuses a pool whose name an earlier one had in another address space, as long as that one's claims hold something there. Nobody who
// chooses in this one sees it, and the two spaces may be one network.
func (r *Reconciler) heldElsewhere(s *scope) field.ErrorList {
	spaces := r.Ledger.Of(s.says.Ref).Elsewhere()
	if len(spaces) == 0 {
		return nil
	}
	named := spaceField
	_, isOwn := s.pool.(pools.Own)
	switch {
	case s.says.IsCarved():
		named = entitlement.FieldOf(s.says, "spec.parentRef")
	case isOwn:
		named = "spec.addressSpace"
	}
	return field.ErrorList{field.Invalid(field.NewPath(named), s.registered.Space, fmt.Sprintf("an earlier pool of this name has IPAllocations in the address space %s: "+
		"delete their claims and pools, and IPAllocations of state Moved, and wait for the cooldown; or create the pool anew in that address space",
		strings.Join(spaces, ", ")))}
}

// join labels a pool with the Cluster that it belongs to. Metadata is written with the status.
func (r *Reconciler) join(ctx context.Context, s *scope) error {
	if s.says.ClusterName == "" {
		return nil
	}
	labels := maps.Clone(s.pool.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = s.says.ClusterName
	s.pool.SetLabels(labels)
	if r.Kind.Join == nil {
		return nil
	}
	cluster, err := claimant.Cluster(ctx, r.Client, s.pool.GetNamespace(), s.says.ClusterName)
	if cluster != nil {
		r.Kind.Join(s.pool, cluster)
	}
	return err
}

// mayHave checks a carved block that is not recorded yet: the pool may have come past the webhooks.
func (r *Reconciler) mayHave(ctx context.Context, s *scope, block netip.Prefix) error {
	if !s.registered.IsCarved() || r.Ledger.About(ledger.CarveClaim(s.registered, block.Bits()).Ref).HasBlock(s.registered.Space, block) {
		return nil
	}
	if err := r.children().MayHave(ctx, s.pool, s.says, block); err != nil {
		return err
	}
	if err := r.children().CheckSelfContained(s.says, s.registered.Shape, block); err != nil {
		return err
	}
	return r.checkThere(ctx, s)
}

// shed releases the recorded blocks that the pool does not have any more, and those of an earlier
// pool of its name. What it has is proved by a live read after the blocks were read: the cache may
// show a pool of another time.
func (r *Reconciler) shed(ctx context.Context, s *scope, blocks []netip.Prefix) error {
	others := slices.DeleteFunc(r.Ledger.Of(s.registered.Ref).OtherBlocks(s.registered.UID, blocks), r.isInUse(s))
	if len(others) == 0 {
		return nil
	}
	seen := r.exit().Observe(others)
	if live, err := r.live(ctx, seen, s.pool); live == nil {
		return err
	}
	shrunk, err := seen.Shrunk(ctx, r.claimOf(s.pool), s.pool)
	if !shrunk.IsProved() {
		return err
	}
	return r.releaseBlocks(ctx, s.pool, others, seen, claimant.PoolShrunk(shrunk))
}

// isInUse says of a block that the pool was carved and is to have no more whether something is handed out of it that lies in none of the
// others: it stays its own until that has gone, and the ledger names the pool then.
func (r *Reconciler) isInUse(s *scope) func(ledger.Holding) bool {
	return func(block ledger.Holding) bool {
		isOwn := block.Purpose == ledger.ForChildPool && block.Claim.UID == string(s.registered.UID)
		return isOwn && slices.ContainsFunc(r.Ledger.Overlapping(block.Space, block.CIDR), func(h ledger.Holding) bool {
			return h.Pool == s.registered.Ref && !s.registered.Shape.Contains(h.CIDR)
		})
	}
}

// releaseBlocks releases blocks: the pool's own for a reason of its own, and those of another pool
// of its name, because that is gone.
func (r *Reconciler) releaseBlocks(
	ctx context.Context, p pools.Object, blocks []ledger.Holding, seen *claimant.Observation, own claimant.Reason,
) error {
	errs := make([]error, 0, len(blocks))
	for _, block := range blocks {
		if block.Claim.UID != string(p.GetUID()) {
			errs = append(errs, r.releaseOther(ctx, block, claimant.PoolGone(seen.Gone(block.Claim))))
			continue
		}
		_, err := r.exit().Release(ctx, block, own)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// exit is the way out of the ledger.
func (r *Reconciler) exit() *claimant.Exit {
	return &claimant.Exit{Client: r.Client, Live: r.Live, Ledger: r.Ledger, NewPool: r.Registry.NewPool, Outside: r.Registry}
}

// claimOf is how the records of the pool's blocks name the pool.
func (r *Reconciler) claimOf(p pools.Object) ipamv1.ClaimReference {
	return ledger.ClaimOf(r.Kind.Reference(p), string(p.GetUID()))
}

// live returns the pool as the API server has it now, or nil if that very pool is gone.
func (r *Reconciler) live(ctx context.Context, c client.Reader, p pools.Object) (pools.Object, error) {
	live := r.Kind.New()
	err := c.Get(ctx, client.ObjectKeyFromObject(p), live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.GetUID() != p.GetUID():
		return nil, nil //nolint:nilnil // gone is an answer
	case err != nil:
		return nil, fmt.Errorf("getting %s: %w", r.Kind.Kind, err)
	}
	return live, nil
}

// owner is the owner reference to the pool that its own blocks' records carry.
func (r *Reconciler) owner(p pools.Object) metav1.OwnerReference {
	owner := r.Registry.OwnerReference(p)
	owner.Controller = ptr.To(true)
	owner.BlockOwnerDeletion = nil
	return owner
}

// retries are those of pools: of what holds a parent back, or a block, the watch of the pool does not tell.
var retries = claimant.Retries{Busy: retryBusy, Taken: retryOverlap, Refused: retryOverlap, Ending: retryOverlap}

// result says when to come back for what no watch tells.
func (r *Reconciler) result(err error) (ctrl.Result, error) { return retries.Result(err) }

// announce tells of a pool that stops serving, and that it serves again.
func (r *reporter) announce(p pools.Object, before *metav1.Condition, after metav1.Condition) {
	switch {
	case after.Status == metav1.ConditionFalse && (before == nil || before.Reason != after.Reason) && after.Reason != ipamv1.PoolReadyReservingReason:
		tellRefused(p, r.Registry.Says(p), after)
		r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, after.Reason, "Serve", "%s", after.Message)
	case after.Status == metav1.ConditionTrue && before != nil && before.Status == metav1.ConditionFalse &&
		before.Reason != ipamv1.PoolReadyReservingReason && before.Reason != ipamv1.PoolReadyPausedReason:
		r.Recorder.Eventf(p, nil, corev1.EventTypeNormal, after.Reason, "Serve", "%s", after.Message)
	}
}

// blockless are the reasons of pools that cannot have their blocks.
var blockless = []string{ipamv1.PoolReadyOverlapReason, ipamv1.PoolReadyParentNotReadyReason, ipamv1.PoolReadyRefusedByAPIServerReason}

// tellRefused writes the line of the audit trail for a pool that cannot have its blocks.
func tellRefused(p pools.Object, says poolspec.Pool, ready metav1.Condition) {
	if !slices.Contains(blockless, ready.Reason) {
		return
	}
	of := says.Ref
	if says.IsCarved() {
		of = says.Parent
	}
	asked, _ := netip.ParsePrefix(says.CIDR) // none where Weir is to choose
	audit.Refused(audit.Entry{Prefix: asked, Pool: of, Claim: ledger.ClaimOf(says.Ref, string(p.GetUID())), Reason: ready.Reason}, ready.Message)
}

// announceRoom tells of a pool that has nothing available any more, and that it has again.
func (r *reporter) announceRoom(before, after pools.Object) {
	was, is := conditions.IsTrue(before, ipamv1.ExhaustedCondition), conditions.IsTrue(after, ipamv1.ExhaustedCondition)
	switch {
	case is && !was:
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, ipamv1.ExhaustedCondition, "Serve", "%s",
			conditions.GetMessage(after, ipamv1.ExhaustedCondition))
	case was && !is:
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, ipamv1.PoolReadyAvailableReason, "Serve", "addresses are available again")
	}
}
