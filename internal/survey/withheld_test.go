// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestPoolsShowWhatTheyWithhold: exclusions, what networks reserve, gateways and what is kept for claims.
func TestPoolsShowWhatTheyWithhold(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		weirPath + "/globalippools": `{"items":[
			{"metadata":{"name":"big"},"spec":{"cidr":"10.0.0.0/8","network":{"prefixLength":24}}},
			{"metadata":{"name":"root"},"spec":{"cidr":"192.0.2.0/24","network":{"prefixLength":28,"gateway":"192.0.2.1"},
			 "preAllocations":[{"claimName":"db","namespace":"team","address":"192.0.2.40"}]}}]}`,
		weirPath + "/ippools": `{"items":[
			{"metadata":{"name":"carved","namespace":"team"},"spec":{"cidr":"192.0.2.32/27","parentRef":{"kind":"GlobalIPPool","name":"root"},
			 "excludedAddresses":["192.0.2.33-192.0.2.34"]}},
			{"metadata":{"name":"wrong","namespace":"team"},"spec":{"cidr":"192.0.2.32/99"}}]}`,
		metal3Path + "/ippools": `{"items":[{"metadata":{"name":"racks","namespace":"metal"},"spec":{"gateway":"10.1.0.1",
			"pools":[{"start":"10.1.0.10","end":"10.1.0.99","gateway":"10.1.0.2"}],"preAllocations":{"b":"10.1.0.12","a":"10.1.0.11"}}}]}`,
	}
	pools, _, err := served(t, answers, ipamv1.GroupVersion, m3v1.GroupVersion).Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range pools {
		var words []string
		if set := p.Withheld.Excluded; set != nil {
			for _, r := range set.Ranges() {
				words = append(words, RangeText(r.From(), r.To()))
			}
		}
		words = append(words, "gateways", fmt.Sprint(p.Withheld.Gateways))
		for _, kept := range p.Withheld.Kept {
			words = append(words, kept.Prefix.String()+" for "+kept.For)
		}
		got[p.Ref.Name] = strings.Join(words, " ")
	}
	want := map[string]string{
		"big": "gateways []", // it has more networks than are looked at
		"root": "192.0.2.0-.1 192.0.2.15-.16 192.0.2.31-.32 192.0.2.47-.48 192.0.2.63-.64 192.0.2.79-.80 192.0.2.95-.96 " +
			"192.0.2.111-.112 192.0.2.127-.128 192.0.2.143-.144 192.0.2.159-.160 192.0.2.175-.176 192.0.2.191-.192 " +
			"192.0.2.207-.208 192.0.2.223-.224 192.0.2.239-.240 192.0.2.255 gateways [192.0.2.1] 192.0.2.40/32 for team/db",
		// It inherits the length of the network.
		"carved": "192.0.2.32-.34 192.0.2.47-.48 192.0.2.63 gateways [192.0.2.1]",
		"wrong":  "gateways []",
		"racks":  "gateways [10.1.0.1 10.1.0.2] 10.1.0.11/32 for metal/a 10.1.0.12/32 for metal/b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
