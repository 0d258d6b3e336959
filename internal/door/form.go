// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Form is one form of claims whose answer is another object: which kinds the two are, and how they are read and written. It translates, and
// decides nothing.
type Form interface {
	// Kinds are those of claim and answer.
	Kinds() *Kinds
	// Conventions are those of claims that name this pool, and of their answers.
	Conventions(pool PoolName) *Conventions
	// Asks returns what a claim says.
	Asks(claim claimant.Claimant) Asks
	// Says returns what an answer says.
	Says(answer client.Object) Says
	// Answers returns every answer to claims of that name, by what they say: one at most where the commit is the name.
	Answers(ctx context.Context, c client.Reader, claim types.NamespacedName) ([]client.Object, error)
	// ClaimOf names the claim that an answer is for, by what it says.
	ClaimOf(answer client.Object) types.NamespacedName
	// Compose returns the answer to a claim out of a pool, named as the commit wants it. The caller adds the Cluster's label, finalizer and owners.
	Compose(claim *Claim, offer *Offer, cidr netip.Prefix, network pooltree.Network) client.Object
	// StandIn returns a claim as it may have been whose answer this is.
	StandIn(answer client.Object) claimant.Claimant
	// Report writes into the claim's status how it stands, and the answer's name if it has one. Outcome is the error that Ready tells; nil if it
	// is true.
	Report(claim claimant.Claimant, ready metav1.Condition, answer string, outcome error)
	// Status returns the claim's status, as it is stored.
	Status(claim claimant.Claimant) any
}

// Kinds are those of a form's claims and answers.
type Kinds struct {
	Claim, Answer schema.GroupVersionKind
	// Commit is what makes an answer the claim's for good. ClaimField indexes answers by the name of their claim; "" where Answers needs none.
	Commit     Commit
	ClaimField string

	NewClaim                    func() claimant.Claimant
	NewAnswer                   func() client.Object
	NewClaimList, NewAnswerList func() client.ObjectList
}

// Conventions are what depends on the pool that a claim names.
type Conventions struct {
	// ClaimFinalizer is on every claim that may have something, AnswerFinalizer on every answer.
	ClaimFinalizer, AnswerFinalizer string
	// IsShared: another controller may have made answers out of such pools. So an answer holds its address whoever made it.
	IsShared bool
	// Controls: the claim is the controlling owner of its answer.
	Controls bool
}

// Commit is what makes an answer the claim's for good.
type Commit uint8

const (
	// ByName: the answer's name follows from the claim's, so that the API server stores one only.
	ByName Commit = iota
	// ByStatus: the claim's status, written on condition of the version of the claim that is answered.
	ByStatus
)
