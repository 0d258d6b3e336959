// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func owned(kind, uid string) string {
	return fmt.Sprintf(`"ownerReferences":[{"apiVersion":"ipam.weir.dev/v1alpha1","kind":%q,"name":"n","uid":%q}]`, kind, uid)
}

// TestClaimsAreFoundByOwnersBetween, each kind of which is listed once.
func TestClaimsAreFoundByOwnersBetween(t *testing.T) {
	t.Parallel()
	claim := func(name, owners string) string {
		return fmt.Sprintf(`{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPClaim","metadata":{"namespace":"team","name":%q,%s},
			"spec":{"poolRef":{"kind":"IPPool","name":"p"}}}`, name, owners)
	}
	// IPAllocations stand for infrastructure, an IPPool for a Machine.
	s := served(t, map[string]string{
		weirPath + "/namespaces/team/ipallocations/m": `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPAllocation",
			"metadata":{"namespace":"team","name":"m","uid":"m"}}`,
		weirPath + "/namespaces/team/ippools": `{"items":[{"metadata":{"uid":"infra",` + owned("IPAllocation", "m") +
			`}},{"metadata":{"uid":"other",` + owned("IPAllocation", "else") + `}}]}`,
		weirPath + "/namespaces/team/ipclaims": `{"kind":"IPClaimList","items":[` + strings.Join([]string{
			claim("direct", owned("IPAllocation", "m")), claim("through", owned("IPPool", "infra")),
			claim("another", owned("IPPool", "other")), claim("none", `"labels":{}`),
		}, ",") + `]}`,
		weirPath + "/namespaces/team/ippools/p": `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPPool","metadata":{"namespace":"team","name":"p"}}`,
	}, ipamv1.GroupVersion)
	answer, err := s.Told(t.Context(), "team", "ipallocation", "m")
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(answer.Told))
	for _, told := range answer.Told {
		names = append(names, told.Name)
	}
	if got := strings.Join(names, " "); got != "direct through" {
		t.Errorf("found %q", got)
	}
	if answer.Owner == nil || answer.Owner.Name != "m" || answer.IsHidden || len(s.Gaps().List()) > 0 {
		t.Errorf("owner %v, gaps %v", answer.Owner, s.Gaps().List())
	}
}
