// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go4.org/netipx"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// MaxRecords is how many records a map lists. Of the pools with most records the tiles alone are there, if there are more.
const MaxRecords = 150_000

// Sight is which records the user has seen.
type Sight int

const (
	// AllRecords: there are no others.
	AllRecords Sight = iota
	// SomeRecords: there may be others.
	SomeRecords
)

// Input is what a map is made from.
type Input struct {
	Pools   []*survey.Pool
	Records []survey.Record
	Sight   Sight
	Gaps    []survey.Gap
	// Namespace is the only one that was looked at, "" for all.
	Namespace string
	// MachineOf returns the Machine that a claim is for, "" for none; nil if Machines were not looked at.
	MachineOf func(ipamv1.ClaimReference) string
	// Revision is that of the list of records, "" if it is not known; Taken is when it was read.
	Revision string
	Taken    time.Time
}

// Map is what the addresses of pools are in use for.
type Map struct {
	Revision string    `json:"revision,omitempty"`
	Taken    time.Time `json:"taken"`
	// Namespace is the only one that was looked at, "" for all.
	Namespace string `json:"namespace,omitempty"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// Strings are those that records name by number. The first one is empty.
	Strings []string `json:"strings"`
	// Spaces are address spaces, in the order of their names.
	Spaces []string `json:"spaces"`
	// Pools are in the order of their addresses, those with the same in the order of their names.
	Pools []Pool `json:"pools"`
	// Records are in the order of the pools, then of their prefixes.
	Records Records `json:"records"`
}

// Pool is a pool, and what its addresses are in use for.
type Pool struct {
	APIGroup  string `json:"apiGroup"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Title is how people write it.
	Title string `json:"title"`
	// Space is a number of Map.Spaces, Parent one of Map.Pools; -1 for none that is shown.
	Space  int `json:"space"`
	Parent int `json:"parent"`
	// CarvedFrom is the pool above, also where it is not shown.
	CarvedFrom string `json:"carvedFrom,omitempty"`
	// Block is the addresses for people.
	Block    string          `json:"block,omitempty"`
	State    string          `json:"state"`
	Message  string          `json:"message,omitempty"`
	Cluster  string          `json:"cluster,omitempty"`
	Member   string          `json:"member,omitempty"`
	External bool            `json:"external,omitempty"`
	Capacity ipamv1.Capacity `json:"capacity,omitzero"`
	Percent  *int32          `json:"percent,omitempty"`
	// Ranges are its addresses, in their order: the first and the last of each. Those of an external pool are its records'.
	Ranges [][2]string `json:"ranges"`
	// Tiles has a letter for each tile of the ranges, Sizes how many addresses the tile has. Together they are the ranges.
	Tiles string   `json:"tiles"`
	Sizes []Number `json:"sizes"`
	// Kept are the prefixes that are kept for claims, by this pool or one above.
	Kept []KeptPrefix `json:"kept,omitempty"`
	// First is the number of its first record, Count how many follow, Unlisted how many more there are.
	First    int `json:"first"`
	Count    int `json:"count"`
	Unlisted int `json:"unlisted,omitempty"`
}

// KeptPrefix is a prefix that is kept for a claim.
type KeptPrefix struct {
	Prefix string `json:"prefix"`
	For    string `json:"for"`
}

// Records has the records in columns of the same length.
type Records struct {
	// At is how many addresses lie between the first one of the pool and the record, Size how many the record has.
	At   []Number `json:"at"`
	Size []Number `json:"size"`
	// States has a letter of tiles for each record.
	States string `json:"states"`
	// Kind, Namespace, Name of the claim or carved pool, and its Machine and Cluster, are numbers of Map.Strings.
	Kind      []int `json:"kind"`
	Namespace []int `json:"namespace"`
	Name      []int `json:"name"`
	Machine   []int `json:"machine"`
	Cluster   []int `json:"cluster"`
	// Since is for how many seconds before Map.Taken the record has been there, or has been released.
	Since []int64 `json:"since"`
}

