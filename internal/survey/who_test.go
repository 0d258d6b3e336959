// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// recordJSON is a record for an IPClaim web of pool team/big.
const recordJSON = `{"metadata":{"name":"r","namespace":"team"},"spec":{"cidr":%q,"addressSpace":"default","purpose":"Claim","state":"Active",
	"poolRef":{"kind":"IPPool","namespace":"team","name":"big"},
	"claimRef":{"apiGroup":"ipam.weir.dev","kind":"IPClaim","namespace":"team","name":"web","uid":"u1"}}}`

func TestWhoLooksUpWhatAFullPoolMayHaveHandedOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, allocation, want string }{
		{"without bounds", "", "/29 /30 /31 /32"},
		{"with bounds", `"minPrefixLength":30,"maxPrefixLength":31`, "/30 /31 /32"},
		{"with a shortest length", `"minPrefixLength":31`, "/31 /32"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			pool := `{"items":[{"metadata":{"name":"big","namespace":"team"},"spec":{"cidr":"10.0.0.0/29","allocation":{` + tc.allocation +
				`}},"status":{"claims":6000}}]}`
			var mu sync.Mutex
			var asked []string
			s := servedBy(t, func(r *http.Request) (string, bool) {
				mu.Lock()
				defer mu.Unlock()
				switch cidr, isLookup := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.cidr="); {
				case isLookup:
					asked = append(asked, netip.MustParsePrefix(cidr).String()[len(cidr)-3:])
					if strings.HasSuffix(cidr, "/31") {
						return `{"items":[` + fmt.Sprintf(recordJSON, cidr) + `]}`, true
					}
					return empty, true
				case strings.HasSuffix(r.URL.Path, "/ippools"):
					return pool, true
				case strings.HasSuffix(r.URL.Path, "/globalippools"):
					return empty, true
				}
				return "", false
			}, ipamv1.GroupVersion)
			found, err := s.Who(t.Context(), netip.MustParsePrefix("10.0.0.5/32"), FewNeighbours)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(asked)
			if diff := cmp.Diff(tc.want, strings.Join(asked, " ")); diff != "" {
				t.Error(diff)
			}
			if len(found.Holders) != 1 || found.Holders[0].Prefix.String() != "10.0.0.4/31" || len(found.Unheld) != 0 || found.MayHide {
				t.Errorf("got %+v", found)
			}
		})
	}
}

func TestWhoTellsGoneFromHiddenAndReplaced(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, claim string
		want        Presence
	}{
		{"there", `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPClaim","metadata":{"uid":"u1"},"status":{"conditions":[
			{"type":"Paused","reason":"x"},{"type":"Ready","reason":"Allocated"}]}}`, Present},
		{"another of the name", `{"apiVersion":"ipam.weir.dev/v1alpha1","kind":"IPClaim","metadata":{"uid":"u2"}}`, Replaced},
		{"forbidden", "", Hidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answers := map[string]string{
				weirPath + "/ippools": empty, weirPath + "/globalippools": empty,
				weirPath + "/ipallocations": `{"items":[` + fmt.Sprintf(recordJSON, "10.0.0.5/32") + `]}`,
			}
			if tc.claim != "" {
				answers[weirPath+"/namespaces/team/ipclaims/web"] = tc.claim
			}
			s := served(t, answers, ipamv1.GroupVersion)
			found, err := s.Who(t.Context(), netip.MustParsePrefix("10.0.0.5/32"), FewNeighbours)
			if err != nil || len(found.Holders) != 1 {
				t.Fatalf("got %+v, %v", found, err)
			}
			object := found.Holders[0].Object
			if object.Presence != tc.want || (object.State == "Allocated") != (tc.want == Present) {
				t.Errorf("got %+v", object)
			}
			if isGap := len(s.Gaps().List()) > 0; isGap != (tc.want == Hidden) {
				t.Errorf("gaps: %v", s.Gaps().List())
			}
		})
	}
}

func TestWhoMayMissWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := served(t, map[string]string{weirPath + "/namespaces/team/ipallocations": empty}, ipamv1.GroupVersion)
	found, err := s.Who(t.Context(), netip.MustParsePrefix("10.0.0.5/32"), FewNeighbours)
	if err != nil || !found.MayHide || len(found.Holders) != 0 {
		t.Errorf("got %+v, %v", found, err)
	}
}
