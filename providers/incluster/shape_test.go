// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// handedOut returns what of these addresses a pool with the spec may hand out.
func handedOut(t rapid.TB, spec *icv1.InClusterIPPoolSpec, among []netip.Addr) []netip.Addr {
	t.Helper()
	shape, errs := Read(spec)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	pool := pooltree.New(shape.Config)
	return slices.DeleteFunc(slices.Clone(among), func(a netip.Addr) bool {
		prefix := netip.PrefixFrom(a, a.BitLen())
		return !pool.Contains(prefix) || pool.Withholds(prefix) || pool.Reserved(a)
	})
}

// network returns the addresses of a CIDR.
func network(cidr string) (all []netip.Addr) {
	prefix := netip.MustParsePrefix(cidr)
	for a := prefix.Addr(); prefix.Contains(a); a = a.Next() {
		all = append(all, a)
	}
	return all
}

func addresses(text string) (all []netip.Addr) {
	for _, a := range strings.Fields(text) {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

func TestWhatIsHandedOut(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		spec   icv1.InClusterIPPoolSpec
		among  string
		want   string
		doubts string
	}{
		"of a network not the first and the last": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/30"}, Prefix: 30}, "10.0.0.0/30", "10.0.0.1 10.0.0.2", "",
		},
		"of a part of a network all": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.4/30"}, Prefix: 24}, "10.0.0.0/29", "10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7", "",
		},
		"every one, where the reserved ones are allocated": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/31"}, Prefix: 31, AllocateReservedIPAddresses: true}, "10.0.0.0/30", "10.0.0.0 10.0.0.1", "",
		},
		"nothing of a /31": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/31"}, Prefix: 31}, "10.0.0.0/30", "", "spec.addresses: all are",
		},
		"nothing of a /32": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1"}, Prefix: 32}, "10.0.0.0/30", "", "spec.addresses: all are",
		},
		"one of a /127": {icv1.InClusterIPPoolSpec{Addresses: []string{"fd00::/127"}, Prefix: 127}, "fd00::/126", "fd00::1", ""},
		"of IPv6 the last one, too": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"FD00:0::0/126"}, Prefix: 126}, "fd00::/125", "fd00::1 fd00::2 fd00::3", "",
		},
		"neither the gateway nor what is excluded": {
			icv1.InClusterIPPoolSpec{
				Addresses: []string{"10.0.0.1-10.0.0.4", "10.0.0.3/30"}, Prefix: 24, Gateway: "10.0.0.1", ExcludedAddresses: []string{"10.0.0.3", "10.9.0.0/16"},
			}, "10.0.0.0/29", "10.0.0.2 10.0.0.4", "",
		},
		"where the gateway is elsewhere": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.2"}, Prefix: 24, Gateway: "10.0.1.1"}, "10.0.0.0/30", "10.0.0.2", "spec.gateway: 10.0.1.1 is not in 10.0.0.0/24",
		},
		"where no network is named": {
			icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/30"}}, "10.0.0.0/30", "10.0.0.0 10.0.0.1 10.0.0.2 10.0.0.3", "",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(addresses(test.want), handedOut(t, &test.spec, network(test.among)), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				if len(handedOut(t, &test.spec, network(test.among)))+len(addresses(test.want)) > 0 {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			shape, _ := Read(&test.spec)
			if got := strings.Join(shape.Warnings, "; "); test.doubts == "" && got != "" || !strings.HasPrefix(got, test.doubts) {
				t.Errorf("doubts %q, want %q", got, test.doubts)
			}
			for _, area := range shape.Config.Areas {
				if area.Network.Bits != test.spec.Prefix || area.Network.Gateway.IsValid() != (test.spec.Gateway != "") {
					t.Errorf("comes with %+v", area.Network)
				}
			}
		})
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]icv1.InClusterIPPoolSpec{
		"spec.addresses: Required":                                  {Prefix: 24},
		"spec.addresses[0]: Invalid value: \"10.0.0\": must be":     {Addresses: []string{"10.0.0"}, Prefix: 24},
		"spec.addresses[1]: Invalid value: \"10.0.0.5-10.0.0.2\"":   {Addresses: []string{"10.0.0.1", "10.0.0.5-10.0.0.2"}, Prefix: 24},
		"spec.addresses[0]: Invalid value: \"::ffff:10.0.0.1\"":     {Addresses: []string{"::ffff:10.0.0.1"}, Prefix: 24},
		"spec.addresses[0]: Invalid value: \"::ffff:10.0.0.0/120\"": {Addresses: []string{"::ffff:10.0.0.0/120"}, Prefix: 24},
		"spec.addresses[0]: Invalid value: \"fe80::1%eth0\"":        {Addresses: []string{"fe80::1%eth0"}, Prefix: 64},
		"spec.addresses[0]: Invalid value: \"10.0.0.1-fd00::1\"":    {Addresses: []string{"10.0.0.1-fd00::1"}, Prefix: 24},
		"spec.addresses[1]: Invalid value: \"fd00::1\": is of":      {Addresses: []string{"10.0.0.1", "fd00::1"}, Prefix: 24},
		"spec.excludedAddresses[0]: Invalid value: \"fd00::1\"":     {Addresses: []string{"10.0.0.1"}, ExcludedAddresses: []string{"fd00::1"}, Prefix: 24},
		"spec.gateway: Invalid value: \"fd00::1\": is of":           {Addresses: []string{"10.0.0.1"}, Gateway: "fd00::1", Prefix: 24},
		"spec.gateway: Invalid value: \"gw\"":                       {Addresses: []string{"10.0.0.1"}, Gateway: "gw", Prefix: 24},
		"spec.prefix: Invalid value: 33":                            {Addresses: []string{"10.0.0.1"}, Prefix: 33},
		"spec.addresses: Invalid value":                             {Addresses: []string{"0.0.0.0/1", "128.0.0.0/1"}},
		"10.0.1.9 is not in 10.0.0.0/24":                            {Addresses: []string{"10.0.1.9", "10.0.0.1"}, Prefix: 24},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			shape, errs := Read(&spec)
			if shape != nil || len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), want) {
				t.Errorf("%v, %v", shape, errs)
			}
		})
	}
}

