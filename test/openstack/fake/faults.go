// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"slices"
	"time"
)

// Effect is what a fault does to a request.
type Effect string

// The effects of faults.
const (
	// Refuse answers with Fault.Code and does not execute the request.
	Refuse Effect = "Refuse"
	// RefuseLate executes the request and answers with Fault.Code all the same.
	RefuseLate Effect = "RefuseLate"
	// CutBefore closes the connection and does not execute the request.
	CutBefore Effect = "CutBefore"
	// CutAfter executes the request and closes the connection.
	CutAfter Effect = "CutAfter"
	// CutAnswer executes the request, answers with a part and closes the connection.
	CutAnswer Effect = "CutAnswer"
	// Late executes the request after its client has gone, and after Fault.Until is closed if it is set.
	Late Effect = "Late"
	// Delay executes the request after Fault.Until is closed, or after Fault.For.
	Delay Effect = "Delay"
	// DelayAnswer executes the request, and answers after Fault.Until is closed, or after Fault.For.
	DelayAnswer Effect = "DelayAnswer"
)

// Fault happens to requests of one call.
type Fault struct {
	// Call is the name of the call, as Call.Name; empty is every call.
	Call string
	// Skip is how many requests of the call pass before; Times is how many it happens to (0: one; -1: all).
	Skip, Times int
	Effect      Effect
	// Code is the answer of Refuse and RefuseLate; RetryAfter its header, if not empty.
	Code       int
	RetryAfter string
	// Body is the answer's body; empty is that of a load balancer.
	Body string
	// Until and For are for Late, Delay and DelayAnswer.
	Until <-chan struct{}
	For   time.Duration

	// arrived is closed when the request is there; it is for a fault that happens once.
	arrived chan struct{}
}

// Hold is a request that is held.
type Hold struct {
	// Arrived is closed when the request is there.
	Arrived <-chan struct{}
	// Release lets it go on. It may be called once, also before the request is there.
	Release func()
}

// Hold holds the next request of a call: Delay before it is executed, DelayAnswer before its answer,
// Late after its client has gone.
func (c *Cloud) Hold(call string, effect Effect) Hold {
	arrived, released := make(chan struct{}), make(chan struct{})
	c.Inject(Fault{Call: call, Effect: effect, Until: released, arrived: arrived})
	return Hold{Arrived: arrived, Release: func() { close(released) }}
}

// Inject adds a fault. Of several for one request the first counts.
func (c *Cloud) Inject(f Fault) {
	if f.Times == 0 {
		f.Times = 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &f)
}

// ClearFaults ends all faults but those that are happening.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// fault returns what happens to the next request of a call.
func (c *Cloud) fault(call string) *Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.faults {
		if f.Call != "" && f.Call != call {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		if f.Times == 0 {
			c.faults = slices.Delete(c.faults, i, i+1)
		}
		return f
	}
	return nil
}

// Call is a request that the cloud has seen.
type Call struct {
	// Name is that of package neutron's calls, LogIn or CreateFloatingIP for instance; "Other" for what it does not make.
	Name, Method, Path, Query string
	// IfMatch is the request's condition.
	IfMatch string
	// Code is the answer; 0 if there was none.
	Code int
	// Executed says that the request took effect, or was refused by the cloud itself and not by a fault.
	Executed bool
}

// Calls returns all calls that have ended, in the order of their ends.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Active returns how many calls have begun and not ended.
func (c *Cloud) Active() int { return int(c.active.Load()) }

// Count returns how many calls of that name have ended.
func (c *Cloud) Count(name string) (n int) {
	for _, call := range c.Calls() {
		if call.Name == name {
			n++
		}
	}
	return n
}

// Reset forgets the calls.
func (c *Cloud) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}
