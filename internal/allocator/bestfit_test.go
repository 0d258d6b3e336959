// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

func TestBestFit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		held     []string // entries 0, 1, ...
		blocks   []string
		own      func(int) bool
		bits     int
		reserved func(netip.Addr) bool
		want     string // "" means exhausted
	}{
		"an empty block offers its start": {
			blocks: []string{"10.0.0.0/24"}, bits: 32, want: "10.0.0.0/32"},
		"a block offers nothing wider than itself": {
			blocks: []string{"10.0.0.0/24"}, bits: 23},
		"no block offers nothing": {bits: 32},
		"the smallest gap is taken, not the lowest": {
			held: []string{"10.0.0.192/32"}, blocks: []string{"10.0.0.0/24"}, bits: 32, want: "10.0.0.193/32"},
		"of equal gaps the lowest is taken": {
			held: []string{"10.0.0.64/32", "10.0.0.192/32"}, blocks: []string{"10.0.0.0/24"}, bits: 32, want: "10.0.0.65/32"},
		"a gap that is too small is passed over": {
			held: []string{"10.0.0.192/32"}, blocks: []string{"10.0.0.0/24"}, bits: 29, want: "10.0.0.200/29"},
		"a gap that fits exactly": {
			held: []string{"10.0.0.192/32"}, blocks: []string{"10.0.0.0/24"}, bits: 25, want: "10.0.0.0/25"},
		"gaps do not reach across blocks": {
			held: []string{"10.0.1.1/32"}, blocks: []string{"10.0.0.0/25", "10.0.0.128/25", "10.0.1.0/24"}, bits: 26, want: "10.0.1.64/26"},
		"a smaller gap in a later block": {
			blocks: []string{"10.0.0.0/24", "10.0.2.0/30"}, bits: 32, want: "10.0.2.0/32"},
		"of equal blocks the first": {
			blocks: []string{"10.0.0.0/24", "10.0.2.0/24"}, bits: 32, want: "10.0.0.0/32"},
		"the pool's own block does not count": {
			held: []string{"10.0.0.0/24", "10.0.0.0/8"}, blocks: []string{"10.0.0.0/24"}, own: these(0, 1), bits: 24, want: "10.0.0.0/24"},
		"another's entry at the block takes all of it": {
			held: []string{"10.0.0.0/24", "10.0.0.0/24"}, blocks: []string{"10.0.0.0/24"}, own: these(0), bits: 32},
		"a gap of reserved addresses is passed over": {
			held: []string{"10.0.0.1/32"}, blocks: []string{"10.0.0.0/24"}, bits: 32,
			reserved: addresses("10.0.0.0"), want: "10.0.0.2/32"},
		"a reserved address makes its gap no smaller": {
			held: []string{"10.0.0.1/32", "10.0.0.65/32"}, blocks: []string{"10.0.0.0/24"}, bits: 32,
			reserved: addresses("10.0.0.0", "10.0.0.64", "10.0.0.68"), want: "10.0.0.2/32"},
		"in a gap the lowest that is not reserved": {
			held: []string{"10.0.0.0/30"}, blocks: []string{"10.0.0.0/24"}, bits: 32,
			reserved: addresses("10.0.0.4", "10.0.0.5"), want: "10.0.0.6/32"},
		"a later block, when the best gap is reserved": {
			blocks: []string{"10.0.0.0/32", "10.0.1.0/24", "10.0.2.0/25"}, bits: 32,
			reserved: addresses("10.0.0.0"), want: "10.0.2.0/32"},
		"reserved addresses do not stop prefixes": {
			held: []string{"10.0.0.2/32"}, blocks: []string{"10.0.0.0/24"}, bits: 31,
			reserved: addresses("10.0.0.0"), want: "10.0.0.0/31"},
		"nothing but reserved addresses is exhausted": {
			held: []string{"10.0.0.1/32", "10.0.0.2/32"}, blocks: []string{"10.0.0.0/30"}, bits: 32,
			reserved: addresses("10.0.0.0", "10.0.0.3")},
		"an IPv6 gap around bit 64": {
			held: []string{"2001:db8::/65"}, blocks: []string{"2001:db8::/62"}, bits: 65, want: "2001:db8:0:0:8000::/65"},
		"all of a family": {
			blocks: []string{"0.0.0.0/0"}, bits: 0, want: "0.0.0.0/0"},
		"half of a family": {
			held: []string{"128.0.0.0/1"}, blocks: []string{"0.0.0.0/0"}, bits: 1, want: "0.0.0.0/1"},
		"the last address of IPv6": {
			held: []string{"::/128"}, blocks: []string{"::/0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
			bits: 128, reserved: addresses("::1"), want: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spaceOf(tc.held...)
			r := request{Blocks: prefixes(tc.blocks...), Own: tc.own, Bits: tc.bits, Reserved: tc.reserved}
			for range 2 { // what a search remembers does not change the answer
				got, err := s.BestFit(r)
				switch {
				case tc.want == "" && !errors.Is(err, allocator.ErrExhausted):
					t.Errorf("got %v, %v, want ErrExhausted", got, err)
				case tc.want != "" && (err != nil || got.String() != tc.want):
					t.Errorf("got %v, %v, want %s", got, err, tc.want)
				}
			}
		})
	}
}
