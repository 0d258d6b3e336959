// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"time"

	"github.com/onsi/gomega"
)

// polling is how often who names no interval looks: Gomega's own 10
// milliseconds are a hundred requests a second.
const polling = 100 * time.Millisecond

func init() {
	gomega.SetDefaultEventuallyPollingInterval(polling)
	gomega.SetDefaultConsistentlyPollingInterval(polling)
}
