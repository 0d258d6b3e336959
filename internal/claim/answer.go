// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// errWaiting: nothing to do before a watch reports a change.
var errWaiting = errors.New("waiting")

// allocate gives the claim its answer.
func (r *executor) allocate(ctx context.Context, s *scope) error {
	var err error
	if s.answers, err = r.observer.namesakes(ctx, s.claim); err != nil {
		return err
	}
	offer, refusal := r.observer.offer(ctx, s.claim)
	if refusal == nil {
		s.offer = offer
	}
	if err := r.observer.correctAnswerName(ctx, s); err != nil {
		return err
	}
	answer := r.observer.choose(s.answers, s.claim)
	if err := r.records.secureOthers(ctx, s, answer); err != nil {
		return err
	}
	return r.act(ctx, s, r.records.observe(s, answer).decide(), answer, refusal)
}

// wasCommitted says whether the claim was told of an answer for good, whether or not that is there still.
func (r *observer) wasCommitted(claim *door.Claim) bool {
	return r.Form.Kinds().Commit == door.ByStatus && claim.AnswerName != ""
}

// observe gathers the facts that decide what is done about a claim, beside its answer, which may be nil, and its pool's offer.
func (r *records) observe(s *scope, answer *door.Answer) facts {
	f := facts{offer: offeredBy(s.offer), arrived: hasArrived(s.claim), told: r.observer.wasCommitted(s.claim), several: r.observer.cameTogether(s)}
	if answer == nil {
		return f
	}
	f.answer = r.observer.relationOf(answer, s.claim)
	f.terminating, f.samePool = !answer.GetDeletionTimestamp().IsZero(), answer.Pool == s.claim.Pool
	f.made = r.observer.isMade(answer) || f.samePool && r.observer.isOurs(answer)
	f.held = f.samePool && r.isHeld(answer)
	f.recorded = f.offer >= hidden && r.isAnswered(s, answer)
	f.returned = f.offer < halted && r.objects.isRestored(s, answer)
	return f
}

// relationOf returns what an answer under the claim's name is to the claim.
func (r *observer) relationOf(answer *door.Answer, claim *door.Claim) relation {
	switch r.claimUID(answer) {
	case claim.GetUID():
		return its
	case "":
		return unowned
	}
	return anothers
}

// act does what was decided. Refusal is why there is no offer.
func (r *executor) act(ctx context.Context, s *scope, what action, answer *door.Answer, refusal error) error {
	switch what {
	case allocateAfresh:
		return r.allocateAfresh(ctx, s)
	case adoptHeld:
		return r.adoptHeld(ctx, s, answer)
	case adoptAnswer:
		return r.adopt(ctx, s, answer, ledger.ForAdopted)
	case reserveAsked:
		return r.adopt(ctx, s, answer, ledger.ForClaim)
	case awaitAnswer:
		return r.receive(ctx, s)
	case remakeAnswer:
		return r.remake(ctx, s)
	case refuseSeveral:
		return cmp.Or(r.records.secureOthers(ctx, s, nil), r.objects.refuseSeveral(s))
	case restoreAnswer:
		return r.restore(ctx, s, answer)
	case discardAnswer:
		return r.discard(ctx, s, answer)
	case rejectAnswer:
		return r.objects.reject(s, answer)
	case keepAnswer:
		s.answer = answer
		return nil
	case withhold:
		return r.withhold(ctx, s, answer)
	case refuseNew:
		return s.offer.Closed
	default:
		return refusal
	}
}

// withhold says why the claim cannot be looked after. What its answer stands for is recorded first of all.
func (r *executor) withhold(ctx context.Context, s *scope, answer *door.Answer) (err error) {
	if answer != nil {
		err = r.records.secure(ctx, answer, s.claim)
	}
	why := withheldBy(s.offer)
	if s.offer.Hidden == nil && hasAnswer(s.claim) {
		why = errWaiting // what it says stays true
	}
	return cmp.Or(err, why)
}

// namesakes returns the answers under the claim's name. Of another provider's the cache has no more than a stub, and it may not show yet what
// the claim's status names.
func (r *observer) namesakes(ctx context.Context, claim *door.Claim) ([]*door.Answer, error) {
	answers, err := r.answersTo(ctx, r.Client, keyOf(claim))
	isStub := slices.ContainsFunc(answers, func(a *door.Answer) bool { return !r.Source.Serves(a.Pool) })
	if err == nil && (isStub || r.wasCommitted(claim) && r.choose(answers, claim) == nil) {
		return r.answersTo(ctx, r.Live, keyOf(claim))
	}
	return answers, err
}

