// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// newClaim is a claim of pool p in namespace metal3.
func newClaim() *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "metal3", Name: "host-0-p", UID: "u", Labels: map[string]string{"a": "b"}},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: "p"}},
	}
}

func read(c *m3v1.IPClaim) *door.Claim {
	return &door.Claim{Object: c, Asks: Form{}.Asks(c), Stored: c}
}

func TestAnAnswerSaysWhatWasPutIn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ cidr, name, gateway string }{
		{"192.168.0.10/32", "net-192-168-0-10", "192.168.0.1"},
		{"2001:db8::a/128", "net-2001-db8--a", "2001:db8::1"},
		{"10.0.0.7/32", "net-10-0-0-7", ""},
	} {
		t.Run(test.cidr, func(t *testing.T) {
			t.Parallel()
			cidr, c := netip.MustParsePrefix(test.cidr), newClaim()
			network := pooltree.Network{Bits: 24, DNSServers: []netip.Addr{netip.MustParseAddr("9.9.9.9"), netip.MustParseAddr("2620:fe::fe")}}
			if test.gateway != "" {
				network.Gateway = netip.MustParseAddr(test.gateway)
			}
			answer, ok := Form{}.Compose(read(c), &door.Offer{NamePrefix: "net"}, cidr, network).(*m3v1.IPAddress)
			if !ok {
				t.Fatal("no IPAddress")
			}
			if says := (Form{}).Says(answer); says.Address != cidr.Addr().String() || says.Pool != read(c).Pool || says.Prefix != nil {
				t.Errorf("says %v", says)
			}
			if key := (Form{}).ClaimOf(answer); key.Namespace != c.Namespace || key.Name != c.Name {
				t.Errorf("is of claim %v", key)
			}
			if answer.Name != test.name || answer.Spec.Prefix != 24 || len(answer.Spec.DNSServers) != 2 || answer.Labels["a"] != "b" {
				t.Errorf("is %v", answer)
			}
			if got := ptr.Deref(answer.Spec.Gateway, ""); string(got) != test.gateway {
				t.Errorf("gateway %q, want %q", got, test.gateway)
			}
		})
	}
}

func TestAStandInIsTheAnswersClaim(t *testing.T) {
	t.Parallel()
	answer := (Form{}).Compose(read(newClaim()), &door.Offer{NamePrefix: "net"}, netip.MustParsePrefix("10.0.0.7/32"), pooltree.Network{})
	answer.SetUID("answer")
	standIn := (Form{}).StandIn(answer)
	if key := (Form{}).ClaimOf(answer); standIn.GetName() != key.Name || standIn.GetNamespace() != key.Namespace || standIn.GetUID() != "answer" {
		t.Errorf("stands in as %s/%s %s", standIn.GetNamespace(), standIn.GetName(), standIn.GetUID())
	}
	if got, want := (Form{}).Asks(standIn).Pool, (Form{}).Says(answer).Pool; got != want {
		t.Errorf("pool %v, want %v", got, want)
	}
}

