// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

var taken = time.Date(2026, 11, 27, 18, 2, 11, 0, time.UTC)

// poolOf is a pool of ranges and prefixes.
func poolOf(name string, entries ...string) *survey.Pool {
	return &survey.Pool{
		Ref: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: name}, Space: "default",
		Addresses: setOf(entries...), Block: strings.Join(entries, " "), State: ipamv1.PoolReadyAvailableReason,
	}
}

func setOf(entries ...string) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for _, entry := range entries {
		if r, err := netipx.ParseIPRange(entry); err == nil {
			b.AddRange(r)
			continue
		}
		b.AddPrefix(netip.MustParsePrefix(entry))
	}
	set, err := b.IPSet()
	if err != nil {
		panic(err)
	}
	return set
}

// record is one of a claim of the prefix's name.
func record(pool *survey.Pool, prefix string, state ipamv1.AllocationState) survey.Record {
	return survey.Record{
		Name: prefix, Prefix: netip.MustParsePrefix(prefix), Space: pool.Space, Pool: pool.Ref, Purpose: ipamv1.ClaimPurpose, State: state,
		Claim:   ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: "team", Name: "claim-" + prefix},
		Created: taken.Add(-time.Hour),
	}
}

// block is that of a child in its parent.
func block(parent, child *survey.Pool, prefix string) survey.Record {
	r := record(parent, prefix, ipamv1.ConfirmedState)
	r.Purpose = ipamv1.PoolBlockPurpose
	r.Claim = ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: child.Ref.Kind, Namespace: child.Ref.Namespace, Name: child.Ref.Name}
	return r
}

// decoded is a map as who reads its JSON has it.
func decoded(t interface{ Fatal(...any) }, m *Map) *Map {
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	read := &Map{}
	if err = json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return read
}

// tilesText is the tiles of a pool for people: f*250 is 250 free addresses.
func tilesText(p *Pool) string {
	words := make([]string, 0, len(p.Sizes))
	for i, size := range p.Sizes {
		words = append(words, fmt.Sprintf("%c*%s", p.Tiles[i], size.value))
	}
	return strings.Join(words, " ")
}