// allocateAfresh gives the claim an address that it has not had before.
func (r *executor) allocateAfresh(ctx context.Context, s *scope) error {
	want, err := wanted(s)
	if err != nil {
		return err
	}
	if isEmpty := s.offer.HostBits == 0; isEmpty { // no block of the pool will ever make the ledger say so
		return ledger.ErrExhausted
	}
	if err = r.records.chart(ctx, s); err != nil {
		return err
	}
	if err = r.objects.proveUnanswered(ctx, s); err != nil {
		return err
	}
	if s.offer.Outside != nil {
		return r.allocateOutside(ctx, s, want)
	}
	allocation, err := r.records.reserve(ctx, s, want, ledger.ForClaim)
	if err != nil {
		return err
	}
	return r.commit(ctx, s, allocation)
}

// proveUnanswered errs with ErrBusy if a live read shows an answer to a claim that may have been restored with it, where any number of answers
// can be stored. A claim that was restored came with its finalizer.
func (r *objects) proveUnanswered(ctx context.Context, s *scope) error {
	if s.isNew || r.Form.Kinds().Commit == door.ByName {
		return nil
	}
	answers, err := r.observer.answersTo(ctx, r.Live, keyOf(s.claim))
	if err == nil && len(r.observer.candidates(answers, s.claim)) > 0 {
		return fmt.Errorf("the cache does not show the %s yet: %w", r.observer.answerKind(), ledger.ErrBusy)
	}
	return err
}

// isAnswered says whether the answer is the claim's and recorded: it stays so whatever becomes of the pool.
func (r *records) isAnswered(s *scope, answer *door.Answer) bool {
	address, err := ipspace.ParseAddr(answer.Address)
	return err == nil && r.observer.claimUID(answer) == s.claim.GetUID() && r.holds(s, address)
}

// holds says whether a record of the claim holds the address beyond doubt. That one exists proves nothing: it may be half-made, or have
// lost. It has won here, or the claim has been told so.
func (r *records) holds(s *scope, address netip.Addr) bool {
	known := r.observer.about(s)
	return known.HasWon(address) ||
		known.Holds(address) && conditions.IsTrue(s.claim.Stored, ipamv1.ReadyCondition)
}

// maxAddressText is longer than every address.
const maxAddressText = 64

// wanted returns what the claim asks for, by its first address; the zero value if it asks for nothing.
func wanted(s *scope) (netip.Prefix, error) {
	if s.claim.Asked == nil {
		return netip.Prefix{}, nil
	}
	text, field := *s.claim.Asked, s.claim.AskedField
	if len(text) > maxAddressText { // nobody wants to read it again
		return netip.Prefix{}, refuse(ipamv1.ClaimReadyAllocationFailedReason,
			"%s: must be an IP address (%d characters given)", field, len(text))
	}
	address, err := ipspace.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, refuse(ipamv1.ClaimReadyAllocationFailedReason,
			"%s: %v", field, err)
	}
	if address.BitLen() != s.offer.HostBits { // the ledger says that it is not in the pool
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	want, ok := blockAt(s.offer, address)
	if !ok {
		return netip.Prefix{}, refuse(ipamv1.ClaimReadyAllocationFailedReason,
			"%s: %s is not the first address of a /%d, which is what the pool gives", field, text, s.offer.Bits)
	}
	return want, nil
}

// carried returns what an answer stands for: what is recorded there for the claim, or for the claim that it answers. Else a block
// where its pool gives blocks of just that length, else its address, which the ledger refuses if it was only asked for and the pool's
// bounds exclude it. One that was restored may be of a time when the pool gave others: it is a block too if it begins one of its own
// length, and that is not the length of the address's network. The network may have grown since, so the record comes first. Records of
// other claims of the name say nothing: they may hold less than the answer, or more.
func (r *records) carried(s *scope, answer *door.Answer, address netip.Addr, purpose ledger.Purpose) netip.Prefix {
	recorded := r.observer.about(s).Recorded()
	for _, uid := range []types.UID{s.claim.GetUID(), r.observer.claimUID(answer)} {
		i := slices.IndexFunc(recorded, func(h ledger.Holding) bool {
			return h.Claim.UID == string(uid) && h.Pool == s.offer.Pool && h.CIDR.Addr() == address
		})
		if i >= 0 {
			return recorded[i].CIDR
		}
	}
	single := netip.PrefixFrom(address, address.BitLen())
	if answer.Prefix == nil {
		return single
	}
	block := netip.PrefixFrom(address, int(*answer.Prefix))
	arrived := purpose == ledger.ForAdopted && block.Bits() != s.offer.Network(address).Bits
	if block.IsValid() && block == block.Masked() && (block.Bits() == s.offer.Bits || arrived) {
		return block
	}
	return single
}

