// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

const (
	inClusterPath = "/apis/ipam.cluster.x-k8s.io/v1alpha2"
	claimsPath    = "/apis/ipam.cluster.x-k8s.io/v1beta2/ipaddressclaims"
	// weirsSchema is as Weir installs the kinds, and theirSchema as the in-cluster provider does.
	weirsSchema = `{"components":{"schemas":{
		"io.x-k8s.cluster.ipam.v1alpha2.GlobalInClusterIPPool":{"properties":{"status":{"properties":{"conditions":{"type":"array"},"ipAddresses":{}}}}},
		"io.x-k8s.cluster.ipam.v1alpha2.InClusterIPPool":{"properties":{"status":{"properties":{"conditions":{"type":"array"},"ipAddresses":{}}}}}}}}`
	theirSchema = `{"components":{"schemas":{
		"io.x-k8s.cluster.ipam.v1alpha2.GlobalInClusterIPPool":{"properties":{"status":{"properties":{"ipAddresses":{}}}}},
		"io.x-k8s.cluster.ipam.v1alpha2.InClusterIPPool":{"properties":{"status":{"properties":{"ipAddresses":{}}}}}}}}`
)

// inClusterSite is an API server with pools and claims of the in-cluster provider's, and no others.
func inClusterSite() map[string]string {
	claim := func(kind, name string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":"team","name":%q},"spec":{"poolRef":{"apiGroup":"ipam.cluster.x-k8s.io","kind":%q,"name":"p"}}}`, name, kind)
	}
	return map[string]string{
		weirPath + "/ippools": empty, weirPath + "/globalippools": empty, weirPath + "/ipclaims": empty,
		inClusterPath + "/inclusterippools": `{"items":[
			{"metadata":{"namespace":"team","name":"p"},"spec":{"addresses":["192.0.2.10-192.0.2.19","192.0.2.0/29"],"prefix":24,"gateway":"192.0.2.1",
			 "excludedAddresses":["192.0.2.4","203.0.113.9"],"addressReuseGracePeriodSeconds":60},
			 "status":{"ipAddresses":{"total":15,"used":3,"free":12,"outOfRange":0},
			 "conditions":[{"type":"Ready","status":"True","reason":"Available","message":"shares 192.0.2.10"}]}},
			{"metadata":{"namespace":"team","name":"new"},"spec":{"addresses":["2001:db8::/64"],"prefix":64,"allocateReservedIPAddresses":true}}]}`,
		inClusterPath + "/globalinclusterippools": `{"items":[
			{"metadata":{"name":"p","annotations":{"ipam.weir.dev/address-space":"rack"}},"spec":{"addresses":["198.51.100.0/24"],"prefix":24},
			 "status":{"conditions":[{"type":"Ready","status":"False","reason":"Overlap"}]}}]}`,
		claimsPath: `{"items":[` + strings.Join([]string{
			claim(icv1.InClusterIPPoolKind, "a"), claim(icv1.GlobalInClusterIPPoolKind, "b"), claim("NutanixIPPool", "c"),
		}, ",") + `]}`,
	}
}

// TestInClusterPoolsAreShownWhereWeirServesThem, and no requests are made for them where they are not installed.
func TestInClusterPoolsAreShownWhereWeirServesThem(t *testing.T) {
	t.Parallel()
	v1beta2 := schema.GroupVersion{Group: icv1.GroupVersion.Group, Version: "v1beta2"}
	both := []schema.GroupVersion{ipamv1.GroupVersion, icv1.GroupVersion, v1beta2}
	const all, claims = "GlobalInClusterIPPool p, InClusterIPPool team/new, InClusterIPPool team/p", "a of InClusterIPPool team/p, b of GlobalInClusterIPPool p"
	for name, tc := range map[string]struct {
		schema        string
		groups        []schema.GroupVersion
		pools, claims string
		asked         int
	}{
		"by Weir":                             {weirsSchema, both, all, claims, 1},
		"by the in-cluster provider":          {theirSchema, both, "", "", 1},
		"by who does not show schemas":        {"", both, all, claims, 1},
		"by an older version of the provider": {`{}`, both, "", "", 1},
		"by nobody":                           {weirsSchema, []schema.GroupVersion{ipamv1.GroupVersion, v1beta2}, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := inClusterSite()
			if tc.schema != "" {
				answers[schemaPath+icv1.GroupVersion.String()] = tc.schema
			}
			var mu sync.Mutex
			asked := 0
			s := servedBy(t, func(r *http.Request) (string, bool) {
				mu.Lock()
				defer mu.Unlock()
				if strings.HasPrefix(r.URL.Path, schemaPath) || strings.HasPrefix(r.URL.Path, inClusterPath) && len(tc.groups) < len(both) {
					asked++
				}
				answer, ok := answers[r.URL.Path]
				return answer, ok
			}, tc.groups...)
			pools, claims := namesOf(t, s)
			if diff := cmp.Diff([]string{tc.pools, tc.claims}, []string{pools, claims}); diff != "" {
				t.Error(diff)
			}
			if gaps := s.Gaps().List(); asked != tc.asked || len(gaps) > 0 {
				t.Errorf("%d requests for the schemas and what there is not; gaps %v", asked, gaps)
			}
		})
	}
}