func TestDraw(t *testing.T) {
	t.Parallel()
	withheld := func(p *survey.Pool) *survey.Pool {
		p.Withheld = survey.Withheld{
			Excluded: setOf("10.0.0.0-10.0.0.3", "10.0.0.255-10.0.0.255"), Gateways: []netip.Addr{netip.MustParseAddr("10.0.0.1")},
			Kept: []survey.Kept{{Prefix: netip.MustParsePrefix("10.0.0.8/32"), For: "team/db"}},
		}
		return p
	}
	nodes := poolOf("nodes", "10.0.0.0/24")
	child := poolOf("child", "10.0.0.0/28")
	child.Parent = nodes.Ref
	delegated := poolOf("nodes", "10.0.0.0/24")
	delegated.State = ipamv1.PoolReadyDelegatedReason
	root := block(nodes, nodes, "10.0.0.0/24")
	external := &survey.Pool{Ref: nodes.Ref, External: true}
	handedBack := record(nodes, "10.0.0.0/24", ipamv1.ConfirmedState)
	handedBack.Purpose = ipamv1.HandBackPurpose
	all := poolOf("nodes", "::/0")
	for _, tc := range []struct {
		name    string
		pools   []*survey.Pool
		records []survey.Record
		sight   Sight
		want    string
	}{
		{"an empty pool", []*survey.Pool{nodes}, []survey.Record{root}, AllRecords, "f*256"},
		{"a pool whose records are not all shown", []*survey.Pool{nodes}, nil, SomeRecords, "u*256"},
		{"a pool that a member hands out", []*survey.Pool{delegated}, nil, AllRecords, "u*256"},
		{"what a pool withholds", []*survey.Pool{withheld(poolOf("nodes", "10.0.0.0/24"))}, nil, AllRecords, "x*1 g*1 x*2 f*4 k*1 f*246 x*1"},
		{
			"records, of all states, over what is withheld", []*survey.Pool{withheld(poolOf("nodes", "10.0.0.0/24"))}, []survey.Record{
				record(nodes, "10.0.0.2/32", ""), record(nodes, "10.0.0.4/31", ipamv1.ActiveState), record(nodes, "10.0.0.6/32", ipamv1.CoolingState),
				record(nodes, "10.0.0.8/32", ipamv1.RetainedState), record(nodes, "10.0.0.64/26", ipamv1.MovedState),
			}, AllRecords, "x*1 g*1 h*1 x*1 h*2 c*1 f*1 r*1 f*55 m*64 f*127 x*1",
		},
		{"neighbours as one", []*survey.Pool{nodes}, []survey.Record{record(nodes, "10.0.0.1/32", ""), record(nodes, "10.0.0.0/32", "")}, AllRecords, "h*2 f*254"},
		{"a carved pool", []*survey.Pool{child, nodes}, []survey.Record{block(nodes, child, "10.0.0.0/28")}, AllRecords, "p*16 f*240 / f*16"},
		{
			"two records of one address", []*survey.Pool{nodes},
			[]survey.Record{record(nodes, "10.0.0.0/30", ""), record(nodes, "10.0.0.1/32", ""), record(nodes, "10.0.0.1/32", "")}, AllRecords, "h*1 !*1 h*2 f*252",
		},
		{"a record outside of its pool", []*survey.Pool{nodes}, []survey.Record{record(nodes, "9.255.255.255/32", "")}, AllRecords, "!*1 f*256"},
		{"what was handed back, with a record that is left", []*survey.Pool{nodes}, []survey.Record{handedBack, record(nodes, "10.0.0.0/32", "")}, AllRecords, "h*1 b*255"},
		{
			"a pool of several ranges", []*survey.Pool{poolOf("nodes", "10.0.0.9-10.0.0.10", "10.0.1.0/30")},
			[]survey.Record{record(nodes, "10.0.0.10/32", ""), record(nodes, "10.0.1.0/32", "")}, AllRecords, "f*1 h*1 h*1 f*3",
		},
		{"a pool of a cloud's", []*survey.Pool{external}, []survey.Record{record(nodes, "203.0.113.9/32", ""), record(nodes, "203.0.113.7/32", "")}, AllRecords, "h*1 h*1"},
		{"a pool without a block", []*survey.Pool{{Ref: nodes.Ref}}, nil, AllRecords, ""},
		{"all of IPv6", []*survey.Pool{all}, []survey.Record{record(nodes, "ffff::/16", "")}, AllRecords, "f*340277174624079928635746076935438991360 h*5192296858534827628530496329220096"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := decoded(t, Draw(Input{Pools: tc.pools, Records: tc.records, Sight: tc.sight, Taken: taken}))
			texts := make([]string, 0, len(m.Pools))
			for i := range m.Pools {
				texts = append(texts, tilesText(&m.Pools[i]))
			}
			if diff := cmp.Diff(tc.want, strings.Join(texts, " / ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWhatIsWithheldAboveBindsBelow: a carved pool's addresses are those of the pools above as well.
func TestWhatIsWithheldAboveBindsBelow(t *testing.T) {
	t.Parallel()
	root, middle, child := poolOf("root", "10.0.0.0/24"), poolOf("middle", "10.0.0.0/25"), poolOf("child", "10.0.0.0/30")
	middle.Parent, child.Parent = root.Ref, middle.Ref
	root.Withheld = survey.Withheld{Excluded: setOf("10.0.0.1-10.0.0.1"), Kept: []survey.Kept{
		{Prefix: netip.MustParsePrefix("10.0.0.3/32"), For: "team/db"}, {Prefix: netip.MustParsePrefix("10.0.0.200/32"), For: "team/other"},
	}}
	m := decoded(t, Draw(Input{Pools: []*survey.Pool{child, middle, root}, Taken: taken}))
	last := &m.Pools[2]
	if got := tilesText(last); got != "f*1 x*1 f*1 k*1" || last.Parent != 1 || len(last.Kept) != 1 || last.Kept[0].For != "team/db" {
		t.Errorf("%s of parent %d, kept %v", got, last.Parent, last.Kept)
	}
}

// TestRecordsAreColumns: in the order of pools and prefixes, with the names once.
func TestRecordsAreColumns(t *testing.T) {
	t.Parallel()
	b, a := poolOf("b", "10.0.1.0/24"), poolOf("a", "10.0.0.0/24")
	v6 := poolOf("c", "2001:db8::/48")
	v6.Space = "lab"
	hidden := poolOf("hidden", "10.9.0.0/24")
	cooling := record(b, "10.0.1.9/32", ipamv1.CoolingState)
	cooling.ReleasedAt, cooling.Cluster = taken.Add(-time.Minute), "prod"
	machines := map[string]string{cooling.Claim.Name: "prod-x7k2p"}
	m := decoded(t, Draw(Input{
		Pools: []*survey.Pool{v6, b, a}, Revision: "812345", Taken: taken, Namespace: "team",
		MachineOf: func(claim ipamv1.ClaimReference) string { return machines[claim.Name] }, Gaps: []survey.Gap{{Text: "you may not list pods"}},
		Records: []survey.Record{
			cooling, record(b, "10.0.1.8/32", ""), record(v6, "2001:db8:0:8000::/64", ""), record(hidden, "10.9.0.0/32", ""), record(a, "10.0.0.7/32", ""),
		},
	}))
	got := make([]string, 0, len(m.Records.At))
	for _, p := range m.Pools {
		for i := p.First; i < p.First+p.Count; i++ {
			r := &m.Records
			got = append(got, fmt.Sprintf("%s %s: %s+%s %c %s %s/%s %q %q %d", m.Spaces[p.Space], p.Title, r.At[i].value, r.Size[i].value, r.States[i],
				m.Strings[r.Kind[i]], m.Strings[r.Namespace[i]], m.Strings[r.Name[i]], m.Strings[r.Machine[i]], m.Strings[r.Cluster[i]],
				r.Since[i]))
		}
	}
	want := []string{
		`default IPPool team/a: 7+1 h IPClaim team/claim-10.0.0.7/32 "" "" 3600`,
		`default IPPool team/b: 8+1 h IPClaim team/claim-10.0.1.8/32 "" "" 3600`,
		`default IPPool team/b: 9+1 c IPClaim team/claim-10.0.1.9/32 "prod-x7k2p" "prod" 60`,
		`lab IPPool team/c: 604462909807314587353088+18446744073709551616 h IPClaim team/claim-2001:db8:0:8000::/64 "" "" 3600`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m.Revision != "812345" || !m.Taken.Equal(taken) || len(m.Gaps) != 1 || m.Namespace != "team" || len(slices.Compact(slices.Sorted(slices.Values(m.Strings)))) != len(m.Strings) {
		t.Errorf("got %+v", m)
	}
}

// TestTilesCoverEachAddressOnce compares the tiles with what each single address is, by the first rule that holds for it.
func TestTilesCoverEachAddressOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &survey.Pool{Ref: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "p"}, Space: "default"}
		p.Addresses = drawSet(t, "addresses", 4)
		p.Withheld.Excluded = drawSet(t, "excluded", 4)
		for range rapid.IntRange(0, 2).Draw(t, "gateways") {
			p.Withheld.Gateways = append(p.Withheld.Gateways, addressAt(rapid.IntRange(0, universe-1).Draw(t, "gateway")))
		}
		for range rapid.IntRange(0, 3).Draw(t, "kept") {
			p.Withheld.Kept = append(p.Withheld.Kept, survey.Kept{Prefix: drawPrefix(t, 30)})
		}
		states := []ipamv1.AllocationState{ipamv1.ActiveState, ipamv1.CoolingState, ipamv1.RetainedState, ipamv1.MovedState}
		n := rapid.IntRange(0, 12).Draw(t, "records")
		records := make([]survey.Record, 0, n)
		for range n {
			records = append(records, record(p, drawPrefix(t, 28).String(), rapid.SampledFrom(states).Draw(t, "state")))
		}
		m := decoded(t, Draw(Input{Pools: []*survey.Pool{p}, Records: records, Taken: taken}))
		got := lettersOf(t, &m.Pools[0])
		for i := range universe {
			if want := letterAt(p, records, addressAt(i)); got[i] != want {
				t.Fatalf("%s is %q, want %q; records %v", addressAt(i), got[i], want, records)
			}
		}
	})
}

// universe is how many addresses there are in the property test.
const universe = 256

func addressAt(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24+uint32(i))
	return netip.AddrFrom4(b)
}

func drawPrefix(t *rapid.T, shortest int) netip.Prefix {
	bits := rapid.IntRange(shortest, 32).Draw(t, "bits")
	return netip.PrefixFrom(addressAt(rapid.IntRange(0, universe-1).Draw(t, "address")), bits).Masked()
}

func drawSet(t *rapid.T, label string, most int) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for range rapid.IntRange(0, most).Draw(t, label) {
		first := rapid.IntRange(0, universe-1).Draw(t, "first")
		b.AddRange(netipx.IPRangeFrom(addressAt(first), addressAt(rapid.IntRange(first, universe-1).Draw(t, "last"))))
	}
	set, err := b.IPSet()
	if err != nil || len(set.Ranges()) == 0 {
		return nil
	}
	return set
}

