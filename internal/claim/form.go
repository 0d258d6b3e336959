// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"fmt"
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
	// IsShared: another controller may have made answers out of such pools. So an answer holds its address whoever made it, and the claim is
	// no controlling owner of it.
	IsShared bool
}

// PoolName is how a claim, or an answer, names a pool: the namespace follows from the kind.
type PoolName struct {
	schema.GroupKind

	Name string
}

// Asks is what a claim says.
type Asks struct {
	Pool PoolName
	// ClusterName is the Cluster that its spec names; "" for none.
	ClusterName string
	// AnswerName is the answer that its status names; "" for none.
	AnswerName string
	// Asked is the address that it asks for, as it is written, in AskedField; nil for none.
	Asked      *string
	AskedField string
	// Refusal says why it is refused whatever its pool offers; nil if it is not.
	Refusal error
}

// Says is what an answer says.
type Says struct {
	Pool PoolName
	// Address is the text of its address, or of the first one of a block. Prefix is the length of that, or of the address's network; nil if it
	// does not say.
	Address string
	Prefix  *int32
}

// Claim is a claim of any form, as it was read.
type Claim struct {
	metav1.Object
	Asks

	// Stored is the object.
	Stored claimant.Claimant
}

// Answer is an answer of any form, as it was read.
type Answer struct {
	metav1.Object
	Says

	// Stored is the object.
	Stored client.Object
}

func (r *forms) claim(stored claimant.Claimant) *Claim {
	return &Claim{Object: stored, Asks: r.Form.Asks(stored), Stored: stored}
}

func (r *forms) answerIn(stored client.Object) *Answer {
	return &Answer{Object: stored, Says: r.Form.Says(stored), Stored: stored}
}

// getClaim reads a claim. The error is the API server's.
func (r *forms) getClaim(ctx context.Context, c client.Reader, key types.NamespacedName) (*Claim, error) {
	stored := r.Form.Kinds().NewClaim()
	if err := c.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("getting %s: %w", r.Form.Kinds().Claim.Kind, err)
	}
	return r.claim(stored), nil
}

func (r *forms) claimFinalizer(claim *Claim) string {
	return r.Form.Conventions(claim.Pool).ClaimFinalizer
}

func (r *forms) answerFinalizer(answer *Answer) string {
	return r.Form.Conventions(answer.Pool).AnswerFinalizer
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
