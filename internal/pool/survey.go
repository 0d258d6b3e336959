// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

const (
	// surveyInterval is how often the floating IPs of a pool are compared with its records; the first time, so long after this process has
	// seen the pool. A change of its spec has it done at once.
	surveyInterval = 10 * time.Minute
	// retrySurvey is when that is tried again after it has failed.
	retrySurvey = time.Minute
)

// surveys are the last comparisons of pools. The zero value is empty.
type surveys struct {
	mu   sync.Mutex
	last map[ipamv1.PoolReference]surveyed
}

// surveyed is one of them, of a pool as it was. There is no result before the first one.
type surveyed struct {
	next       time.Time
	uid        types.UID
	generation int64
	result     *external.Survey
	// unreported may be released, which was not reported: the reply was lost.
	unreported []external.Leftover
}

// of returns the last comparison of a pool; of one that is new, that it is to be done later.
func (s *surveys) of(p pools.Object, ref ipamv1.PoolReference, now time.Time) surveyed {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.last[ref]
	if !ok || last.uid != p.GetUID() {
		last = surveyed{next: now.Add(surveyInterval), uid: p.GetUID(), generation: p.GetGeneration()}
		s.note(ref, last)
	}
	return last
}

// note keeps a comparison. The caller has locked.
func (s *surveys) note(ref ipamv1.PoolReference, done surveyed) {
	if s.last == nil {
		s.last = map[ipamv1.PoolReference]surveyed{}
	}
	s.last[ref] = done
}

func (s *surveys) done(ref ipamv1.PoolReference, done surveyed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(ref, done)
}

func (s *surveys) forget(ref ipamv1.PoolReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, ref)
}

// survey compares the floating IPs of a pool with its records, when that is due. The pool serves, whatever comes of it.
func (r *Reconciler) survey(ctx context.Context, s *scope, own pools.Own) error {
	if !r.knowsAllClaims(s) {
		return nil
	}
	now := r.Clock.Now()
	last := r.surveys.of(s.pool, s.says.Ref, now)
	isDue := !now.Before(last.next) || last.generation != s.pool.GetGeneration()
	if isDue {
		last.generation = s.pool.GetGeneration()
		pool := r.Registry.OutsidePool(own, s.says)
		found, err := r.Registry.External.Survey(ctx, pool, r.known(s))
		if last.next = now.Add(surveyInterval); err == nil {
			r.announceMissing(ctx, last.result, &found)
			last.result = &found
			found.Surplus, last.unreported, err = r.releaseSurplus(ctx, s, pool, found.Surplus, last.unreported)
			if err != nil {
				last.next, s.tidying = now.Add(retrySurvey), err
			}
		} else {
			last.next = now.Add(retrySurvey)
			s.tidying = fmt.Errorf("comparing the floating IPs with the records: %w", err)
		}
		r.surveys.done(s.says.Ref, last)
	}
	s.survey, s.nextSurvey = last.result, last.next.Sub(now)
	return nil
}

// announceMissing records an event on each claim that has no floating IP any more, and had one at the comparison before. After a start
// there is none before.
func (r *reporter) announceMissing(ctx context.Context, before, found *external.Survey) {
	if before == nil {
		before = &external.Survey{}
	}
	for _, record := range found.Missing {
		if !slices.Contains(before.Missing, record) {
			r.recordMissing(ctx, record.Claim, fmt.Sprintf("floating IP %s does not exist in the cloud any more: delete the claim, and the machine that has it", record.Address))
		}
	}
	for _, record := range found.Taken {
		if !slices.Contains(before.Taken, record) {
			r.recordMissing(ctx, record.Claim, fmt.Sprintf("floating IP %s does not name the claim in the cloud: its description was changed, or it was made anew", record.Address))
		}
	}
}

// recordMissing records an event on a claim whose floating IP is missing.
func (r *reporter) recordMissing(ctx context.Context, claim ipamv1.ClaimReference, note string) {
	r.recordEvent(ctx, claim, corev1.EventTypeWarning, ipamv1.FloatingIPMissingReason, "Compare", note)
}

// recordEvent records an event on a claim that is known by its reference.
func (r *reporter) recordEvent(ctx context.Context, claim ipamv1.ClaimReference, of, reason, action, note string) {
	_, kind, isOpen := r.doorOf(ctx, claim)
	if !isOpen { // the pool's condition names it
		return
	}
	regarding := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, UID: types.UID(claim.UID)}}
	regarding.SetGroupVersionKind(kind)
	r.Recorder.Eventf(regarding, nil, of, reason, action, "%s", note)
}

// doorOf returns the door of claims of that kind, and the kind with its version; false if none is open.
func (r *reporter) doorOf(ctx context.Context, claim ipamv1.ClaimReference) (pools.Door, schema.GroupVersionKind, bool) {
	for _, door := range r.doors {
		kind, err := r.Client.GroupVersionKindFor(door.NewClaim())
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Finding the kind of a claim")
		} else if kind.GroupKind() == claim.GroupKind() {
			return door, kind, true
		}
	}
	return nil, schema.GroupVersionKind{}, false
}

