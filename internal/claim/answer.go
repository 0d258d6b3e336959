// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// errWaiting: nothing to do before a watch reports a change.
var errWaiting = errors.New("waiting")

// allocate gives the claim its IPAddress.
func (r *Reconciler) allocate(ctx context.Context, s *scope) error {
	answer := &ipamv1beta2.IPAddress{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.claim), answer)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting IPAddress: %w", err)
	}
	found := err == nil
	offer, err := r.Source.Offer(ctx, s.claim)
	if isRefused := err != nil || offer.Hidden != nil; isRefused && found && r.isAnswered(s, answer) {
		s.answer = answer
		return nil
	}
	if err != nil {
		return err
	}
	if why := offer.withheld(); why != nil {
		if found {
			err = r.secure(ctx, answer, s.claim) // first of all
		}
		return cmp.Or(err, why)
	}
	s.offer = offer
	if found {
		return r.recognize(ctx, s, answer)
	}
	if hasArrived(s.claim) {
		if afresh, err := r.receive(ctx, s); !afresh || err != nil {
			return err
		}
	}
	return r.allocateAfresh(ctx, s)
}

// allocateAfresh gives the claim an address that it has not had before.
func (r *Reconciler) allocateAfresh(ctx context.Context, s *scope) error {
	if s.offer.Closed != nil {
		return s.offer.Closed
	}
	want, err := wanted(s)
	if err != nil {
		return err
	}
	if err = r.chart(ctx, s); err != nil {
		return err
	}
	allocation, err := r.reserve(ctx, s, want, ipamv1.ClaimPurpose)
	if err != nil {
		return err
	}
	return r.commit(ctx, s, allocation)
}

// isAnswered says whether the IPAddress is the claim's answer and recorded: it stays so whatever becomes of the pool.
func (r *Reconciler) isAnswered(s *scope, answer *ipamv1beta2.IPAddress) bool {
	address, err := ipspace.ParseAddr(answer.Spec.Address)
	return err == nil && claimUID(answer) == s.claim.UID && r.holds(s, address)
}

// holds says whether a record of the claim holds the address beyond doubt. That one exists proves nothing: it may be half-made, or have
// lost. It has won here, or the claim has been told so.
func (r *Reconciler) holds(s *scope, address netip.Addr) bool {
	return r.Ledger.HasWon(s.ref, address) ||
		r.Ledger.Holds(s.ref, address) && conditions.IsTrue(s.claim, ipamv1beta2.IPAddressClaimReadyCondition)
}

// maxAddressText is longer than every address.
const maxAddressText = 64

// wanted returns what the claim asks for, by its first address; the zero value if it asks for nothing.
func wanted(s *scope) (netip.Prefix, error) {
	text, ok := s.claim.Annotations[ipamv1.AddressAnnotation]
	if !ok {
		return netip.Prefix{}, nil
	}
	if len(text) > maxAddressText { // nobody wants to read it again
		return netip.Prefix{}, refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
			"metadata.annotations[%s]: %d characters are no IP address", ipamv1.AddressAnnotation, len(text))
	}
	address, err := ipspace.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
			"metadata.annotations[%s]: %v", ipamv1.AddressAnnotation, err)
	}
	if address.BitLen() != s.offer.HostBits { // the ledger says that it is not in the pool
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	want, ok := s.offer.block(address)
	if !ok {
		return netip.Prefix{}, refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
			"metadata.annotations[%s]: %s is not the first address of a /%d, which is what the pool gives", ipamv1.AddressAnnotation, text, s.offer.Bits)
	}
	return want, nil
}

// carried returns what an IPAddress stands for: a block where its pool gives blocks of just that length, else its address,
// which the ledger refuses if it was only asked for and the pool's bounds exclude it. One that arrived may be of a time when the
// pool gave others: it is a block too if it begins one of its own length, and that is not the length of the address's network.
func carried(s *scope, answer *ipamv1beta2.IPAddress, address netip.Addr, purpose ipamv1.AllocationPurpose) netip.Prefix {
	single := netip.PrefixFrom(address, address.BitLen())
	if answer.Spec.Prefix == nil {
		return single
	}
	block := netip.PrefixFrom(address, int(*answer.Spec.Prefix))
	arrived := purpose == ipamv1.AdoptedPurpose && block.Bits() != s.offer.Network(address).Bits
	if block.IsValid() && block == block.Masked() && (block.Bits() == s.offer.Bits || arrived) {
		return block
	}
	return single
}