// letterAt is what one address is; 0 where the pool shows none.
func letterAt(p *survey.Pool, records []survey.Record, a netip.Addr) byte {
	var around []survey.Record
	for _, r := range records {
		if r.Prefix.Contains(a) {
			around = append(around, r)
		}
	}
	isOutside := p.Addresses != nil && slices.ContainsFunc(around, func(r survey.Record) bool { return !p.Addresses.ContainsPrefix(r.Prefix) })
	isKept := slices.ContainsFunc(p.Withheld.Kept, func(k survey.Kept) bool { return k.Prefix.Contains(a) })
	switch {
	case len(around) > 1, isOutside:
		return Conflict
	case len(around) == 1:
		return map[ipamv1.AllocationState]byte{
			ipamv1.ActiveState: Held, ipamv1.CoolingState: Cooling, ipamv1.RetainedState: Retained, ipamv1.MovedState: Moved,
		}[around[0].State]
	case p.Addresses == nil || !p.Addresses.Contains(a):
		return 0
	case slices.Contains(p.Withheld.Gateways, a):
		return Gateway
	case p.Withheld.Excluded != nil && p.Withheld.Excluded.Contains(a):
		return Excluded
	case isKept:
		return Kept
	}
	return Free
}

// lettersOf walks the tiles as a page does: through the ranges, by their sizes.
func lettersOf(t *rapid.T, p *Pool) [universe]byte {
	var got [universe]byte
	next := 0
	for _, r := range p.Ranges {
		first, last := netip.MustParseAddr(r[0]), netip.MustParseAddr(r[1])
		for a := first; a.Compare(last) <= 0; {
			if next == len(p.Sizes) {
				t.Fatalf("the tiles end before %s", a)
			}
			if size := p.Sizes[next].value; size.Sign() <= 0 || size.Cmp(big.NewInt(universe)) > 0 {
				t.Fatalf("a tile of %s addresses", size)
			}
			for range p.Sizes[next].value.Int64() {
				if a.Compare(last) > 0 {
					t.Fatalf("a tile passes the end of its range, %s", last)
				}
				i := binary.BigEndian.Uint32(a.AsSlice()) - 10<<24
				if got[i] != 0 {
					t.Fatalf("%s is covered twice", a)
				}
				got[i] = p.Tiles[next]
				a = a.Next()
			}
			next++
		}
	}
	if next != len(p.Sizes) || len(p.Tiles) != len(p.Sizes) {
		t.Fatalf("%d tiles, %d letters, %d used", len(p.Sizes), len(p.Tiles), next)
	}
	return got
}

