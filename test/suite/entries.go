// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"github.com/onsi/ginkgo/v2"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// FromLong returns entries of a table that the gate leaves out: there are none
// of them at the gate, and all from the size long on.
func FromLong(entries ...ginkgo.TableEntry) []ginkgo.TableEntry {
	if size.Now() < size.Long {
		return nil
	}
	return entries
}