// Draw makes a map. Records of pools that are not shown are left out.
func Draw(in Input) *Map {
	d := drawing{
		Map: &Map{
			Revision: in.Revision, Taken: in.Taken.UTC().Truncate(time.Second), Namespace: in.Namespace, Gaps: append([]survey.Gap{}, in.Gaps...),
		},
		pools:  slices.Clone(in.Pools),
		number: map[ipamv1.PoolReference]int{}, words: map[string]int{}, sight: in.Sight, machineOf: in.MachineOf,
	}
	d.Records = Records{
		At: []Number{}, Size: []Number{}, Kind: []int{}, Namespace: []int{}, Name: []int{}, Machine: []int{}, Cluster: []int{}, Since: []int64{},
	}
	d.Spaces, d.Pools = []string{}, []Pool{}
	d.word("")
	slices.SortStableFunc(d.pools, comparePools)
	for i, p := range d.pools {
		d.number[p.Ref] = i
		if !slices.Contains(d.Spaces, p.Space) {
			d.Spaces = append(d.Spaces, p.Space)
		}
	}
	slices.Sort(d.Spaces)
	records := d.byPool(in.Records)
	tooMany := crowded(records)
	for i := range d.pools {
		d.add(i, records[i], tooMany[i])
	}
	return d.Map
}

// drawing is a map in the making.
type drawing struct {
	*Map
	pools  []*survey.Pool
	number map[ipamv1.PoolReference]int
	words  map[string]int
	sight  Sight
	states []byte
	// machineOf is Input.MachineOf.
	machineOf func(ipamv1.ClaimReference) string
}

// comparePools orders by first address; larger pools come before what is carved from them.
func comparePools(a, b *survey.Pool) int {
	rangesOf := func(p *survey.Pool) []netipx.IPRange {
		if p.Addresses == nil {
			return nil
		}
		return p.Addresses.Ranges()
	}
	ra, rb := rangesOf(a), rangesOf(b)
	if len(ra) == 0 || len(rb) == 0 {
		return cmp.Or(cmp.Compare(len(rb), len(ra)), cmp.Compare(survey.Name(a.Ref), survey.Name(b.Ref)))
	}
	return cmp.Or(
		ra[0].From().Compare(rb[0].From()), rb[len(rb)-1].To().Compare(ra[len(ra)-1].To()), cmp.Compare(survey.Name(a.Ref), survey.Name(b.Ref)),
	)
}