func refuse(reason, format string, args ...any) error {
	return &claimant.Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (r *records) reserve(ctx context.Context, s *scope, want netip.Prefix, purpose ledger.Purpose) (ledger.Allocation, error) {
	c, err := r.request(ctx, s, want, purpose)
	if err != nil {
		return ledger.Allocation{}, err
	}
	return r.Ledger.Reserve(ctx, c)
}

// record records for the claim what it arrived with. Where somebody else holds that, both keep it, if the claim or its answer was
// marked at its creation: so the claim must not be one that only a cache still has.
func (r *records) record(ctx context.Context, s *scope, want netip.Prefix, isMarked bool) (ledger.Allocation, error) {
	if !r.observer.about(s).Holds(want.Addr()) {
		if !isMarked {
			return r.reserve(ctx, s, want, ledger.ForAdopted)
		}
		if err := r.objects.proveStored(ctx, s.claim); err != nil {
			return ledger.Allocation{}, err
		}
	}
	c, err := r.request(ctx, s, want, ledger.ForAdopted)
	if err != nil {
		return ledger.Allocation{}, err
	}
	return r.Ledger.Bind(ctx, c)
}

func (r *records) request(ctx context.Context, s *scope, want netip.Prefix, purpose ledger.Purpose) (ledger.Claim, error) {
	alias, err := r.aliasFor(ctx, s, want, purpose)
	if err != nil {
		return ledger.Claim{}, err
	}
	c := ledger.Claim{
		Ref:      s.ref,
		Alias:    alias,
		Pool:     s.offer.Pool,
		Bits:     s.offer.Bits,
		Revision: s.claim.GetResourceVersion(),
		Purpose:  purpose,
		Owners:   []metav1.OwnerReference{r.objects.ownerOf(s.claim, nil), s.offer.Owner},
		Labels:   labelsOf(s.claim),
	}
	if want.IsValid() {
		c.Want, c.Bits = want, want.Bits()
	}
	if c.Want.IsSingleIP() && c.Want.Addr() == s.backing.Addr {
		c.ExternalID = s.backing.ID
	}
	if purpose == ledger.ForClaim && r.Form.Kinds().Commit == door.ByStatus {
		c.IsUnfit = r.objects.isNameTaken(ctx, s)
	}
	return c, nil
}

// ownerOf returns the claim as owner, which controls as its form's conventions say. It blocks the deletion of the answer's owner in the foreground, and
// of nothing for a record, which goes by the ledger's rules.
func (r *objects) ownerOf(claim *door.Claim, blocks *bool) metav1.OwnerReference {
	apiVersion, kind := r.Form.Kinds().Claim.ToAPIVersionAndKind()
	return metav1.OwnerReference{
		APIVersion:         apiVersion,
		Kind:               kind,
		Name:               claim.GetName(),
		UID:                claim.GetUID(),
		Controller:         ptr.To(r.Form.Conventions(claim.Pool).Controls),
		BlockOwnerDeletion: blocks,
	}
}

func labelsOf(claim *door.Claim) map[string]string {
	labels := map[string]string{}
	if name := clusterOf(claim); name != "" {
		labels[clusterv1.ClusterNameLabel] = name
	}
	return labels
}

// commit creates the answer. Where the name is the commit, only one manager's choice can be it; else the status that names it is. The record of
// what is not told is tidied up later, and cools down: the claim may be on its way out, and have been told that before.
func (r *executor) commit(ctx context.Context, s *scope, a ledger.Allocation) error {
	if r.Clock.Since(s.shown) > lateCommit {
		if err := r.objects.proveStored(ctx, s.claim); err != nil {
			return err
		}
	}
	answer := r.objects.newAnswer(s, a.CIDR)
	if r.Form.Kinds().Commit == door.ByStatus {
		r.observer.untold.begin(answer, s.ref)
	}
	err := r.Client.Create(ctx, answer.Stored, client.FieldOwner(ipamv1.FieldManager))
	switch {
	case err == nil:
		s.answer = answer
		return nil
	case !apierrors.IsAlreadyExists(err):
		return ledger.WriteError(fmt.Sprintf("address %s is recorded; the %s could not be created", a.CIDR.Addr(), r.observer.answerKind()), err)
	}
	stored, err := r.observer.namedLike(ctx, r.Live, answer)
	if err != nil {
		return err
	}
	if r.observer.isAnothersName(stored, s.claim) {
		return r.observer.yield(stored)
	}
	return r.act(ctx, s, r.records.observe(s, stored).decide(), stored, nil)
}

// namedLike reads the object that has the name of an answer.
func (r *observer) namedLike(ctx context.Context, c client.Reader, answer *door.Answer) (*door.Answer, error) {
	stored := r.Form.Kinds().NewAnswer()
	if err := c.Get(ctx, keyOf(answer), stored); err != nil {
		return nil, fmt.Errorf("getting %s: %w", r.answerKind(), err)
	}
	return r.answerIn(stored), nil
}

// isAnothersName says whether an object that has the name of the claim's answer answers another claim, or is of another pool where the
// pool is in the name.
func (r *observer) isAnothersName(stored *door.Answer, claim *door.Claim) bool {
	return r.Form.ClaimOf(stored.Stored) != keyOf(claim) || r.Form.Kinds().Commit == door.ByStatus && stored.Pool != claim.Pool
}

// yield returns why the claim is not answered while another object has the name of its answer. The claim's record stays: another manager may
// know that it has won, and store the answer once that object has gone. A form that commits by the status chooses another address meanwhile;
// any other answers with this one when the name is free.
func (r *observer) yield(other *door.Answer) error {
	if r.Form.Kinds().Commit == door.ByStatus {
		return fmt.Errorf("%s %s is another claim's: %w", r.answerKind(), other.GetName(), ledger.ErrBusy)
	}
	why := refuse(ipamv1.ClaimReadyAllocationFailedReason, "%s %s is in the way: it does not answer this claim; remove it, or rename the claim", r.answerKind(), other.GetName())
	return errors.Join(why, ledger.ErrTaken)
}

// isNameTaken says of an address whether somebody else's object has the name that the claim's answer would have, as the cache shows it.
func (r *objects) isNameTaken(ctx context.Context, s *scope) func(netip.Addr) bool {
	return func(address netip.Addr) bool {
		composed := r.Form.Compose(s.claim, s.offer, netip.PrefixFrom(address, address.BitLen()), s.offer.Network(address))
		stored := r.Form.Kinds().NewAnswer()
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(composed), stored, client.UnsafeDisableDeepCopy); err != nil {
			return false // storing it decides
		}
		other := r.observer.answerIn(stored)
		if !r.observer.isAnothersName(other, s.claim) {
			return false
		}
		s.inTheWay = other
		return true
	}
}