func refuse(reason, format string, args ...any) error {
	return &RefusalError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (r *Reconciler) reserve(ctx context.Context, s *scope, want netip.Prefix, purpose ipamv1.AllocationPurpose) (ledger.Allocation, error) {
	return r.Ledger.Reserve(ctx, r.request(s, want, purpose))
}

// record records for the claim what it arrived with. Where somebody else holds that, both keep it, if the claim or its IPAddress was
// marked at its creation: so the claim must not be one that only a cache still has.
func (r *Reconciler) record(ctx context.Context, s *scope, want netip.Prefix, isMarked bool) (ledger.Allocation, error) {
	if !r.Ledger.Holds(s.ref, want.Addr()) {
		if !isMarked {
			return r.reserve(ctx, s, want, ipamv1.AdoptedPurpose)
		}
		if err := r.proveStored(ctx, s.claim); err != nil {
			return ledger.Allocation{}, err
		}
	}
	return r.Ledger.Bind(ctx, r.request(s, want, ipamv1.AdoptedPurpose))
}

func (r *Reconciler) request(s *scope, want netip.Prefix, purpose ipamv1.AllocationPurpose) ledger.Claim {
	c := ledger.Claim{
		Ref:      s.ref,
		Pool:     s.offer.Pool,
		Bits:     s.offer.Bits,
		Revision: s.claim.ResourceVersion,
		Purpose:  purpose,
		Owners:   []metav1.OwnerReference{ownerOf(s.claim, nil), s.offer.Owner},
		Labels:   labelsOf(s.claim),
	}
	if want.IsValid() {
		c.Want, c.Bits = want, want.Bits()
	}
	return c
}

// ownerOf returns the claim as controlling owner. It blocks the deletion of the IPAddress's owner in the foreground, and
// of nothing for a record, which goes by the ledger's rules.
func ownerOf(claim *ipamv1beta2.IPAddressClaim, blocks *bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         ipamv1beta2.GroupVersion.String(),
		Kind:               "IPAddressClaim",
		Name:               claim.Name,
		UID:                claim.UID,
		Controller:         ptr.To(true),
		BlockOwnerDeletion: blocks,
	}
}

func labelsOf(claim *ipamv1beta2.IPAddressClaim) map[string]string {
	if name := clusterOf(claim); name != "" {
		return map[string]string{clusterv1.ClusterNameLabel: name}
	}
	return nil
}

// lateCommit is from when on a claim is looked at once more before it is answered. Economy only: an answer that comes when its claim has
// gone is in the way of the next claim of the name.
const lateCommit = 2 * time.Second

// commit creates the IPAddress. Its name is the claim's, so that only one manager's choice can be the answer.
func (r *Reconciler) commit(ctx context.Context, s *scope, a ledger.Allocation) error {
	if r.Clock.Since(s.began) > lateCommit {
		if err := r.proveStored(ctx, s.claim); err != nil {
			return err
		}
	}
	answer := newAnswer(s, a.CIDR)
	err := r.Client.Create(ctx, answer, client.FieldOwner(ipamv1.FieldManager))
	switch {
	case err == nil:
		s.answer = answer
		return nil
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("creating IPAddress: %w", err)
	}
	stored := &ipamv1beta2.IPAddress{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(answer), stored); err != nil {
		return fmt.Errorf("getting IPAddress: %w", err)
	}
	if claimUID(stored) == s.claim.UID && stored.Spec.Address != answer.Spec.Address {
		if err := r.Ledger.Void(ctx, a); err != nil {
			return err
		}
	}
	return r.recognize(ctx, s, stored)
}

func newAnswer(s *scope, cidr netip.Prefix) *ipamv1beta2.IPAddress {
	network := s.offer.Network(cidr.Addr())
	if !cidr.IsSingleIP() {
		network.Bits = cidr.Bits()
	}
	answer := &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.claim.Namespace,
			Name:            s.claim.Name,
			Labels:          labelsOf(s.claim),
			Finalizers:      []string{ipamv1.AddressFinalizer},
			OwnerReferences: []metav1.OwnerReference{ownerOf(s.claim, ptr.To(true)), s.offer.Owner},
		},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: s.claim.Name},
			PoolRef:  s.claim.Spec.PoolRef,
			Address:  cidr.Addr().String(),
			Prefix:   ptr.To(int32(network.Bits)), //nolint:gosec // at most 128
		},
	}
	if network.Gateway.IsValid() {
		answer.Spec.Gateway = network.Gateway.String()
	}
	if len(network.DNSServers) > 0 {
		servers := make([]string, 0, len(network.DNSServers))
		for _, server := range network.DNSServers {
			servers = append(servers, server.String())
		}
		answer.Annotations = map[string]string{ipamv1.DNSServersAnnotation: strings.Join(servers, ",")}
	}
	return answer
}