// TestManyRecordsAreFewBytes counts the JSON of a pool of which every second address is held by a claim of its own.
func TestManyRecordsAreFewBytes(t *testing.T) {
	t.Parallel()
	const many, most = 20_000, 75
	pool := poolOf("big", "172.16.0.0/16")
	m := Draw(Input{Pools: []*survey.Pool{pool}, Records: everySecond(pool, many), Taken: taken})
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records are %d bytes", many, len(text))
	if len(text) > most*many || m.Pools[0].Count != many || len(m.Pools[0].Tiles) != 2*many {
		t.Errorf("%d bytes, %d records, %d tiles", len(text), m.Pools[0].Count, len(m.Pools[0].Tiles))
	}
}

// TestMapsOfTooManyRecordsKeepTheTiles: the pools with most records are not listed.
func TestMapsOfTooManyRecordsKeepTheTiles(t *testing.T) {
	t.Parallel()
	big, small := poolOf("big", "10.0.0.0/8"), poolOf("small", "11.0.0.0/24")
	records := append(everySecond(big, MaxRecords), record(small, "11.0.0.0/32", ""))
	m := Draw(Input{Pools: []*survey.Pool{big, small}, Records: records, Taken: taken})
	if p := m.Pools[0]; p.Unlisted != MaxRecords || p.Count != 0 || len(p.Tiles) != 2*MaxRecords {
		t.Errorf("%d unlisted, %d listed, %d tiles", p.Unlisted, p.Count, len(p.Tiles))
	}
	if p := m.Pools[1]; p.Unlisted != 0 || p.First != 0 || p.Count != 1 || len(m.Records.At) != 1 {
		t.Errorf("%d listed, from %d", p.Count, p.First)
	}
}

// everySecond has the records of every second address of a pool.
func everySecond(pool *survey.Pool, n int) []survey.Record {
	a := pool.Addresses.Ranges()[0].From()
	records := make([]survey.Record, 0, n)
	for i := range n {
		r := record(pool, "10.0.0.0/32", "")
		r.Prefix, r.Claim.Name, r.Cluster = netip.PrefixFrom(a, 32), fmt.Sprintf("prod-%d-md-0-x7k2p-%d", i%40, i), fmt.Sprintf("prod-%d", i%40)
		records = append(records, r)
		a = a.Next().Next()
	}
	return records
}