func (r *objects) newAnswer(s *scope, cidr netip.Prefix) *door.Answer {
	network := s.offer.Network(cidr.Addr())
	if !cidr.IsSingleIP() {
		network.Bits = cidr.Bits()
	}
	answer := r.Form.Compose(s.claim, s.offer, cidr, network)
	labels := labelsOf(s.claim)
	maps.Copy(labels, answer.GetLabels())
	answer.SetLabels(labels)
	answer.SetFinalizers([]string{r.Form.Conventions(s.claim.Pool).AnswerFinalizer})
	answer.SetOwnerReferences([]metav1.OwnerReference{r.ownerOf(s.claim, ptr.To(true)), s.offer.Owner})
	return r.observer.answerIn(answer)
}

// claimUID returns the UID of the claim that an answer is for, or "" if it does not say.
func (r *observer) claimUID(answer *door.Answer) types.UID {
	for _, owner := range answer.GetOwnerReferences() {
		if kinds.OfOwner(owner) == r.kind() {
			return owner.UID
		}
	}
	return ""
}

// isMade says whether an answer has Weir's finalizer: Weir has made it, or taken it for the claim's.
func (r *observer) isMade(answer *door.Answer) bool {
	return hasFinalizer(answer, r.answerFinalizer(answer))
}

// isByHand reports whether somebody else made an answer, and no claim has it.
func (r *observer) isByHand(answer *door.Answer) bool {
	return r.claimUID(answer) == "" && !r.isMade(answer)
}

// isOurs says whether an answer holds its address: Weir has made it, or whoever made it counts as much.
func (r *observer) isOurs(answer *door.Answer) bool {
	return r.isMade(answer) || r.Form.Conventions(answer.Pool).IsShared
}

func (r *observer) answerKind() string { return r.Form.Kinds().Answer.Kind }

func (r *observer) offer(ctx context.Context, claim *door.Claim) (*door.Offer, error) {
	if claim.Refusal != nil {
		return nil, claim.Refusal
	}
	return r.Source.Offer(ctx, claim.GetNamespace(), claim.Pool)
}
