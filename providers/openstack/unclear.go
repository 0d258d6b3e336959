// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"sync"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// mostUnclear is how often in a row nobody may know what came of a change before that is told. Once is a lost answer, which the next search
// finds out about.
const mostUnclear = 3

// toldAs are the kinds of errors after which a method is called again at once, and what they are told as where they do not end.
var toldAs = map[neutron.Kind]neutron.Kind{neutron.Uncertain: neutron.Unavailable, neutron.Changed: neutron.Conflict}

// unclear counts, by claim or pool, how often in a row a method has ended so. The zero value is empty.
type unclear struct {
	mu    sync.Mutex
	times map[string]int
}

// judge returns an error as it is, or as what it is told as if it does not end.
func (u *unclear) judge(of string, err error) error {
	fault := faultOf(err)
	if err != nil && fault == nil { // the cloud was not asked, or its answer not waited for
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if fault == nil || toldAs[fault.Kind] == "" {
		delete(u.times, of)
		return err
	}
	if u.times == nil {
		u.times = map[string]int{}
	}
	if u.times[of]++; u.times[of] < mostUnclear {
		return err
	}
	told := *fault
	told.Kind = toldAs[fault.Kind]
	return &told
}
