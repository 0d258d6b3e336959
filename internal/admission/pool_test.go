// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func scheme(tb testing.TB) *runtime.Scheme {
	tb.Helper()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// handlerOf returns the validating webhook of a kind of pool, over what is
// held, for a user who may get everything.
func handlerOf(tb testing.TB, kind string, h Holdings) admission.Handler {
	tb.Helper()
	return handlerFor(tb, kind, h, everything)
}

func handlerFor(tb testing.TB, kind string, h Holdings, rights Readers) admission.Handler {
	tb.Helper()
	path := validateIPPoolPath
	if kind == ipamv1.GlobalIPPoolKind {
		path = validateGlobalIPPoolPath
	}
	webhook, ok := webhooks(scheme(tb), optionsWith(tb, h), rights)[path].(*admission.Webhook)
	if !ok {
		tb.Fatalf("no webhook at %s", path)
	}
	return webhook.Handler
}

// verdict is an answer in short: the parts of the message are checked one by
// one.
type verdict struct {
	code  int32
	parts []string
	warn  []string
	// warned are parts of one of the warnings, where warn is nil.
	warned []string
}

func (v verdict) check(t *testing.T, got admission.Response) {
	t.Helper()
	if v.code == 0 {
		v.code = http.StatusOK
	}
	if got.Result.Code != v.code || got.Allowed != (v.code == http.StatusOK) {
		t.Errorf("code %d, allowed %t; want %d: %s", got.Result.Code, got.Allowed, v.code, got.Result.Message)
	}
	for _, part := range v.parts {
		if !strings.Contains(got.Result.Message, part) {
			t.Errorf("message %q lacks %q", got.Result.Message, part)
		}
	}
	if len(v.warned) > 0 {
		isWarned := func(text string) bool { return strings.Contains(text, v.warned[0]) && strings.HasSuffix(text, asLong) }
		if !slices.ContainsFunc(got.Warnings, isWarned) {
			t.Errorf("warnings %q, want %q", got.Warnings, v.warned)
		}
		return
	}
	if diff := cmp.Diff(v.warn, got.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// byOthersPattern matches the parts of messages that say what other stored objects have.
var byOthersPattern = regexp.MustCompile(`overlaps other pools|is in use: |shares 198\.51\.100|203\.0\.113\.5 for IPAddressClaim team/left|preAllocations\[0\]\.address: $`)

// rehearsed is the answer to a dry run: a warning where others stand in the way, and the same otherwise.
func (v verdict) rehearsed() verdict {
	isByOthers := slices.ContainsFunc(v.parts, byOthersPattern.MatchString)
	if !isByOthers {
		return v
	}
	return verdict{warned: v.parts[len(v.parts)-1:]}
}

func TestPoolCreation(t *testing.T) {
	t.Parallel()
	other := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "other", Name: "rack"}
	records := held{
		root(other, "10.0.0.1/32"), root(other, "10.0.0.2/31"), root(other, "10.0.0.4/31"), root(other, "10.0.0.6/32"), root(other, "192.0.2.0/25"),
		root(global, "198.51.100.0/24"), claimed(other, "192.0.2.9/32", "claim"), claimed(team, "203.0.113.5/32", "left"),
	}
	tests := map[string]struct {
		pool ipamv1.PoolReference
		spec string
		want verdict
	}{
		"a pool that overlaps nothing": {
			pool: team, spec: `{cidr: 203.0.113.0/24}`,
		},
		"an overlap with a pool of another namespace": {
			pool: team, spec: `{cidr: 192.0.2.64/26}`,
			want: verdict{code: 422, parts: []string{
				`IPPool.ipam.weir.dev "pool" is invalid: `, `spec.cidr: Forbidden: overlaps other pools of address space default: 192.0.2.64/26 shares 192.0.2.64/26 with IPPool other/rack`,
			}},
		},
		"an overlap of addresses with two pools": {
			pool: team, spec: `{addresses: [192.0.2.127-192.0.2.128, 198.51.100.1]}`,
			want: verdict{code: 422, parts: []string{
				`spec.addresses: Forbidden: `, `192.0.2.127-192.0.2.128 shares 192.0.2.127 with IPPool other/rack, 198.51.100.1 shares 198.51.100.1 with GlobalIPPool pool`,
			}},
		},
		"an overlap of ranges, each one named once": {
			pool: team, spec: `{addresses: [10.0.0.5-10.0.0.20]}`,
			want: verdict{code: 422, parts: []string{`overlaps other pools of address space default: 10.0.0.5-10.0.0.20 shares 10.0.0.5-10.0.0.6 with IPPool other/rack`}},
		},
		"a kept address that nobody holds": {
			pool: team, spec: `{cidr: 203.0.113.0/24, preAllocations: [{claimName: a, address: 203.0.113.9}]}`,
		},
		"a kept address that another claim holds, of an earlier pool": {
			pool: team, spec: `{cidr: 203.0.113.0/24, preAllocations: [{claimName: a, address: 203.0.113.6}, {claimName: b, address: 203.0.113.5}]}`,
			want: verdict{code: 422, parts: []string{
				`IPPool.ipam.weir.dev "pool" is invalid: `, `spec.preAllocations[1].address: Invalid value: "203.0.113.5": is in use: 203.0.113.5 for IPAddressClaim team/left`,
			}},
		},
		"a kept address that the claim itself holds": {
			pool: team, spec: `{cidr: 203.0.113.0/24, preAllocations: [{claimName: left, address: 203.0.113.5}]}`,
		},
		"a kept address that a claim of its name and another kind holds": {
			pool: team, spec: `{cidr: 203.0.113.0/24, preAllocations: [{claimName: left, kind: IPClaim, address: 203.0.113.5}]}`,
			want: verdict{code: 422, parts: []string{`203.0.113.5 for IPAddressClaim team/left`}},
		},
		"a kept address of another namespace's pool": {
			pool: team, spec: `{cidr: 203.0.113.0/24, preAllocations: [{claimName: left, namespace: other, address: 203.0.113.5}]}`,
			want: verdict{code: 422, parts: []string{`spec.preAllocations[0].namespace: Invalid value: "other": an IPPool has claims of its own namespace only, team`}},
		},
		"a kept block with what another claim holds in it, in a cluster-scoped pool": {
			pool: global, spec: `{cidr: 203.0.113.0/24, allocation: {defaultPrefixLength: 28}, preAllocations: [{claimName: a, namespace: team, address: 203.0.113.0}]}`,
			want: verdict{code: 422, parts: []string{`spec.preAllocations[0].address: Invalid value: "203.0.113.0": is in use: 203.0.113.5 for IPAddressClaim team/left`}},
		},
		"the same addresses in another address space": {
			pool: team, spec: `{cidr: 192.0.2.0/24, addressSpace: lab}`,
		},
		"a cluster-scoped pool that was there before under its name": {
			pool: global, spec: `{cidr: 198.51.100.0/24}`,
		},
		"an invalid spec": {
			pool: team, spec: `{cidr: 192.0.2.1/24, delegateTo: edge}`,
			want: verdict{code: 422, parts: []string{`spec.delegateTo: Forbidden: delegated pools need the feature gate Federation`, `spec.cidr: Invalid value: "192.0.2.1/24"`}},
		},
		"ranges with a gateway and no network length": {
			pool: team, spec: `{addresses: [203.0.113.0/28, 203.0.113.64-203.0.113.99], network: {gateway: 203.0.113.1}}`,
			want: verdict{code: 422, parts: []string{
				`spec.network.prefixLength: Required value: ranges and single addresses come with a /32 otherwise, and machines do not reach gateway 203.0.113.1`,
			}},
		},
		"a range of a network that the gateway is not in": {
			pool: team, spec: `{addresses: [203.0.113.64-203.0.113.99, 10.9.0.1-10.9.0.9], network: {gateway: 203.0.113.1, prefixLength: 24}}`,
			want: verdict{code: 422, parts: []string{
				`spec.addresses[1]: Invalid value: "10.9.0.1-10.9.0.9": 10.9.0.1-10.9.0.9 do not reach gateway 203.0.113.1 with prefix length 24`,
			}},
		},
		"ranges with a gateway and the network's length": {
			pool: team, spec: `{addresses: [203.0.113.64-203.0.113.99], network: {gateway: 203.0.113.1, prefixLength: 24}}`,
		},
		"ranges with a gateway and host length on purpose": {
			pool: team, spec: `{addresses: [203.0.113.64-203.0.113.99], network: {gateway: 203.0.113.1, prefixLength: 32}}`,
		},
		"blocks with a gateway": {
			pool: team, spec: `{addresses: [203.0.113.0/28], network: {gateway: 203.0.113.1}}`,
		},
		"a range without gateway and network length": {
			pool: team, spec: `{addresses: ["2001:db8::1-2001:db8::9"]}`,
			want: verdict{warn: []string{
				`spec.network.prefixLength: not set: ranges and single addresses come with a /128; set the length of their network, or 128 if that is what is wanted`,
			}},
		},
		"ranges in subnets, which have a length": {
			pool: team, spec: `{addresses: [203.0.113.64-203.0.113.99], subnets: [{cidr: 203.0.113.0/24, network: {gateway: 203.0.113.1}}]}`,
		},
		"a subnet of one address with a gateway": {
			pool: team, spec: `{cidr: 203.0.113.0/24, subnets: [{cidr: 203.0.113.7/32, network: {gateway: 203.0.113.1}}]}`,
			want: verdict{code: 422, parts: []string{`spec.subnets[0].network.prefixLength: Required value`}},
		},
		"exclusions outside the pool": {
			pool: team, spec: `{cidr: 203.0.113.0/24, excludedAddresses: [203.0.113.9, 203.0.114.1, 10.0.0.0/8]}`,
			want: verdict{warn: []string{`spec.excludedAddresses: 2 entries lie outside the pool: 203.0.114.1, 10.0.0.0/8`}},
		},
		"exclusions of all of the pool": {
			pool: team, spec: `{cidr: 203.0.113.0/24, excludedAddresses: [203.0.113.1-203.0.113.254]}`,
			want: verdict{warn: []string{`spec: the pool hands out nothing: each of its addresses is excluded, reserved or the gateway`}},
		},
		"floating IPs, while the gate for them is closed": {
			pool: team, spec: `{openStack: {identityRef: {name: cloud, cloudName: lab}, floatingNetwork: {id: 0b7c}}}`,
			want: verdict{code: 422, parts: []string{`spec.openStack: Forbidden: floating IPs need the feature gate OpenStack`}},
		},
		"an invalid spec of a cluster-scoped pool": {
			pool: global, spec: `{cidr: 203.0.113.0/24, clusterName: prod}`,
			want: verdict{code: 422, parts: []string{`GlobalIPPool.ipam.weir.dev "pool" is invalid`, `spec.clusterName: Forbidden`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Create, object(t, test.pool, test.spec), runtime.RawExtension{}, "jo")
			test.want.check(t, handlerOf(t, test.pool.Kind, records).Handle(t.Context(), req))
			dryRun := true
			req.DryRun = &dryRun
			test.want.rehearsed().check(t, handlerOf(t, test.pool.Kind, records).Handle(t.Context(), req))
		})
	}
}

func TestPoolUpdate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		held     held
		old, new string
		want     verdict
	}{
		"a pool with an invalid spec that closes": {
			old: `{cidr: 192.0.2.1/24}`, new: `{cidr: 192.0.2.1/24, mode: Closing}`,
		},
		"a pool with an invalid spec that closes and changes": {
			old: `{cidr: 192.0.2.1/24}`, new: `{cidr: 192.0.2.1/24, mode: Closing, excludedAddresses: [192.0.2.9]}`,
			want: verdict{code: 422, parts: []string{`spec.cidr: Invalid value: "192.0.2.1/24"`}},
		},
		"a pool with an invalid spec that drains": {
			old: `{cidr: 192.0.2.1/24}`, new: `{cidr: 192.0.2.1/24, mode: Draining}`,
			want: verdict{code: 422, parts: []string{`spec.cidr: Invalid value: "192.0.2.1/24"`}},
		},
		"a shrink by what is free": {
			held: manyClaims(3),
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/30], network: {prefixLength: 24}}`,
		},
		"a shrink that makes an address in use the broadcast address": {
			held: manyClaims(3),
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/30]}`,
			want: verdict{warn: []string{`spec.network: 3 IPAddresses keep the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now`, `1 prefix is in use and kept back from now on; the claims keep them until they are deleted: 192.0.2.3 for IPAddressClaim team/claim-2`}},
		},
		"a shrink by one address in use": {
			held: manyClaims(4),
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/30]}`,
			want: verdict{code: 422, parts: []string{
				`spec.addresses: Forbidden: 1 prefix is in use and would fall out of the pool: 192.0.2.4 for IPAddressClaim team/claim-3`,
			}},
		},
		"a shrink by an address that only cools down": {
			held: held{cooling(claimed(team, "192.0.2.4/32", "claim"))},
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/30]}`,
		},
		"a shrink by an address that is retained": {
			held: held{retained(claimed(team, "192.0.2.4/32", "claim"))},
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/30]}`,
			want: verdict{code: 422, parts: []string{`1 prefix is in use and would fall out of the pool: 192.0.2.4 for IPAddressClaim team/claim`}},
		},
		"a shrink by many addresses in use names five": {
			held: manyClaims(9),
			old:  `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.0/31]}`,
			want: verdict{code: 422, parts: []string{
				`8 prefixes are in use and would fall out of the pool: 192.0.2.2 for IPAddressClaim team/claim-1, 192.0.2.3`,
				`192.0.2.6 for IPAddressClaim team/claim-5, ...`,
			}},
		},
		"a shrink of a pool that something fell out of before": {
			held: manyClaims(4),
			old:  `{addresses: [192.0.2.0/30, 192.0.2.64]}`, new: `{addresses: [192.0.2.0/30]}`,
		},
		"a cidr that becomes addresses around it": {
			held: manyClaims(3),
			old:  `{cidr: 192.0.2.0/24}`, new: `{addresses: [192.0.2.0/24, 198.51.100.0/24]}`,
		},
		"a cidr that becomes addresses which do not contain it": {
			old: `{cidr: 192.0.2.0/24}`, new: `{addresses: [192.0.2.0/25, 198.51.100.0/24]}`,
			want: verdict{code: 422, parts: []string{
				`spec.addresses: Forbidden: must contain all of 192.0.2.0/24, the cidr that they replace; what is not in use may be taken out in another update`,
			}},
		},
		"a cidr that becomes addresses over a neighbour": {
			held: held{root(global, "198.51.100.0/25")},
			old:  `{cidr: 192.0.2.0/24}`, new: `{addresses: [192.0.2.0/24, 198.51.100.0/24]}`,
			want: verdict{code: 422, parts: []string{`spec.addresses: Forbidden: overlaps other pools`}},
		},
		"addresses that become a cidr with all that is in use": {
			held: manyClaims(3),
			old:  `{addresses: [192.0.2.0/24, 198.51.100.0/24]}`, new: `{cidr: 192.0.2.0/24}`,
		},
		"addresses that become a cidr without what is in use": {
			held: manyClaims(3),
			old:  `{addresses: [192.0.2.0/24, 198.51.100.0/24]}`, new: `{cidr: 198.51.100.0/24}`,
			want: verdict{code: 422, parts: []string{`spec.cidr: Forbidden: 3 prefixes are in use and would fall out of the pool`}},
		},
		"a growth over a neighbour": {
			held: held{root(global, "192.0.2.128/25")},
			old:  `{addresses: [192.0.2.0/25]}`, new: `{addresses: [192.0.2.0/24]}`,
			want: verdict{code: 422, parts: []string{`spec.addresses: Forbidden: overlaps other pools of address space default: 192.0.2.0/24 shares 192.0.2.128/25 with GlobalIPPool pool`}},
		},
		"a growth of a pool that overlaps already": {
			held: held{root(global, "192.0.2.0/25")},
			old:  `{addresses: [192.0.2.0/25]}`, new: `{addresses: [192.0.2.0/24]}`,
		},
		"an exclusion of an address in use": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.2-192.0.2.9]}`,
			want: verdict{warn: []string{`1 prefix is in use and kept back from now on; the claims keep them until they are deleted: 192.0.2.2 for IPAddressClaim team/claim-1`}},
		},
		"an exclusion beside one that is in use already": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.2]}`, new: `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.2-192.0.2.9]}`,
		},
		"an exclusion of an address in use by a spec that becomes valid": {
			held: manyClaims(2),
			old:  `{addresses: [192.0.2.0/29, 192.0.2.0]}`, new: `{addresses: [192.0.2.0/29], excludedAddresses: [192.0.2.2]}`,
			want: verdict{warn: []string{`1 prefix is in use and kept back from now on; the claims keep them until they are deleted: 192.0.2.2 for IPAddressClaim team/claim-1`}},
		},
		"an address in use becomes the gateway": {
			held: manyClaims(1),
			old:  `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.1}}`,
			want: verdict{warn: []string{`spec.network: 1 IPAddress keeps the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now`, `1 prefix is in use and kept back from now on; the claims keep them until they are deleted: 192.0.2.1 for IPAddressClaim team/claim-0`}},
		},
		"another gateway in a pool in use": {
			held: append(manyClaims(2), claimed(team, "192.0.2.16/28", "block"), cooling(claimed(team, "192.0.2.9/32", "gone"))),
			old:  `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.254}}`, new: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.253}}`,
			want: verdict{warn: []string{
				`spec.network: 3 IPAddresses keep the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now`,
			}},
		},
		"DNS servers for a part of a pool in use": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24}`,
			new:  `{cidr: 192.0.2.0/24, subnets: [{cidr: 192.0.2.2/31, network: {prefixLength: 24, dnsServers: [192.0.2.53]}}]}`,
			want: verdict{warn: []string{
				`spec.network: 1 IPAddress keeps the prefix length, gateway and DNS servers of before until the claim is deleted; new ones get what the pool says now`,
			}},
		},
		"another gateway in a pool that no IPAddress is of": {
			held: held{cooling(claimed(team, "192.0.2.9/32", "gone"))},
			old:  `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.254}}`, new: `{cidr: 192.0.2.0/24, network: {gateway: 192.0.2.253}}`,
		},
		"keeping an address for the claim that holds it": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: claim-1, address: 192.0.2.2}]}`,
		},
		"keeping another address for a claim that holds one": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: claim-1, address: 192.0.2.9}]}`,
		},
		"keeping an address for another claim than the one that holds it": {
			held: manyClaims(2),
			old:  `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.9}, {claimName: claim-1, address: 192.0.2.1}]}`,
			want: verdict{code: 422, parts: []string{
				`spec.preAllocations[1].address: Invalid value: "192.0.2.1": is in use: 192.0.2.1 for IPAddressClaim team/claim-0`,
			}},
		},
		"a pool that has kept an address which another claim holds": {
			held: manyClaims(1),
			old:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`,
			new:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: b, address: 192.0.2.7}, {claimName: a, address: 192.0.2.1}]}`,
		},
		"a pool that keeps such an address for somebody else from now on": {
			held: manyClaims(1),
			old:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`,
			new:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: b, address: 192.0.2.1}]}`,
			want: verdict{code: 422, parts: []string{`spec.preAllocations[0].address: `, `192.0.2.1 for IPAddressClaim team/claim-0`}},
		},
		"a pool that keeps another address for a claim from now on, which another claim holds": {
			held: manyClaims(1),
			old:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.9}]}`,
			new:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`,
			want: verdict{code: 422, parts: []string{`spec.preAllocations[0].address: `, `192.0.2.1 for IPAddressClaim team/claim-0`}},
		},
		"excluding an address that is kept": {
			old:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`,
			new:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}], excludedAddresses: [192.0.2.1]}`,
			want: verdict{code: 422, parts: []string{`spec.preAllocations[0].address: Invalid value: "192.0.2.1": is excluded`}},
		},
		"a pool of ranges with a gateway that was stored without network length": {
			old: `{addresses: [192.0.2.1-192.0.2.9], network: {gateway: 192.0.2.20}}`,
			new: `{addresses: [192.0.2.1-192.0.2.9], network: {gateway: 192.0.2.20}, excludedAddresses: [192.0.2.5]}`,
			want: verdict{warn: []string{
				`spec.network.prefixLength: Required value: ranges and single addresses come with a /32 otherwise, and machines do not reach gateway 192.0.2.20: set the length of its network`,
			}},
		},
		"a gateway for ranges without network length": {
			old: `{addresses: [192.0.2.1-192.0.2.9]}`, new: `{addresses: [192.0.2.1-192.0.2.9], network: {gateway: 192.0.2.20}}`,
			want: verdict{code: 422, parts: []string{`spec.network.prefixLength: Required value`}},
		},
		"a pool that was stored with a range that does not reach its gateway": {
			old: `{addresses: [192.0.2.1, 192.0.3.1], network: {prefixLength: 24, gateway: 192.0.2.20}}`,
			new: `{addresses: [192.0.2.1, 192.0.3.1], network: {prefixLength: 24, gateway: 192.0.2.20}, mode: Draining}`,
			want: verdict{warn: []string{
				`spec.addresses[1]: Invalid value: "192.0.3.1": 192.0.3.1 does not reach gateway 192.0.2.20 with prefix length 24; ` +
					`correct spec.network, or set the network of these addresses in spec.subnets; these addresses are not handed out`,
			}},
		},
		"a gateway that some addresses do not reach": {
			old:  `{addresses: [192.0.2.1, 192.0.3.1], network: {prefixLength: 24}}`,
			new:  `{addresses: [192.0.2.1, 192.0.3.1], network: {prefixLength: 24, gateway: 192.0.2.20}}`,
			want: verdict{code: 422, parts: []string{`spec.addresses[1]: Invalid value: "192.0.3.1": 192.0.3.1 does not reach gateway 192.0.2.20`}},
		},
		"an invalid spec that stays as it is": {
			old: `{cidr: 192.0.2.1/24}`, new: `{cidr: 192.0.2.1/24}`,
		},
		"an invalid spec that becomes valid": {
			held: manyClaims(2),
			old:  `{addresses: [192.0.2.0/29, 192.0.2.0]}`, new: `{addresses: [192.0.2.0/29]}`,
		},
		"an invalid spec that becomes valid without what is in use": {
			held: manyClaims(2),
			old:  `{addresses: [192.0.2.0/29, 192.0.2.0]}`, new: `{addresses: [192.0.2.0/31]}`,
			want: verdict{code: 422, parts: []string{`192.0.2.2 for IPAddressClaim team/claim-1`}},
		},
		"a valid spec that becomes invalid": {
			old: `{addresses: [192.0.2.0/29]}`, new: `{addresses: [192.0.2.0/29, 192.0.2.1]}`,
			want: verdict{code: 422, parts: []string{`spec.addresses[1]: Invalid value: "192.0.2.1": overlaps spec.addresses[0], "192.0.2.0/29"`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Update, object(t, team, test.new), object(t, team, test.old), "jo")
			test.want.check(t, handlerOf(t, ipamv1.IPPoolKind, test.held).Handle(t.Context(), req))
			dryRun := true
			req.DryRun = &dryRun
			test.want.rehearsed().check(t, handlerOf(t, ipamv1.IPPoolKind, test.held).Handle(t.Context(), req))
		})
	}
}

func TestPoolDeletion(t *testing.T) {
	t.Parallel()
	annotated := `{apiVersion: ipam.weir.dev/v1alpha1, kind: IPPool, metadata: {name: pool, namespace: team, %s}, spec: {cidr: 192.0.2.0/24}}`
	tests := map[string]struct {
		held held
		user string
		meta string
		want verdict
	}{
		"an unused pool": {user: "jo"},
		"a pool that only its own block is recorded for": {
			held: held{root(team, "192.0.2.0/24")}, user: "jo",
		},
		"a pool with one allocation": {
			held: manyClaims(1), user: "jo",
			want: verdict{code: 403, parts: []string{`ippools.ipam.weir.dev "pool" is forbidden: 1 prefix is allocated from it: 192.0.2.1 for IPAddressClaim team/claim-0`}},
		},
		"a pool with many allocations names five": {
			held: manyClaims(700), user: "jo",
			want: verdict{code: 403, parts: []string{`700 prefixes are allocated from it: 192.0.2.1 for`, `192.0.2.5 for IPAddressClaim team/claim-4, ...`}},
		},
		"a pool in which something cools down": {
			held: held{cooling(claimed(team, "192.0.2.4/32", "claim"))}, user: "jo",
		},
		"a pool in which something is retained": {
			held: held{retained(claimed(team, "192.0.2.4/32", "claim"))}, user: "jo",
			want: verdict{code: 403, parts: []string{`1 prefix is allocated from it: 192.0.2.4 for IPAddressClaim team/claim`}},
		},
		"a pool with a claim that has moved to another cluster, and whose address is held": {
			held: held{moved(claimed(team, "192.0.2.4/32", "web-0"), "weir-system", "web-0-moved")}, user: "jo",
			want: verdict{code: 403, parts: []string{`192.0.2.4 for IPAddressClaim team/web-0, which has moved to another cluster: ` +
				`held until it moves back or IPAllocation weir-system/web-0-moved is deleted`}},
		},
		"by the garbage collector": {
			held: manyClaims(1), user: "system:serviceaccount:kube-system:generic-garbage-collector",
		},
		"by the namespace controller": {
			held: manyClaims(1), user: "system:serviceaccount:kube-system:namespace-controller",
		},
		"by somebody with a similar name": {
			held: manyClaims(1), user: "system:serviceaccount:team:namespace-controller", want: verdict{code: 403},
		},
		"by clusterctl move": {
			held: manyClaims(1), user: "jo", meta: `annotations: {clusterctl.cluster.x-k8s.io/delete-for-move: ""}`,
		},
		"of a pool that is being deleted": {
			held: manyClaims(1), user: "jo", meta: `deletionTimestamp: "2026-01-01T00:00:00Z"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := runtime.RawExtension{Raw: rawYAML(t, strings.Replace(annotated, "%s", test.meta, 1))}
			req := request(admissionv1.Delete, runtime.RawExtension{}, old, test.user)
			test.want.check(t, handlerOf(t, ipamv1.IPPoolKind, test.held).Handle(t.Context(), req))
		})
	}
}
