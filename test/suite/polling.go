// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"time"

	"github.com/onsi/gomega"
)

// defaultInterval is what Eventually and Consistently wait between two tries if
// they name no interval. Gomega's own 10 ms mean a hundred requests a second.
const defaultInterval = 100 * time.Millisecond

func init() {
	gomega.SetDefaultEventuallyPollingInterval(defaultInterval)
	gomega.SetDefaultConsistentlyPollingInterval(defaultInterval)
}
