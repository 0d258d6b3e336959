// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

// read reads a spec in YAML, which may leave out namePrefix.
func read(t *testing.T, text string) (*metal3.Shape, error) {
	t.Helper()
	var spec m3v1.IPPoolSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	shape, errs := metal3.Read(&spec, "team")
	if (shape == nil) != (len(errs) > 0) {
		t.Fatalf("a spec has a shape or mistakes, got %v and %v", shape, errs)
	}
	return shape, errs.ToAggregate()
}

// mustRead reads a spec that is valid.
func mustRead(t *testing.T, text string) *metal3.Shape {
	t.Helper()
	shape, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// entries shows the addresses of each entry, in the order of the entries.
func entries(shape *metal3.Shape) []string {
	shown := make([]string, 0, len(shape.Entries))
	for _, ranges := range shape.Entries {
		texts := make([]string, 0, len(ranges))
		for _, r := range ranges {
			texts = append(texts, r.String())
		}
		shown = append(shown, strings.Join(texts, " "))
	}
	return shown
}

func TestEntries(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pools string
		want  []string
	}{
		"no entries": {"[]", []string{}},

		"a subnet alone begins one after its address": {
			"[{subnet: 192.168.0.0/24}]", []string{"192.168.0.1-192.168.0.255"},
		},
		"as that is written": {
			"[{subnet: 192.168.1.1/26}]", []string{"192.168.1.2-192.168.1.63"},
		},
		"even late in the network": {
			"[{subnet: 192.168.1.62/26}]", []string{"192.168.1.63-192.168.1.63"},
		},
		"a subnet written by its last address has none": {
			"[{subnet: 192.168.1.63/26}]", []string{""},
		},
		"nor has a single address": {
			"[{subnet: 192.168.1.1/32}]", []string{""},
		},
		"nor the last of all": {
			"[{subnet: 255.255.255.255/24}]", []string{""},
		},
		"a /31 has one": {
			"[{subnet: 192.168.1.0/31}]", []string{"192.168.1.1-192.168.1.1"},
		},
		"a subnet of IPv6": {
			"[{subnet: 'fd00::/64'}]", []string{"fd00::1-fd00::ffff:ffff:ffff:ffff"},
		},
		"the length of a subnet with a leading zero": {
			"[{subnet: 'fd00::/08'}]", []string{"fd00::1-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		},
		"nearly a family": {
			"[{subnet: 0.0.0.0/0}]", []string{"0.0.0.1-255.255.255.255"},
		},

		"start alone is open": {
			"[{start: 192.168.0.10}]", []string{"192.168.0.10-255.255.255.255"},
		},
		"of IPv6, too": {
			"[{start: 'fd00::a'}]", []string{"fd00::a-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		},
		"start and end": {
			"[{start: 192.168.0.10, end: 192.168.0.50}]", []string{"192.168.0.10-192.168.0.50"},
		},
		"one address": {
			"[{start: 192.168.0.10, end: 192.168.0.10}]", []string{"192.168.0.10-192.168.0.10"},
		},
		"start in a subnet": {
			"[{start: 192.168.0.10, subnet: 192.168.0.0/26}]", []string{"192.168.0.10-192.168.0.63"},
		},
		"start at the first address of a subnet": {
			"[{start: 192.168.0.0, subnet: 192.168.0.0/26}]", []string{"192.168.0.0-192.168.0.63"},
		},
		"start before a subnet has none": {
			"[{start: 192.168.0.10, subnet: 192.168.1.0/26}]", []string{""},
		},
		"nor start behind it": {
			"[{start: 192.168.2.10, subnet: 192.168.1.0/26}]", []string{""},
		},
		"end bounds before a subnet does": {
			"[{start: 192.168.0.10, end: 192.168.0.20, subnet: 192.168.0.0/26}]", []string{"192.168.0.10-192.168.0.20"},
		},
		"and the subnet before an end outside": {
			"[{start: 192.168.0.10, end: 192.168.0.90, subnet: 192.168.0.0/26}]", []string{"192.168.0.10-192.168.0.63"},
		},
		"end bounds without start": {
			"[{end: 192.168.0.20, subnet: 192.168.0.0/26}]", []string{"192.168.0.1-192.168.0.20"},
		},
		"down to none": {
			"[{end: 192.168.0.0, subnet: 192.168.0.0/26}]", []string{""},
		},
		"end alone has none": {
			"[{end: 192.168.0.20}]", []string{""},
		},
		"an empty entry has none": {
			"[{prefix: 24}]", []string{""},
		},

		"the order is that of the spec": {
			"[{start: 10.0.9.1, end: 10.0.9.2}, {start: 10.0.0.1, end: 10.0.0.2}]", []string{"10.0.9.1-10.0.9.2", "10.0.0.1-10.0.0.2"},
		},
		"an entry within an earlier one has nothing": {
			"[{start: 10.0.0.1, end: 10.0.0.9}, {start: 10.0.0.2, end: 10.0.0.8}]", []string{"10.0.0.1-10.0.0.9", ""},
		},
		"an entry around an earlier one has both sides": {
			"[{start: 10.0.0.4, end: 10.0.0.5}, {start: 10.0.0.1, end: 10.0.0.9}]", []string{"10.0.0.4-10.0.0.5", "10.0.0.1-10.0.0.3 10.0.0.6-10.0.0.9"},
		},
		"an entry across several has what is between": {
			"[{start: 10.0.0.1, end: 10.0.0.2}, {start: 10.0.0.8, end: 10.0.0.9}, {start: 10.0.0.2, end: 10.0.0.20}]",
			[]string{"10.0.0.1-10.0.0.2", "10.0.0.8-10.0.0.9", "10.0.0.3-10.0.0.7 10.0.0.10-10.0.0.20"},
		},
		"an earlier open end takes all behind": {
			"[{start: 10.0.0.5}, {start: 10.0.0.1, end: 10.0.0.9}]", []string{"10.0.0.5-255.255.255.255", "10.0.0.1-10.0.0.4"},
		},

		"an IPv4-mapped address is IPv4": {
			"[{start: '::ffff:c000:201', end: 192.0.2.9}]", []string{"192.0.2.1-192.0.2.9"},
		},
		"text need not be canonical": {
			"[{start: 'FD00:0::000A', end: 'fd00:0:0::b'}]", []string{"fd00::a-fd00::b"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape := mustRead(t, "pools: "+test.pools)
			if diff := cmp.Diff(test.want, entries(shape)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"end before start": {
			"pools: [{start: 10.0.0.9, end: 10.0.0.1}]", `spec.pools[0].end: Invalid value: "10.0.0.1": is before start, 10.0.0.9`,
		},
		"an entry of two families": {
			"pools: [{start: 10.0.0.9, end: 'fd00::1'}]", `spec.pools[0]: Invalid value: "start 10.0.0.9, end fd00::1": mixes IPv4 and IPv6`,
		},
		"a subnet of another family than start": {
			"pools: [{start: 'fd00::1', subnet: 10.0.0.0/24}]", `spec.pools[0]: Invalid value: "start fd00::1, subnet 10.0.0.0/24": mixes IPv4 and IPv6`,
		},
		"entries of two families": {
			"pools: [{subnet: 10.0.0.0/24}, {subnet: 'fd00::/64'}]",
			`spec.pools[1]: Invalid value: "fd00::1-fd00::ffff:ffff:ffff:ffff": is IPv6, and the entries before are IPv4: a pool has addresses of one family`,
		},
		"every address": {
			"pools: [{start: 0.0.0.0}]", `spec.pools[0]: Invalid value: "start 0.0.0.0": contains every address of its family`,
		},
		"no addresses": {
			"{pools: [{start: a, end: b, subnet: 10.0.0.0, gateway: c, dnsServers: [d]}], gateway: e, dnsServers: [f], preAllocations: {x: g}}",
			`[spec.gateway: Invalid value: "e": must be an IP address, spec.dnsServers[0]: Invalid value: "f": must be an IP address, ` +
				`spec.pools[0].gateway: Invalid value: "c": must be an IP address, spec.pools[0].dnsServers[0]: Invalid value: "d": must be an IP address, ` +
				`spec.pools[0].start: Invalid value: "a": must be an IP address, spec.pools[0].end: Invalid value: "b": must be an IP address, ` +
				`spec.pools[0].subnet: Invalid value: "10.0.0.0": must be an IP address with a prefix length, ` +
				`spec.preAllocations[x]: Invalid value: "g": must be an IP address]`,
		},
		"an unknown strategy": {
			"allocationStrategy: lowest", `spec.allocationStrategy: Unsupported value: "lowest": supported values: "sequential", "random"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := read(t, test.spec); fmt.Sprint(err) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		want []string
	}{
		"nothing to say": {"{prefix: 23, gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24}, {start: 10.0.1.1, end: 10.0.1.9}]}", nil},
		"a gateway that an entry does not reach": {
			"{prefix: 24, gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24}, {start: 10.0.1.1, end: 10.0.1.9}, {start: 10.0.2.1, end: 10.0.2.9, prefix: 32}]}",
			[]string{"spec.pools[1].gateway: 10.0.0.1 is not in the network of 10.0.1.1-10.0.1.9 with prefix length 24: hosts do not reach it"},
		},
		"an overlap, by the first entry that is met": {
			"{prefix: 24, pools: [{subnet: 10.0.9.0/24}, {subnet: 10.0.0.0/24}, {start: 10.0.0.9}, {start: 10.0.0.10, end: 10.0.0.11}]}",
			[]string{
				"spec.pools[2]: overlaps pools[0], which says what comes with the addresses of both",
				"spec.pools[3]: overlaps pools[1], which says what comes with the addresses of both",
			},
		},
		"no addresses": {
			"{prefix: 24, pools: [{end: 10.0.0.1}, {start: 10.0.0.1, subnet: 10.0.1.0/24}]}",
			[]string{
				"spec.pools[0]: has no addresses: set start or subnet",
				"spec.pools[1]: has no addresses: they would begin behind the last, or outside subnet",
			},
		},
		"no length of the network": {
			"pools: [{subnet: 10.0.0.0/24}]", []string{"spec.pools[0].prefix: not set, nor is spec.prefix: the addresses come without the length of their network"},
		},
		"a length of the other family, and a gateway": {
			"pools: [{subnet: 10.0.0.0/24, prefix: 64, gateway: 'fd00::1'}]",
			[]string{"spec.pools[0].prefix: 64 is no length of an IPv4 network", "spec.pools[0].gateway: fd00::1 is of another family than the addresses"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, mustRead(t, test.spec).Warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	const spec = `{prefix: 16, gateway: 10.0.0.1, dnsServers: [10.0.0.53, 'fd00::53'], pools: [
  {subnet: 10.0.1.0/24, prefix: 24, gateway: 10.0.1.1, dnsServers: [10.0.1.53]},
  {start: 10.0.1.200, end: 10.0.2.9, gateway: 10.0.2.1},
  {subnet: 10.0.3.0/24, dnsServers: []}]}`
	tests := map[string]struct{ address, want string }{
		"all of the entry's":                       {"10.0.1.7", "/24 10.0.1.1 [10.0.1.53]"},
		"of the first entry that contains it":      {"10.0.1.201", "/24 10.0.1.1 [10.0.1.53]"},
		"of the entry in part":                     {"10.0.2.9", "/16 10.0.2.1 [10.0.0.53 fd00::53]"},
		"of the spec":                              {"10.0.3.9", "/16 10.0.0.1 [10.0.0.53 fd00::53]"},
		"at the end of the earlier entry":          {"10.0.1.255", "/24 10.0.1.1 [10.0.1.53]"},
		"at the beginning of what the later keeps": {"10.0.2.0", "/16 10.0.2.1 [10.0.0.53 fd00::53]"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := pooltree.New(mustRead(t, spec).Config).NetworkOf(netip.MustParseAddr(test.address))
			if got := fmt.Sprintf("/%d %v %v", n.Bits, n.Gateway, n.DNSServers); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestWhatIsHandedOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		spec string
		// given and refused are single addresses.
		given, refused []string
	}{
		"the broadcast address": {spec: "pools: [{subnet: 10.0.0.0/24, prefix: 24}]", given: []string{"10.0.0.1", "10.0.0.255"}, refused: []string{"10.0.0.0", "10.0.1.0"}},
		"the network's, too": {
			spec: "pools: [{start: 10.0.0.0, subnet: 10.0.0.0/24, prefix: 24}]", given: []string{"10.0.0.0"},
		},
		"no gateway of an entry":   {spec: "pools: [{subnet: 10.0.0.0/24, gateway: 10.0.0.1}]", given: []string{"10.0.0.2"}, refused: []string{"10.0.0.1"}},
		"nor in another entry":     {spec: "pools: [{subnet: 10.0.0.0/24}, {subnet: 10.0.1.0/24, gateway: 10.0.0.9}]", refused: []string{"10.0.0.9"}},
		"nor the spec's":           {spec: "{gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24}]}", refused: []string{"10.0.0.1"}},
		"even if no entry has it":  {spec: "{gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24, gateway: 10.0.0.2}]}", refused: []string{"10.0.0.1", "10.0.0.2"}},
		"nor that of an empty one": {spec: "pools: [{subnet: 10.0.0.0/24}, {end: 10.9.9.9, gateway: 10.0.0.3}]", refused: []string{"10.0.0.3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shape := pooltree.New(mustRead(t, test.spec).Config)
			for i, text := range slices.Concat(test.given, test.refused) {
				reason, refused := shape.Refuses(netip.PrefixFrom(netip.MustParseAddr(text), 32))
				if refused != (i >= len(test.given)) {
					t.Errorf("%s: refused=%t %s", text, refused, reason)
				}
			}
		})
	}
}

func TestPreAllocations(t *testing.T) {
	t.Parallel()
	shape := mustRead(t, `{gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24}, {start: 10.0.9.9, end: 10.0.9.9}], preAllocations: {
  host-0: 10.0.0.7, host-9: 10.0.9.9, again: 10.0.0.8, twice: 10.0.0.8, gateway: 10.0.0.1, network: 10.0.0.0, outside: 10.0.1.1, other: 'fd00::1'}}`)
	kept := map[string]string{}
	for _, k := range shape.Config.Kept {
		kept[k.For.String()] = k.Prefix.String()
	}
	if diff := cmp.Diff(map[string]string{
		"a claim team/host-0": "10.0.0.7/32", "a claim team/host-9": "10.0.9.9/32", "a claim team/again": "10.0.0.8/32",
	}, kept); diff != "" {
		t.Error(diff)
	}
	unkept := map[string]string{}
	for name, why := range shape.Unkept {
		unkept[name] = why.Error()
	}
	if diff := cmp.Diff(map[string]string{
		"twice":   `spec.preAllocations[twice]: Invalid value: "10.0.0.8": is kept for claim "again"`,
		"gateway": `spec.preAllocations[gateway]: Invalid value: "10.0.0.1": is a gateway, which is not handed out`,
		"network": `spec.preAllocations[network]: Invalid value: "10.0.0.0": is in none of spec.pools`,
		"outside": `spec.preAllocations[outside]: Invalid value: "10.0.1.1": is in none of spec.pools`,
		"other":   `spec.preAllocations[other]: Invalid value: "fd00::1": is in none of spec.pools`,
	}, unkept); diff != "" {
		t.Error(diff)
	}
}

func TestPreAllocationsAreComparedAsAddresses(t *testing.T) {
	t.Parallel()
	shape := mustRead(t, "{pools: [{subnet: 'fd00::/64'}], preAllocations: {a: 'fd00::0005', b: 'FD00::5'}}")
	if len(shape.Config.Kept) != 1 || shape.Unkept["b"] == nil {
		t.Errorf("kept %v, not kept %v", shape.Config.Kept, shape.Unkept)
	}
}

func TestWhatMetal3DoesNotAdmit(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"{pools: [{subnet: 10.0.0.0/24}, {end: 10.0.0.9}], preAllocations: {a: 10.0.0.5}}":                     "",
		"{gateway: 10.0.0.1, pools: [{subnet: 10.0.0.0/24}], preAllocations: {a: 10.0.0.1}}":                   "", // it hands gateways out
		"{pools: [{subnet: 10.0.0.0/24}, {}]}":                                                                 "spec.pools[1]: Required value",
		"{pools: [{subnet: 10.0.0.0/24}, {prefix: 24}]}":                                                       "spec.pools[1]: Required value",
		"{pools: [{subnet: 10.0.0.0/24}], preAllocations: {a: 10.0.1.1}}":                                      "spec.preAllocations[a]",
		"{pools: [{start: 10.0.0.5}], preAllocations: {a: 10.0.0.4}}":                                          "spec.preAllocations[a]",
		"{pools: [{subnet: 10.0.0.0/24}], preAllocations: {a: 10.0.0.7, b: 10.0.0.7}}":                         `spec.preAllocations[b]: Invalid value: "10.0.0.7": is kept for claim "a"`,
		"{pools: [{subnet: 'fd00::/64'}], preAllocations: {a: 'fd00::0005', b: 'FD00::5', c: 'fd00:0:0:1::'}}": "spec.preAllocations[c]",
	} {
		refused := mustRead(t, spec).Refused
		got := make([]string, 0, len(refused))
		for _, err := range refused {
			got = append(got, err.Error())
		}
		if all := strings.Join(got, "; "); !strings.Contains(all, want) || (want == "") != (all == "") {
			t.Errorf("%s: %q, want %q", spec, all, want)
		}
	}
}

func TestStrategies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pooltree.Strategy{
		"{}": pooltree.FirstFit, "allocationStrategy: sequential": pooltree.FirstFit, "allocationStrategy: random": pooltree.Random,
	} {
		if got := mustRead(t, text).Config.Strategy; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// TestOverlapsAgainstAModel gives each address to the first entry that contains it, one by one.
func TestOverlapsAgainstAModel(t *testing.T) {
	t.Parallel()
	const size = 24
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var spec m3v1.IPPoolSpec
		want := make([]int, size)
		for i := range want {
			want[i] = -1
		}
		for entry := range 1 + random.IntN(6) {
			from := random.IntN(size)
			to := from + random.IntN(size-from)
			start, end := m3v1.Address(address(from).String()), m3v1.Address(address(to).String())
			spec.Pools = append(spec.Pools, m3v1.Pool{Start: &start, End: &end})
			for i := from; i <= to; i++ {
				if want[i] < 0 {
					want[i] = entry
				}
			}
		}
		shape, errs := metal3.Read(&spec, "team")
		if len(errs) > 0 {
			t.Fatalf("seed %d: %v", seed, errs)
		}
		got := make([]int, size)
		for i := range got {
			got[i] = slices.IndexFunc(shape.Entries, func(ranges []netipx.IPRange) bool {
				return slices.ContainsFunc(ranges, func(r netipx.IPRange) bool { return r.Contains(address(i)) })
			})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %v: %s", seed, entries(shape), diff)
		}
		if areas := pooltree.New(shape.Config).AreasIn(netipx.IPRangeFrom(address(0), address(size))); !disjoint(areas) {
			t.Fatalf("seed %d: areas %v overlap", seed, areas)
		}
	}
}

func disjoint(areas []pooltree.Area) bool {
	for i := 1; i < len(areas); i++ {
		if !areas[i-1].Range.To().Less(areas[i].Range.From()) {
			return false
		}
	}
	return true
}
