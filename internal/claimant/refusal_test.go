// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestResultComesBackWhenTheErrorSaysSo: times are spread, up to twice as long.
func TestResultComesBackWhenTheErrorSaysSo(t *testing.T) {
	t.Parallel()
	r := Retries{Busy: time.Second, Taken: 10 * time.Second, Refused: 100 * time.Second, Ending: 1000 * time.Second}
	ending := apierrors.NewForbidden(ipamv1.GroupVersion.WithResource("ipallocations").GroupResource(), "a", errors.New("its namespace is being deleted"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"nothing is wrong":           {nil, 0},
		"busy":                       {fmt.Errorf("once more: %w", ledger.ErrBusy), time.Second},
		"taken":                      {ledger.ErrTaken, 10 * time.Second},
		"refused":                    {&Refusal{}, 100 * time.Second},
		"refused for a time":         {fmt.Errorf("no: %w", &Refusal{After: time.Minute}), time.Minute},
		"kept":                       {fmt.Errorf("not yet: %w", &KeptError{After: time.Minute}), time.Minute},
		"kept, and another is busy":  {errors.Join(&KeptError{After: time.Minute}, ledger.ErrBusy), time.Second},
		"exhausted":                  {ledger.ErrExhausted, 100 * time.Second},
		"its pool does not serve":    {fmt.Errorf("no: %w", ledger.ErrNotReady), 100 * time.Second},
		"not handed out by its pool": {&ledger.RefusedError{}, 100 * time.Second},
		"the cloud is at fault":      {fmt.Errorf("no: %w", &external.FaultError{After: time.Minute}), time.Minute},
		"its namespace ends":         {fmt.Errorf("recording: %w", ending), 1000 * time.Second},
		"it is gone":                 {apierrors.NewNotFound(ipamv1.GroupVersion.WithResource("ipclaims").GroupResource(), "c"), 1000 * time.Second},
		"refused and exhausted, too": {errors.Join(ledger.ErrExhausted, &Refusal{After: time.Minute}), time.Minute},
	} {
		result, err := r.Result(test.err)
		if err != nil || result.RequeueAfter < test.want || result.RequeueAfter > 2*test.want {
			t.Errorf("%s: after %s, %v", name, result.RequeueAfter, err)
		}
	}
}

// TestARefusalNamesTheFieldThatItIsAbout, and no field where it is about none.
func TestARefusalNamesTheFieldThatItIsAbout(t *testing.T) {
	t.Parallel()
	for want, refusal := range map[string]*Refusal{
		"spec.cidr: is not allowed": {Field: "spec.cidr", Message: "is not allowed"},
		"the pool is paused":        {Message: "the pool is paused"},
	} {
		if got := refusal.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAnyOtherErrorIsReturned: controller-runtime then tries again, after ever longer times.
func TestAnyOtherErrorIsReturned(t *testing.T) {
	t.Parallel()
	result, err := Retries{Busy: time.Second, Ending: time.Second}.Result(errFailed)
	if !errors.Is(err, errFailed) || result.RequeueAfter != 0 {
		t.Errorf("after %s, %v", result.RequeueAfter, err)
	}
}
