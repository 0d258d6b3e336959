// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// managing is the rights of a user karmada, who may manage records of namespace team, and of one jo, who
// may get everything.
type managing struct{ allowed }

func (m managing) May(ctx context.Context, user authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	isRecord := what.Group == "ipam.weir.dev" && what.Resource == "ipallocations" && what.Namespace == "team"
	if user.Username == "karmada" && what.Verb == "manage" && isRecord {
		return true, nil
	}
	return m.allowed.May(ctx, user, what)
}

// TestDeletionOfACopyInUse: who may manage records may delete it, as whatever propagates it does. It may
// delete no other pool in use.
func TestDeletionOfACopyInUse(t *testing.T) {
	t.Parallel()
	const manifest = `{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: pool, namespace: team}, spec: {cidr: 192.0.2.0/24, %s}}`
	const copied = "delegateTo: edge-a, parentRef: {kind: GlobalIPPool, name: of-the-hub}"
	refused := verdict{code: http.StatusForbidden, parts: []string{"2 prefixes are allocated from it"}}
	for name, test := range map[string]struct {
		cluster, spec, user string
		want                verdict
	}{
		"by who may manage records": {
			cluster: "edge-a", spec: copied, user: "karmada",
			want: verdict{warn: []string{"2 prefixes are allocated from it: the pool goes when that is released"}},
		},
		"by who may not":               {cluster: "edge-a", spec: copied, user: "jo", want: refused},
		"one for another cluster":      {cluster: "edge-b", spec: copied, user: "karmada", want: refused},
		"at the hub":                   {spec: copied, user: "karmada", want: refused},
		"a pool that is not delegated": {cluster: "edge-a", spec: "mode: Serving", user: "karmada", want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := optionsWith(t, manyClaims(2))
			options.Registry.Cluster, options.Registry.Federation = test.cluster, true
			webhook, ok := webhooks(scheme(t), options, managing{everything})[validateIPPoolPath].(*admission.Webhook)
			if !ok {
				t.Fatal("no webhook")
			}
			old := runtime.RawExtension{Raw: rawYAML(t, strings.Replace(manifest, "%s", test.spec, 1))}
			test.want.check(t, webhook.Handle(t.Context(), request(admissionv1.Delete, runtime.RawExtension{}, old, test.user)))
		})
	}
}