func TestAddressesAreReadAsTheyAreMeant(t *testing.T) {
	t.Parallel()
	for text, want := range map[m3v1.Address]string{
		"10.0.0.7": "10.0.0.7", "2001:DB8:0::0a": "2001:db8::a", "::ffff:10.0.0.7": "10.0.0.7", "nonsense": "nonsense",
	} {
		if got := (Form{}).Says(&m3v1.IPAddress{Spec: m3v1.IPAddressSpec{Address: text}}).Address; got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestAClaimOfAnotherNamespacesPoolIsRefused(t *testing.T) {
	t.Parallel()
	for namespace, refused := range map[string]bool{"": false, "metal3": false, "elsewhere": true} {
		c := newClaim()
		c.Spec.Pool.Namespace = namespace
		if got := (Form{}).Asks(c).Refusal; (got != nil) != refused {
			t.Errorf("namespace %q: %v", namespace, got)
		}
	}
}

func TestAPoolsNameThatIsTooLongIsShownCut(t *testing.T) {
	t.Parallel()
	for length, refused := range map[int]bool{1: false, 253: false, 254: true, 100_000: true} {
		c := newClaim()
		c.Spec.Pool.Name = strings.Repeat("a", length)
		asks := (Form{}).Asks(c)
		if (asks.Refusal != nil) != refused || len(asks.Pool.Name) > excerpt.MaxValue {
			t.Errorf("%d characters: %v, of a pool with %d", length, asks.Refusal, len(asks.Pool.Name))
		}
		if refused && len(asks.Refusal.Error()) > 400 {
			t.Errorf("%d characters: says %d", length, len(asks.Refusal.Error()))
		}
	}
}

func TestErrorMessagesAreMetal3s(t *testing.T) {
	t.Parallel()
	refused := func(why ledger.Why) error {
		return fmt.Errorf("recording: %w", &ledger.RefusedError{CIDR: netip.MustParsePrefix("10.0.0.7/32"), Reason: "is no good", Why: why})
	}
	for sentence, test := range map[string]struct {
		asked   string
		reason  string
		outcome error
		want    string
	}{
		"no room":                               {reason: ipamv1.ClaimReadyPoolExhaustedReason, outcome: ledger.ErrExhausted, want: "Exhausted IP Pools"},
		"an asked address that is taken":        {asked: "10.0.0.7", outcome: ledger.ErrTaken, want: "Requested IP not available"},
		"an asked address outside of the pool":  {asked: "10.0.0.7", outcome: refused(ledger.OutsidePool), want: "Exhausted IP Pools"},
		"an asked gateway":                      {asked: "10.0.0.7", outcome: refused(0), want: "Requested IP not available"},
		"another address is kept for the claim": {asked: "10.0.0.7", outcome: refused(ledger.KeptElsewhere), want: "PreAllocation and requested ip address are conflicting"},
		"what is kept is outside of the pool":   {outcome: refused(ledger.Denied), want: "Pre-allocated IP out of bounds"},
		"an asked address that is none":         {asked: "x", want: `Invalid ipAddress annotation "x": not a valid IP address`},
		"the IPAddress cannot be stored": {
			reason: ipamv1.ClaimReadyRefusedByAPIServerReason, outcome: &ledger.DeniedError{What: "it", Words: "no"},
			want: "Failed to create associated IPAddress object: no",
		},
		"the pool is not there yet": {reason: ipamv1.ClaimReadyPoolNotReadyReason},
		"what Metal3 does not know": {want: "told in Ready"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c := newClaim()
			if test.asked != "" {
				c.Annotations = map[string]string{m3v1.AddressAnnotation: test.asked}
			}
			if test.reason == "" {
				test.reason = ipamv1.ClaimReadyAllocationFailedReason
			}
			ready := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: test.reason, Message: "told in Ready"}
			(Form{}).Report(c, ready, "", test.outcome)
			if got := c.Status.ErrorMessage; (got == nil) != (test.want == "") || got != nil && *got != test.want {
				t.Errorf("message %v, want %q", got, test.want)
			}
		})
	}
}

// TestTheMessageGoesWithTheAddress: consumers read the message first, so it goes in the very write that sets the address.
func TestTheMessageGoesWithTheAddress(t *testing.T) {
	t.Parallel()
	c := newClaim()
	failed := metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: ipamv1.ClaimReadyPoolExhaustedReason}
	(Form{}).Report(c, failed, "", ledger.ErrExhausted)
	(Form{}).Report(c, metav1.Condition{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason}, "net-10-0-0-7", nil)
	before := c.DeepCopy()
	body, err := json.Marshal((Form{}).Status(c))
	if err != nil {
		t.Fatal(err)
	}
	var patch map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		t.Fatal(err)
	}
	if message, ok := patch["errorMessage"]; !ok || message != nil || patch["address"] == nil {
		t.Errorf("the patch is %s", body)
	}
	(Form{}).Report(c, failed, "", errors.New("later")) // it keeps what it was told
	if c.Status.Address == nil || c.Status.ErrorMessage != nil {
		t.Errorf("status %v", c.Status)
	}
	if diff := cmp.Diff(before.Status.Address, c.Status.Address); diff != "" {
		t.Error(diff)
	}
}
