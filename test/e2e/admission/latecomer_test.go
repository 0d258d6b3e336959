// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
)

const (
	// lateness is the time between Weir's answer and storage, for some objects.
	lateness = 5 * time.Second
	// requestTimeout is the API server's: longer than any webhook may take, half of grace.
	requestTimeout = 12 * time.Second
	// grace is how long a record waits for its object.
	grace = 2 * requestTimeout

	// refusal is what the second webhook says.
	refusal = "refused by somebody else"
	second  = "second.example.com"
)

// latecomer is a second validating webhook. The API server stores nothing before both have answered: so some objects are stored
// late, and others never, although Weir has recorded what they say.
type latecomer struct {
	// one of so many calls takes long, and one of so many is refused.
	slow, refuse int

	// off: everything is let through at once.
	off atomic.Bool

	delays, refusals, lateRefusals atomic.Int64
}

// install starts it, and has the API server call it until the spec ends.
func (l *latecomer) install(ctx context.Context) {
	GinkgoHelper()
	at, stop, err := site.ServeReviews(l.review)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: second},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    second,
			ClientConfig:            at,
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          ptr.To[int32](10),
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{ipamv1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"ippools", "globalippools", "ipclaims"},
				},
			}},
		}},
	}
	Expect(k.Create(ctx, configuration)).To(Succeed())
	DeferCleanup(k.Delete, configuration)
}

func (l *latecomer) review(ctx context.Context, request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) {
	if !ptr.Deref(request.DryRun, false) && !l.off.Load() {
		l.judge(ctx, response)
	}
}

func (l *latecomer) judge(ctx context.Context, response *admissionv1.AdmissionResponse) {
	slow, refuse := rand.IntN(l.slow) == 0, rand.IntN(l.refuse) == 0
	if slow {
		faults.Sleep(ctx, lateness)
		l.delays.Add(1)
	}
	if !refuse {
		return
	}
	l.refusals.Add(1)
	if slow {
		l.lateRefusals.Add(1)
	}
	response.Allowed = false
	response.Result = &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: refusal}
}
