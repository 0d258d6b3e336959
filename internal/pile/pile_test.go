// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pile"
)

// pick draws one of the numbers that are in use.
func pick[V any](t *rapid.T, used map[uint32]V) uint32 {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(used))).Draw(t, "number")
}

// TestAPileKeepsWhatItIsGiven compares with a map.
func TestAPileKeepsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p pile.Pile[int]
		want, where := map[uint32]int{}, map[uint32]*int{}
		for v := range rapid.IntRange(1, 5000).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
				i := pick(t, want)
				p.Drop(i)
				delete(want, i)
				continue
			}
			i := p.Add(v)
			if _, ok := want[i]; ok || i == 0 || i > p.Last() {
				t.Fatalf("number %d was given out", i)
			}
			want[i], where[i] = v, p.At(i)
		}
		for i, v := range want {
			if *p.At(i) != v || where[i] != p.At(i) {
				t.Errorf("%d is %d, want %d, or has moved", i, *p.At(i), v)
			}
		}
		if p.Len() != len(want) {
			t.Errorf("%d values, want %d", p.Len(), len(want))
		}
	})
}

// TestALargePile uses every kind of chunk.
func TestALargePile(t *testing.T) {
	t.Parallel()
	var p pile.Pile[uint32]
	var texts pile.Texts
	text := func(i uint32) []byte { return []byte(strings.Repeat(string(rune('a'+i%26)), int(1+i%70))) }
	const n = 10_000
	for i := uint32(1); i <= n; i++ {
		if got := p.Add(i); got != i {
			t.Fatalf("number %d, want %d", got, i)
		}
	}
	at := make([]uint32, n)
	for i := range at {
		at[i] = texts.Add(text(uint32(i)))
	}
	for i := uint32(1); i <= n; i++ {
		if *p.At(i) != i {
			t.Errorf("%d is %d", i, *p.At(i))
		}
	}
	for i, number := range at {
		if want := text(uint32(i)); string(texts.At(number, len(want))) != string(want) {
			t.Errorf("text %d is %q", i, texts.At(number, len(want)))
		}
	}
}

// TestTextsAreKept compares with a map. A number alone does not name a text, so both have the length.
func TestTextsAreKept(t *testing.T) {
	t.Parallel()
	type name struct {
		number uint32
		length int
	}
	rapid.Check(t, func(t *rapid.T) {
		var texts pile.Texts
		want := map[name]string{}
		order := []name{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(order) > 0 && rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				k := rapid.IntRange(0, len(order)-1).Draw(t, "which")
				texts.Drop(order[k].number, order[k].length)
				delete(want, order[k])
				order = slices.Delete(order, k, k+1)
				continue
			}
			text := rapid.String().Draw(t, "text")
			n := name{texts.Add([]byte(text)), len(text)}
			if _, ok := want[n]; ok && text != "" {
				t.Fatalf("%v was given out twice", n)
			}
			want[n] = text
			order = append(order, n)
		}
		for _, n := range order {
			if text, ok := want[n]; ok && string(texts.At(n.number, n.length)) != text {
				t.Errorf("%v is %q, want %q", n, texts.At(n.number, n.length), text)
			}
		}
	})
}

// TestALookupFindsAllOfAHash compares with a map, with hashes that collide and ways that wrap around.
func TestALookupFindsAllOfAHash(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hashes := map[uint32]uint64{}
		l := pile.NewLookup(func(i uint32) uint64 { return hashes[i] })
		bound := rapid.SampledFrom([]uint64{1, 8, 1 << 20}).Draw(t, "bound")
		top := rapid.SampledFrom([]uint64{0, 28, 1<<64 - 4}).Draw(t, "base")
		for i := range uint32(rapid.IntRange(1, 400).Draw(t, "steps")) {
			if len(hashes) > 0 && rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				gone := pick(t, hashes)
				l.Drop(gone)
				delete(hashes, gone)
				continue
			}
			hashes[i+1] = top + rapid.Uint64Range(0, bound).Draw(t, "hash")
			l.Add(i + 1)
		}
		for i, h := range hashes {
			n := 0
			for found := range l.Find(h) {
				if found == i {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d is there %d times", i, n)
			}
		}
		if l.Len() != len(hashes) {
			t.Errorf("%d numbers, want %d", l.Len(), len(hashes))
		}
	})
}
