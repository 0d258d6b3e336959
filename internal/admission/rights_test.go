// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// in returns the record as one of a claim in another namespace.
func in(namespace string, h ledger.Holding) ledger.Holding {
	h.Claim.Namespace = namespace
	return h
}

// onlyIn are the rights to get everything in some namespaces.
func onlyIn(namespaces ...string) allowed {
	return func(what authorizationv1.ResourceAttributes) bool {
		for _, namespace := range namespaces {
			if what.Namespace == namespace {
				return true
			}
		}
		return false
	}
}

func TestNothingIsNamedThatTheRequesterMayNotGet(t *testing.T) {
	t.Parallel()
	neighbour := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "green", Name: "rack"}
	mixed := held{
		in("green", claimed(team, "192.0.2.1/32", "hidden-1")), claimed(team, "192.0.2.2/32", "shown"),
		in("green", claimed(team, "192.0.2.3/32", "hidden-2")),
	}
	tests := map[string]struct {
		held     held
		rights   allowed
		old, new string
		deletes  bool
		// says is the whole message, behind the pool's name.
		says string
		warn []string
	}{
		"a deletion, of what he may get": {
			held: mixed, rights: onlyIn("team"), deletes: true,
			says: `forbidden: 3 prefixes are allocated from it: 192.0.2.2 for IPAddressClaim team/shown, ...`,
		},
		"a deletion, of what he may not get": {
			held: mixed, rights: onlyIn("other"), deletes: true, says: `forbidden: 3 prefixes are allocated from it`,
		},
		"a deletion, of what is of another kind than he may get": {
			held: mixed, deletes: true, says: `forbidden: 3 prefixes are allocated from it`,
			rights: func(what authorizationv1.ResourceAttributes) bool {
				return what.Group != "ipam.cluster.x-k8s.io" || what.Resource != "ipaddressclaims"
			},
		},
		"an overlap": {
			held: held{root(neighbour, "192.0.2.0/25"), root(global, "192.0.2.192/26")}, rights: onlyIn("team"), new: `{cidr: 192.0.2.0/24}`,
			says: `invalid: spec.cidr: Forbidden: overlaps other pools of address space default`,
		},
		"an overlap with one that he may get": {
			held: held{root(neighbour, "192.0.2.0/25"), root(global, "192.0.2.192/26")}, rights: onlyIn("green"), new: `{cidr: 192.0.2.0/24}`,
			says: `invalid: spec.cidr: Forbidden: overlaps other pools of address space default: 192.0.2.0/24 shares 192.0.2.0/25 with IPPool green/rack, ...`,
		},
		"what falls out": {
			held: mixed, rights: onlyIn("green"), old: `{addresses: [192.0.2.0/24]}`, new: `{addresses: [192.0.2.128/25]}`,
			says: `invalid: spec.addresses: Forbidden: 3 prefixes are in use and would fall out of the pool: ` +
				`192.0.2.1 for IPAddressClaim green/hidden-1, 192.0.2.3 for IPAddressClaim green/hidden-2, ...`,
		},
		"what is kept back": {
			held: mixed, rights: onlyIn(), old: `{cidr: 192.0.2.0/24}`, new: `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1-192.0.2.9]}`,
			warn: []string{`3 prefixes are in use and kept back from now on; the claims keep them until they are deleted`},
		},
		"what is promised": {
			held: mixed, rights: onlyIn("team"), old: `{cidr: 192.0.2.0/24}`,
			new:  `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`,
			says: `invalid: spec.preAllocations[0].address: Invalid value: "192.0.2.1": is in use`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(admissionv1.Create, object(t, team, test.new), object(t, team, test.old), "jo")
			switch {
			case test.deletes:
				req = request(admissionv1.Delete, runtime.RawExtension{}, object(t, team, `{cidr: 192.0.2.0/24}`), "jo")
			case test.old != "":
				req.Operation = admissionv1.Update
			}
			got := handlerFor(t, ipamv1.IPPoolKind, test.held, test.rights).Handle(t.Context(), req)
			if _, says, _ := strings.Cut(got.Result.Message, `"pool" is `); says != test.says {
				t.Errorf("says %q\nwant %q", says, test.says)
			}
			if diff := cmp.Diff(test.warn, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnswerCostsFiveReviewsAtMost(t *testing.T) {
	t.Parallel()
	records := make(held, 0, 40)
	for i := range cap(records) {
		records = append(records, in(fmt.Sprint("ns-", i/2), claimed(team, fmt.Sprintf("192.0.2.%d/32", i+1), "c")))
	}
	reviewed := 0
	rights := allowed(func(what authorizationv1.ResourceAttributes) bool {
		reviewed++
		return what.Namespace == "ns-4" || what.Namespace == "ns-5"
	})
	req := request(admissionv1.Delete, runtime.RawExtension{}, object(t, team, `{cidr: 192.0.2.0/24}`), "jo")
	verdict{code: 403, parts: []string{
		`40 prefixes are allocated from it: 192.0.2.9 for IPAddressClaim ns-4/c, 192.0.2.10 for IPAddressClaim ns-4/c, ...`,
	}}.check(t, handlerFor(t, ipamv1.IPPoolKind, records, rights).Handle(t.Context(), req))
	if reviewed != 5 {
		t.Errorf("%d reviews", reviewed)
	}
}

func TestNothingIsNamedToWhomNobodyVouchesFor(t *testing.T) {
	t.Parallel()
	records := held{claimed(team, "192.0.2.1/32", "hidden"), root(global, "198.51.100.0/24")}
	reviewed := 0
	rights := allowed(func(authorizationv1.ResourceAttributes) bool { reviewed++; return true })
	options := optionsWith(t, records)
	options.Authenticated = false
	for name, req := range map[string]admission.Request{
		"a deletion": request(admissionv1.Delete, runtime.RawExtension{}, object(t, team, `{cidr: 192.0.2.0/24}`), "jo"),
		"an overlap": request(admissionv1.Create, object(t, team, `{cidr: 198.51.0.0/16}`), runtime.RawExtension{}, "jo"),
		"what falls out": request(admissionv1.Update,
			object(t, team, `{addresses: [192.0.2.128/25]}`), object(t, team, `{addresses: [192.0.2.0/24]}`), "jo"),
		"what is kept back": request(admissionv1.Update,
			object(t, team, `{cidr: 192.0.2.0/24, excludedAddresses: [192.0.2.1]}`), object(t, team, `{cidr: 192.0.2.0/24}`), "jo"),
		"what is promised": request(admissionv1.Update,
			object(t, team, `{cidr: 192.0.2.0/24, preAllocations: [{claimName: a, address: 192.0.2.1}]}`), object(t, team, `{cidr: 192.0.2.0/24}`), "jo"),
	} {
		webhook, ok := webhooks(scheme(t), options, rights)[validateIPPoolPath].(*admission.Webhook)
		if !ok {
			t.Fatal("no webhook")
		}
		got := webhook.Handle(t.Context(), req)
		says := got.Result.Message + strings.Join(got.Warnings, " ")
		if says == "" || strings.Contains(says, "hidden") || strings.Contains(says, "IPPool other") || strings.Contains(says, "198.51.100.0") {
			t.Errorf("%s: says %q", name, says)
		}
	}
	if reviewed > 0 {
		t.Errorf("%d reviews", reviewed)
	}
}

func TestWhatIsNamedIsAskedForByItsOwnGroupAndPlural(t *testing.T) {
	t.Parallel()
	proxy := schema.GroupKind{Group: "other.dev", Kind: "Proxy"}
	to := &audience{
		known: map[scope]bool{}, user: authenticationv1.UserInfo{Username: "jo"},
		rights: allowed(func(what authorizationv1.ResourceAttributes) bool {
			return what.Group == "other.dev" && what.Resource == "proxies"
		}),
	}
	for kind, want := range map[schema.GroupKind]bool{
		proxy:                               true,
		{Group: "third.dev", Kind: "Proxy"}: false,
		{Group: "other.dev", Kind: "Thing"}: false, // which the API server does not have
	} {
		if got := to.mayGet(t.Context(), scope{kind, "team"}); got != want {
			t.Errorf("naming a %s: %t", kind, got)
		}
	}
}
