// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// answerTime bounds one webhook call: well inside the 10 seconds that the API server waits, so that it hears why.
const answerTime = 6 * time.Second

// startTime is for how long a call waits for a pool that does not serve yet: it may just have been created.
const startTime = 2 * time.Second

// maxUnstored bounds what is reserved of one pool for creates of one namespace that nobody has seen stored. Of an honest burst of 50 clients
// there are at most as many at a time, and what this replica's cache has yet to show: a few milliseconds' worth.
const maxUnstored = 128

// The same of all namespaces together is a part of the pool, so that most of it stays for others even where reviews are forged, and more than
// what one namespace may have, which must not keep others out. The most is beyond what API servers do at once, 200 writes each.
const (
	unstoredPart    = 2 // bits: a quarter
	leastUnstoredOf = maxUnstored + maxUnstored/2
	mostUnstoredOf  = 1024
)

// floodRetry is when a client that has reached a bound is told to come back, in seconds.
const floodRetry = 10

// Ledger hands out prefixes while objects are admitted.
type Ledger interface {
	// Preview returns what the claim would get, and changes nothing.
	Preview(c ledger.Claim) (netip.Prefix, error)
	// Propose returns what the claim shall ask for, and keeps it from others for a moment.
	Propose(ctx context.Context, c ledger.Claim) (netip.Prefix, error)
	// Reserve records what the claim asks for.
	Reserve(ctx context.Context, c ledger.Claim) (ledger.Allocation, error)
	// About returns what is recorded under the claim's name, whatever its UID.
	About(claim ipamv1.ClaimReference) *ledger.Account
	// Of returns a pool as the ledger knows it.
	Of(pool ipamv1.PoolReference) ledger.PoolView
}

// dispenser answers Weir's own kinds while they are created: the mutating webhook chooses, the validating one reserves.
type dispenser struct {
	ledger   Ledger
	registry *pools.Registry
	refusals *audit.Refusals
}

// refuse is how a request is told that nothing is handed out to it, and tells the audit trail. What may be otherwise in a moment, what
// exists already and what Weir itself fails at is no refusal.
func (d dispenser) refuse(req admission.Request, obj client.Object, c ledger.Claim, err error) *apierrors.StatusError {
	told := statusFor(c, err)
	isRefusal := told.ErrStatus.Code != http.StatusTooManyRequests && told.ErrStatus.Code < http.StatusInternalServerError ||
		told.ErrStatus.Code == http.StatusInsufficientStorage
	if !isRefusal || apierrors.IsAlreadyExists(told) || ptr.Deref(req.DryRun, false) {
		return told
	}
	d.refusals.Tell(audit.Entry{Prefix: c.Want, Pool: c.Pool, Claim: claimOf(req, obj), Reason: string(told.ErrStatus.Reason)}, told.ErrStatus.Message)
	return told
}

// claimOf is how the audit trail names what is being created; by what its name will begin with, where it has none yet.
func claimOf(req admission.Request, obj client.Object) ipamv1.ClaimReference {
	key := types.NamespacedName{Namespace: req.Namespace, Name: cmp.Or(obj.GetName(), obj.GetGenerateName())}
	return kinds.Claim(kindOf(req), key, obj.GetUID())
}

// refuseStored errs if there is such an object already. The API server would find that out too, but only after the webhooks: what
// they had reserved would be nobody's, and be kept until repair's grace is over, each time somebody creates what exists. It costs
// a live read only where something is recorded under the name.
func (d dispenser) refuseStored(ctx context.Context, obj client.Object, claim ipamv1.ClaimReference) error {
	if obj.GetName() == "" || len(d.ledger.About(claim).Recorded()) == 0 {
		return nil
	}
	stored, err := d.registry.IsStored(ctx, obj)
	if err != nil || !stored {
		return err
	}
	return apierrors.NewAlreadyExists(resourceOf(claim.GroupKind()), obj.GetName())
}

// isNamed says whether the object has a name that it can have, or gets one from the API server, which names the field otherwise: it asks
// webhooks first.
func isNamed(obj client.Object) bool {
	return obj.GetName() == "" || len(validation.IsDNS1123Subdomain(obj.GetName())) == 0
}

// refuseFlood errs where too much of the pool is reserved for creates of the namespace, or of all, that came to nothing: each keeps its
// prefix from everybody else for --repair-grace.
func (d dispenser) refuseFlood(c ledger.Claim) error {
	own, all := d.ledger.Of(c.Pool).Unstored(c.Ref.Namespace)
	switch {
	case own >= maxUnstored:
		return flooded(c, own, creatorsIn(c.Ref.Namespace))
	case all >= leastUnstoredOf && all >= d.maxUnstoredOf(c.Pool):
		return flooded(c, all, "in all namespaces")
	}
	return nil
}

// maxUnstoredOf bounds what is reserved of a pool for creates of all namespaces that nobody has seen stored.
func (d dispenser) maxUnstoredOf(pool ipamv1.PoolReference) int {
	shape := d.registry.Registered(pool).Shape
	if shape == nil {
		return leastUnstoredOf
	}
	return max(leastUnstoredOf, shape.Total().Fit(unstoredPart, mostUnstoredOf))
}

// flooded tells a client of how many creates, and whose, came to nothing.
func flooded(c ledger.Claim, n int, creators string) error {
	err := again("%s: %d prefixes are reserved for creates %s that the API server refused afterwards, or has not stored yet; a quota "+
		"(count/%s) or another admission webhook usually does that; remove the reason, and retry when --repair-grace is over",
		nameOf(c.Pool), n, creators, resourceOf(c.Ref.GroupKind()))
	err.ErrStatus.Details.RetryAfterSeconds = floodRetry
	return err
}

