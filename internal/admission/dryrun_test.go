// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestADryRunWarnsOfWhatOthersStandInTheWayOf, and is refused for what is wrong by itself, or may be
// otherwise in a moment.
func TestADryRunWarnsOfWhatOthersStandInTheWayOf(t *testing.T) {
	t.Parallel()
	asked := ledger.Claim{Pool: ipamv1.PoolReference{Kind: "IPPool", Namespace: "ns", Name: "p"}, Bits: 28}
	for sentence, test := range map[string]struct {
		err  error
		want string
	}{
		"the pool is not there":          {&claimant.Refusal{Cause: claimant.Missing, Message: "there is no IPPool"}, "there is no IPPool; a create is refused until there is one"},
		"no pool matches":                {&claimant.Refusal{Cause: claimant.NoMatch, Message: "no IPPool matches"}, "no IPPool matches; a create is refused until there is one"},
		"the pool is full":               {fmt.Errorf("choosing: %w", ledger.ErrExhausted), "pool exhausted" + asLong},
		"another holds it":               {ledger.ErrTaken, asLong},
		"it is not the pool's":           {&ledger.RefusedError{Reason: "is not in the pool"}, "is not in the pool" + asLong},
		"it may not ask that":            {err: &claimant.Refusal{Cause: claimant.Forbidden, Message: "not for you"}},
		"it is wrong by itself":          {err: &claimant.Refusal{Cause: claimant.Invalid, Message: "a pool is of its parent's address space"}},
		"the pool does not serve yet":    {err: ledger.ErrNotReady},
		"another is just getting it":     {err: ledger.ErrBusy},
		"the API server does not answer": {err: errors.New("no answer")},
		"nothing is wrong":               {},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, dryRun := range []bool{true, false} {
				for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
					req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation, DryRun: ptr.To(dryRun)}}
					got := byOthers(req, asked, test.err)
					warns := dryRun && operation == admissionv1.Create && test.want != ""
					if (got != "") != warns || warns && !strings.HasSuffix(got, test.want) {
						t.Errorf("%s, dry run %t: %q", operation, dryRun, got)
					}
				}
			}
		})
	}
}
