// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"

	"go4.org/netipx"
)

// maxExactBits is how many bits of a whole number JavaScript keeps.
const maxExactBits = 53

// Number is a number of addresses, from 0 to 2^128. In JSON it is a number up to 2^53, else a text: 0x and hexadecimal
// digits.
type Number struct{ value *big.Int }

// MarshalJSON is as the type says.
func (n Number) MarshalJSON() ([]byte, error) {
	if n.value.BitLen() <= maxExactBits {
		return n.value.Append(nil, 10), nil
	}
	return []byte(`"0x` + n.value.Text(16) + `"`), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(text []byte) error {
	digits := string(text)
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(text, &digits); err != nil {
			return err
		}
	}
	value, ok := new(big.Int).SetString(digits, 0)
	if !ok {
		return fmt.Errorf("%s is no number of addresses", text)
	}
	n.value = value
	return nil
}

// distance returns how many addresses lie from one address to a later one of its family, without the later one.
func distance(from, to netip.Addr) Number {
	a, b := from.As16(), to.As16()
	value := new(big.Int).SetBytes(b[:])
	return Number{value.Sub(value, new(big.Int).SetBytes(a[:]))}
}

// sizeOf returns how many addresses a range has.
func sizeOf(r netipx.IPRange) Number {
	n := distance(r.From(), r.To())
	n.value.Add(n.value, big.NewInt(1))
	return n
}
