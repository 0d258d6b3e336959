// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
)

func (r *observer) claim(stored claimant.Claimant) *door.Claim {
	return &door.Claim{Object: stored, Asks: r.Form.Asks(stored), Stored: stored}
}

func (r *observer) answerIn(stored client.Object) *door.Answer {
	return &door.Answer{Object: stored, Says: r.Form.Says(stored), Stored: stored}
}

// getClaim reads a claim. The error is the API server's.
func (r *observer) getClaim(ctx context.Context, c client.Reader, key types.NamespacedName) (*door.Claim, error) {
	stored := r.Form.Kinds().NewClaim()
	if err := c.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("getting %s: %w", r.Form.Kinds().Claim.Kind, err)
	}
	return r.claim(stored), nil
}

func (r *observer) claimFinalizer(claim *door.Claim) string {
	return r.Form.Conventions(claim.Pool).ClaimFinalizer
}

func (r *observer) answerFinalizer(answer *door.Answer) string {
	return r.Form.Conventions(answer.Pool).AnswerFinalizer
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
