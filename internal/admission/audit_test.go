// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestRefusalsAreInTheAuditTrail: what is refused is told once, and neither a dry run nor what is to be tried again.
func TestRefusalsAreInTheAuditTrail(t *testing.T) {
	var lines []string
	ctrl.SetLogger(funcr.NewJSON(func(line string) {
		if strings.Contains(line, `"Refused"`) {
			lines = append(lines, line)
		}
	}, funcr.Options{}))
	d := dispenser{refusals: &audit.Refusals{}}
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	asked := ledger.Claim{Pool: ipamv1.PoolReference{Kind: "IPPool", Namespace: "ns", Name: "p"}, Bits: 32}
	refuse := func(dryRun bool, err error) {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Namespace: "ns", Kind: kindNamed("IPClaim"), DryRun: ptr.To(dryRun),
		}}
		_ = d.refuse(req, claim, asked, err)
	}
	refuse(true, ledger.ErrExhausted)
	refuse(false, ledger.ErrBusy)
	if len(lines) > 0 {
		t.Fatalf("told %q", lines)
	}
	refuse(false, ledger.ErrExhausted)
	refuse(false, fmt.Errorf("again: %w", ledger.ErrExhausted))
	if len(lines) != 1 {
		t.Fatalf("told %q, want one line", lines)
	}
	for _, part := range []string{
		`"pool":"IPPool/ns/p"`, `"claim":"IPClaim/ns/a"`, `"claimUID":"1"`, `"reason":"InsufficientStorage"`, `no free /32: pool exhausted"`,
	} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("%s lacks %s", lines[0], part)
		}
	}
}
