// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// PoolName is how a claim, or an answer, names a pool: the namespace follows from the kind.
type PoolName struct {
	schema.GroupKind

	Name string
}

// WithoutVersion cuts off the version where an apiVersion stands in place of the group, and reports
// whether one does. No pool is of such a group.
func (n PoolName) WithoutVersion() (PoolName, bool) {
	var isVersioned bool
	n.Group, _, isVersioned = strings.Cut(n.Group, "/")
	return n, isVersioned
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

// IsByHand reports whether an answer out of this pool was made by hand, and no claim has it.
func IsByHand(form Form, pool PoolName, answer client.Object) bool {
	isClaim := func(owner metav1.OwnerReference) bool { return kinds.OfOwner(owner) == form.Kinds().Claim.GroupKind() }
	return !slices.Contains(answer.GetFinalizers(), form.Conventions(pool).AnswerFinalizer) &&
		!slices.ContainsFunc(answer.GetOwnerReferences(), isClaim)
}