// namesOf are the names of all pools, and of all claims with their pools.
func namesOf(t *testing.T, s *Survey) (pools, claims string) {
	t.Helper()
	all, isAllowed, err := s.Pools(t.Context())
	if err != nil || !isAllowed {
		t.Fatal(isAllowed, err)
	}
	names, of := make([]string, 0, len(all)), []string{}
	for _, p := range all {
		names = append(names, Name(p.Ref))
	}
	if _, err = s.Claims(t.Context(), func(c *ListedClaim) { of = append(of, c.Name+" of "+Name(c.Pool)) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	slices.Sort(of)
	return strings.Join(names, ", "), strings.Join(of, ", ")
}

func TestInClusterPoolsAreReadAsWeirReadsThem(t *testing.T) {
	t.Parallel()
	answers := inClusterSite()
	answers[schemaPath+icv1.GroupVersion.String()] = weirsSchema
	pools, _, err := served(t, answers, ipamv1.GroupVersion, icv1.GroupVersion).Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range pools {
		percent := "?"
		if p.Percent != nil {
			percent = fmt.Sprint(*p.Percent)
		}
		excluded := ""
		if set := p.Withheld.Excluded; set != nil {
			excluded = fmt.Sprint(set.Ranges())
		}
		got[Name(p.Ref)] = fmt.Sprint(p.Space, "; ", p.Block, "; ", p.Lengths, p.Cooldown, "; ", p.Capacity.Available, " of ", p.Capacity.Total, " ", percent,
			"; ", p.State, " ", p.Message, "; ", excluded, p.Withheld.Gateways)
	}
	want := map[string]string{
		"InClusterIPPool team/p": "in-cluster/team/p; 192.0.2.10-.19 +1; {32 32} 1m0s; 12 of 15 20; Available shares 192.0.2.10; " +
			"[192.0.2.0-192.0.2.0 192.0.2.4-192.0.2.4][192.0.2.1]",
		"InClusterIPPool team/new": "in-cluster/team/new; 2001:db8::/64; {128 128} 0s;  of  ?; Unreported no manager has looked at it; []",
		"GlobalInClusterIPPool p":  "rack; 198.51.100.0/24; {32 32} 0s;  of  ?; Overlap ; [198.51.100.0-198.51.100.0 198.51.100.255-198.51.100.255][]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAnInClusterPoolIsShownUnderItsParent, which it has the address space of, if there can be such a parent.
func TestAnInClusterPoolIsShownUnderItsParent(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]string{"GlobalIPPool/g": "g in ", "IPPool/g": " in in-cluster/team/p"} {
		p := &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "p", Annotations: map[string]string{icv1.ParentAnnotation: annotation},
		}}
		shown := inClusterPool(p, InClusterPool, &p.Spec, &p.Status)
		if got := shown.Parent.Name + " in " + shown.Space; got != want {
			t.Errorf("%s: got %q, want %q", annotation, got, want)
		}
	}
}

// TestInClusterPoolsThatMayNotBeListedAreGaps: nothing else is lost.
func TestInClusterPoolsThatMayNotBeListedAreGaps(t *testing.T) {
	t.Parallel()
	answers := inClusterSite()
	maps.DeleteFunc(answers, func(path, _ string) bool { return strings.HasPrefix(path, inClusterPath) })
	answers[schemaPath+icv1.GroupVersion.String()] = weirsSchema
	answers[inClusterPath+"/globalinclusterippools/p"] = `{"metadata":{"name":"p"},"spec":{"addresses":["198.51.100.0/24"],"prefix":24}}`
	v1beta2 := schema.GroupVersion{Group: icv1.GroupVersion.Group, Version: "v1beta2"}
	s := served(t, answers, ipamv1.GroupVersion, icv1.GroupVersion, v1beta2)
	usable, err := s.UsablePools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(usable))
	for _, u := range usable {
		got = append(got, fmt.Sprint(Name(u.Ref), " ", u.State, " ", u.Waiting))
	}
	slices.Sort(got)
	want := []string{"GlobalInClusterIPPool p Unreported 1", "InClusterIPPool team/p NotShown 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, resource := range []resource{inclusterippools, globalinclusterippools} {
		if !s.Gaps().Misses(resource.GroupResource()) {
			t.Errorf("no gap of %s", resource.Resource)
		}
	}
}
