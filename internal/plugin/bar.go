// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"math/big"
	"slices"
	"strings"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// barCells is how wide a bar is.
const barCells = 12

// bar draws how a pool is used: what is held, carved, kept back and free, in this order. What there
// is has a cell at least. It is "" if the capacity is not known.
func bar(c ipamv1.Capacity, glyphs Glyphs) string {
	total := count(c.Total)
	if total.Sign() == 0 {
		return ""
	}
	kept := new(big.Int).Add(count(c.Cooling), count(c.Excluded))
	parts := []*big.Int{count(c.Allocated), count(c.Delegated), kept, count(c.Available)}
	cells := make([]int, len(parts))
	sum := 0
	for i, part := range parts {
		cells[i] = cellsOf(part, total)
		sum += cells[i]
	}
	// What rounding leaves over is drawn as free, if anything is.
	odd := len(cells) - 1
	if sum > barCells || cells[odd] == 0 {
		odd = slices.Index(cells, slices.Max(cells))
	}
	cells[odd] = max(cells[odd]+barCells-sum, 0)
	var text strings.Builder
	for i, glyph := range []string{glyphs.held, glyphs.carved, glyphs.kept, glyphs.free} {
		text.WriteString(strings.Repeat(glyph, cells[i]))
	}
	return text.String()
}

// cellsOf returns the cells of a part, rounded down; one at least, unless there is nothing of it.
func cellsOf(part, total *big.Int) int {
	if part.Sign() <= 0 {
		return 0
	}
	cells := new(big.Int).Mul(part, big.NewInt(barCells))
	return min(max(int(cells.Div(cells, total).Int64()), 1), barCells)
}

// count reads a number of a status; 0 if it is absent.
func count(text string) *big.Int {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return new(big.Int)
	}
	return n
}