func creatorsIn(namespace string) string {
	if namespace == "" {
		return "of cluster-wide objects"
	}
	return "in namespace " + namespace
}

// kindOf is the kind of the object under admission.
func kindOf(req admission.Request) schema.GroupKind {
	return schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
}

// resources are those of the kinds that are answered while they are created.
var resources = map[schema.GroupKind]string{kinds.IPPool: "ippools", kinds.GlobalIPPool: "globalippools", kinds.IPClaim: "ipclaims"}

// resourceOf returns the resource of one of Weir's kinds, or of a kind with a regular plural.
func resourceOf(kind schema.GroupKind) schema.GroupResource {
	if resource, ok := resources[kind]; ok {
		return schema.GroupResource{Group: kind.Group, Resource: resource}
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return plural.GroupResource()
}

// pick returns a prefix for the object under admission; a dry run leaves no trace.
func (d dispenser) pick(ctx context.Context, c ledger.Claim, dryRun bool) (cidr netip.Prefix, err error) {
	if dryRun {
		return d.ledger.Preview(c)
	}
	if err = d.refuseFlood(c); err != nil {
		return netip.Prefix{}, err
	}
	defer timed(proposeStep, &err)()
	return d.ledger.Propose(ctx, c)
}

// choose does that, and waits a while for a pool that does not serve yet.
func (d dispenser) choose(ctx context.Context, c ledger.Claim, dryRun bool) (netip.Prefix, error) {
	cidr, err := d.pick(ctx, c, dryRun)
	if !errors.Is(err, ledger.ErrNotReady) {
		return cidr, err
	}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := d.ledger.Of(c.Pool).WaitServing(starting); err != nil {
		return netip.Prefix{}, err
	}
	return d.pick(ctx, c, dryRun)
}

// reserve records for the object's UID what it says.
func (d dispenser) reserve(ctx context.Context, c ledger.Claim) (err error) {
	if err = d.refuseFlood(c); err != nil {
		return err
	}
	defer timed(reserveStep, &err)()
	_, err = d.ledger.Reserve(ctx, c)
	if errors.Is(err, ledger.ErrTaken) { // it was free when it was chosen
		return fmt.Errorf("%w: %w", ledger.ErrBusy, err)
	}
	return err
}

// statusFor is how a request is told that nothing was handed out to it: 507 exhausted, 409 taken, 422 refused by the pool, what a
// refusal says itself, and 429 for what may be otherwise in a moment.
func statusFor(c ledger.Claim, err error) *apierrors.StatusError {
	var refusal *claimant.Refusal
	var refused *ledger.RefusedError
	var taken *ledger.TakenError
	if final, ok := finalStatus(err); ok {
		return final
	}
	switch {
	case errors.As(err, &refusal):
		return status(codes[refusal.Cause], refusal.Error())
	case errors.As(err, &refused):
		return status(http.StatusUnprocessableEntity, "spec.cidr: "+refused.Error())
	case errors.Is(err, ledger.ErrExhausted):
		return status(http.StatusInsufficientStorage, fmt.Sprintf("%s has no free /%d: pool exhausted", nameOf(c.Pool), c.Bits))
	case errors.Is(err, context.Canceled):
		return again("this replica is shutting down; retry")
	case errors.Is(err, ledger.ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return again("concurrent allocation from %s; retry", nameOf(c.Pool))
	case isCutOff(err):
		return again("the connection to the API server was lost; retry")
	case errors.Is(err, ledger.ErrTaken) && c.Want.IsValid():
		return status(http.StatusConflict, fmt.Sprintf("spec.cidr: %s is in use, or part of it", c.Want))
	case errors.As(err, &taken):
		return status(http.StatusConflict, fmt.Sprintf("preAllocation %s of %s is held by another claim, or part of it", taken.CIDR, nameOf(c.Pool)))
	case errors.Is(err, ledger.ErrNotReady):
		return again("%s does not hand out prefixes now; see its Ready condition", nameOf(c.Pool))
	default:
		return apierrors.NewInternalError(err)
	}
}

// codes are what creates are refused with.
var codes = map[claimant.Cause]int32{
	claimant.Invalid:   http.StatusUnprocessableEntity,
	claimant.Forbidden: http.StatusForbidden,
	claimant.Missing:   http.StatusNotFound,
	claimant.NoMatch:   http.StatusUnprocessableEntity,
}

// finalStatus returns what an error says itself, if that is what the request is to be told.
func finalStatus(err error) (own *apierrors.StatusError, ok bool) {
	var denied *ledger.DeniedError
	switch {
	case errors.As(err, &denied):
		return status(http.StatusForbidden, denied.Error()), true
	case apierrors.IsAlreadyExists(err), apierrors.IsTooManyRequests(err):
		ok = errors.As(err, &own)
		return own, ok
	}
	return nil, false
}

// isCutOff says whether a request got no answer of the API server, or not all of it. What it has done then is repaired: the object
// that it was made for is not stored.
func isCutOff(err error) bool {
	var transport *url.Error
	return errors.As(err, &transport) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), halfRead)
}

// halfRead is how client-go tells of an answer whose end is missing, for whatever reason.
const halfRead = "unexpected error when reading response body"

// reasons of the statuses that admission answers with.
var reasons = map[int32]metav1.StatusReason{
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInsufficientStorage: "InsufficientStorage",
}

func status(code int32, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reasons[code], Message: message,
	}}
}

// again is a refusal that clients repeat by themselves after a second.
func again(format string, args ...any) *apierrors.StatusError {
	err := status(http.StatusTooManyRequests, fmt.Sprintf(format, args...))
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}