// claimUID returns the UID of the claim that an IPAddress answers, or "" if it does not say.
func claimUID(answer *ipamv1beta2.IPAddress) types.UID {
	for _, owner := range answer.OwnerReferences {
		if owner.Kind == "IPAddressClaim" && strings.HasPrefix(owner.APIVersion, ipamv1beta2.GroupVersion.Group+"/") {
			return owner.UID
		}
	}
	return ""
}

// recognize deals with an IPAddress that exists under the claim's name:
//
//	carries the claim's UID, recorded            it is the answer
//	carries the claim's UID, no record           adopted: recorded at exactly its address
//	came back with the claim, by another UID     it was moved or restored with it: adopted
//	carries no claim's UID and is being deleted  what is left of a namesake's: removed, then the claim is answered anew
//	carries no claim's UID but our finalizer     its owner was lost (moved, restored, a namesake's that died): adopted; of another pool
//	                                             than the claim's it is left over of a namesake's: removed, then the claim is answered anew
//	carries neither (made by hand)               an asked address: recorded if the pool gives it, then made the answer
//	carries another claim's UID, that one lives  our claim is dead; nothing to do
//	carries another claim's UID, that one died   left over: removed, then the claim is answered anew
func (r *Reconciler) recognize(ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress) error {
	uid := claimUID(answer)
	switch {
	case uid != s.claim.UID && isRestored(s, answer):
		return r.restore(ctx, s, answer)
	case uid == "" && !answer.DeletionTimestamp.IsZero():
		return r.discard(ctx, s, answer)
	case uid == "" && answer.Spec.PoolRef != s.claim.Spec.PoolRef:
		return r.reject(ctx, s, answer)
	case uid == s.claim.UID, uid == "" && hasFinalizer(answer, ipamv1.AddressFinalizer):
		return r.adopt(ctx, s, answer, ipamv1.AdoptedPurpose)
	case uid == "" && s.offer.Closed != nil:
		return s.offer.Closed
	case uid == "":
		return r.adopt(ctx, s, answer, ipamv1.ClaimPurpose)
	default:
		return r.discard(ctx, s, answer)
	}
}

// reject removes an IPAddress of another pool than the claim's, if Weir made it.
func (r *Reconciler) reject(ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress) error {
	if hasFinalizer(answer, ipamv1.AddressFinalizer) {
		return r.discard(ctx, s, answer)
	}
	return refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason, "IPAddress %s: spec.poolRef: is another pool than the claim's", answer.Name)
}

func (r *Reconciler) adopt(ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress, purpose ipamv1.AllocationPurpose) error {
	address, err := ipspace.ParseAddr(answer.Spec.Address)
	if err != nil {
		return r.unreadable(answer, err)
	}
	controlled := controlledElsewhere(answer)
	if controlled != nil && purpose == ipamv1.ClaimPurpose { // what is only asked for need not be recorded
		return controlled
	}
	if !r.isRecorded(s, answer, address) {
		if err := r.recordAnswer(ctx, s, carried(s, answer, address, purpose), purpose, answer); err != nil {
			return r.adoptError(ctx, s, answer, purpose, err)
		}
	}
	s.answer = answer
	if controlled != nil {
		return controlled
	}
	if err := r.ensureOwned(ctx, s, answer); err != nil {
		return err
	}
	if hasArrived(s.claim) {
		r.Arrivals.forget(s.claim.UID)
	}
	if err := r.Ledger.Disputed(s.ref, address); err != nil {
		return r.adoptError(ctx, s, answer, ipamv1.AdoptedPurpose, err)
	}
	return nil
}

// controlledElsewhere errs if something else than a claim controls the IPAddress: it has one controller at most.
func controlledElsewhere(answer *ipamv1beta2.IPAddress) error {
	other := otherController(answer)
	if other == nil {
		return nil
	}
	return refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason,
		"IPAddress %s: metadata.ownerReferences: its controller is %s %s, so it cannot be the claim", answer.Name, other.Kind, other.Name)
}

func (r *Reconciler) unreadable(answer *ipamv1beta2.IPAddress, err error) error {
	return refuse(ipamv1beta2.IPAddressClaimReadyAllocationFailedReason, "IPAddress %s: spec.address: %v", answer.Name, err)
}

