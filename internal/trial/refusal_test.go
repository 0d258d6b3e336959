// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRefusalsAreToldApart by the words of kube-apiserver 1.36. Those of webhooks, schemas, rights and namespaces are also seen by test/e2e/plugin.
func TestRefusalsAreToldApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer metav1.Status
		want   Refusal
	}{
		"a webhook": {
			metav1.Status{Code: 403, Message: `admission webhook "default.ipclaim.ipam.weir.dev" denied the request: spec.cidr: is taken`},
			Refusal{By: Webhook, Name: "default.ipclaim.ipam.weir.dev", Message: "spec.cidr: is taken"},
		},
		"a webhook, whose refusal is of fields": {
			metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: `admission webhook "w" denied the request: IPPool "p" is invalid`},
			Refusal{By: Webhook, Name: "w", Message: `IPPool "p" is invalid`},
		},
		"a webhook that is down": {
			metav1.Status{Code: 500, Message: `Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://x": connection refused`},
			Refusal{By: UnreachableWebhook, Name: "w", Message: `Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://x": connection refused`},
		},
		"a policy": {
			metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: `ippools.ipam.weir.dev "p" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no`},
			Refusal{By: Policy, Name: "a", Message: `ippools.ipam.weir.dev "p" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no`},
		},
		"a quota": {
			metav1.Status{Code: 403, Message: `ipclaims.ipam.weir.dev "c" is forbidden: exceeded quota: few, requested: count/ipclaims.ipam.weir.dev=1, used: 3, limited: 3`},
			Refusal{By: Quota, Name: "few", Message: `ipclaims.ipam.weir.dev "c" is forbidden: exceeded quota: few, requested: count/ipclaims.ipam.weir.dev=1, used: 3, limited: 3`},
		},
		"rights": {
			metav1.Status{Code: 403, Message: `ippools.ipam.weir.dev is forbidden: User "vera" cannot create resource "ippools" in API group "ipam.weir.dev"`},
			Refusal{By: Rights, Message: `ippools.ipam.weir.dev is forbidden: User "vera" cannot create resource "ippools" in API group "ipam.weir.dev"`},
		},
		"a namespace that there is not": {
			metav1.Status{Code: 404, Message: `namespaces "nope" not found`}, Refusal{By: Namespace, Name: "nope", Message: `namespaces "nope" not found`},
		},
		"a namespace that is being deleted": {
			metav1.Status{Code: 403, Message: `ipclaims.ipam.weir.dev "c" is forbidden: unable to create new content in namespace red because it is being terminated`},
			Refusal{By: Namespace, Name: "red", Message: `ipclaims.ipam.weir.dev "c" is forbidden: unable to create new content in namespace red because it is being terminated`},
		},
		"a schema": {
			metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: `IPPool.ipam.weir.dev "p" is invalid: spec: Invalid value`},
			Refusal{By: Schema, Message: `IPPool.ipam.weir.dev "p" is invalid: spec: Invalid value`},
		},
		"anything else": {metav1.Status{Code: 429, Message: "too many requests"}, Refusal{By: APIServer, Message: "too many requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refusalOf(test.answer)
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(Refusal{}, "Do")); diff != "" {
				t.Error(diff)
			}
			if got.Do == "" {
				t.Error("nothing to do")
			}
		})
	}
}
