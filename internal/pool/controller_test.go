// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestAStatusThatTheCacheShowsIsLookedAtAgain: two reconciliations can come so close together that the second compares with the status
// before the first, and writes nothing because the sums are as they were then.
func TestAStatusThatTheCacheShowsIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	r := NewReconciler(Options{Kind: pools.IPPools})
	was := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}
	other := was.DeepCopy()
	other.Labels = map[string]string{"a": "b"}
	counted := was.DeepCopy()
	counted.Status.Capacity.Allocated = "24"
	for sentence, test := range map[string]struct {
		is   pools.Object
		want int
	}{
		"another status":   {counted, 1}, // once, though there are two events
		"the same status":  {other, 0},
		"a reminder of it": {was, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
				defer q.ShutDown()
				for range 2 {
					r.written().Update(t.Context(), event.UpdateEvent{ObjectOld: was, ObjectNew: test.is}, q)
				}
				time.Sleep(statusInterval - time.Millisecond)
				if q.Len() != 0 {
					t.Errorf("looked at before its time: no more than one write each %s", statusInterval)
				}
				time.Sleep(time.Second)
				if q.Len() != test.want {
					t.Errorf("%d requests, want %d", q.Len(), test.want)
				}
			})
		})
	}
}

// A spec that came past the webhooks may have any number of mistakes, and a condition and an event must be able to tell of it.
func TestWhatIsToldIsBounded(t *testing.T) {
	t.Parallel()
	mistakes := make(field.ErrorList, 0, 1000)
	for i := range 1000 {
		mistakes = append(mistakes, field.Invalid(field.NewPath("spec", "addresses").Index(i), strings.Repeat("x", 80), "is wrong"))
	}
	told := invalidMessage(mistakes)
	if !strings.Contains(told, "spec.addresses[4]") || strings.Contains(told, "spec.addresses[5]") || !strings.HasSuffix(told, "and 995 more") {
		t.Errorf("told %s", told)
	}
	if few := invalidMessage(mistakes[:5]); strings.Contains(few, "more") {
		t.Errorf("told %s", few)
	}
}