// recordAnswer records what an IPAddress stands for. What is only asked for is reserved.
func (r *Reconciler) recordAnswer(
	ctx context.Context, s *scope, want netip.Prefix, purpose ipamv1.AllocationPurpose, answer *ipamv1beta2.IPAddress,
) (err error) {
	if purpose == ipamv1.AdoptedPurpose {
		_, err = r.record(ctx, s, want, hasArrived(s.claim) || hasArrived(answer))
	} else {
		_, err = r.reserve(ctx, s, want, purpose)
	}
	return err
}

// isRecorded says whether the claim's record of its answer's address is beyond doubt. Where a namesake's record is there as well, which
// is to be dropped, the claim's own must have won here.
func (r *Reconciler) isRecorded(s *scope, answer *ipamv1beta2.IPAddress, address netip.Addr) bool {
	if len(r.Ledger.Recorded(s.ref)) > 1 && !r.Ledger.HasWon(s.ref, address) {
		return false
	}
	return claimUID(answer) == s.claim.UID && r.holds(s, address)
}

// adoptError explains why the address that an IPAddress carries cannot be recorded. A claim that arrived with its answer
// keeps it, and so does whoever else holds it: neither is renumbered.
func (r *Reconciler) adoptError(
	ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress, purpose ipamv1.AllocationPurpose, err error,
) error {
	if errors.Is(err, ledger.ErrTaken) && purpose == ipamv1.AdoptedPurpose {
		told := r.told(ctx, s, err)
		return errors.Join(refuse(ipamv1.ClaimReadyDuplicateReason, "IPAddress %s: %s", answer.Name, told), ledger.ErrTaken)
	}
	return fmt.Errorf("recording IPAddress %s: %w", answer.Name, err)
}

// ensureOwned puts back what the contract wants on an IPAddress: owner references to claim and pool, and the finalizer. One that says of
// no claim that it is its answer is given to this one if a live read shows that: a later claim of the name may have come with it.
func (r *Reconciler) ensureOwned(ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress) error {
	if !answer.DeletionTimestamp.IsZero() {
		return nil
	}
	patched := answer.DeepCopy()
	patched.OwnerReferences = ensureOwner(patched.OwnerReferences, ownerOf(s.claim, ptr.To(true)))
	if !s.offer.Leaving {
		patched.OwnerReferences = ensureOwner(patched.OwnerReferences, s.offer.Owner)
	}
	if !hasFinalizer(patched, ipamv1.AddressFinalizer) {
		patched.Finalizers = append(patched.Finalizers, ipamv1.AddressFinalizer)
	}
	delete(patched.Annotations, ipamv1.ArrivedAnnotation) // it has its claim
	if ownedAlike(patched, answer) && !hasArrived(answer) {
		return nil
	}
	if claimUID(answer) == "" {
		if err := r.proveStored(ctx, s.claim); err != nil {
			return err
		}
	}
	err := r.Client.Patch(ctx, patched, client.MergeFromWithOptions(answer, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("patching IPAddress: %w", err)
	}
	r.Arrivals.forget(answer.UID)
	return nil
}

// proveStored asks the API server whether the very claim is there and is not being deleted if it was not, and errs with errWaiting if
// that is not so.
func (r *Reconciler) proveStored(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) error {
	live := &ipamv1beta2.IPAddressClaim{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(claim), live)
	switch {
	case apierrors.IsNotFound(err), err == nil && (live.UID != claim.UID || live.DeletionTimestamp.IsZero() != claim.DeletionTimestamp.IsZero()):
		return errWaiting
	case err != nil:
		return fmt.Errorf("getting IPAddressClaim: %w", err)
	}
	return nil
}

// discard removes an IPAddress that a dead claim of the same name left behind. A live read decides which of the two is dead.
func (r *Reconciler) discard(ctx context.Context, s *scope, answer *ipamv1beta2.IPAddress) error {
	live := &ipamv1beta2.IPAddressClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.claim), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != s.claim.UID || live.UID == claimUID(answer) {
		return errWaiting
	}
	dead := reference(client.ObjectKeyFromObject(s.claim), claimUID(answer))
	if err := r.removeAnswer(ctx, answer); err != nil {
		return err
	}
	if err := r.Ledger.Release(ctx, dead); err != nil {
		return err
	}
	return fmt.Errorf("removed the IPAddress of an earlier claim: %w", ledger.ErrBusy)
}
