// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkFirstPicture is the time from the navigation to the first picture, as the page measures it; that of starting a
// browser is not in it.
func BenchmarkFirstPicture(b *testing.B) {
	for _, records := range []int{20_000, 100_000} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			in := crowd(records)
			total := 0
			for b.Loop() {
				drawn, err := strconv.Atoi(value[string](open(b, in, ""), "document.documentElement.dataset.drawn"))
				if err != nil {
					b.Fatal(err)
				}
				total += drawn
			}
			b.ReportMetric(float64(total)/float64(b.N), "ms/picture")
			b.ReportMetric(0, "ns/op")
		})
	}
}
