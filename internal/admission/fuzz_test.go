// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// FuzzAdmissionDecode gives every webhook an object and a stored object of any
// bytes. None panics; that of Cluster API's claims always admits; what a
// mutating one patches can be patched, and it has nothing to add the second
// time; a refusal has a code and a message.
func FuzzAdmissionDecode(f *testing.F) {
	pool := `{"metadata":{"name":"p"},"spec":{"cidr":"192.0.2.0/24","network":{"prefixLength":24,"gateway":"192.0.2.1"}}}`
	for _, object := range []string{
		pool, ``, `null`, `[]`, `{"spec":null}`, `{"spec":{}}`, `{"spec":{"addresses":[]}}`,
		`{"spec":{"addresses":["192.0.2.1-192.0.2.9","::1","x"],"excludedAddresses":["::/0"]}}`,
		`{"spec":{"cidr":"::ffff:192.0.2.0/120","network":{"prefixLength":-1,"gateway":"fe80::1%eth0","dnsServers":[""]}}}`,
		`{"spec":{"network":{"prefixLength":2147483647},"addresses":["255.255.255.255","192.0.2.1"]}}`,
		`{"spec":{"poolRef":{"apiGroup":"ipam.weir.dev","kind":"IPPool"}}}`,
		`{"metadata":{},"spec":{"poolRef":{"apiGroup":"ipam.weir.dev","kind":"IPPool"}}}`,
		`{"metadata":{"finalizers":["a"]},"spec":{"poolRef":{"apiGroup":"ipam.weir.dev","kind":"GlobalIPPool"}}}`,
		`{"metadata":{"finalizers":null},"spec":{"poolRef":{"apiGroup":"ipam.weir.dev","kind":"IPPool"}}}`,
	} {
		f.Add([]byte(object), []byte(pool))
		f.Add([]byte(pool), []byte(object))
	}
	all := webhooks(scheme(f), optionsWith(f, manyClaims(3)), everything)
	f.Fuzz(func(t *testing.T, object, old []byte) {
		for path, webhook := range all {
			handler := webhook.(*admission.Webhook).Handler
			for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete} {
				req := request(operation, runtime.RawExtension{Raw: object}, runtime.RawExtension{Raw: old}, "jo")
				response := handler.Handle(t.Context(), req)
				if strings.HasPrefix(path, "/mutate") && response.Allowed {
					checkMutation(t, handler, req)
				}
				if !response.Allowed && path == defaultAddressClaimPath {
					t.Errorf("a claim of Cluster API is refused: %+v", response.Result)
				}
				if !response.Allowed && (response.Result.Code < 400 || response.Result.Message == "") {
					t.Errorf("%s refuses without saying why: %+v", path, response.Result)
				}
			}
		}
	})
}

func checkMutation(t *testing.T, handler admission.Handler, req admission.Request) {
	t.Helper()
	raw, ok := sent(req.Object.Raw)
	if !ok {
		return
	}
	req.Object.Raw = raw
	req.Object.Raw = patched(t, raw, handler.Handle(t.Context(), req))
	if again := handler.Handle(t.Context(), req); len(again.Patches) > 0 {
		t.Errorf("patched again: %v", again.Patches)
	}
}

// sent returns the object as the API server would send it: written anew, so
// that no key comes twice. It never sends one without metadata.
func sent(raw []byte) ([]byte, bool) {
	var object map[string]any
	if json.Unmarshal(raw, &object) != nil {
		return nil, false
	}
	if _, ok := object["metadata"].(map[string]any); !ok {
		return nil, false
	}
	again, err := json.Marshal(object)
	return again, err == nil
}