// byPool sorts the records of each pool by prefix. The records of roots themselves say nothing about their addresses.
func (d *drawing) byPool(records []survey.Record) [][]survey.Record {
	all := make([][]survey.Record, len(d.pools))
	for _, r := range records {
		i, isShown := d.number[r.Pool.Canonical()]
		isOfRoot := r.IsBlock() && r.Claim.Pool().Canonical() == r.Pool.Canonical()
		if isShown && r.Prefix.IsValid() && !isOfRoot {
			all[i] = append(all[i], r)
		}
	}
	for i := range all {
		slices.SortFunc(all[i], func(a, b survey.Record) int {
			return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(a.Claim.Namespace, b.Claim.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	return all
}

// crowded returns the pools whose records are not listed, those with most first, so that at most MaxRecords are.
func crowded(records [][]survey.Record) map[int]bool {
	order := make([]int, len(records))
	total := 0
	for i := range records {
		order[i] = i
		total += len(records[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(records[b]), len(records[a])) })
	left := map[int]bool{}
	for _, i := range order {
		if total <= MaxRecords {
			break
		}
		left[i] = true
		total -= len(records[i])
	}
	return left
}

// add draws the i-th pool.
func (d *drawing) add(i int, records []survey.Record, isCrowded bool) {
	p := d.pools[i]
	shown := d.describe(p)
	lineage := d.lineage(p)
	for _, above := range lineage {
		for _, k := range above.Withheld.Kept {
			if p.Addresses != nil && p.Addresses.OverlapsPrefix(k.Prefix) {
				shown.Kept = append(shown.Kept, KeptPrefix{k.Prefix.String(), k.For})
			}
		}
	}
	addresses := addressesOf(p, records)
	if addresses == nil {
		d.Pools = append(d.Pools, shown)
		return
	}
	var letters []byte
	for _, t := range tilesOf(addresses, p.Addresses, d.ground(p), withheldTiles(lineage), records) {
		letters = append(letters, t.letter)
		shown.Sizes = append(shown.Sizes, sizeOf(t.IPRange))
	}
	shown.Tiles = string(letters)
	for _, r := range addresses.Ranges() {
		shown.Ranges = append(shown.Ranges, [2]string{r.From().String(), r.To().String()})
	}
	if isCrowded {
		shown.Unlisted = len(records)
	} else {
		shown.Count = len(records)
		d.list(addresses, records)
	}
	d.Pools = append(d.Pools, shown)
}

// describe is a pool without its addresses.
func (d *drawing) describe(p *survey.Pool) Pool {
	parent, isShown := d.number[p.Parent]
	if !isShown {
		parent = -1
	}
	shown := Pool{
		APIGroup: p.Ref.GroupKind().Group, Kind: p.Ref.Kind, Namespace: p.Ref.Namespace, Name: p.Ref.Name, Title: survey.Name(p.Ref),
		Space: slices.Index(d.Spaces, p.Space), Parent: parent, Block: p.Block, State: p.State, Message: p.Message,
		Cluster: p.Cluster, Member: p.Member, External: p.External, Capacity: p.Capacity, Percent: p.Percent,
		Ranges: [][2]string{}, Sizes: []Number{}, First: len(d.Records.At),
	}
	if p.Parent != (ipamv1.PoolReference{}) {
		shown.CarvedFrom = survey.Name(p.Parent)
	}
	return shown
}

// lineage is a pool and those above it that are shown.
func (d *drawing) lineage(p *survey.Pool) []*survey.Pool {
	lineage := []*survey.Pool{p}
	for i, isShown := d.number[p.Parent]; isShown && len(lineage) <= len(d.pools); i, isShown = d.number[d.pools[i].Parent] {
		lineage = append(lineage, d.pools[i])
	}
	return lineage
}

// ground is what the addresses are that no record is shown of. Those of a delegated pool are at its member.
func (d *drawing) ground(p *survey.Pool) byte {
	if d.sight == SomeRecords || p.State == ipamv1.PoolReadyDelegatedReason {
		return Unknown
	}
	return Free
}

// addressesOf are those of the pool and of its records, which may lie outside of it; nil for none.
func addressesOf(p *survey.Pool, records []survey.Record) *netipx.IPSet {
	var all netipx.IPSetBuilder
	if p.Addresses != nil {
		all.AddSet(p.Addresses)
	}
	for i := range records {
		if r := &records[i]; p.Addresses == nil || !p.Addresses.ContainsPrefix(r.Prefix) {
			all.AddPrefix(r.Prefix)
		}
	}
	set, err := all.IPSet()
	if err != nil || len(set.Ranges()) == 0 {
		return nil
	}
	return set
}

// list adds the records of a pool to the columns.
func (d *drawing) list(addresses *netipx.IPSet, records []survey.Record) {
	first := addresses.Ranges()[0].From()
	c := &d.Records
	for i := range records {
		r := &records[i]
		c.At = append(c.At, distance(first, r.Prefix.Addr()))
		c.Size = append(c.Size, sizeOf(netipx.RangeOfPrefix(r.Prefix)))
		d.states = append(d.states, letterOf(r))
		kind, _, _ := strings.Cut(survey.ClaimName(r.Claim), " ")
		c.Kind = append(c.Kind, d.word(kind))
		c.Namespace = append(c.Namespace, d.word(r.Claim.Namespace))
		c.Name = append(c.Name, d.word(r.Claim.Name))
		c.Machine = append(c.Machine, d.word(d.machine(r)))
		c.Cluster = append(c.Cluster, d.word(r.Cluster))
		c.Since = append(c.Since, d.since(r))
	}
	c.States = string(d.states)
}

// machine is the one that a record's claim is for.
func (d *drawing) machine(r *survey.Record) string {
	if d.machineOf == nil {
		return ""
	}
	return d.machineOf(r.Claim)
}

// since is for how many seconds the record has been as it is, by the clock of who draws the map.
func (d *drawing) since(r *survey.Record) int64 {
	began := r.ReleasedAt
	if began.IsZero() {
		began = r.Created
	}
	if began.IsZero() || d.Taken.Before(began) {
		return 0
	}
	return int64(d.Taken.Sub(began).Seconds())
}

// word returns the number of a string.
func (d *drawing) word(text string) int {
	n, isKnown := d.words[text]
	if !isKnown {
		n = len(d.Strings)
		d.words[text] = n
		d.Strings = append(d.Strings, text)
	}
	return n
}