func TestManyBlocksAreDoubted(t *testing.T) {
	t.Parallel()
	spec := &icv1.InClusterIPPoolSpec{Prefix: 8}
	for i := range manyBlocks + 1 {
		spec.Addresses = append(spec.Addresses, fmt.Sprintf("10.0.%d.%d", i/64, i%64*2+1))
	}
	if shape, errs := Read(spec); len(errs) > 0 || len(shape.Warnings) != 1 || !strings.Contains(shape.Warnings[0], "1025 CIDR blocks") {
		t.Errorf("%v, %v", shape, errs)
	}
}

// TestWhatIsHandedOutIsASetDifference compares with a count of single addresses, in the order in which the in-cluster provider takes them off.
func TestWhatIsHandedOutIsASetDifference(t *testing.T) {
	t.Parallel()
	all := network("10.0.0.0/26")
	rapid.Check(t, func(t *rapid.T) {
		last := func(label string) int { return rapid.IntRange(0, 63).Draw(t, label) }
		want := map[netip.Addr]bool{}
		draw := func(label string, is bool) (entries []string) {
			for range rapid.IntRange(1, 4).Draw(t, label) {
				a, b := last(label), last(label)
				for i := min(a, b); i <= max(a, b); i++ {
					want[all[i]] = is
				}
				entries = append(entries, fmt.Sprintf("%s-%s", all[min(a, b)], all[max(a, b)]))
			}
			return entries
		}
		spec := &icv1.InClusterIPPoolSpec{Prefix: rapid.SampledFrom([]int{8, 25, 26}).Draw(t, "prefix"), Addresses: draw("in", true)}
		spec.ExcludedAddresses = draw("out", false)
		gateway := all[last("gateway")]
		spec.Gateway, want[gateway] = gateway.String(), false
		spec.AllocateReservedIPAddresses = rapid.Bool().Draw(t, "reserved")
		if !spec.AllocateReservedIPAddresses {
			want[all[0]] = false
			if spec.Prefix == 26 {
				want[all[63]] = false
			}
		}
		got := handedOut(t, spec, all)
		for _, a := range all {
			if slices.Contains(got, a) != want[a] {
				t.Fatalf("%+v: %s is handed out: %t", spec, a, !want[a])
			}
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, text := range []string{"10.0.0.1", "10.0.0.9/24", "10.0.0.1-10.0.0.9", "fd00::/64", "::ffff:1.2.3.4/120", "-", "/", "a%b-c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseEntry(text)
		if err == nil && (!r.IsValid() || r.From().Is4In6() || r.From().Zone() != "" || r.To().BitLen() != r.From().BitLen()) {
			t.Errorf("%q is %s", text, r)
		}
	})
}
