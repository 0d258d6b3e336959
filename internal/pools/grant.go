// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// GrantOf is what GrantedAnnotation says of these blocks, ascending: 32 hexadecimal digits.
func GrantOf(blocks []netip.Prefix) string {
	digest := sha256.New()
	for _, block := range blocks {
		fmt.Fprintln(digest, block)
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}
