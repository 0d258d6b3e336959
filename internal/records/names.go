// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
)

// maxNameStem leaves room in a record's name for the hash and the random part: a name has 253
// characters at most.
const maxNameStem = 220

// FirstName is the name for the first attempt at a claim: two managers that answer the same claim
// at once collide here already, before either has a second record.
func FirstName(claim, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return nameStem(claim) + hex.EncodeToString(sum[:5])
}

// nameStem is what the names of all records for claims of that name begin with.
func nameStem(claim string) string {
	return strings.TrimRight(claim[:min(len(claim), maxNameStem)], "-.") + "-"
}

// NextName is a name for a further attempt, never used before.
func NextName(claim, uid string) string {
	return FirstName(claim, uid) + "-" + rand.String(8)
}
