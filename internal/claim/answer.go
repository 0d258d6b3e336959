// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// errWaiting: nothing to do before a watch reports a change.
var errWaiting = errors.New("waiting")

// allocate gives the claim its IPAddress.
func (r *Reconciler) allocate(ctx context.Context, s *scope) error {
	answer, found, err := r.namesake(ctx, s.claim)
	if err != nil {
		return err
	}
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
		if offer.Hidden == nil && hasAnswer(s.claim) {
			why = errWaiting // what it says stays true
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

// namesake returns the IPAddress under the claim's name, if there is one. Of another provider's the cache has no more than a stub.
func (r *Reconciler) namesake(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) (answer *ipamv1beta2.IPAddress, found bool, err error) {
	answer = &ipamv1beta2.IPAddress{}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(claim), answer)
	if err == nil && !r.Source.Serves(answer.Spec.PoolRef) {
		answer = &ipamv1beta2.IPAddress{}
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(claim), answer)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, false, fmt.Errorf("getting IPAddress: %w", err)
	}
	return answer, err == nil, nil
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
			"metadata.annotations[%s]: must be an IP address (%d characters given)", ipamv1.AddressAnnotation, len(text))
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

// carried returns what an IPAddress stands for: what is recorded there for the claim, or for the claim that it answers. Else a block
// where its pool gives blocks of just that length, else its address, which the ledger refuses if it was only asked for and the pool's
// bounds exclude it. One that was restored may be of a time when the pool gave others: it is a block too if it begins one of its own
// length, and that is not the length of the address's network. The network may have grown since, so the record comes first. Records of
// other claims of the name say nothing: they may hold less than the answer, or more.
func (r *Reconciler) carried(s *scope, answer *ipamv1beta2.IPAddress, address netip.Addr, purpose ipamv1.AllocationPurpose) netip.Prefix {
	recorded := r.Ledger.Recorded(s.ref)
	for _, uid := range []types.UID{s.claim.UID, claimUID(answer)} {
		i := slices.IndexFunc(recorded, func(h ledger.Holding) bool {
			return h.Claim.UID == string(uid) && h.Pool == s.offer.Pool && h.CIDR.Addr() == address
		})
		if i >= 0 {
			return recorded[i].CIDR
		}
	}
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
		Kind:               kinds.IPAddressClaim.Kind,
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

// lateCommit is from which age on a claim, or the work on it, is old enough to have been deleted where the cache does not show it: then it is
// looked at once more before it is answered. Economy only: an answer that comes when its claim has gone is in the way of the next claim of
// the name.
const lateCommit = 2 * time.Second

// commit creates the IPAddress. Its name is the claim's, so that only one manager's choice can be the answer.
func (r *Reconciler) commit(ctx context.Context, s *scope, a ledger.Allocation) error {
	if r.Clock.Since(s.began) > lateCommit || r.Clock.Since(s.claim.CreationTimestamp.Time) > lateCommit {
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
		if kinds.OfOwner(owner) == kinds.IPAddressClaim {
			return owner.UID
		}
	}
	return ""
}