// knowsAllClaims reports whether every claim of the pool can be read: Cluster API's kinds are served, and those of every namespace.
func (r *Reconciler) knowsAllClaims(s *scope) bool {
	return r.remains.IsComplete() && (s.says.Ref.Namespace != "" || r.Namespace == "")
}

// known is what is known here of a pool and its claims.
func (r *Reconciler) known(s *scope) external.Known {
	return external.Known{
		Records: func() []external.Record { return recordsIn(r.Ledger.Of(s.says.Ref).Holdings()) },
		IsHeld: func(address netip.Addr) bool {
			return len(r.Ledger.Overlapping(s.says.Space, netip.PrefixFrom(address, address.BitLen()))) > 0
		},
		Life: r.lifeOf,
	}
}

// recordsIn returns those records that claims here have.
func recordsIn(holdings []ledger.Holding) []external.Record {
	var all []external.Record
	for _, h := range holdings {
		if h.CIDR.IsSingleIP() && h.Purpose != ledger.ForMoved && h.ReleasedAt.IsZero() {
			all = append(all, external.Record{Claim: h.Claim, Address: h.CIDR.Addr()})
		}
	}
	return all
}

// lifeOf reads a claim of a UID live, of whatever form. Where the end of its name is not known, the claims of its namespace are searched.
func (r *Reconciler) lifeOf(ctx context.Context, claim ipamv1.ClaimReference, isCut bool) (external.Life, error) {
	for _, door := range r.doors {
		found, err := r.claimOfUID(ctx, door.NewClaim(), claim, isCut)
		switch {
		case err != nil:
			return "", err
		case found == nil:
		case found.GetDeletionTimestamp().IsZero():
			return external.Living, nil
		default:
			return external.Ending, nil
		}
	}
	return external.NotHere, nil
}

// claimOfUID reads the claim of a UID into an empty one of its kind; nil if there is none.
func (r *Reconciler) claimOfUID(ctx context.Context, empty client.Object, claim ipamv1.ClaimReference, isCut bool) (client.Object, error) {
	if !isCut {
		err := client.IgnoreNotFound(r.Live.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Name}, empty))
		switch {
		case err != nil:
			return nil, fmt.Errorf("getting claim %s/%s: %w", claim.Namespace, claim.Name, err)
		case string(empty.GetUID()) != claim.UID: // nor if there is none of the name
			return nil, nil //nolint:nilnil // none is an answer
		}
		return empty, nil
	}
	kind, err := r.Client.GroupVersionKindFor(empty)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of a claim: %w", err)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.Live.List(ctx, list, client.InNamespace(claim.Namespace)); err != nil {
		return nil, fmt.Errorf("listing claims of namespace %s: %w", claim.Namespace, err)
	}
	i := slices.IndexFunc(list.Items, func(m metav1.PartialObjectMetadata) bool { return string(m.UID) == claim.UID })
	if i < 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return &list.Items[i], nil
}

// setFloatingIPs says how the floating IPs of a pool differ from its records, if that is known.
func (r *reporter) setFloatingIPs(ctx context.Context, s *scope) {
	if s.survey == nil {
		return
	}
	c := metav1.Condition{
		Type: ipamv1.FloatingIPsCondition, Status: metav1.ConditionFalse, ObservedGeneration: s.pool.GetGeneration(),
	}
	lacking := slices.Concat(s.survey.Missing, s.survey.Taken)
	switch {
	case len(lacking) > 0:
		c.Reason = ipamv1.FloatingIPsMissingReason
	case len(s.survey.Unknown) > 0:
		c.Reason = ipamv1.FloatingIPsLeftOverReason
	case len(s.survey.Surplus) > 0:
		c.Reason = ipamv1.FloatingIPsSurplusReason
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason
	}
	name := func(claim ipamv1.ClaimReference) string { return r.claimName(ctx, s, claim) }
	c.Message = strings.Join(slices.DeleteFunc([]string{
		some("these claims have no floating IP in the cloud: ", s.survey.Missing, func(r external.Record) string { return fmt.Sprintf("%s (%s)", name(r.Claim), r.Address) }),
		some("the floating IPs of these claims are others' in the cloud: ", s.survey.Taken, func(r external.Record) string { return fmt.Sprintf("%s (%s)", name(r.Claim), r.Address) }),
		some("these floating IPs are of claims that are not here, and are kept: ", s.survey.Unknown, r.leftoverNames(ctx, s)),
		some("these floating IPs are beside the one that their claim was told: ", s.survey.Surplus, r.surplusNames(ctx, s)),
	}, func(text string) bool { return text == "" }), "; ")
	conditions.Set(s.pool, c)
}

// some names up to five of a list, and how many more there are; "" for none.
func some[T any](words string, all []T, name func(T) string) string {
	if len(all) == 0 {
		return ""
	}
	named := make([]string, 0, shownHoldings)
	for _, one := range all[:min(len(all), shownHoldings)] {
		named = append(named, name(one))
	}
	text := words + strings.Join(named, ", ")
	if more := len(all) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
