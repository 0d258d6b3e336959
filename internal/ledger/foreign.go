// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
)

// NoteForeign takes in what an IPAddress of another provider names: in the address space default
// no claim gets that from now on.
func (l *reader) NoteForeign(a foreign.Address) {
	defer l.feed.lock()()
	l.feed.book.NoteForeign(a)
}

// ForgetForeign takes out what such an IPAddress named, which is gone.
func (l *reader) ForgetForeign(key foreign.Key) {
	defer l.feed.lock()()
	l.feed.book.ForgetForeign(key)
}

// AwaitForeign has claims that ask for something new in the address space default get ErrBusy until
// ForeignKnown. The manager calls it before it starts: what it does not know yet may be in use.
func (l *reader) AwaitForeign() {
	defer l.feed.lock()()
	l.feed.book.AwaitForeign()
}

// ForeignKnown ends that: all IPAddresses of other providers that there were have been noted.
func (l *reader) ForeignKnown() {
	defer l.feed.lock()()
	l.feed.book.ForeignKnown()
}

// ForeignIn returns, by prefix, what IPAddresses of other providers name and shares something with
// prefixes of an address space.
func (l *reader) ForeignIn(space string, prefixes []netip.Prefix) []foreign.Address {
	defer l.feed.lock()()
	return l.feed.book.ForeignIn(space, prefixes)
}
